"""Model files: what comes back is what was saved, and nothing else is accepted."""

import json
import os
import random
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, ModelFileError, presets
from ddlcn.descriptors import backbone
from ddlcn.persistence import model_file, schema
from tests.helpers import quick_model, small_digits
from tests.persistence import make_golden
from tests.persistence.container import joined, parts, rewrite

DIGITS = load_digits()
IMAGES, LABELS = DIGITS.images[:40], DIGITS.target[:40]


def fitted(labels=LABELS, images=IMAGES, **params):
    return DDLCNClassifier("paper", atoms_per_class=1, deeper_atoms=(3,), **params).fit(images, labels)


def loads_alike(model, path, images=IMAGES):
    """Save and load a model; it must answer bit for bit as before and save to the same bytes."""
    model.save(path)
    loaded = DDLCNClassifier.load(path)
    assert_array_equal(loaded.decision_function(images), model.decision_function(images))
    assert_array_equal(loaded.predict_proba(images), model.predict_proba(images))
    again = path.with_name("again")
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    return loaded


def test_flat_colours_can_be_saved(tmp_path):
    """One number of their descriptors is zero but for rounding: it must not be whitened."""
    tints = np.array([[200, 100, 150], [90, 180, 135], [240, 20, 130]], np.uint8)  # blue is the mean of red and green
    images = np.full((24, 40, 40, 3), 255, np.uint8)
    for n, each in enumerate(images):
        each[5 : 20 + n % 8, 8:30] = tints[n % 3]
    model = DDLCNClassifier(atoms_per_class=2, deeper_atoms=(3,)).fit(images, np.arange(24) % 3)
    assert "covariance" in [channel.name for channel in model.encoder_.channels]
    loads_alike(model, tmp_path / "m", images)


def test_covariance_of_a_file_without_side(tmp_path):
    """Files of before do not have it: the whole image is one cell."""
    images, y = small_digits(12, 2)
    *_, covariance, _ = presets.best().channels
    model = quick_model(channels=[covariance.with_params(weight=1.0)]).fit(images, y)
    model.save(tmp_path / "m")
    rewrite(tmp_path / "m", lambda description: description["channels"][0]["pooling"].pop("side"))
    assert_array_equal(DDLCNClassifier.load(tmp_path / "m").decision_function(images), model.decision_function(images))


def test_clone_of_loaded_model_trains_the_same(model, saved, tmp_path, monkeypatch):
    loaded, (X, y) = DDLCNClassifier.load(saved), make_golden.images()
    assert (loaded.deskew, loaded.augmentation, loaded.C) == (True, "flip", model.svm_.C_)
    assert (loaded.work_folder, loaded.n_jobs, loaded.random_state) == (None, None, 0)
    assert loaded.selection_ == model.selection_
    assert [channel.weight for channel in loaded.channels] == [1.0, 0.5]
    assert loaded.get_params()["sift__coder__beta"] == 0.05
    monkeypatch.chdir(tmp_path)
    again = clone(loaded).fit(X[:40], y[:40])
    assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-12)
    assert os.listdir() == [saved.name]


@pytest.mark.parametrize(("given", "kept"), [(None, None), ("balanced", "balanced"), ({1: 4}, {0: 1.0, 1: 4})])
def test_class_weight_survives(tmp_path, given, kept):
    assert loads_alike(fitted(LABELS % 2, class_weight=given), tmp_path / "m").class_weight == kept


@pytest.mark.parametrize(
    "labels", [["no", "yes", "käfer"], [False, True], [-1, 3, 7], [1.0, 2.0], np.array(["no", "yes"], dtype=object)]
)
def test_labels_keep_their_type(tmp_path, labels):
    model = fitted(np.sort(labels)[LABELS % len(labels)])
    found = loads_alike(model, tmp_path / "m").predict(IMAGES)
    assert found.dtype == np.array(list(labels)).dtype
    assert (found == np.sort(labels)[LABELS % len(labels)]).mean() > 0.6


def test_rows_of_a_matrix(tmp_path):
    rows = IMAGES.reshape(len(IMAGES), -1)
    loaded = loads_alike(fitted(images=rows, image_shape=(8, -1)), tmp_path / "m", rows)
    assert (loaded.image_shape, loaded.n_features_in_) == ((8, -1), 64)


def test_extended_model(tmp_path):
    old = LABELS > 0
    model = fitted(LABELS[old], IMAGES[old], work_folder=tmp_path / "work").extend(IMAGES[~old], LABELS[~old])
    loaded = loads_alike(model, tmp_path / "m")
    assert loaded.encoder_["sift"].atom_classes.tolist() == list(range(1, 10))


def test_no_paths_or_settings_of_the_machine(tmp_path):
    model = fitted(work_folder=tmp_path / "secret", n_jobs=2, random_state=12345)
    model.save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    assert not any(word in content for word in (b"secret", b"n_jobs", b"12345", b"work"))


# ------------------------------------------------------------------------------------------- damaged, foreign


def refused(path, match):
    """Return the one line that a file is refused with."""
    with pytest.raises(ModelFileError, match=match) as caught:
        DDLCNClassifier.load(path)
    line = str(caught.value)
    assert path.name in line
    assert line.isprintable()
    return line


def test_every_bit_counts(saved):
    content, rng = saved.read_bytes(), random.Random(0)
    n_header = 8 + int.from_bytes(content[:8], "little")
    bits = {*range(72), *(8 * n_header - 1 - n for n in range(80))}  # header length, start and end of the header
    bits |= {rng.randrange(8 * n_header) for _ in range(300)} | {rng.randrange(8 * len(content)) for _ in range(300)}
    for bit in bits:
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        saved.write_bytes(flipped)
        with pytest.raises(ModelFileError):
            DDLCNClassifier.load(saved)
    for cut in (content[:length] for length in (0, 1, 7, 8, 100, len(content) // 2, len(content) - 1)):
        saved.write_bytes(cut)
        refused(saved, "train it again")
    saved.write_bytes(content + b"\0")
    refused(saved, "train it again")


def test_places_without_a_model(tmp_path):
    save_file({"x": np.zeros(3)}, tmp_path / "other")
    refused(tmp_path / "other", "no ddlcn model: give one made by")
    refused(tmp_path / "nowhere", "does not exist: check the path")
    refused(tmp_path, "is no regular file: give a model")
    for content in (b"not a model", b"\x80\x04\x95pickle", b"{}" * 50, b"\xff" * 64):
        (tmp_path / "foreign").write_bytes(content)
        refused(tmp_path / "foreign", "no ddlcn model")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "no regular file")  # and it does not block


@pytest.mark.parametrize(
    ("version", "line"), [(1, "older.*: train it again"), (2, "older.*: train it again"), (4, "newer.*: upgrade ddlcn")]
)
def test_other_formats(saved, version, line):
    rewrite(saved, lambda description: description.update(format=version, calibration={}))
    refused(saved, f"has format {version}, {line}$")
    assert model_file.read_format(saved) == version


# -------------------------------------------------------------------------------------------- made to harm


def test_description_is_checked(saved):
    rewrite(saved, lambda description: description["training"].update(work_folder="ftp://localhost/"))
    refused(saved, r"missing or unknown.*: train it again")


@pytest.mark.parametrize(
    ("tensor", "number"),
    [
        ("sift.dictionary.0", np.float32(np.nan)),
        ("sift_grid.dictionary.0", np.float32(2e4)),
        ("svm.coef", np.float32(-np.inf)),
        ("svm.intercept", np.float64(1e16)),
        ("sift.atom_classes", np.int32(3)),
        ("sift.atom_classes", np.int32(-1)),
        ("calibration.classes", np.int32(3)),
        ("calibration.own", np.float32(2)),
        ("calibration.deviation", np.float32(0)),
        ("calibration.mean", np.float32(np.nan)),
        ("calibration.usual", np.float32(0)),
    ],
)
def test_numbers_in_tensors(saved, tensor, number):
    claims, description, body = parts(saved.read_bytes())
    at = claims[tensor]["data_offsets"][0]
    body = body[:at] + number.tobytes() + body[at + number.nbytes :]
    saved.write_bytes(joined(claims, description, body))
    refused(saved, f"{tensor} has invalid numbers")


def test_coefficients_of_other_length(saved):
    claims, description, body = parts(saved.read_bytes())
    claims["svm.coef"]["shape"][1] += 1
    claims["svm.coef"]["data_offsets"][1] += 12
    saved.write_bytes(joined(claims, description, body + bytes(12)))
    refused(saved, "svm.coef does not fit the dictionaries")


@pytest.mark.parametrize("path", sorted(make_golden.FOLDER.glob("*.ddlcn")), ids=lambda path: path.stem)
def test_golden_file(path):
    model, answers = DDLCNClassifier.load(path), json.loads(path.with_suffix(".json").read_text())
    calibrated = "unknown" in answers
    X = make_golden.new_images() if calibrated else make_golden.images()[0][40:]
    assert model.predict(X).tolist() == answers["labels"]
    assert_allclose(model.decision_function(X), answers["scores"], atol=1e-4)
    if calibrated:
        assert model.is_unknown(X, make_golden.FALSE_ALARMS).tolist() == answers["unknown"]
        assert model.is_unknown(X[-4:], make_golden.FALSE_ALARMS).all()  # an empty image and noise


@pytest.mark.parametrize("kind", ["", "-calibrated"])
def test_present_format_has_golden_files(kind):
    assert (make_golden.FOLDER / f"format{schema.FORMAT}{kind}.ddlcn").exists()


def test_network_that_is_not_on_this_machine(tmp_path, monkeypatch):
    """One line names the remedy, and the file is not called damaged."""
    pytest.importorskip("onnxruntime", reason="needs the extra backbone")
    channel = presets.paper("efficientnet-lite0").channels[-1]
    model = DDLCNClassifier(channels=[channel.with_params(weight=1.0)], augmentation="none").fit(
        IMAGES[:20], LABELS[:20]
    )
    assert "efficientnet-lite0" in loads_alike(model, tmp_path / "m").encoder_.channels[0].descriptor.network
    monkeypatch.setattr(backbone, "_opened", {})
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    message = r"m' can't be used here: network 'efficientnet-lite0': .* run pip install 'ddlcn\[backbone\]'"
    with pytest.raises(ModelFileError, match=message):
        DDLCNClassifier.load(tmp_path / "m")
