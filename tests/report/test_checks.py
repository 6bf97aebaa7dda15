"""The section about the data."""

import numpy as np

from ddlcn import ImageSet
from ddlcn.checks import HeldOutPredictions, examine, image_facts
from ddlcn.report.checks import check_section


def name(images: ImageSet, i: int) -> dict[str, str]:
    return {"uri": "", "name": f"number {i}"}


def test_pictures_are_limited_but_everything_is_counted() -> None:
    images = np.random.default_rng(0).integers(0, 255, (50, 8, 8), np.uint8).repeat(2, axis=0)
    found = ImageSet.of(images, np.arange(100) % 2)
    probabilities = np.tile([0.3, 0.7], (100, 1))
    probabilities[1::2] = [0.1, 0.9]
    held_out = HeldOutPredictions(
        np.where(np.arange(100)[:, None] < 90, probabilities[:, ::-1], probabilities), np.ones(100)
    )
    section = check_section(examine(found, image_facts(images), held_out), name)
    assert (section["n_groups"], section["n_differ"], section["n_duplicates"], len(section["groups"])) == (
        50,
        50,
        100,
        12,
    )
    wrong = section["mislabelled"]
    assert wrong["n"] == len(wrong["cards"]) + len(wrong["more"]) > 24 == len(wrong["cards"])
    assert all(card["suggested"] != card["label"] for card in wrong["cards"])


def test_images_that_were_judged() -> None:
    images = ImageSet.of(np.random.default_rng(0).random((4, 8, 8)), [0, 0, 1, 1])
    held_out = HeldOutPredictions.of(images, np.array([0, 2]), np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([0, 1]))
    section = check_section(examine(images, image_facts(images.images), held_out), name)
    assert (section["n_judged"], section["n_images"], section["accuracy"]) == (2, 4, 0.5)


def test_not_judged() -> None:
    images = ImageSet.of(np.random.default_rng(0).random((4, 8, 8)), [0, 0, 1, 1])
    section = check_section(examine(images, image_facts(images.images)), name)
    assert not section["mislabelled"]["judged"]
    assert not section["unusual"]["judged"]
    assert section["blank"]["judged"]
    assert section["accuracy"] is None


def test_large_group_is_cut() -> None:
    images = ImageSet.of(np.tile(np.random.default_rng(0).random((8, 8)), (9, 1, 1)), [0] * 8 + [1])
    (group,) = check_section(examine(images, image_facts(images.images)), name)["groups"]
    assert (len(group["pictures"]), group["more"], group["labels_differ"]) == (4, 5, True)
