"""LLC coding against the bare float32 product of descriptors and atoms; exact coding against LLC."""

import numpy as np

from benchmarks.data import descriptors, of_class, task
from benchmarks.measure import Row, race, spell
from ddlcn import LLCCoder, LocalityCoder
from ddlcn.layers.coding import Codebook
from ddlcn_lab.methods.classwise import ClasswiseDictionary

BLOCK = 512


def rows(quick: bool) -> list[Row]:
    """Real descriptors over real dictionaries: MNIST 500-500 and Extended Yale B 15-15."""
    n = 5_000 if quick else 50_000
    return [
        *_compare(*_descriptors_and_atoms("mnist", 500, n), "≤ 2.0 ×"),
        *_compare(*_descriptors_and_atoms("yaleb", 15, n), "≤ 4 ×"),
    ]


def _descriptors_and_atoms(name: str, p: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    images = task(name)[0]
    parts = [descriptors(of_class(images, c, p)) for c in range(len(images.target_names))]
    labels = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    atoms = ClasswiseDictionary(p, random_state=0, n_jobs=2).fit(np.concatenate(parts), labels).components_
    wanted = -(-n * p // len(parts[0]))  # images that have n descriptors
    return descriptors(images.take(np.linspace(0, len(images) - 1, wanted).astype(int)))[:n], atoms


def _compare(Y: np.ndarray, V: np.ndarray, target: str) -> list[Row]:
    book, block = Codebook(V), np.empty((BLOCK, len(V)), np.float32)

    def blocks() -> None:
        for start in range(0, len(Y), BLOCK):
            rows = Y[start : start + BLOCK]
            np.matmul(rows, V.T, out=block[: len(rows)])

    whole, blockwise, llc, exact = race(
        lambda: Y @ V.T,
        blocks,
        lambda: LLCCoder(15).encode(Y, book),
        lambda: LocalityCoder(15).encode(Y, book),
        repeats=3,
    )
    product = min(whole, blockwise)
    what = f"{len(Y):,} descriptors, {len(V):,} atoms, k = 15"
    return [
        Row(f"LLC coding, {what} / float32 product", spell(llc), spell(product), llc / product, target),
        Row(f"exact coding, {what} / our LLC", spell(exact), spell(llc), exact / llc, "≤ 2 ×"),
    ]
