"""Does it matter for the choice of augmentation that held-out images have taught the dictionaries that judge them?

    python -m benchmarks.selection_leak

Weights of channels are compared without that leak: `fit` learns dictionaries for each fold. Augmentation is compared
with the dictionaries of all training images. Of each class 2t images are drawn. The policy is selected on the second
half of them, once with dictionaries learnt on that half (as `fit` does it) and once with dictionaries learnt on the
first half, which has no image in common. A model with each policy is then trained on the second half and tested on up
to 40 other images per class. The table has the share of equal choices and the paired difference of accuracies (seeds
from 100 on, so that no split of the results is touched).
"""

from __future__ import annotations

import os
import sys

import numpy as np

from benchmarks import data
from ddlcn import Channel, DDLCNClassifier, learning, presets
from ddlcn.execution import session
from ddlcn.images import ImageSet, value_range
from ddlcn.selection import Selection
from ddlcn_lab.datasets import load_dataset

TASKS = (("flowers17", 20), ("neu_det", 20), ("wbc1", 10), ("yaleb", 5), ("caltech256", 30), ("mnist", 20))


def main(n_seeds: int) -> None:
    """Print a line per data set."""
    assert data  # sets $DDLCN_DATA
    print(f"{'data':12} {'t':>3}  same choices  other dictionaries, paired difference of accuracy in points")
    for name, t in TASKS:
        images = load_dataset(name, os.environ["DDLCN_DATA"])
        found = [compare(images, t, seed) for seed in range(100, 100 + n_seeds)]
        same, gains = np.mean([each[0] for each in found]), 100 * np.array([each[1] for each in found])
        error = gains.std(ddof=1) / len(gains) ** 0.5
        print(f"{name:12} {t:3}  {same:12.0%}  {gains.mean():+.2f} ± {error:.2f}", flush=True)


def compare(images: ImageSet, t: int, seed: int) -> tuple[bool, float]:
    """Whether both choices are equal, and what the one without the leak gains."""
    rng, halves, test = np.random.default_rng(seed), ([], []), []
    for c in range(len(images.target_names)):
        own = rng.permutation(np.flatnonzero(images.target == c))
        halves[0].extend(own[:t])
        halves[1].extend(own[t : 2 * t])
        test.extend(own[2 * t : 2 * t + 40])
    others, train = (images.take(np.array(rows)) for rows in halves)
    channels = weighted(train, seed)
    leaky, clean = selected(channels, train, train, seed), selected(channels, others, train, seed)
    if leaky == clean:
        return True, 0.0
    tested = images.take(np.array(test))
    scores = [trained(channels, train, policy, seed).score(tested.images, tested.target) for policy in (leaky, clean)]
    return False, scores[1] - scores[0]


def weighted(train: ImageSet, seed: int) -> list[Channel]:
    """The channels that suit the images, with their weights."""
    with session(None, -1) as run:
        levels, choose = value_range(train.images), Selection(train.target, seed, -1)
        channels = learning.suited_channels(presets.best().channels, choose, levels, train.images, run)
        found = learning.weighted_channels(channels, None, levels, choose, train.images, seed, run)
    return [channel for channel in found if channel.weight]


def selected(channels: list[Channel], teachers: ImageSet, judges: ImageSet, seed: int) -> str:
    """The policy of augmentation, selected on some images, with dictionaries learnt on others."""
    with session(None, -1) as run:
        levels, choose = value_range(judges.images), Selection(judges.target, seed, -1)
        encoder = learning.learn_encoder(channels, None, levels, teachers.images, teachers.target, seed, run)
        rows = learning.encoded(encoder, judges.images, run)
        policy, *_ = learning.augmented("auto", encoder, judges.images, rows, choose, run)
    return policy


def trained(channels: list[Channel], train: ImageSet, policy: str, seed: int) -> DDLCNClassifier:
    """A model with these channels and this policy."""
    model = DDLCNClassifier(channels=channels, augmentation=policy, deskew=False, random_state=seed, n_jobs=-1)
    return model.fit(train.images, train.target)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
