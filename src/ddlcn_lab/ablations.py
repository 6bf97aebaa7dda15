"""What each part of preset `best` is worth: one change at a time, on the same images.

    python -m ddlcn_lab.ablations                                   # run what the file does not have
    python -m ddlcn_lab.ablations --page docs/lab/findings.md       # write the table into the page, run nothing

Seeds are those of development, 100 to 102, so that no final figure is of images that a choice was made on. Rows are
kept in a file as those of `ddlcn bench paper` are: stop it at any time, and run it again to resume.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ddlcn.errors import DDLCNError
from ddlcn.persistence.atomic import write_atomically
from ddlcn_lab import machine
from ddlcn_lab.grid import Job
from ddlcn_lab.paper import default_file
from ddlcn_lab.report import markdown_table
from ddlcn_lab.results import Key, Results
from ddlcn_lab.rows_file import RowsFile, Task
from ddlcn_lab.tables import NOT_RUN, Table

DATASETS = {  # training images per class, and the number of classes
    "wbc1": (20, 4),
    "neu_det": (20, 6),
    "flowers17": (20, 17),
    "caltech256": (30, 10),
    "yaleb": (5, 38),
    "mnist": (20, 10),
}
SEEDS = (100, 101, 102)
BASE = "ddlcn-best"
_START, _END = "<!-- ablations -->", "<!-- end of ablations -->"


def _both(parameter: str, value: object) -> str:
    """Preset best with a parameter of `sift` and `color` changed."""
    return f"{BASE}:sift__{parameter}={value}+color__{parameter}={value}"


def _atoms(total: int) -> Callable[[int], str]:
    return lambda n_classes: _both("dictionary__atoms_per_class", math.ceil(total / n_classes))


# what is changed: the method, by the number of classes
VARIANTS: dict[str, Callable[[int], str]] = {
    "preset `best`": lambda _: BASE,
    "no channel `sift_grid`": lambda _: "ddlcn-best-no-sift_grid",
    "one layer (so no `sift_grid` either)": lambda _: _both("dictionary__deeper_atoms", "()"),
    "LLC coder": lambda _: "ddlcn-best-llc",
    "no channel `color`": lambda _: "ddlcn-best-no-color",
    "no channel `covariance`": lambda _: "ddlcn-best-no-covariance",
    "no channel `covariance_grid`": lambda _: "ddlcn-best-no-covariance_grid",
    "256 atoms in all": _atoms(256),
    "512 atoms in all": _atoms(512),
    "2048 atoms in all": _atoms(2048),
    "no augmentation": lambda _: f"{BASE}:augmentation=none",
    "one patch size, 16": lambda _: (
        _both("descriptor__patch_size", 16)
        + "+sift_grid__descriptor__patch_size=16+covariance__descriptor__patch_size=16"
        + "+covariance_grid__descriptor__patch_size=16"
    ),
    "15 neighbours (the paper's)": lambda _: _both("coder__n_neighbors", 15),
}


def tasks(datasets: Iterable[str] = DATASETS, seeds: Sequence[int] = SEEDS) -> list[Task]:
    """Return what is to be run: seed by seed, and there data set by data set.

    Examples
    --------
    >>> tasks(["wbc1"], [100])[0]
    Task(dataset='wbc1', job=Job(method='ddlcn-best', p=None, q=0, t=20, split=0, leak=False), seed=100)
    """
    return [
        Task(dataset, Job(make(DATASETS[dataset][1]), None, 0, DATASETS[dataset][0], 0, False), seed)
        for seed in seeds
        for dataset in datasets
        for make in VARIANTS.values()
    ]


def table(results: Results) -> Table:
    """Return the accuracy of preset best, and the paired difference of each variant to it.

    Parameters
    ----------
    results : Results
        Of a file of this module.

    Returns
    -------
    Table
        Differences in points with half of their 95 % interval, bold if it does not contain zero.
    """
    rows = [(label, *(_cell(results, label, dataset) for dataset in DATASETS)) for label in VARIANTS]
    header = ("", *(f"{dataset}, {t} images per class" for dataset, (t, _) in DATASETS.items()))
    return Table("Ablations of preset best", "", header, rows)


def _cell(results: Results, label: str, dataset: str) -> str:
    t, n_classes = DATASETS[dataset]
    base = Key(dataset, BASE, None, 0, t, False)
    key = base._replace(method=VARIANTS[label](n_classes))
    if key not in results.rows:
        return f"failed: {results.errors[key]}" if key in results.errors else NOT_RUN
    if key == base:
        return str(results.mean(key))
    gain = results.gain(key, base)
    if gain is None:
        return NOT_RUN
    text = f"{gain.mean:+.2f}" + (f" ± {gain.half:.2f}" if gain.n > 1 else "")
    return f"**{text}**" if gain.n > 1 and abs(gain.mean) > gain.half > 0 else text


def write_page(page: Path, file: Path) -> None:
    """Write the table of a file of rows between the marks of a page.

    Raises
    ------
    DDLCNError
        If the page has no marks.
    """
    text, results = page.read_text("utf-8"), Results([file])
    before, start, rest = text.partition(_START)
    _, end, after = rest.partition(_END)
    if not (start and end):
        raise DDLCNError(f"{str(page)!r} has no place for the table: write {_START} and {_END} on lines of their own")
    ((source, _),) = results.sources.values()
    seeds = sorted({seed for splits in results.rows.values() for seed, _ in splits})
    note = f"Source {source}, seeds {', '.join(map(str, seeds))}." if seeds else "Not run yet."
    new = f"{before}{_START}\n{note}\n\n{markdown_table(table(results))}\n{_END}{after}"
    write_atomically(page, new.encode())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="file of rows; in a clone, docs/results/ablations.jsonl")
    parser.add_argument("--only", default=",".join(DATASETS), help="data sets, comma-separated")
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)), help="as in 100,101,102")
    parser.add_argument("--hours", type=float, help="start no new row after this time")
    parser.add_argument("--jobs", type=int, default=-1, help="threads")
    parser.add_argument("--page", type=Path, help="write the table into this page and run nothing")
    chosen = parser.parse_args(arguments)
    names = chosen.only.split(",")
    if unknown := set(names) - set(DATASETS):
        parser.error(f"data set {min(unknown)!r} is unknown; choose from {', '.join(DATASETS)}")
    out = chosen.out or default_file().with_name("ablations.jsonl")
    if chosen.page:
        write_page(chosen.page, out)
        return
    file = RowsFile(out, machine.source_hash())
    wanted = tasks(names, [int(seed) for seed in chosen.seeds.split(",")])
    for task, row in file.fill(wanted, n_jobs=chosen.jobs, hours=chosen.hours):
        found = row.get("error") or f"{row['accuracy']:.2%}, {row['seconds']['fit']:.1f} s"
        done = sum(each in file for each in wanted)
        print(f"{done} of {len(wanted)}: {task.dataset} {task.job.method} seed {task.seed}: {found}", flush=True)


if __name__ == "__main__":
    main()
