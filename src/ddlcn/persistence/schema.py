"""The description in a model file: a closed schema with bounds for every number.

A file may be damaged, or made to harm: by values of a wrong type, by small numbers that stand for great work or
memory, by numbers that are none. So each value has a rule here and nothing else is allowed; types and shapes of
tensors follow from the description, and are compared before a tensor is read. `ValueError` says what is invalid.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count, groupby, pairwise, takewhile
from typing import Any, NamedTuple

import numpy as np

from ddlcn.channel import MAX_WEIGHT, Channel
from ddlcn.conformal import sees_color, sees_whole_image
from ddlcn.layers.covariance import N_PLACE, LogCovariance
from ddlcn.layers.dictionary import DictionaryLearning
from ddlcn.layers.part import Part
from ddlcn.preprocessing.augmentation import POLICIES
from ddlcn.rules import COUNT, FLAG, NOTHING, Rule, list_of, number, one_of, text, whole

FORMAT = 3
MOST_WORK = 1e11  # of coding atoms over atoms, n k³: about a minute
MOST_ENTRIES = 1 << 26  # of tables of codes: 256 MB, and four times that while they are squared
MOST_CELLS = 1 << 20
MOST_CALIBRATION = 1 << 16  # images
MOST_CHARACTERS = 1 << 24  # of all labels, each as long as the longest: 64 MB
MOST_TEXT = 1 << 24  # characters of a description
FLOATS = ("F32", "F64")
RECORD = ("created", "version", "class_counts", "test")  # of a training; files of format 3 may lack them


class Tensor(NamedTuple):
    """Type and shape of a tensor, in the words of safetensors."""

    dtype: str
    shape: tuple[int, ...]


def canonical(description: Any) -> str:
    """Return the only text of a description: JSON with sorted names and finite numbers.

    >>> canonical({"b": 1.0, "a": np.int32(2)})
    '{"a":2,"b":1.0}'
    """
    return json.dumps(description, sort_keys=True, separators=(",", ":"), allow_nan=False, default=lambda x: x.item())


def parse(description: str) -> dict[str, Any]:
    """Return the description in a JSON text; only its format is checked."""
    expect(len(description) <= MOST_TEXT, "its description is too long")
    found = json.loads(description)
    expect(isinstance(found, dict), "its description is no object")
    expect(COUNT.holds(found.get("format")), "its format is no number")
    return found


def check(description: dict[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Raise ValueError if a description breaks the schema, or tensors have other types or shapes than it says."""
    DESCRIPTION.holds(description)
    n_classes, (low, high) = len(labels(description)), description["value_range"]
    counts = description["training"].get("class_counts")
    known = counts is None or (len(counts) == n_classes and sum(counts) == description["training"]["n_train"])
    expect(known, "training.class_counts does not fit the classes")
    n_scores = 1 if n_classes == 2 else n_classes
    expect(high - low >= 1e-30, "value_range is empty")
    expect(len(description["svm"]["duality_gap"]) == n_scores, "svm.duality_gap does not fit the classes")
    _check_selection(description["selection"])
    channels = [Channel.from_dict(each) for each in description["channels"]]
    atoms = {channel.name: _atoms(channel.name, tensors) for channel in channels}
    expect(len(atoms) == len(channels), "two channels have the same name")
    expect(len(description["weights"]) == len(channels), "weights do not fit the channels")
    columns = tensors["svm.coef"].shape[1:] if "svm.coef" in tensors else ()  # only the encoder knows their number
    shapes = {"svm.coef": (n_scores, *columns), "svm.intercept": (n_scores,)}
    wanted = {name: {Tensor(dtype, shape) for dtype in FLOATS} for name, shape in shapes.items()}
    for channel in channels:
        name, own = channel.name, atoms[channel.name]
        _check_channel(channel, own, atoms)
        given, reduced = channel.descriptor.n_features, getattr(channel.dictionary, "n_components", None)
        n_features = reduced or given
        for layer, n_atoms in enumerate(own):
            wanted[f"{name}.dictionary.{layer}"] = {Tensor("F32", (n_atoms, n_features))}
        if isinstance(channel.dictionary, DictionaryLearning):
            wanted[f"{name}.atom_classes"] = {Tensor("I32", (own[0],))}
        if reduced:
            wanted[f"{name}.projection.0"] = {Tensor("F32", (given,))}
            wanted[f"{name}.projection.1"] = {Tensor("F32", (n_features, given))}
        if isinstance(channel.pooling, LogCovariance):
            wanted[f"{name}.projection.0"] = {Tensor("F32", (channel.pooling.n_components, given + N_PLACE))}
    if "calibration.own" in tensors:  # files of before have none
        wanted |= _calibration(tensors, channels)
    expect(set(tensors) == set(wanted), f"its tensors are not {', '.join(sorted(wanted))}")
    for name, tensor in tensors.items():
        expect(tensor in wanted[name], f"type or shape of {name} does not fit the description")


def _calibration(tensors: Mapping[str, Tensor], channels: list[Channel]) -> dict[str, set[Tensor]]:
    """Tensors of the calibration by held-out images (see `conformal.image_facts`); the first files have fewer facts."""
    shape, mean = tensors["calibration.own"].shape, tensors.get("calibration.mean", Tensor("F32", ())).shape
    expect(len(shape) == 1 and 1 <= shape[0] <= MOST_CALIBRATION, "calibration has an invalid shape")
    n_facts = len(channels) + 1, sum(map(sees_whole_image, channels)), sum(map(sees_color, channels))
    expect(mean in {(sum(n_facts[:n]),) for n in (1, 2, 3)}, "calibration.mean has an invalid shape")
    overall = "expected" if "calibration.expected" in tensors else "largest"  # as in the first files
    shapes = {"own": shape, overall: shape, "mean": mean, "deviation": mean, "whitening": mean * 2, "usual": (1,)}
    found = {f"calibration.{name}": {Tensor("F32", each)} for name, each in shapes.items()}
    return found | {"calibration.classes": {Tensor("I32", shape)}}


def _check_selection(rows: list[dict[str, Any]]) -> None:
    """Raise unless each setting has one choice, and gains where it has errors."""
    for setting, tried in groupby(rows, key=lambda row: row["setting"]):
        found = list(tried)
        expect(sum(row["chosen"] for row in found) == 1, f"selection of {setting} has not one choice")
        gains = all(row["mean_gain"] is not None or row["standard_error"] is None for row in found)
        expect(gains, f"selection of {setting} has errors without gains")


def labels(description: Mapping[str, Any]) -> np.ndarray:
    """Return the classes; raise if they are not sorted, distinct, and of their type."""
    given, dtype = description["classes"], description["classes_dtype"]
    expect(len(given) * int(dtype[2:]) <= MOST_CHARACTERS, "classes are too long")
    found = np.array(given, dtype=dtype)
    expect(canonical(found.tolist()) == canonical(given), "classes are not of classes_dtype")
    expect(np.array_equal(np.unique(found), found), "classes are not distinct and sorted")
    return found


def _atoms(name: str, tensors: Mapping[str, Tensor]) -> list[int]:
    """Numbers of atoms in the dictionaries of a channel."""
    names = takewhile(tensors.__contains__, (f"{name}.dictionary.{layer}" for layer in count()))
    return [next(iter(tensors[each].shape), 0) for each in names]


def _check_channel(channel: Channel, own: list[int], atoms: Mapping[str, list[int]]) -> None:
    """Raise if dictionaries have other numbers of atoms than a channel says, or stand for too much work."""
    name, how, known = channel.name, channel.dictionary, list[int]()
    channel.check()
    if isinstance(how, DictionaryLearning):  # the first has some for each class that was there before `extend`
        known = [*(own[:1] or [0]), *how.deeper_atoms]
    elif how is not None:  # the deeper ones of a channel, which is left out of the file if its weight is zero
        known = atoms.get(how, [0, *own])[1:]
    expect(own == known and all(own), f"dictionaries of {name} do not fit the description")
    expect(own or channel.coder is None, f"{name} has no dictionary")
    expect(channel.pooling.n_cells <= MOST_CELLS, f"{name} has too many cells")
    neighbors = [getattr(coder, "n_neighbors", 0) for coder in (channel.coder, channel.deeper_coder)]
    pairs = list(pairwise(own)) if channel.deeper_coder else []
    expect(sum(n * m for n, m in pairs) <= MOST_ENTRIES, f"deeper dictionaries of {name} are too large")
    work = sum(n * min(neighbors[1], m) ** 3 for n, m in pairs)
    expect(work <= MOST_WORK, f"deeper codes of {name} would take too long")


# --------------------------------------------------------------------------------------------------- rules


def expect(holds: object, otherwise: str) -> None:
    """Raise ValueError with a text unless something holds."""
    if not holds:
        raise ValueError(otherwise)


def _record(names: str, later: tuple[str, ...] = ()) -> Rule:
    """An object with these values and no others, each by the rule of its name; those of `later` may be missing."""

    def follows(value: Any) -> bool:
        given = [name for name in later if isinstance(value, dict) and name in value]
        _check_record(value, {name: RULES[name] for name in (*names.split(), *given)})
        return True

    return Rule(follows, "an object")


def _part(role: str) -> Rule:
    """A part of a channel with a role, and with all parameters of its kind."""

    def follows(value: Any) -> bool:
        kind = Part.kinds.get(str(value.get("kind"))) if isinstance(value, dict) else None
        if kind is None or kind.role != role:
            return False
        defaults = kind().get_params()
        rules = {"kind": NAME} | {name: kind.rules[name] for name in defaults}
        _check_record({name: defaults[name] for name in kind.later} | value, rules)
        return True

    return Rule(follows, f"a {role}")


def _check_record(value: Any, rules: Mapping[str, Rule]) -> None:
    closed = isinstance(value, dict) and set(value) == set(rules)
    expect(closed, f"values are missing or unknown beside {' '.join(rules)}")
    for name, each in value.items():
        expect(rules[name].holds(each), f"{name} is invalid")


NAME, WORDS = text(r"[\w -]{1,64}"), text(r"[^\x00-\x1f\x7f-\x9f]{0,300}")
REAL = number(-1e9, 1e9)

_RULES: dict[str, Rule] = {  # by names, wherever they are in the description
    "format": one_of(FORMAT),
    "classes": list_of(FLAG | number(-1e300, 1e300) | text(".*"), 2, 1 << 24),
    "classes_dtype": text(r"\|b1|[<>|][iuf][1248]|[<>]U[1-9]\d{0,5}"),
    "value_range": list_of(number(-1e38, 1e38), 2, 2),
    "preprocessing": _record("deskew"),
    "deskew": NOTHING | list_of(number(1e-3, 1e4), 2, 2),
    "channels": list_of(_record("name descriptor coder pooling dictionary deeper_coder power"), 1, 16),
    "weights": list_of(number(1e-9, MAX_WEIGHT), 1, 16),
    "svm": _record("C scale duality_gap"),
    "selection": list_of(_record("setting candidate mean_gain standard_error chosen reason"), 0, 1000),
    "training": _record("n_train augmentation image_shape n_features_in class_weight", later=RECORD),
    "test": _record("accuracy n_images"),
    # channels
    "name": NAME,
    "descriptor": _part("descriptor"),
    "coder deeper_coder": NOTHING | _part("coder"),
    "pooling": _part("pooling"),
    "dictionary": NOTHING | NAME | _part("dictionary"),
    "power": number(1e-6, 4),
    # SVM, selection, training
    "C scale": number(1e-9, 1e9),
    "n_train n_images": COUNT,
    "created": text(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "version": text(r"[0-9A-Za-z.+!-]{1,64}"),
    "class_counts": list_of(COUNT, 2, 1 << 24),
    "accuracy": number(0, 1),
    "duality_gap": list_of(REAL, 1, 1 << 24),
    "setting": text(r"[^\x00-\x1f\x7f-\x9f]{1,300}"),
    "reason": WORDS,
    "candidate": NOTHING | FLAG | WORDS | REAL | list_of(REAL, 0, 8),
    "mean_gain standard_error": NOTHING | REAL,
    "chosen": FLAG,
    "augmentation": one_of(*POLICIES),
    "image_shape": NOTHING | list_of(one_of(-1) | whole(1, 1 << 20), 2, 3),
    "n_features_in": NOTHING | COUNT,
    "class_weight": NOTHING | one_of("balanced") | list_of(number(0, 1e12), 2, 1 << 24),
}
RULES = {name: rule for names, rule in _RULES.items() for name in names.split()}
DESCRIPTION = _record("format classes classes_dtype value_range preprocessing channels weights svm selection training")
