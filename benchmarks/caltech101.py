"""Caltech-101 at 30-30 with 30 training images per class, files to accuracy."""

from benchmarks.large import rows_of
from benchmarks.measure import Row


def rows(quick: bool) -> list[Row]:
    """All 102 classes; quick: 5."""
    n_classes = 5 if quick else None
    what = f"Caltech-101 30-30, {n_classes or 102} classes"
    return rows_of("caltech101", what, 4, 2, p=30, t=30, n_classes=n_classes, n_images=None)
