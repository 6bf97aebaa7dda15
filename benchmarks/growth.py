"""How time and memory grow with images, and time with atoms: docs/figures/growth.png."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

from benchmarks.data import task
from benchmarks.measure import Row, in_new_process, spell, timed
from ddlcn import DDLCNClassifier
from ddlcn_lab.machine import peak_memory_mb

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "growth.png"


def rows(quick: bool) -> list[Row]:
    """Exponents of time (1 is linear), and growth of memory as a multiple of that of the rows."""
    images = (500, 1_000, 2_000) if quick else (1_000, 5_000, 20_000, 60_000)
    atoms = (20, 50, 100) if quick else (20, 100, 500, 1_000, 2_000)
    by_images = np.array([in_new_process(_measured, n, 15) for n in images])
    by_atoms = np.array([in_new_process(_measured, images[1], n // 10) for n in atoms])
    if not quick:
        _draw(images, by_images, atoms, by_atoms)
    _, peak, size = by_images[-1] - by_images[0]
    span = f"MNIST 15-15, {images[0]:,} to {images[-1]:,} images"
    across = f"MNIST, {images[1]:,} images, {atoms[0]} to {atoms[-1]:,} atoms"
    memory = " to ".join(f"{peak:.0f} MB ({size:.0f} of rows)" for _, peak, size in by_images[[0, -1]])
    return [
        Row(f"exponent of time of fit, {span}", _span(by_images), "–", _exponent(images, by_images), ""),
        Row(f"growth of peak memory / of rows, {span}", memory, "–", peak / size, ""),
        Row(f"exponent of time of fit, {across}", _span(by_atoms), "–", _exponent(atoms, by_atoms), ""),
    ]


def _exponent(counts: tuple[int, ...], found: np.ndarray) -> float:
    return float(np.polyfit(np.log(counts), np.log(found[:, 0]), 1)[0])


def _measured(n_images: int, p: int) -> tuple[float, float, float]:
    """Seconds of fit, peak of memory and size of the rows in MB."""
    train, _ = task("mnist")
    train = train.take(np.random.default_rng(0).permutation(len(train))[:n_images])
    model = DDLCNClassifier(images_per_class=p, atoms_per_class=p, preset="paper", n_jobs=2)
    DDLCNClassifier(images_per_class=2, atoms_per_class=2, preset="paper").fit(
        train.images[:100], train.target[:100]
    )  # warms up
    _, seconds = timed(lambda: model.fit(train.images, train.target))
    peak, rows = peak_memory_mb(), model.transform(train.images)
    return seconds, peak, sum(part.nbytes for part in (rows.data, rows.indices, rows.indptr)) / 2**20


def _span(found: np.ndarray) -> str:
    return f"{spell(found[0, 0])} to {spell(found[-1, 0])}"


def _draw(images: tuple, by_images: np.ndarray, atoms: tuple, by_atoms: np.ndarray) -> None:
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (time, memory, size) = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
    time.loglog(images, by_images[:, 0], "o-", label="fit")
    time.loglog(images, np.array(images) * by_images[-1, 0] / images[-1], ":", label="linear")
    time.set(xlabel="images", ylabel="seconds", title="MNIST 15-15, two cores")
    memory.plot(images, by_images[:, 1], "o-", label="peak of the process")
    memory.plot(images, by_images[:, 2], "s-", label="sparse rows")
    memory.set(xlabel="images", ylabel="MB", ylim=0, title="memory")
    size.loglog(atoms, by_atoms[:, 0], "o-", label="fit")
    size.loglog(atoms, np.array(atoms) * by_atoms[-1, 0] / atoms[-1], ":", label="linear")
    size.set(xlabel="atoms", ylabel="seconds", title=f"MNIST, {images[1]:,} images")
    for axes in (time, memory, size):
        axes.legend(frameon=False)
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=80)
