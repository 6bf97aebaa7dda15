"""A grid of experiments: (method, p, q, t, split, leak), one row of results each, on one data set."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, NamedTuple

from ddlcn.errors import DDLCNError
from ddlcn_lab.datasets import get_source
from ddlcn_lab.methods.registry import get_method
from ddlcn_lab.protocols import PerClass

# what the paper leaves out, one change at a time from the paper's network
ABLATION = (
    *("ddlcn", "ddlcn-1", "ddlcn-3", "ddlcn-llc"),
    *(f"ddlcn:sift__coder__beta={beta}+sift__deeper_coder__beta={beta}" for beta in (0.001, 0.05, 0.15)),
    *(f"ddlcn:sift__coder__n_neighbors={k}" for k in (5, 10, 30)),
    *("ddlcn:sift__pooling__minima=True", "ddlcn-1:sift__pooling__minima=True"),
    *(f"ddlcn:sift__descriptor__contrast_threshold={x}" for x in (0.05, 0.1, 0.3)),
)
_ONE_TO_5 = (1, 2, 3, 4, 5)
_FIVES = tuple(range(10, 60, 5))
# p, q, t of the paper's figures, and a quick part of them
CURVES: dict[str, dict[str, tuple[tuple[int, ...], ...]]] = {
    "curves": {
        "yaleb": ((1, 5, 15, 30), (1, 5, 15), (1, 5, 15, 30)),
        "ar": ((1, 5, 20), (1, 5, 15), (1, 5, 10, 20)),
    },
    "paper-curves": {
        "yaleb": ((*_ONE_TO_5, *_FIVES), (*_ONE_TO_5, *_FIVES[:5]), (*_ONE_TO_5, *_FIVES)),
        "ar": ((*_ONE_TO_5, *_FIVES[:4], 26), (*_ONE_TO_5, *_FIVES[:5]), (*_ONE_TO_5, *_FIVES[:4])),
    },
}
KINDS = ("table", *CURVES, "ablation")
AUTO = (None, 0)  # p and q that a method chooses


class Job(NamedTuple):
    """One row to compute."""

    method: str
    p: int | None
    q: int
    t: PerClass
    split: int
    leak: bool


@dataclass(frozen=True)
class Grid:
    """What a run folder has rows for: every combination of these. See `make_grid`.

    Attributes
    ----------
    dataset, methods, settings, t, splits, seed
        As in `make_grid`, parsed.
    leak : bool
        Whether there are rows with the paper's leak beside the others.
    """

    dataset: str
    methods: tuple[str, ...]
    settings: tuple[tuple[int | None, int], ...]  # (p, q)
    t: tuple[PerClass, ...]
    splits: int
    seed: int = 0
    leak: bool = False

    def jobs(self) -> list[Job]:
        """Return all jobs, those that share work next to each other; none differ only in what a method ignores."""
        found = {name: get_method(name) for name in self.methods}
        every = product(range(self.splits), (False, True)[: 1 + self.leak], self.settings, self.methods, self.t)
        jobs = []
        for split, leak, (p, q), name, t in every:
            used = found[name].depends_on
            if found[name].leaks or not leak:
                jobs.append(Job(name, p if "p" in used else None, q if "q" in used else 0, t, split, leak))
        return list(dict.fromkeys(jobs))

    def facts(self) -> dict[str, Any]:
        """Return the grid in JSON's types."""
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Grid:
        """Return the grid of `facts`."""
        lists = {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
        return cls(**lists | {"settings": tuple((p, q) for p, q in facts["settings"])})


def make_grid(
    dataset: str,
    kind: str = "table",
    methods: str | None = None,
    settings: str | None = None,
    t: str | None = None,
    splits: int | None = None,
    seed: int = 0,
    leak: bool = False,
) -> Grid:
    """Make a grid from what a user types; default values are the paper's for that data set and kind.

    Parameters
    ----------
    dataset : str
    kind : "table", "curves", "paper-curves" or "ablation"
    methods, settings, t : str, optional
        Separated by commas, as in "ddlcn,llc", "1-1,A-15" and "15,0.5". Setting "auto" leaves p and q to the method;
        it is the default for methods that can do so, unless others that need p or q are beside them.
    splits, seed : int
    leak : bool
        Add rows with the paper's leak, for the methods that can have it.

    Returns
    -------
    Grid

    Raises
    ------
    DDLCNError
        If a name or number is unknown or invalid.

    Examples
    --------
    >>> grid = make_grid("yaleb", methods="ddlcn,llc", settings="1-1,A-15", splits=2)
    >>> grid.settings, grid.t, len(grid.jobs())
    (((1, 1), (None, 15)), (0.5,), 8)
    """
    source = get_source(dataset)
    if kind not in KINDS:
        raise DDLCNError(f"grid {kind!r} is unknown; choose from {', '.join(KINDS)}")
    names = re.split(r",(?![^(]*\))", methods) if methods else ABLATION if kind == "ablation" else ("ddlcn",)
    pairs, counts = tuple(map(_setting, source.settings)), source.t
    if kind in CURVES:
        if dataset not in CURVES[kind]:
            raise DDLCNError(f"the paper has no curves on {dataset!r}; choose from {', '.join(CURVES[kind])}")
        p, q, counts = CURVES[kind][dataset]
        pairs = tuple(product(p, q))
    elif kind == "ablation":
        pairs = tuple(pair for pair in pairs if pair in ((15, 15), (1, 2))) or pairs[-1:]
    found = [get_method(name) for name in names]
    uses = {name: method.auto for name, method in zip(names, found, strict=True) if method.depends_on}
    if kind == "table" and uses and all(uses.values()):
        pairs = (AUTO,)
    if settings:
        pairs = tuple(map(_setting, settings.split(",")))
    if t:
        counts = tuple(map(_per_class, t.split(",")))
    if AUTO in pairs and not all(uses.values()):
        raise DDLCNError(f"setting auto: method {min(uses, key=uses.__getitem__)!r} needs p-q, as in 15-15")
    if leak and not any(method.leaks for method in found):
        raise DDLCNError(f"{', '.join(names)}: can't run with the leak; choose methods such as ddlcn or llc")
    if splits is not None and splits < 1:
        raise DDLCNError(f"splits={splits}: must be at least 1")
    return Grid(dataset, tuple(names), pairs, counts, splits or source.splits, seed, leak)


def _setting(text: str) -> tuple[int | None, int]:
    """p and q of "15-15"; "A-15" has p = None."""
    if text.strip() == "auto":
        return AUTO
    found = re.fullmatch(r"(A|[1-9]\d*)-([1-9]\d*)", text.strip())
    if not found:
        raise DDLCNError(f"setting {text!r} is no p-q: write as in 15-15, A-15 for all training images, or auto")
    return None if found[1] == "A" else int(found[1]), int(found[2])


def _per_class(text: str) -> PerClass:
    found = re.fullmatch(r"([1-9]\d*)|(0?\.\d*[1-9]\d*)|all", text.strip())
    if not found:
        raise DDLCNError(f"t={text!r}: write a number of images per class, a share such as 0.5, or all")
    return int(text) if found[1] else float(text) if found[2] else None


def label(p: int | None, q: int) -> str:
    """Return the paper's name of a setting.

    Examples
    --------
    >>> label(None, 15)
    'A-15'
    """
    return f"{'A' if p is None else p}-{q}"
