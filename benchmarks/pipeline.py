"""Extended Yale B 15-15, files to accuracy, against the reference pipeline, on one thread each.

Ours does more in its time: exact coding, two layers, calibrated probabilities, a check of every file.
"""

from time import process_time

from benchmarks import reference
from benchmarks.data import task
from benchmarks.measure import Row, spell, timed
from ddlcn import DDLCNClassifier


def rows(quick: bool) -> list[Row]:
    """Each pipeline once, after ours has compiled on two people."""
    people = 4 if quick else 38
    _ours(2)
    ours, seconds = timed(lambda: _ours(people), process_time)
    files = task("yaleb", n_classes=people)
    theirs, peer = timed(lambda: reference.accuracy(*files, 15, 15), process_time)
    what = f"Extended Yale B 15-15, {people} people, files to accuracy / reference pipeline"
    with_accuracy = f"{spell(seconds)}, {100 * ours:.2f} %", f"{spell(peer)}, {100 * theirs:.2f} %"
    return [Row(what, *with_accuracy, peer / seconds, "≥ 10 ×")]


def _ours(people: int) -> float:
    train, test = task("yaleb", n_classes=people)
    model = DDLCNClassifier(preset="paper", n_jobs=1).fit(train.images, train.target)
    return float(model.score(test.images, test.target))
