"""What preset `best` costs beside `paper` on the small data sets: time and memory, files to accuracy."""

from benchmarks.large import cost, measured
from benchmarks.measure import Row, in_new_process

# name, what, p = q, training images of a class
TASKS = (
    ("yaleb", "Extended Yale B 15-15", 15, None),
    ("ar", "AR 5-5", 5, None),
    ("caltech256", "Caltech-256, ten classes, 15-15, 30 train", 15, 30),
)


def rows(quick: bool) -> list[Row]:
    """All classes, three turns of each preset; quick: three classes, one turn."""
    found = []
    for name, what, p, t in TASKS:
        setting = {"p": p, "t": t, "n_classes": 3 if quick else None, "n_images": None}
        turns = [
            [in_new_process(measured, name, preset, setting)[1:] for preset in ("best", "paper")]
            for _ in range(1 if quick else 3)
        ]
        found += cost(what, *(_of_turns(taken) for taken in zip(*turns, strict=True)))
    return found


def _of_turns(taken: tuple[tuple[float, float], ...]) -> tuple[float, float]:
    """The least of seconds, for others may have had the machine; the most of memory."""
    seconds, peaks = zip(*taken, strict=True)
    return min(seconds), max(peaks)
