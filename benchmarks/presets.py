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
    """All classes; quick: 3."""
    found = []
    for name, what, p, t in TASKS:
        setting = {"p": p, "t": t, "n_classes": 3 if quick else None, "n_images": None}
        runs = (in_new_process(measured, name, preset, setting) for preset in ("best", "paper"))
        found += cost(what, *(taken for _, *taken in runs))
    return found
