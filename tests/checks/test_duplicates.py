"""Duplicates, found by a tree as they would be by comparing all pairs."""

import numpy as np
import pytest

from ddlcn.checks import ImageFacts, find_duplicates, image_facts
from ddlcn.checks.duplicates import similar_pairs


def scenes(n: int, seed: int = 0) -> np.ndarray:
    """Smooth pictures."""
    rng = np.random.default_rng(seed)
    return np.kron(rng.random((n, 4, 4)), np.ones((1, 16, 16)))


@pytest.fixture
def prints() -> np.ndarray:
    """Fingerprints, of which some are close to others and one is of a uniform image."""
    rng = np.random.default_rng(0)
    base = scenes(60)
    near = base[:30] + rng.normal(0, 0.02, base[:30].shape) * rng.random((30, 1, 1))
    return image_facts([*base, *near, np.full((8, 8), 0.5)]).fingerprints


@pytest.mark.parametrize("similar", [0.99, 0.999])
@pytest.mark.parametrize("flip", [False, True])
def test_pairs_are_those_of_all_comparisons(prints: np.ndarray, similar: float, flip: bool) -> None:
    others = prints.reshape(-1, 32, 32)[:, :, ::-1].reshape(prints.shape) if flip else prints
    cosines = prints @ others.T
    pairs = similar_pairs(prints, prints, similar, flip)
    assert set(zip(pairs.first, pairs.second, strict=True)) == set(zip(*np.nonzero(cosines >= similar), strict=True))
    np.testing.assert_allclose(pairs.similarity, np.minimum(cosines[pairs.first, pairs.second], 1), atol=1e-5)
    if not flip:
        assert len(pairs.first) > len(prints)


def test_groups() -> None:
    first, second, third = scenes(3)
    images = [first, second, first, 0.5 + 0.4 * second, third, second[:, ::-1], np.zeros((9, 9)), np.zeros((9, 9))]
    found = find_duplicates(image_facts(images))
    assert found.group.tolist() == [1, 2, 1, 2, 0, 2, 3, 3]  # brighter, mirrored, and two uniform images
    assert found.is_exact.tolist() == [True, False, True, False, False, False, True, True]
    assert found.score[0] == 1
    assert found.score[1] >= 0.999
    assert found.score[4] == 0
    assert [rows.tolist() for rows in found.members()] == [[0, 2], [1, 3, 5], [6, 7]]


def test_many_equal_images_do_not_hide_others() -> None:
    first, second = scenes(2)
    found = find_duplicates(image_facts([first] * 50 + [second, 0.9 * second, 0.5 * first + 0.1]))
    assert found.group.tolist() == [1] * 50 + [2, 2, 1]


def test_no_images_alike() -> None:
    found = find_duplicates(image_facts(scenes(5)))
    assert not found.group.any()
    assert found.members() == []


def test_only_uniform_images() -> None:
    facts = ImageFacts(np.zeros((2, 1024), np.float32), np.array(["a", "b"]), np.zeros(2), np.zeros(2, bool))
    assert find_duplicates(facts).group.tolist() == [0, 0]
