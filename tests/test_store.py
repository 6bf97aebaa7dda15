"""Finished work: kept whole, found again, never mistaken; and models that grow by it."""

import os
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, DDLCNError, DenseSIFT, units
from ddlcn.store import Shared, Store, fingerprint

SMALL = {"atoms_per_class": 2, "deeper_atoms": (4,), "preset": "paper"}


@pytest.fixture(scope="module")
def digits():
    data = load_digits()
    rows = np.concatenate([np.flatnonzero(data.target == c)[:12] for c in range(4)])
    return data.images[rows], data.target[rows]


@pytest.fixture(scope="module")
def whole(digits):
    return DDLCNClassifier(**SMALL).fit(*digits)


def check_same(model, other):
    for ours, theirs in zip(model.network_.dictionaries, other.network_.dictionaries, strict=True):
        assert_array_equal(ours, theirs)
    assert_array_equal(model.svm_.coef_, other.svm_.coef_)
    assert_array_equal(model.classes_, other.classes_)


def kinds(store):
    names = [name.split("-")[0] for name in Store(store).names()]
    return {kind: names.count(kind) for kind in set(names)}


def test_nothing_is_written_unless_asked(digits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    DDLCNClassifier(**SMALL).fit(*digits).predict(digits[0][:2])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("address", ["{}/store", "file://{}/store", "memory://store-of-tests"])
def test_same_model_and_work_is_done_once(digits, whole, tmp_path, monkeypatch, address):
    store = address.format(tmp_path)
    check_same(DDLCNClassifier(**SMALL, store=store).fit(*digits), whole)
    assert kinds(store).items() >= {"dictionary": 4, "rows": 2}.items()
    monkeypatch.setattr("ddlcn.store.finish_unit", None)
    check_same(DDLCNClassifier(**SMALL, store=store, n_jobs=2).fit(*digits), whole)
    with pytest.raises(TypeError):  # another seed: nothing is shared
        DDLCNClassifier(**SMALL, store=store, random_state=1).fit(*digits)


def test_other_settings_share_what_they_can(digits, tmp_path):
    first = DDLCNClassifier(**SMALL, store=tmp_path / "s").fit(*digits)
    before = kinds(tmp_path / "s")
    DDLCNClassifier(**SMALL, store=tmp_path / "s", C=3.0).fit(*digits)
    assert {**before, "svm": 0, "training": 0} == {**kinds(tmp_path / "s"), "svm": 0, "training": 0}
    DDLCNClassifier(**SMALL, store=tmp_path / "s", beta=0.2).fit(*digits)
    assert kinds(tmp_path / "s")["dictionary"] == before["dictionary"]
    assert kinds(tmp_path / "s")["rows"] == 2 * before["rows"]
    assert first.get_params()["store"] == tmp_path / "s"


def test_a_changed_file_is_another_file(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(np.zeros((20, 20), np.uint8)).save(path)
    before = fingerprint(path)
    assert before == fingerprint(path)
    Image.fromarray(np.eye(20, dtype=np.uint8)).save(path)
    os.utime(path, ns=(1, 1))
    assert fingerprint(path) != before
    with pytest.raises(DDLCNError, match="check the path"):
        fingerprint(tmp_path / "none.png")


def test_fingerprints_tell_apart():
    values = [
        1,
        1.0,
        True,
        "1",
        None,
        (1, 2),
        (12,),
        ((1,), 2),
        np.zeros(2),
        np.zeros(2, np.float32),
        {"a": 1},
    ]
    values += [DenseSIFT(), DenseSIFT(step=7), np.zeros((2, 1)), Shared(np.sqrt, 1), Shared(np.sqrt, 2)]
    assert len({fingerprint(value) for value in values}) == len(values)
    with pytest.raises(TypeError):
        fingerprint(object())


def test_damaged_units_are_told(digits, tmp_path):
    DDLCNClassifier(**SMALL, store=tmp_path / "s").fit(*digits)
    name = next(name for name in os.listdir(tmp_path / "s") if name.startswith("dictionary"))
    (tmp_path / "s" / name).write_bytes(b"nonsense")
    with pytest.raises(DDLCNError, match=f"damaged unit '{name}'"):
        DDLCNClassifier(**SMALL, store=tmp_path / "s").fit(*digits)
    os.unlink(tmp_path / "s" / name)
    DDLCNClassifier(**SMALL, store=tmp_path / "s").fit(*digits)


def test_foreign_folders_are_left_alone(digits, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(DDLCNError, match=r"is no store but holds 'thesis\.txt'"):
        DDLCNClassifier(**SMALL, store=tmp_path).fit(*digits)
    with pytest.raises(DDLCNError, match="choose another"), Store(tmp_path / "thesis.txt").in_use():
        pass
    with pytest.raises(DDLCNError, match="nosuch"):
        Store("nosuch://place")


def test_no_half_unit_is_seen(tmp_path, monkeypatch):
    store = Store(tmp_path / "s")
    monkeypatch.setattr(
        os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(DDLCNError, match=r"No space left.*the same command; finished work is kept"):
        store.write("unit", np.zeros(9))
    assert store.names() == set()
    assert os.listdir(tmp_path / "s") == ["in-use"]


def test_the_last_one_out_removes(tmp_path):
    first, second = Store(tmp_path / "s"), Store(tmp_path / "s")
    with first.in_use():
        with second.in_use():
            second.write("unit", np.zeros(3))
            second.remove()
        assert "unit" in first
        first.remove()
    assert not (tmp_path / "s").exists()


def test_many_writers_of_one_unit(tmp_path):
    store, big = Store(tmp_path / "s"), np.arange(200_000)
    writers = [threading.Thread(target=store.write, args=("unit", big)) for _ in range(8)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    assert_array_equal(store.read("unit"), big)
    assert sorted(os.listdir(tmp_path / "s")) == ["in-use", "unit.safetensors"]


# -------------------------------------------------------------------------------------------------- growth


@pytest.mark.parametrize("old", ["images", "classes"])
def test_grown_is_the_old_dictionaries_and_an_svm_on_all(digits, tmp_path, monkeypatch, old):
    images, labels = digits
    known = labels < 3 if old == "classes" else np.arange(len(labels)) % 3 > 0
    model = DDLCNClassifier(**SMALL, store=tmp_path / "s").fit(images[known], labels[known])
    truth = DDLCNClassifier(**SMALL).learn(images[known], labels[known])
    everything = np.concatenate([images[known], images[~known]])
    truth.train(truth.transform(everything), np.concatenate([labels[known], labels[~known]]))
    model.save(tmp_path / "model")
    coded, code = [], units.code_images
    monkeypatch.setattr(units, "code_images", _counting(coded, code))
    for start in (model, DDLCNClassifier.load(tmp_path / "model").set_params(store=tmp_path / "s")):
        grown = start.grow(images[~known], labels[~known])
        check_same(grown, truth)
        assert grown.n_train_ == len(labels)
    assert sum(coded) == (~known).sum()  # and the second time none
    assert grown.score(images, labels) > 0.9


def _counting(seen, function):
    def counting(images, *rest):
        seen.append(len(images))
        return function(images, *rest)

    return counting


def test_fit_on_more_classes_learns_the_new_dictionary_alone(digits, whole, tmp_path):
    images, labels = digits
    known = labels < 3
    DDLCNClassifier(**SMALL, store=tmp_path / "s").fit(images[known], labels[known])
    check_same(DDLCNClassifier(**SMALL, store=tmp_path / "s").fit(images, labels), whole)
    assert kinds(tmp_path / "s")["dictionary"] == 4


def test_what_can_not_grow(digits, whole, tmp_path):
    with pytest.raises(DDLCNError, match="set store="):
        whole.grow(*digits)
    with pytest.raises(DDLCNError, match="does not hold the rows"):
        DDLCNClassifier(**SMALL).fit(*digits).set_params(store=tmp_path / "s").grow(*digits)
    model = DDLCNClassifier(**SMALL, store=tmp_path / "s").fit(*digits)
    with pytest.raises(DDLCNError, match="labels alike"):
        model.grow(digits[0], digits[1].astype(str))


def test_a_store_from_before_there_were_copies_grows(digits, tmp_path):
    images, labels = digits
    model = DDLCNClassifier(**SMALL, store=tmp_path / "s").fit(images[:40], labels[:40])
    store, name = Store(tmp_path / "s"), units._training(model.svm_)
    store.write(name, store.read(name)[:2])
    assert model.grow(images[40:], labels[40:]).n_train_ == len(labels)
