"""Changed copies of training images, which train the SVM beside them.

A face in a mirror is still that face, lit from the other side; a digit in a mirror is none. So held-out
training images are asked what helps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import affine_transform

from ddlcn.hard import MANY
from ddlcn.held_out import Judge, sure_gain
from ddlcn.kernels import warps
from ddlcn.layers.rows import ASKED_ROOM, MemoryRows, Rows, in_turn, some_rows
from ddlcn.layers.stored_rows import StoredRows

_COPIES = 2000  # an image gets as many copies as lead to this number, but one at least
_JUDGED = 300  # copies that a kind is judged by, but one of each image at least
_BENDS = 1000  # that are all different
_WAVES = 6  # along a side, of a bend
_BEND = 0.022  # root mean square of its shifts, in shorter sides of the image


class Change(NamedTuple):
    """What makes a copy of an image: a mirror, a bend, or a move about its middle; or nothing."""

    mirror: bool = False
    bend: int = 0  # the number of a smooth random field that pixels are shifted by
    down: float = 0.0  # in shorter sides of the image
    right: float = 0.0
    turn: float = 0.0  # in degrees
    scale: float = 1.0

    def of(self, grey: np.ndarray) -> np.ndarray:
        """The copy of a grey image; what comes in at a border is what was nearest to it.

        >>> Change(right=1 / 3).of(np.eye(3, dtype=np.float32)).tolist()
        [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
        """
        if self == Change():
            return grey
        if self.mirror:
            return np.ascontiguousarray(grey[:, ::-1])
        if self.bend:
            heights = min(grey.shape) * _heights(self.bend)
            return warps.bent(grey, heights, *(_cosines(side) for side in grey.shape))
        angle, middle = np.deg2rad(self.turn), (np.array(grey.shape) - 1) / 2
        back = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) / self.scale
        shift = middle + min(grey.shape) * np.array([self.down, self.right])
        return affine_transform(grey, back, middle - back @ shift, order=1, mode="nearest")


@lru_cache(maxsize=2 * _BENDS)
def _heights(bend: int) -> np.ndarray:
    """The heights of the cosine waves that shifts down and right are sums of, in shorter sides: (2, n, n).

    They are random, and fall with the frequency of a wave.
    """
    n = np.arange(_WAVES)
    found = np.random.RandomState(bend).standard_normal((2, _WAVES, _WAVES))
    found *= np.exp(-(n[:, None] ** 2 + n**2) / 10)
    found[:, 0, 0] = 0  # nobody is moved as a whole
    mean_square = np.where(n > 0, 0.5, 1.0)  # of a wave of height 1
    return found * (_BEND / np.sqrt((found**2 * mean_square[:, None] * mean_square).sum() / 2))


@lru_cache
def _cosines(side: int) -> np.ndarray:
    """The waves along a side: (side, n)."""
    return np.cos(np.pi * np.arange(_WAVES) * (np.arange(side)[:, None] + 0.5) / side)


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


# the boldest last
KINDS: dict[str, tuple[Change, ...]] = {
    "none": (),
    "moved": _moves(),
    "bent": tuple(Change(bend=n) for n in range(1, _BENDS + 1)),
    "mirrored": (Change(mirror=True),),
}
TRIED = ("moved", "mirrored")


# rows of images, given by number, as a change of each makes them; in parts, in memory or in a store
Coding = Callable[[np.ndarray, tuple[Change, ...]], Iterable[Any]]


class Choice(NamedTuple):
    """A kind of copies, and those that were coded to judge it: their numbers, and their rows."""

    kind: str
    copies: np.ndarray
    rows: Rows | None = None

    @property
    def parts(self) -> Iterable[Any]:
        """What rows of their kind can be added to."""
        if self.rows is None:
            return []
        if isinstance(self.rows, StoredRows):
            return [self.rows]
        return in_turn(self.rows, np.arange(len(self.copies)))


def choose(judge: Judge, rows: Rows, codes: np.ndarray, code: Coding) -> Choice:
    """The kind of copies that a judge takes: each, in turn, must be surely better than the best before it."""
    best = no_choice("none")
    if len(codes) > MANY:
        return best
    own = some_rows(rows, judge.sample, ASKED_ROOM)
    highest = judge.likelihoods(judge.products(own))
    for kind in TRIED if len(highest) else ():  # else no class has an image to spare
        images, changes = deal(kind, codes)
        if changes:
            each = min(len(images) // len(codes), max(1, _JUDGED // len(judge.sample)))
            asked = np.ravel([n * len(codes) + judge.sample for n in range(each)])
            theirs = _rows_of(code(images[asked], tuple(changes[copy] for copy in asked)))
            likelihoods = judge.likelihoods(judge.products(own, theirs))
            if sure_gain(likelihoods, highest) > 0:
                best = Choice(kind, asked, theirs.add(()))  # without what was read of them
                highest = likelihoods
            del theirs  # makes room
    return best


def _rows_of(parts: Iterable[Any]) -> Rows:
    """Parts put together: rows in a store; or in memory as far as there is room, beyond that in a file."""
    coded = iter(parts)
    first = next(coded)
    return (first if isinstance(first, StoredRows) else MemoryRows(first, ASKED_ROOM)).add(coded)


def no_choice(kind: str) -> Choice:
    """A kind that was not judged."""
    return Choice(kind, np.empty(0, np.int64))


def join(
    choice: Choice, rows: Any, labels: np.ndarray, code: Coding, before: np.ndarray
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows of images, which are used up, then those of their copies; the labels of all; and their origins.

    Copies are dealt as if the images had come with those that were there `before`, of the labels given.
    """
    everyone = np.unique(np.concatenate([before, labels]), return_inverse=True)[1]
    copied, changes = deal(choice.kind, everyone, first=len(before))
    if not changes:
        return rows, labels, np.arange(len(labels))
    fresh = np.setdiff1d(np.arange(len(copied)), choice.copies)
    origins = np.concatenate([np.arange(len(labels)), copied[choice.copies], copied[fresh]])
    more = code(copied[fresh], tuple(changes[copy] for copy in fresh)) if len(fresh) else ()
    return rows.add(chain(choice.parts, more)), labels[origins], origins


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
