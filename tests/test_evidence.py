"""Evidence is exact: the shares of the patches and the bias add up to the score (design 2.5)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddlcn import DDLCNClassifier, DDLCNError, DenseSIFT
from ddlcn.evidence import Evidence


def some_images(
    seed: int, n_classes: int = 3, per_class: int = 3, colour: bool = False
) -> tuple[list[np.ndarray], np.ndarray]:
    """Noise with a bright bar, of several sizes; the bar's angle is the class. The last image is flat.

    In colour, bytes with three channels or four.
    """
    rng = np.random.default_rng(seed)
    images = []
    labels = np.repeat(np.arange(n_classes), per_class)
    for label in labels:
        height, width = rng.integers(14, 40, size=2)
        image = 0.3 * rng.random((height, width))
        image[:, width // 2] += label == 0
        image[height // 2] += label == 1
        images.append(np.clip(image, 0, 1))
    images[-1] = np.full((20, 30), 0.5)
    if colour:
        images = [
            (255 * image[..., None] * rng.random(3 + i % 2)).astype(np.uint8)
            for i, image in enumerate(images)
        ]
    return images, labels


def assert_adds_up(model: DDLCNClassifier, evidence: Evidence, column: int, image: np.ndarray) -> None:
    scores = model.decision_function([image])
    score = scores[0, column] if scores.ndim == 2 else (1 if column else -1) * scores[0]
    assert evidence.label == model.classes_[column]
    assert evidence.score == pytest.approx(score, abs=1e-5)
    assert evidence.bias + evidence.shares.sum() + evidence.deep.sum() == pytest.approx(score, abs=1e-5)
    assert evidence.bias + evidence.patches.sum() == pytest.approx(evidence.score, abs=1e-5)
    assert evidence.bias + evidence.map().sum() == pytest.approx(evidence.score, abs=1e-5)
    n_atoms = len(model.network_.dictionaries[0])
    assert evidence.by_atom(n_atoms).sum() == pytest.approx(evidence.shares.sum(), abs=1e-5)
    assert evidence.map().shape == evidence.descriptors.shape


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    preset=st.sampled_from(["best", "paper"]),
    n_classes=st.integers(2, 4),
    deeper=st.sampled_from([(), (5,), (5, 3)]),
    expand=st.booleans(),
    coder=st.sampled_from(["exact", "llc"]),
    patch_size=st.sampled_from([8, 12, (8, 13)]),
    step=st.integers(2, 7),
    min_channel=st.sampled_from([None, True, False]),
    power=st.sampled_from([None, 0.3, 1.0]),
    deep=st.sampled_from([0.0, 0.5, 2.0]),
    colour=st.booleans(),
)
def test_shares_and_bias_add_up_to_the_score(
    seed: int,
    preset: str,
    n_classes: int,
    deeper: tuple[int, ...],
    expand: bool,
    coder: str,
    patch_size: int | tuple[int, ...],
    step: int,
    min_channel: bool | None,
    power: float | None,
    deep: float,
    colour: bool,
) -> None:
    images, labels = some_images(seed, n_classes, colour=colour)
    model = DDLCNClassifier(
        atoms_per_class=3,
        deeper_atoms=deeper,
        neighbors=(5, 3),
        preset=preset,
        coder=coder,
        descriptor=DenseSIFT(patch_size=patch_size, step=step, contrast_threshold=0.1),
        min_channel=min_channel,
        power=power,
        deep=deep if deeper else 0.0,
        C=1.0,
        expand=expand,
    ).fit(images, labels)
    for image in (images[0], images[-1], np.zeros((9, 21)), some_images(seed + 1, colour=colour)[0][1]):
        for column, label in enumerate(model.classes_):
            assert_adds_up(model, model.explain(image, label), column, image)


@pytest.mark.parametrize("preset", ["best", "paper"])
def test_presets_as_they_are(preset: str) -> None:
    images, labels = some_images(7, n_classes=3, per_class=4)
    model = DDLCNClassifier(atoms_per_class=4, deeper_atoms=(6,), preset=preset).fit(images, labels)
    for column, label in enumerate(model.classes_):
        assert_adds_up(model, model.explain(images[1], label), column, images[1])


def test_the_predicted_class_is_explained_unless_another_is_asked_for() -> None:
    images, labels = some_images(3)
    model = DDLCNClassifier(atoms_per_class=3, deeper_atoms=()).fit(images, labels)
    assert model.explain(images[0]).label == model.predict([images[0]])[0]
    assert model.explain(images[0], 2).label == 2
    with pytest.raises(DDLCNError, match="'horse' is not a class of this model: it knows 0, 1, 2"):
        model.explain(images[0], "horse")


def test_two_classes_oppose_each_other() -> None:
    images, labels = some_images(3, n_classes=2)
    model = DDLCNClassifier(atoms_per_class=3, deeper_atoms=()).fit(images, labels)
    for_first, for_second = (model.explain(images[0], label) for label in (0, 1))
    np.testing.assert_array_equal(for_first.shares, -for_second.shares)
    assert for_first.score == -for_second.score


def test_rows_of_a_matrix_are_explained() -> None:
    rng = np.random.default_rng(0)
    matrix, labels = rng.random((12, 20 * 18)), np.repeat([0, 1, 2], 4)
    model = DDLCNClassifier(atoms_per_class=2, deeper_atoms=(), image_shape=(20, 18)).fit(matrix, labels)
    evidence = model.explain(matrix[0], 1)
    assert evidence.score == pytest.approx(model.decision_function(matrix[:1])[0, 1], abs=1e-5)
    assert evidence.bias + evidence.map().sum() == pytest.approx(evidence.score, abs=1e-5)
