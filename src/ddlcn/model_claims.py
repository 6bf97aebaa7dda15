"""What a model file claims, checked before anything is built on it.

A file may be damaged, or made to harm: by values of a wrong type, by small numbers that stand for great work
or memory, by numbers that are none. So each value of the header has a rule here, and so have the shapes of
the tensors, which are compared with the header before a tensor is read. `ValueError` says what is wrong.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from ddlcn.copies import KINDS
from ddlcn.deep import LONGEST
from ddlcn.layers.coding import MAX_NEIGHBORS
from ddlcn.layers.network import DEEP_SIDE

Rule = Callable[[Any], bool]

MOST_WORK = 1e11  # of coding atoms over atoms, n k³: about a minute
MOST_ENTRIES = 1 << 26  # of a table of codes: 256 MB, and four times that while it is squared
MOST_CELLS = 1 << 20
MOST = 1 << 31  # for a number that counts something
FLOATS = ("F32", "F64")


class Tensor(NamedTuple):
    """What a safetensors file says of a tensor."""

    dtype: str
    shape: tuple[int, ...]


def read_header(text: str) -> dict[str, Any]:
    """Parse JSON of objects without repeated names and of finite numbers."""
    header = json.loads(
        text, object_pairs_hook=_object, parse_constant=lambda _: _finite("inf"), parse_float=_finite
    )
    _expect(isinstance(header, dict) and whole(header.get("format")), "its format is no number")
    return header


def check(header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Raise unless the values of a header have sense, and the tensors the shapes that follow from them."""
    _by_rules(header, _HEADER, "header")
    _by_rules(CHOSEN | header["descriptor"], _DESCRIPTOR, "descriptor", only=True)
    if header["own_descriptor"]:
        given = header.get("given", {})
        _expect(isinstance(given, dict), "given of its header is strange")
        _by_rules(CHOSEN | given, {name: _DESCRIPTOR[name] for name in CHOSEN}, "given", only=True)
    _by_rules(header["svm"], _SVM, "svm")
    for spec in header["coders"]:
        _expect(isinstance(spec, dict) and spec.get("kind") in _CODERS, "a coder is strange")
        _by_rules(spec, _CODERS[spec["kind"]], "coder", only=True)
    _by_rules(header["params"], dict.fromkeys(header["params"], _is_setting) | _PARAMS, "params")
    _expect(sum(level * level for level in header["pyramid"]) <= MOST_CELLS, "its pyramid has too many cells")
    _expect(_number(0, LONGEST)(header.get("deep", 0)), "its deep channel has a strange length")
    _expect(not header.get("deep") or len(header["coders"]) > 1, "it has a deep channel but no deeper atoms")
    _expect(header.get("copies", "none") in KINDS, "its copies are of no known kind")
    _expect(_number(0, 1, above=True)(header.get("search", 1)), "the atoms that it searches are strange")
    _expect(_or_none(whole)(header.get("picked_from")), "picked_from of its header is strange")
    low, high = header["value_range"]
    _expect(low < high, "its values have no range")
    _check_tensors(header, tensors)


def _check_tensors(header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    names = [f"dictionary.{layer}" for layer in range(len(header["coders"]))]
    wanted = {*names, "svm.coef", "svm.intercept"}
    _expect(set(tensors) == wanted, f"its tensors are not {', '.join(sorted(wanted)[:9])}")
    _expect(all(tensor.dtype in FLOATS for tensor in tensors.values()), "a tensor is not of floats")
    shapes = [tensors[name].shape for name in names]
    _expect(
        all(len(shape) == 2 and shape[0] > 0 and shape[1] == 128 for shape in shapes),
        "a dictionary is misshapen",
    )
    atoms = [shape[0] for shape in shapes]
    neighbors = [
        min(n, spec["n_neighbors"]) for n, spec in zip(atoms, header["coders"], strict=True)
    ]  # those that can take part
    _expect(max(neighbors) <= MAX_NEIGHBORS, f"a coder has over {MAX_NEIGHBORS} neighbours")
    tables = list(pairwise(atoms))
    _expect(sum(n * m for n, m in tables) <= MOST_ENTRIES, "its deeper dictionaries are too large")
    work = sum(n * k**3 for (n, _), k in zip(tables, neighbors[1:], strict=True))
    _expect(work <= MOST_WORK, "its deeper codes would take too long")

    cells = sum(level * level for level in header["pyramid"])
    if header["params"]["expand"]:
        length = 1
        for n in reversed(atoms[1:]):
            length = 1 + n * length
        fits = [cells * atoms[0] * (length + header["min_channel"])]
    else:
        fits = [cells * atoms[0], 2 * cells * atoms[0]]
    if header.get("deep", 0):
        fits = [n + DEEP_SIDE**2 * sum(atoms[1:]) for n in fits]
    rows = 1 if len(header["classes"]) == 2 else len(header["classes"])
    coef = tensors["svm.coef"].shape
    _expect(len(coef) == 2 and coef[1] in fits, "its weights do not fit its dictionaries")
    _expect(coef[0] == rows, "its weights do not fit its classes")
    _expect(tensors["svm.intercept"].shape == (rows,), "its biases do not fit its classes")
    _expect(len(header["svm"]["duality_gap"]) == rows, "its duality gaps do not fit its classes")


# --------------------------------------------------------------------------------------------------- rules


def whole(value: Any) -> bool:
    """Whether a value is a whole number from 1 that can count something.

    >>> [whole(value) for value in (1, 0, True, 2.0, "3", 10**20)]
    [True, False, False, False, False, False]
    """
    return type(value) is int and 0 < value < MOST


def _number(least: float = -math.inf, most: float = 1e300, above: bool = False) -> Rule:
    def rule(value: Any) -> bool:
        return type(value) in (int, float) and (least < value if above else least <= value) and value <= most

    return rule


def _or_none(rule: Rule) -> Rule:
    return lambda value: value is None or rule(value)


def _list_of(rule: Rule, least: int = 0, most: int = 1000) -> Rule:
    return lambda value: isinstance(value, list) and least <= len(value) <= most and all(map(rule, value))


def _is_bool(value: Any) -> bool:
    return type(value) is bool


def _is_setting(value: Any) -> bool:
    """What a parameter can be: nothing, a number, a word, or a few numbers."""
    scalar = value is None or type(value) is bool or _number(-1e300)(value)
    word = isinstance(value, str) and len(value) <= 255
    return scalar or word or _list_of(_number(-1e300))(value)


def _is_label(value: Any) -> bool:
    return type(value) is bool or _number(-1e300)(value) or isinstance(value, str)


def _is_label_type(value: Any) -> bool:
    """A short string of NumPy's for booleans, numbers or text of at most 9,999 characters."""
    return isinstance(value, str) and bool(re.fullmatch(r"\|b1|[<>|][iuf][1248]|[<>]U\d{1,4}", value))


_HEADER: dict[str, Rule] = {
    "params": lambda value: isinstance(value, dict),
    "descriptor": lambda value: isinstance(value, dict),
    "own_descriptor": _is_bool,
    "coders": _list_of(lambda value: isinstance(value, dict), least=1),
    "pyramid": _list_of(whole, least=1),
    "min_channel": _is_bool,
    "power": _number(0, 4, above=True),
    "classes": _list_of(_is_label, least=2, most=MOST),
    "classes_dtype": _is_label_type,
    "value_range": _list_of(_number(-1e300), least=2, most=2),
    "n_train": whole,
    "n_features_in": _or_none(whole),
    "svm": lambda value: isinstance(value, dict),
}
_PARAMS: dict[str, Rule] = {"expand": _is_bool, "image_shape": _or_none(_list_of(lambda n: type(n) is int))}
_DESCRIPTOR: dict[str, Rule] = {
    "patch_size": lambda value: whole(value) or _list_of(whole, least=1)(value),
    "step": whole,
    "min_steps": _or_none(whole),
    "max_side": whole,
    "min_side": _or_none(whole),
    "contrast_threshold": _number(0),
    "density": _number(0, 1000, above=True),
    "upright": _or_none(_list_of(_number(1e-3, 10), least=2, most=2)),
}
CHOSEN = {"density": 1.0, "upright": None}  # what training may change, and older files do not say
_KIND: dict[str, Rule] = {"kind": lambda value: True, "n_neighbors": whole}
_CODERS: dict[str, dict[str, Rule]] = {
    "exact": _KIND | {"beta": _number(0, 1e6)},
    "llc": _KIND | {"epsilon": _number(0, 1e6)},
}
_SVM: dict[str, Rule] = {
    "C": _number(0, above=True),
    "scale": _number(0, 1e6, above=True),
    "duality_gap": _list_of(_number(), most=MOST),
}


def _by_rules(found: Mapping[str, Any], rules: Mapping[str, Rule], where: str, only: bool = False) -> None:
    """Every name that has a rule must be there and obey it; with `only`, no other may be there."""
    for name, rule in rules.items():
        _expect(name in found and rule(found[name]), f"{name} of its {where} is missing or strange")
    _expect(not only or set(found) == set(rules), f"its {where} has values that are unknown")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    _expect(len(found) == len(pairs), "its header says something twice")
    return found


def _finite(text: str) -> float:
    value = float(text)
    _expect(math.isfinite(value), "its header has a number that is not finite")
    return value


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
