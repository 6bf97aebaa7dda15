"""Extended Yale B 15-15, files to accuracy, against the reference pipeline, on one thread each.

The exact coder of preset `paper` races against SPAMS's weighted lasso, which comes nearest to its problem; its LLC
coder and preset `best` race against LLC in NumPy. Ours does more in its time: two layers, calibrated probabilities, a
check of every file; `best` has three sizes of patches and chooses its settings.
"""

from time import process_time

from benchmarks import reference
from benchmarks.data import task
from benchmarks.measure import Row, spell, timed
from ddlcn import DDLCNClassifier, LLCCoder, LocalityCoder, presets

PAIRS = {  # ours, the reference, and the target
    "exact": (reference.weighted_lasso, "≥ 10 ×"),
    "llc": (reference.llc, "≥ 7 ×"),
    "best": (reference.llc, "≥ 3 ×"),
}
CODERS = {"exact": LocalityCoder, "llc": LLCCoder}


def rows(quick: bool) -> list[Row]:
    """Each pipeline once, after ours has compiled on two people."""
    return [_race(coder, 4 if quick else 38) for coder in PAIRS]


def _race(coder: str, people: int) -> Row:
    _ours(coder, 2)
    ours, seconds = timed(lambda: _ours(coder, people), process_time)
    files = task("yaleb", n_classes=people)
    codes, target = PAIRS[coder]
    theirs, peer = timed(lambda: reference.accuracy(*files, 15, 15, codes), process_time)
    name = codes.__name__.replace("_", " ")
    what = f"Extended Yale B 15-15, {people} people, files to accuracy, {coder} / reference pipeline, {name}"
    with_accuracy = f"{spell(seconds)}, {100 * ours:.2f} %", f"{spell(peer)}, {100 * theirs:.2f} %"
    return Row(what, *with_accuracy, peer / seconds, target)


def _ours(coder: str, people: int) -> float:
    train, test = task("yaleb", n_classes=people)
    (sift,) = presets.paper(images_per_class=15, atoms_per_class=15).channels
    model = DDLCNClassifier(images_per_class=15, atoms_per_class=15, n_jobs=1)
    if coder != "best":
        channel = sift.with_params(coder=CODERS[coder](15), deeper_coder=CODERS[coder](10))
        model.set_params(preset="paper", channels=[channel], images_per_class="auto", atoms_per_class="auto")
    model.fit(train.images, train.target)
    return float(model.score(test.images, test.target))
