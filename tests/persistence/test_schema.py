"""The schema of model files: closed, with bounds for every number."""

import copy

import pytest

from ddlcn.layers.part import Part
from ddlcn.persistence import schema
from ddlcn.persistence.schema import Tensor
from tests.persistence.container import parts

HOSTILE = (1e305, -1e305, float("nan"), float("inf"), 10**400, -(10**39), "a\x1b[2J", {}, [[]], [None] * 2000)


@pytest.fixture(scope="module")
def file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "m.ddlcn"
    model.save(path)
    claims, description, _ = parts(path.read_bytes())
    return description, {name: Tensor(each["dtype"], tuple(each["shape"])) for name, each in claims.items()}


@pytest.fixture
def description(file):
    return copy.deepcopy(file[0])


@pytest.fixture
def tensors(file):
    return dict(file[1])


def places(node, where=()):
    """All places in a description: keys of objects and numbers of items."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in pairs:
        yield *where, key
        yield from places(value, (*where, key))


def at(description, where):
    for key in where[:-1]:
        description = description[key]
    return description


def test_trained_model_is_valid(description, tensors):
    schema.check(description, tensors)
    assert schema.parse(schema.canonical(description)) == description


def test_hostile_values_anywhere(description, tensors):
    for where in places(description):
        for value in HOSTILE:
            hostile = copy.deepcopy(description)
            at(hostile, where)[where[-1]] = value
            if where[0] == "classes" and isinstance(value, str):
                continue  # any text may be a label
            with pytest.raises((ValueError, TypeError, OverflowError)):
                schema.check(hostile, tensors)


def test_missing_and_unknown_keys_anywhere(description, tensors):
    for where in places(description):
        if isinstance(at(description, where), dict):
            kind = Part.kinds.get(at(description, where).get("kind"), Part)
            later = where[-1] in (*kind.later, *schema.RECORD)  # may be missing
            for change in (lambda node, key: node.pop(key), lambda node, _: node.update(work_folder="/tmp")):
                changed = copy.deepcopy(description)
                change(at(changed, where), where[-1])
                if later and where[-1] not in at(changed, where):
                    continue
                with pytest.raises(ValueError, match=r"missing or unknown|is invalid"):
                    schema.check(changed, tensors)


def test_record_of_a_training(description, tensors):
    description["training"]["test"] = {"accuracy": 0.5, "n_images": 8}
    schema.check(description, tensors)
    for name in schema.RECORD:
        del description["training"][name]
    schema.check(description, tensors)


def test_every_part_has_rules():
    for name, part in Part.kinds.items():
        if part.role and part.__module__.startswith("ddlcn."):
            assert set(part().get_params()) == set(part.rules), name


CHANGES = {
    "no channels": lambda d: d.update(channels=[], weights=[]),
    "channel twice": lambda d: d["channels"][1].update(name="sift"),
    "weight missing": lambda d: d["weights"].pop(),
    "no coder": lambda d: d["channels"][0].update(coder=None),
    "other layers": lambda d: d["channels"][0]["dictionary"].update(deeper_atoms=[4, 4]),
    "own dictionary": lambda d: d["channels"][1].update(dictionary="sift_grid"),
    "patch larger than image": lambda d: d["channels"][0]["descriptor"].update(max_side=20),
    "cells": lambda d: d["channels"][0]["pooling"].update(levels=[1000] * 2),
    "one class": lambda d: d.update(classes=["one"]),
    "class twice": lambda d: d.update(classes=["one", "one", "two"]),
    "classes unsorted": lambda d: d["classes"].reverse(),
    "classes cut": lambda d: d.update(classes_dtype="<U2"),
    "classes of objects": lambda d: d.update(classes_dtype="|O"),
    "fractions as integers": lambda d: d.update(classes=[0.5, 1.5, 2.5], classes_dtype="<i8"),
    "empty range": lambda d: d.update(value_range=[1.0, 1.0]),
    "counts of classes": lambda d: d["training"]["class_counts"].pop(),
    "counts of images": lambda d: d["training"].update(n_train=1000),
    "no date": lambda d: d["training"].update(created="yesterday"),
    "no accuracy": lambda d: d["training"].update(test={"accuracy": 1.5, "n_images": 3}),
    "two choices": lambda d: d.update(selection=[row for row in d["selection"] for _ in (1, 2)]),
    "no choice": lambda d: d.update(selection=[row | {"chosen": False} for row in d["selection"]]),
    "setting without a name": lambda d: d["selection"][0].update(setting=""),
    "error without a gain": lambda d: d["selection"][0].update(mean_gain=None, standard_error=1.0),
    "name of tensors": lambda d: d["channels"][1].update(name="calibration"),
    "duality gaps": lambda d: d["svm"]["duality_gap"].pop(),
}


@pytest.mark.parametrize("name", CHANGES)
def test_invalid_descriptions(description, tensors, name):
    CHANGES[name](description)
    with pytest.raises((ValueError, TypeError)):
        schema.check(description, tensors)


TENSORS = {
    "missing": lambda t: t.pop("svm.intercept"),
    "more": lambda t: t.update({"sift.dictionary.2": t["sift.dictionary.1"]}),
    "narrow": lambda t: t.update({"sift.dictionary.0": Tensor("F32", (9, 64))}),
    "empty": lambda t: t.update({"sift.dictionary.0": Tensor("F32", (0, 128))}),
    "precision": lambda t: t.update({"sift.dictionary.0": Tensor("F16", (9, 128))}),
    "atom classes": lambda t: t.update({"sift.atom_classes": Tensor("I32", (8,))}),
    "long calibration": lambda t: t.update({"calibration.own": Tensor("F32", (1 << 17,))}),
    "half a calibration": lambda t: t.pop("calibration.mean"),
    "high": lambda t: t.update({"svm.coef": Tensor("F32", (4, t["svm.coef"].shape[1]))}),
    "integers": lambda t: t.update({"svm.intercept": Tensor("I32", (3,))}),
}


def test_calibration_of_the_first_files(description, tensors):
    """One fact for each channel and one for scores."""
    n = len(description["channels"]) + 1
    fewer = {"mean": (n,), "deviation": (n,), "whitening": (n, n)}
    schema.check(description, tensors | {f"calibration.{name}": Tensor("F32", shape) for name, shape in fewer.items()})


@pytest.mark.parametrize("name", TENSORS)
def test_invalid_tensors(description, tensors, name):
    TENSORS[name](tensors)
    with pytest.raises(ValueError, match=r"tensors|dictionar|type or shape|invalid shape"):
        schema.check(description, tensors)


def grow(description, tensors, n_atoms, deeper):
    """Dictionaries of other sizes, in the description and in the tensors."""
    description["channels"][0]["dictionary"]["deeper_atoms"] = [deeper]
    for name in ("sift.dictionary.1", "sift_grid.dictionary.0"):
        tensors[name] = Tensor("F32", (deeper, 128))
    tensors["sift.dictionary.0"] = Tensor("F32", (n_atoms, 128))
    tensors["sift.atom_classes"] = Tensor("I32", (n_atoms,))
    tensors["svm.coef"] = Tensor("F32", (3, 85 * 2 * n_atoms + 256 * deeper))


@pytest.mark.parametrize(
    ("n_atoms", "deeper", "neighbors", "problem"),
    [(900, 600, 512, "too long"), (1 << 14, 1 << 14, 10, "too large"), (1 << 14, 64, 513, "n_neighbors is invalid")],
)
def test_implied_work(description, tensors, n_atoms, deeper, neighbors, problem):
    grow(description, tensors, n_atoms, deeper)
    schema.check(description, tensors) if problem != "too large" else None
    for coder in ("coder", "deeper_coder"):
        description["channels"][0][coder]["n_neighbors"] = neighbors
    with pytest.raises(ValueError, match=problem):
        schema.check(description, tensors)


def test_owner_of_dictionaries_left_out(description, tensors):
    description |= {"channels": description["channels"][1:], "weights": [1.0]}
    kept = {name: tensors[name] for name in ("svm.intercept", "sift_grid.dictionary.0")}
    schema.check(description, kept | {"svm.coef": Tensor("F32", (3, 4 * 256))})


def test_memory_of_labels(description):
    description |= {"classes": [f"{n:05}" for n in range(99_999)], "classes_dtype": "<U9999"}
    with pytest.raises(ValueError, match="too long"):
        schema.labels(description)
