"""Changed copies of training images, which train the SVM beside them.

A face in a mirror is still that face, lit from the other side; a digit in a mirror is none. So the training
images are asked what helps: on a sample of them each kind of copy trains an SVM without some, and the kind
under which those are likeliest is taken, if its gain is more than the standard error of that; else "none".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.ndimage import affine_transform
from scipy.sparse import csr_array, vstack
from scipy.special import log_softmax

from ddlcn.layers.descent import Problem
from ddlcn.layers.rows import StoredRows
from ddlcn.layers.svm import calibrate, held_out_scores

_SAMPLE = 300  # images that kinds are judged on, by one copy of each
_FULL = 30  # of a class
_COPIES = 2000  # an image gets as many copies as lead to this number, but one at least
_MANY = 20_000  # images that need no copies, which would cost more than they gain


class Change(NamedTuple):
    """What makes a copy of an image: a mirror, or a move about its middle."""

    mirror: bool = False
    down: float = 0.0  # in shorter sides of the image
    right: float = 0.0
    turn: float = 0.0  # in degrees
    scale: float = 1.0

    def of(self, grey: np.ndarray) -> np.ndarray:
        """The copy of a grey image; what comes in at a border is what was nearest to it.

        >>> Change(right=1 / 3).of(np.eye(3, dtype=np.float32)).tolist()
        [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
        """
        if self.mirror:
            return np.ascontiguousarray(grey[:, ::-1])
        angle, middle = np.deg2rad(self.turn), (np.array(grey.shape) - 1) / 2
        back = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) / self.scale
        shift = middle + min(grey.shape) * np.array([self.down, self.right])
        return affine_transform(grey, back, middle - back @ shift, order=1, mode="nearest")


def _moves(by: float = 1 / 28, turn: float = 8.0, larger: float = 1.08) -> tuple[Change, ...]:
    """To each side, turned one way; and turned the other way, larger or smaller."""
    sides = [(0, by, 1), (0, -by, -1), (by, 0, -1), (-by, 0, 1)]
    scales = [larger, 1 / larger, larger, 1 / larger]
    return (
        *(Change(down=down, right=right, turn=way * turn) for down, right, way in sides),
        *(
            Change(down=down, right=right, turn=-way * turn, scale=scale)
            for (down, right, way), scale in zip(sides, scales, strict=True)
        ),
    )


KINDS: dict[str, tuple[Change, ...]] = {
    "none": (),
    "mirrored": (Change(mirror=True),),
    "moved": _moves(),
}


class Choice(NamedTuple):
    """A kind of copies, and the first copies of some images, which were coded to judge it."""

    kind: str
    images: np.ndarray
    rows: csr_array | StoredRows | None


def choose(
    rows: csr_array | StoredRows,
    codes: np.ndarray,
    code: Callable[[np.ndarray, tuple[Change, ...]], csr_array | StoredRows],
    C: float,
    seed: int | None,
    n_jobs: int | None,
) -> Choice:
    """The kind of copies that makes held-out images likeliest; `code` gives the rows of changed images.

    What counts is its gain over none, less the standard error of that.
    """
    best, most = no_choice("none"), 0.0
    if len(codes) > _MANY:
        return best
    seed = np.random.RandomState().randint(2**31) if seed is None else seed  # one for all that is compared
    sample = _sample(codes, seed)
    known = np.unique(codes[sample], return_inverse=True)[1]
    own, origins, settings = rows[sample], np.arange(len(known)), (C, seed, n_jobs)
    plain = _likelihoods(own, known, origins, *settings)
    for kind in KINDS if len(plain) else ():  # else no class has an image to spare
        _, changes = deal(kind, codes)
        if changes:
            coded = code(sample, tuple(changes[image] for image in sample))
            both = vstack([own, coded.load() if isinstance(coded, StoredRows) else coded], format="csr")
            gains = _likelihoods(both, np.tile(known, 2), np.tile(origins, 2), *settings) - plain
            score = gains.mean() - gains.std() / len(gains) ** 0.5
            if score > most:
                best, most = Choice(kind, sample, coded), score
    return best


def no_choice(kind: str) -> Choice:
    """A kind that was not judged."""
    return Choice(kind, np.empty(0, np.int64), None)


def _likelihoods(
    rows: csr_array, codes: np.ndarray, origins: np.ndarray, C: float, seed: int | None, n_jobs: int | None
) -> np.ndarray:
    """The log-likelihood of each image that could be held out, under a model trained without it."""
    problem = Problem(rows, codes, "auto", 1e-3, seed, n_jobs)
    [(scores, truth)] = held_out_scores(problem, (C,), origins, seed)
    scale = calibrate(scores, truth)[0] if len(truth) else 1.0
    return log_softmax(scale * scores, axis=1)[np.arange(len(truth)), truth]


def deal(kind: str, codes: np.ndarray, first: int = 0) -> tuple[np.ndarray, tuple[Change, ...]]:
    """Copies of images of these classes: of which image each is, and its change; at first one of each image.

    Images from number `first` on get some, and are counted from there. The changes of a kind are dealt in
    turn within each class, so that none is a mark of a class.

    >>> images, changes = deal("mirrored", np.array([0, 1]))
    >>> images, changes == (Change(mirror=True), Change(mirror=True))
    (array([0, 1]), True)
    """
    changes, n_images = KINDS[kind], len(codes)
    each = min(len(changes), max(1, _COPIES // n_images))
    turn = np.argsort(np.argsort(codes, kind="stable"))
    dealt = [(turn[first:] + n * len(changes) // each) % len(changes) for n in range(each)]
    images = np.tile(np.arange(n_images - first), each)
    return images, tuple(changes[change] for change in np.ravel(dealt).astype(int))


def _sample(codes: np.ndarray, seed: int | None) -> np.ndarray:
    """Some images: of as many classes as there is room for, up to 30 of each, or more if classes are few.

    Few images of each class would ask what helps when images are few.
    """
    rng, room = np.random.RandomState(seed), _SAMPLE
    chosen: list[np.ndarray] = []
    each = max(_FULL, _SAMPLE // (codes.max() + 1))
    for c in rng.permutation(codes.max() + 1):
        own = rng.permutation(np.flatnonzero(codes == c))[:each]
        if len(chosen) < 2 or len(own) <= room:
            chosen.append(own)
            room -= len(own)
    return np.sort(np.concatenate(chosen))
