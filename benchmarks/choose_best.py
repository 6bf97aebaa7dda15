"""python -m benchmarks.choose_best [--data DIR] [--draws N] [dataset ...]

What preset `best` could be made of, measured without any test image: of the training images of split 0, a few
of each class train here and others are held out. Prints a line for each setting with its held-out accuracy
and the time of training and answering, to be compared within one run.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ddlcn.baselines.registry import get_method
from ddlcn.experiments.datasets import load_dataset, own_test_rows
from ddlcn.experiments.protocols import draw_split
from ddlcn.images import read_grey, value_range

# for each data set: training images of a class in split 0, how many of them train here, at most how many are
# held out in all, p and q
DATA: dict[str, tuple[float | None, int, int, int, int]] = {
    "yaleb": (0.5, 5, 600, 15, 15),
    "ar": (20, 5, 1500, 5, 5),
    "caltech256": (60, 30, 600, 15, 15),
    "mnist": (None, 300, 6000, 50, 50),
}
SETTINGS = (
    *("", ":neighbors=(15,10)", ":neighbors=(60,10)", ":beta=0.01", ":beta=0.1", ":descriptor__step=6"),
    *(":descriptor__patch_size=(16,24,32,40)", ":descriptor__contrast_threshold=0.05"),
    *(":deep=0.0", ":deep=0.5", ":deep=1.0", ":deep=2.0", ":deep=4.0"),
    *(":pyramid=(1,2,4,8,16)", ":copies=none", ":copies=mirrored", ":copies=moved"),
)


def drawn(name: str, data: Path | None, draw: int) -> list[Any]:
    """Images that train and their labels, images that are held out and theirs; no test image is looked at."""
    t, per_class, most, *_ = DATA[name]
    images = load_dataset(name, data)
    rows = draw_split(images, t, None, split=0, own_test=own_test_rows(name, images)).train
    rows = np.random.default_rng(draw).permutation(rows)
    train = np.concatenate([rows[images.target[rows] == c][:per_class] for c in np.unique(images.target)])
    limits, parts = value_range(images.images), []
    for part in (train, rows[~np.isin(rows, train)][:most]):
        parts += [[read_grey(images.images[row], value_range=limits) for row in part], images.target[part]]
    return parts


def main() -> None:
    """Try all settings on the data sets given, or on all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choose_best", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="dataset", help=f"all by default: {', '.join(DATA)}")
    parser.add_argument("--data", type=Path, help="folder of the data sets; $DDLCN_DATA by default")
    parser.add_argument("--draws", type=int, default=1, help="how often images are drawn; 1 by default")
    asked = parser.parse_args()
    for name in asked.names or DATA:
        draws = [drawn(name, asked.data, draw) for draw in range(asked.draws)]
        for setting in SETTINGS:
            right, start = [], perf_counter()
            for images, labels, others, truth in draws:
                model = get_method("ddlcn-best" + setting).make(*DATA[name][3:], 0, 1)
                right.extend(model.fit(images, labels).predict(others) == truth)
            words, seconds = setting[1:] or "as it is", perf_counter() - start
            print(
                f"| {name} | {words} | {np.mean(right):.2%} of {len(right)} | {seconds:.0f} s |", flush=True
            )


if __name__ == "__main__":
    main()
