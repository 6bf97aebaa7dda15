"""Facts about images that need no model."""

from pathlib import Path

import numpy as np
from PIL import Image

from ddlcn.checks import image_facts


def test_digests_tell_colours_apart() -> None:
    """Also two whose grey is the same."""
    red, grey = np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4, 3), np.uint8)
    red[..., 0], grey[...] = 100, 30
    red[..., 1:] = 0
    facts = image_facts([red, grey, red.copy(), grey[..., 0]])
    assert facts.digests[0] == facts.digests[2] != facts.digests[1]
    assert facts.digests[1] == facts.digests[3]  # grey in one channel or in three


def test_files_and_arrays_have_equal_facts(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (20, 30, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    facts = image_facts([pixels, str(tmp_path / "a.png")])
    assert facts.digests[0] == facts.digests[1]
    np.testing.assert_array_equal(facts.fingerprints[0], facts.fingerprints[1])


def test_contrast_and_fingerprints() -> None:
    y = np.mgrid[:64, :64][0]
    facts = image_facts([np.where(y < 32, 0.0, 1.0), np.full((9, 9), 0.3)])
    np.testing.assert_allclose(facts.contrasts, [0.5, 0], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(facts.fingerprints, axis=1), [1, 0], atol=1e-6)


def test_value_range_and_threads() -> None:
    images = 10 * np.random.default_rng(0).random((40, 8, 8))
    one, many = (image_facts(images, (0, 10), n_jobs) for n_jobs in (1, 2))
    for a, b in zip(one, many, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(one.fingerprints, image_facts(images / 10).fingerprints, atol=1e-5)
