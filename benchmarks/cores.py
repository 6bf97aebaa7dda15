"""Two cores against one on the whole of fit, by the clock on the wall."""

from time import perf_counter

from benchmarks.data import task
from benchmarks.measure import Row, race, spell
from ddlcn import DDLCNClassifier


def rows(quick: bool) -> list[Row]:
    """Extended Yale B 15-15, by the default preset."""
    train, _ = task("yaleb", n_classes=4 if quick else None)
    two, one = race(
        *(lambda n=n: DDLCNClassifier(n_jobs=n).fit(train.images, train.target) for n in (2, 1)),
        repeats=1 if quick else 2,
        clock=perf_counter,
    )
    what = f"fit, {len(train):,} faces of Extended Yale B, two cores / one"
    return [Row(what, spell(two), spell(one), one / two, "≥ 1.75 ×")]
