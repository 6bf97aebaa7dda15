"""DenseSIFT against OpenCV's SIFT.compute: 300 × 300 pixels, patches of 16 every 6, one thread."""

import cv2
import numpy as np
from sklearn.datasets import load_sample_image

from benchmarks.measure import Row, race, spell
from ddlcn import DenseSIFT


def rows(quick: bool) -> list[Row]:
    """Time both on the same grid."""
    cv2.setNumThreads(1)
    pixels = cv2.cvtColor(load_sample_image("china.jpg")[:300, :300], cv2.COLOR_RGB2GRAY)
    grey, ours, theirs = pixels / np.float32(255), DenseSIFT(step=6), cv2.SIFT_create()
    # OpenCV's cells are 1.5 · size wide; ours 16 / 4
    points = [cv2.KeyPoint(float(x), float(y), 8 / 3, 0) for y, x in ours.describe(grey).positions]
    seconds, peer = race(
        lambda: ours.describe(grey), lambda: theirs.compute(pixels, points), repeats=5 if quick else 30
    )
    what = f"DenseSIFT, {len(points)} patches / OpenCV SIFT"
    return [Row(what, spell(seconds), spell(peer), peer / seconds, "≥ 10 ×")]
