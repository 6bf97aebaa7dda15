"""MNIST at 500-500 with all 60,000 training images, files to accuracy."""

from benchmarks.large import rows_of
from benchmarks.measure import Row


def rows(quick: bool) -> list[Row]:
    """500-500; quick: 20-20 on 2,000 images."""
    p, n_images = (20, 2_000) if quick else (500, 60_000)
    what = f"MNIST {p}-{p}, {n_images:,} images"
    return rows_of("mnist", what, 10, 2, p=p, t=None, n_classes=None, n_images=n_images)
