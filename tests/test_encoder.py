"""ImageEncoder: rows of channels side by side, weights, descriptions, and what happens before an image is described."""

import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ddlcn import ImageEncoder
from ddlcn.preprocessing.augmentation import POLICIES, Augmentation
from ddlcn.preprocessing.deskew import deskew
from ddlcn.preprocessing.prepared import PreparedImage
from tests.helpers import CountingSIFT, counting_channels, quick_channels, quick_model


@pytest.fixture(scope="module")
def encoder(digits):
    """Of two channels, at weights 1 and 2."""
    return quick_model(channels=quick_channels(sift_grid__weight=2.0)).fit(*digits).encoder_


def test_row_is_weighted_blocks_side_by_side(digits, encoder):
    rows = encoder.transform(digits[0]).toarray()
    assert rows.shape == (48, encoder.n_features)
    assert encoder.weights == (1.0, 2.0)
    assert [own.stop - own.start for own in encoder.slices] == [channel.n_features for channel in encoder.channels]
    for channel, own, weight in zip(encoder.channels, encoder.slices, encoder.weights, strict=True):
        for row, image in zip(rows, digits[0], strict=True):
            (block,) = channel.blocks([encoder.describe(image)[channel.name]])
            assert_allclose(row[own][block.columns], block.values * weight / 5**0.5, rtol=1e-5)
            assert np.count_nonzero(row[own]) == len(block.columns)
    assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_images_of_several_sizes(encoder):
    """Encoded together, in batches of about 2,000 descriptors, or alone."""
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, rng.integers(5, 120, 2), dtype=np.uint8) for _ in range(30)]
    rows = encoder.transform(images).toarray()
    assert_array_equal(rows, np.vstack([encoder.transform([image]).toarray() for image in images]))


def test_each_descriptor_once_for_all_channels(digits):
    channels = counting_channels()
    other = channels[0].with_params(name="large", descriptor=CountingSIFT("b", min_side=48))
    encoder = quick_model(channels=[*channels, other]).fit(*digits)
    CountingSIFT.calls.clear()
    described = encoder.encoder_.describe(digits[0][0])
    assert CountingSIFT.calls == {"sift": 1, "b": 1}
    assert described["sift"] is described["sift_grid"]
    assert described["large"].shape == (48, 48)


def test_augmentation_comes_before_deskewing(digits, encoder):
    deskewing = ImageEncoder(encoder.channels, encoder.weights, encoder.value_range, (0.2, 0.2))
    change, image = POLICIES["affine"][5], digits[0][7]
    grey = PreparedImage(image / 16).grey((40, 40))
    assert_allclose(deskewing.working_image(image, (40, 40)), deskew(grey, (0.2, 0.2)), atol=1e-6)
    assert_allclose(encoder.working_image(image, (40, 40)), grey, atol=1e-6)
    in_colour = deskewing.working_image(image, (40, 40), colour=True)
    same_map = deskew(grey.clip(0, 1), (0.2, 0.2), grey)  # bytes are clipped; the moments are those of the grey image
    assert_allclose(in_colour, np.repeat(same_map[..., None], 3, axis=2), atol=0.1)
    found = deskewing.describe(image, change)["sift"]
    truth = encoder.channels[0].descriptor.describe(PreparedImage(image / 16, (0.0, 1.0), change, (0.2, 0.2)))
    assert_array_equal(
        PreparedImage(grey, (0.0, 1.0), change, (0.2, 0.2)).grey(), deskew(change.apply(grey), (0.2, 0.2))
    )
    assert_allclose(found.values, truth.values, atol=1e-5)
    rows = deskewing.transform([image, image], [change, Augmentation()]).toarray()
    assert_array_equal(rows[:1], deskewing.encode([deskewing.describe(image, change)]).toarray())
    assert_array_equal(rows[1:], deskewing.transform([image]).toarray())
    with pytest.raises(ValueError, match="shorter"):
        deskewing.transform([image, image], [change])


# ------------------------------------------------------------------------------------------------ weights


def test_weights_scale_the_blocks_of_a_row(digits, encoder):
    other = replace(encoder, weights=(3.0, 0.5))
    assert np.sum(np.square(other.scales)) == pytest.approx(1)
    equal, found = (each.transform(digits[0]).toarray() for each in (encoder, other))
    for own, before, after in zip(encoder.slices, encoder.scales, other.scales, strict=True):
        assert_allclose(found[:, own], equal[:, own] * after / before, rtol=1e-5)


# -------------------------------------------------------------------------------------------- description


def test_description_round_trip(digits, encoder):
    for each in (encoder, ImageEncoder(encoder.channels[:1], (1.0,), (0.0, 16.0), (0.2, 0.15))):
        again = ImageEncoder.from_dict(json.loads(json.dumps(each.to_dict())), each.arrays())
        assert again.to_dict() == each.to_dict()
        assert again.deskew == each.deskew
        assert again.arrays().keys() == each.arrays().keys()
        assert_array_equal(again.transform(digits[0]).toarray(), each.transform(digits[0]).toarray())


def test_arrays_and_renumbered_classes(encoder):
    shapes = {name: array.shape for name, array in encoder.arrays().items()}
    dictionaries = {
        f"{name}.dictionary.{n}": (k, 128) for name, n, k in (("sift", 0, 8), ("sift", 1, 6), ("sift_grid", 0, 6))
    }
    assert shapes == dictionaries | {"sift.atom_classes": (8,)}
    found = encoder.renumbered(np.array([2, 0, 5, 1]))
    assert_array_equal(found["sift"].atom_classes, np.repeat([2, 0, 5, 1], 2))
    assert_array_equal(encoder["sift"].atom_classes, np.repeat([0, 1, 2, 3], 2))
    with pytest.raises(KeyError):
        encoder["color"]
    with pytest.raises(FrozenInstanceError):
        encoder.weights = (1.0, 1.0)
