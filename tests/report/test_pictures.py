"""Pictures of explanations and atoms: drawn for every kind of model, and written whole or not at all."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ddlcn import DDLCNClassifier, DDLCNError
from ddlcn.report import draw_atoms, draw_explanation, save_figure
from ddlcn.report.atoms import heaviest, layers, nearest_patches, shared
from ddlcn.report.explanation import explain_both, strongest
from ddlcn.report.pixels import overlay, patch, seen
from ddlcn.report.tiles import signed
from tests.report.conftest import HOSTILE, Case, bars


def small_model(
    n_classes: int, deeper: tuple[int, ...], **more: object
) -> tuple[DDLCNClassifier, np.ndarray]:
    rng = np.random.default_rng(0)
    images = np.array([bars(rng, c) for c in range(n_classes) for _ in range(4)])
    labels = np.repeat(np.arange(n_classes), 4)
    if "image_shape" in more:
        images = images.reshape(len(images), -1)
    return DDLCNClassifier(atoms_per_class=3, deeper_atoms=deeper, **more).fit(images, labels), images


@pytest.mark.parametrize(("n_classes", "deeper"), [(2, ()), (2, (4,)), (3, (4, 3))])
def test_every_kind_of_model_is_drawn(n_classes: int, deeper: tuple[int, ...], tmp_path: Path) -> None:
    model, images = small_model(n_classes, deeper)
    save_figure(draw_explanation(model, images[0]), tmp_path / "map.png")
    save_figure(draw_explanation(model, np.full((20, 60), 9, np.uint8), label=1), tmp_path / "flat.png")
    save_figure(draw_atoms(model, images), tmp_path / "atoms.png")
    save_figure(draw_atoms(model), tmp_path / "atoms.svg")
    for name in ("map.png", "flat.png", "atoms.png"):
        with Image.open(tmp_path / name) as picture:
            assert picture.width > 1000


def test_rows_of_a_matrix_are_drawn(tmp_path: Path) -> None:
    model, images = small_model(3, (), image_shape=(32, 32))
    save_figure(draw_explanation(model, images[0]), tmp_path / "map.png")


def test_names_that_look_like_mathematics_are_drawn(tested: Case, tmp_path: Path) -> None:
    save_figure(draw_explanation(tested.model, tested.test.images[0], HOSTILE), tmp_path / "map.png")
    save_figure(draw_atoms(tested.model), tmp_path / "atoms.png")


def test_the_runner_up_stands_beside_the_answer(tested: Case) -> None:
    image = tested.test.images[3]
    probabilities = tested.model.predict_proba([image])[0]
    order = tested.model.classes_[np.argsort(-probabilities)]
    (answer, runner_up), (p, q) = explain_both(tested.model, image)
    assert (answer.label, runner_up.label) == (order[0], order[1])
    assert (p, q) == pytest.approx(tuple(np.sort(probabilities)[:-3:-1]))
    (asked, best), _ = explain_both(tested.model, image, order[2])
    assert (asked.label, best.label) == (order[2], order[0])


def test_atoms_of_an_explanation_come_with_the_patches_that_fired_them(tested: Case) -> None:
    evidence = tested.model.explain(tested.test.images[3])
    shares = evidence.by_atom(16)
    tiles = strongest(tested.model, evidence, seen(tested.model, tested.test.images[3]), 5)
    strongest_atom = np.abs(shares).argmax()
    np.testing.assert_array_equal(tiles[0].atom, tested.model.network_.dictionaries[0][strongest_atom])
    assert signed(shares[strongest_atom], 4) in tiles[0].caption
    fired = evidence.fired_by(int(strongest_atom))
    own = np.where(evidence.atoms == strongest_atom, evidence.shares, 0).sum(axis=1)
    assert set(fired) == set(np.flatnonzero(own))
    assert abs(own[fired[0]]) == np.abs(own).max()


def test_nearest_patches_are_nearest_and_of_different_images(tested: Case) -> None:
    atoms = tested.model.network_.dictionaries[0][:2]
    (first, *_), _ = nearest_patches(tested.model, tested.train.images, atoms)
    found = []
    for image in tested.train.images:
        values, positions, _, sizes = tested.model.descriptor_.transform(image)
        distances = np.linalg.norm(values - atoms[0], axis=1)
        best = distances.argmin()
        found.append((distances[best], patch(seen(tested.model, image), positions[best], int(sizes[best]))))
    np.testing.assert_array_equal(first, min(found, key=lambda each: each[0])[1])


def test_many_atoms_are_capped_and_the_title_says_so(tested: Case) -> None:
    first, second, third = layers(tested.model, most=8)
    assert first.title == "Layer 1: 8 of 16 atoms, those that weigh most"
    assert "4 of 6 atoms, those most shared" in second.title
    assert "all 3 atoms" in third.title
    assert len(set(heaviest(tested.model, 16))) == 16


def test_patches_at_the_border_show_the_black_beyond_it() -> None:
    assert patch(np.ones((20, 20)), np.array([7.5, 7.5]), 16).shape == (20, 20)
    assert patch(np.ones((20, 20)), np.array([7.5, 7.5]), 16)[:2].max() == 0


def test_no_evidence_leaves_the_image_grey() -> None:
    painted = overlay(np.full((4, 4), 0.5), np.zeros((4, 4)), 0.0)
    assert np.ptp(painted, axis=2).max() == 0


def test_an_unknown_format_is_refused_before_anything_is_written(tested: Case, tmp_path: Path) -> None:
    with pytest.raises(DDLCNError, match=r"can't draw \.docx; name a file in .*png"):
        save_figure(draw_atoms(tested.model), tmp_path / "atoms.docx")
    assert not list(tmp_path.iterdir())


def test_deeper_atoms_come_with_those_that_share_them(tested: Case) -> None:
    network = tested.model.network_
    for depth, table in ((1, network.tables[0]), (2, network.tables[0] @ network.tables[1])):
        found = shared(tested.model, depth, 3)
        assert [k for k, _ in found] == np.argsort(-(table**2).sum(axis=0), kind="stable")[:3].tolist()
        for k, users in found:
            weights = [weight for _, weight in users]
            assert weights == [table[j, k] for j, _ in users]
            assert 1 <= len(users) <= 4
            assert abs(weights[0]) == np.abs(table[:, k]).max()
            assert min(map(abs, weights)) >= 0.005
