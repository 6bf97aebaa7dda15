"""What preset `best` costs beside `paper` on the small data sets, files to accuracy on two cores."""

from benchmarks.large import measured, times
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
        found.append(times(what, *(seconds for _, seconds, _ in runs)))
    return found
