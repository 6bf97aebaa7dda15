"""Model files: what comes back is what was saved, and nothing else is believed."""

import json
import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file, save_file
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, DDLCNError, DenseSIFT, ModelFileError, model_file

DIGITS = load_digits()
IMAGES, LABELS = DIGITS.images[:120], DIGITS.target[:120]


def fitted(**changes):
    settings = {"atoms_per_class": 2, "deeper_atoms": (8,)} | changes
    return DDLCNClassifier(**settings).fit(IMAGES, LABELS)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "digits.ddlcn"
    model.save(path)
    return path


def rewrite(path, change_header=None, change_tensors=None):
    """Change what a file claims, keeping it a good safetensors file."""
    from safetensors import safe_open

    tensors = load_file(path)
    with safe_open(path, framework="np") as file:
        header = json.loads(file.metadata()["ddlcn"])
    if change_header:
        change_header(header)
    if change_tensors:
        change_tensors(tensors)
    save_file(tensors, path, {"ddlcn": json.dumps(header)})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"coder": "llc", "preset": "paper"},
        {"deeper_atoms": (), "C": 3.0},
        {"deeper_atoms": (8, 4), "expand": True},
        {"deeper_atoms": (8, 4), "deep": 0.5},
        {"descriptor": DenseSIFT(patch_size=(12, 16), step=5), "pyramid": (1, 3)},
        {"descriptor": DenseSIFT(patch_size=12, density=1.5, upright=(0.25, 0.2))},
    ],
)
def test_loaded_models_answer_identically(tmp_path, changes):
    model = fitted(**changes)
    model.save(tmp_path / "m.ddlcn")
    again = DDLCNClassifier.load(tmp_path / "m.ddlcn")
    assert_array_equal(again.decision_function(IMAGES), model.decision_function(IMAGES))
    assert_array_equal(again.predict_proba(IMAGES), model.predict_proba(IMAGES))
    assert str(again.get_params()) == str(model.get_params())


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1, 3]])
def test_labels_keep_their_type(tmp_path, labels):
    wanted = np.array(labels)[LABELS % 2]
    model = DDLCNClassifier(atoms_per_class=2).fit(IMAGES, wanted)
    model.save(tmp_path / "m.ddlcn")
    again = DDLCNClassifier.load(tmp_path / "m.ddlcn")
    assert again.predict(IMAGES).dtype == wanted.dtype
    assert_array_equal(again.predict(IMAGES), model.predict(IMAGES))


def test_rows_of_a_matrix_survive(tmp_path):
    rows = IMAGES.reshape(len(IMAGES), -1)
    model = DDLCNClassifier(atoms_per_class=2, image_shape=(8, 8)).fit(rows, LABELS)
    model.save(tmp_path / "m.ddlcn")
    assert_array_equal(DDLCNClassifier.load(tmp_path / "m.ddlcn").predict(rows), model.predict(rows))


@pytest.mark.parametrize("keep", [0, 1, 7, 8, 100, 0.5, 0.999])
def test_truncated_files(saved, keep):
    content = saved.read_bytes()
    saved.write_bytes(content[: keep if isinstance(keep, int) else int(keep * len(content))])
    with pytest.raises(ModelFileError, match=r"digits\.ddlcn.*train it anew"):
        DDLCNClassifier.load(saved)


@pytest.mark.parametrize("content", [b"not a model", b"\x80\x04\x95pickle", b"{}" * 50, b"\xff" * 64])
def test_foreign_files(tmp_path, content):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="no ddlcn model"):
        DDLCNClassifier.load(path)


def test_foreign_safetensors_missing_files_and_folders(tmp_path):
    save_file({"x": np.zeros(3)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelFileError, match="no ddlcn model"):
        DDLCNClassifier.load(tmp_path / "other.safetensors")
    with pytest.raises(ModelFileError, match="does not exist"):
        DDLCNClassifier.load(tmp_path / "nowhere")
    with pytest.raises(ModelFileError):
        DDLCNClassifier.load(tmp_path)


@pytest.mark.parametrize(("step", "remedy"), [(1, "upgrade ddlcn"), (-1, "train it anew")])
def test_other_formats_say_what_to_do(saved, step, remedy):
    rewrite(saved, lambda header: header.update(format=model_file.FORMAT + step))
    with pytest.raises(ModelFileError, match=remedy):
        DDLCNClassifier.load(saved)


HEADERS = {
    "no coders": lambda h: h.update(coders=[]),
    "unknown coder": lambda h: h["coders"][0].update(kind="os.system"),
    "strange argument": lambda h: h["coders"][0].update(evil=1),
    "unknown parameter": lambda h: h["params"].update(evil=1),
    "no descriptor": lambda h: h.pop("descriptor"),
    "negative step": lambda h: h["descriptor"].update(step=-6),
    "huge pyramid": lambda h: h.update(pyramid=[1, 2, 4, 100000]),
    "no levels": lambda h: h.update(pyramid=[]),
    "one class": lambda h: h.update(classes=["a"]),
    "classes twice": lambda h: h.update(classes=h["classes"][:1] * len(h["classes"])),
    "object classes": lambda h: h.update(classes_dtype="|O"),
    "classes nested": lambda h: h.update(classes=[[1]] * 10),
    "format text": lambda h: h.update(format="one"),
    "range reversed": lambda h: h.update(value_range=[1.0, 0.0]),
    "neighbours text": lambda h: h["coders"][0].update(n_neighbors="15"),
    "neighbours negative": lambda h: h["coders"][0].update(n_neighbors=-1),
    "deep channel negative": lambda h: h.update(deep=-1.0),
    "deep channel text": lambda h: h.update(deep="1"),
    "deep channel without weights": lambda h: h.update(deep=1.0 if not h["deep"] else 0),
    "search of nothing": lambda h: h.update(search=0),
    "search of more than all": lambda h: h.update(search=1.5),
    "search text": lambda h: h.update(search="0.1"),
    "search null": lambda h: h.update(search=None),
    "picked from none": lambda h: h.update(picked_from=0),
    "picked from a fraction": lambda h: h.update(picked_from=2.5),
    "picked from text": lambda h: h.update(picked_from="many"),
    "density zero": lambda h: h["descriptor"].update(density=0),
    "density huge": lambda h: h["descriptor"].update(density=1e9),
    "density null": lambda h: h["descriptor"].update(density=None),
    "upright of one": lambda h: h["descriptor"].update(upright=[0.2]),
    "upright of none": lambda h: h["descriptor"].update(upright=[0.2, 0.0]),
    "upright a word": lambda h: h["descriptor"].update(upright="cv"),
    "copies unknown": lambda h: h.update(copies="torn"),
    "scale NaN": lambda h: h["svm"].update(scale=float("nan")),
    "list": lambda h: h.clear(),
}
TENSORS = {
    "weights misshapen": lambda t: t.update({"svm.coef": t["svm.coef"][:, :-1].copy()}),
    "biases misshapen": lambda t: t.update({"svm.intercept": t["svm.intercept"][:-1].copy()}),
    "NaN": lambda t: t["dictionary.0"].__setitem__((0, 0), np.nan),
    "integers": lambda t: t.update({"dictionary.0": t["dictionary.0"].astype(np.int32)}),
    "dictionary missing": lambda t: t.pop("dictionary.0"),
    "dictionary narrow": lambda t: t.update({"dictionary.0": t["dictionary.0"][:, :64].copy()}),
    "one too many": lambda t: t.update({"dictionary.7": t["dictionary.0"].copy()}),
    "empty": lambda t: t.update({"dictionary.1": t["dictionary.1"][:0].copy()}),
}


def test_what_was_chosen_survives(model, saved):
    model = DDLCNClassifier.load(saved)
    assert (model.network_.search, model.picked_from_) == (0.1, None)
    model.picked_from_, model.copies_ = 60_000, "bent"
    model.descriptor_ = model.descriptor_.but(density=2.0, upright=(0.25, 0.125))
    model.network_.search = 0.25
    model.save(saved)
    again = DDLCNClassifier.load(saved)
    assert (again.network_.search, again.picked_from_, again.copies_) == (0.25, 60_000, "bent")
    assert again.descriptor_.get_params() == model.descriptor_.get_params()
    assert again.descriptor_.upright == (0.25, 0.125)
    assert again.descriptor is None
    assert_array_equal(again.decision_function(IMAGES[:20]), model.decision_function(IMAGES[:20]))


def test_older_files_do_not_say_what_was_not_known(model, saved):
    def forget(header):
        for name in ("search", "picked_from", "copies"):
            del header[name]
        for name in ("density", "upright"):
            del header["descriptor"][name]
        del header["params"]["upright"]

    rewrite(saved, forget)
    old = DDLCNClassifier.load(saved)
    assert (old.network_.search, old.picked_from_, old.copies_) == (1.0, None, "none")
    assert (old.descriptor_.density, old.descriptor_.upright, old.upright) == (1.0, None, None)
    assert_array_equal(old.decision_function(IMAGES), model.decision_function(IMAGES))


@pytest.mark.parametrize("name", HEADERS)
def test_headers_are_not_believed(saved, name):
    rewrite(saved, change_header=HEADERS[name])
    with pytest.raises(ModelFileError, match=r"digits\.ddlcn"):
        DDLCNClassifier.load(saved)


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_are_not_believed(saved, name):
    rewrite(saved, change_tensors=TENSORS[name])
    with pytest.raises(ModelFileError, match=r"digits\.ddlcn"):
        DDLCNClassifier.load(saved)


def test_a_failed_save_leaves_the_old_file_and_nothing_else(model, saved, monkeypatch):
    before = saved.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DDLCNError, match=r"No space left on device.*free some space"):
        model.save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_unwritable_places(model, tmp_path):
    with pytest.raises(DDLCNError, match="can't write"):
        model.save(tmp_path / "no" / "such" / "folder.ddlcn")
    with pytest.raises(DDLCNError, match="can't write"):
        model.save(tmp_path)


def test_the_same_training_gives_the_same_file(tmp_path):
    images, labels = np.random.default_rng(0).random((12, 20, 20)), np.repeat(["a", "b"], 6)
    for name in ("first", "again"):
        DDLCNClassifier(2, 2, (4,), preset="paper").fit(images, labels).save(tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "again").read_bytes()


def test_arrays_of_any_layout_survive(model, tmp_path):
    strange = fitted()
    strange.svm_.intercept_ = np.repeat(strange.svm_.intercept_, 2)[::2]
    strange.network_.dictionaries[0] = np.asfortranarray(strange.network_.dictionaries[0])
    strange.save(tmp_path / "strange")
    loaded = DDLCNClassifier.load(tmp_path / "strange")
    assert_array_equal(loaded.svm_.intercept_, model.svm_.intercept_)
    assert_array_equal(loaded.network_.dictionaries[0], model.network_.dictionaries[0])


def test_pipes_do_not_block(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="no regular file"):
        DDLCNClassifier.load(tmp_path / "pipe")


def test_the_literal_length_is_known_without_building_it(model):
    deep = fitted(deeper_atoms=(8, 4), expand=True)
    assert deep.network_.n_features == deep.transform(IMAGES[:1]).shape[1] == deep.svm_.coef_.shape[1]
