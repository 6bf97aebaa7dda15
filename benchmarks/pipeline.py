"""Extended Yale B 15-15, files to accuracy, against the reference pipeline, on one thread each.

The exact coder races against SPAMS's weighted lasso, which comes nearest to its problem, LLC against LLC in
NumPy. Ours does more in its time: two layers, calibrated probabilities, a check of every file.
"""

from time import process_time

from benchmarks import reference
from benchmarks.data import task
from benchmarks.measure import Row, spell, timed
from ddlcn import DDLCNClassifier, LLCCoder, LocalityCoder, presets

PAIRS = {"exact": reference.weighted_lasso, "llc": reference.llc}


def rows(quick: bool) -> list[Row]:
    """Each pipeline once, after ours has compiled on two people."""
    return [_race(coder, 4 if quick else 38) for coder in PAIRS]


def _race(coder: str, people: int) -> Row:
    _ours(coder, 2)
    ours, seconds = timed(lambda: _ours(coder, people), process_time)
    files = task("yaleb", n_classes=people)
    theirs, peer = timed(lambda: reference.accuracy(*files, 15, 15, PAIRS[coder]), process_time)
    name = PAIRS[coder].__name__.replace("_", " ")
    what = f"Extended Yale B 15-15, {people} people, files to accuracy, {coder} / reference pipeline, {name}"
    with_accuracy = f"{spell(seconds)}, {100 * ours:.2f} %", f"{spell(peer)}, {100 * theirs:.2f} %"
    return Row(what, *with_accuracy, peer / seconds, "≥ 10 ×")


def _ours(coder: str, people: int) -> float:
    train, test = task("yaleb", n_classes=people)
    (sift,) = presets.paper().channels
    coders = {"exact": LocalityCoder, "llc": LLCCoder}
    channel = sift.with_params(coder=coders[coder](15), deeper_coder=coders[coder](10))
    model = DDLCNClassifier(preset="paper", channels=[channel], n_jobs=1).fit(train.images, train.target)
    return float(model.score(test.images, test.target))
