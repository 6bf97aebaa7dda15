"""Images with their labels, however they were stored."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddlcn.errors import DDLCNError
from ddlcn.images.inputs import take

_ROWS = 20  # classes in a notebook's view


@dataclass(frozen=True, eq=False, repr=False)
class ImageSet:
    """Labelled images: ``images[i]`` is of class ``target_names[target[i]]``.

    Attributes
    ----------
    images : paths, or an array whose first axis counts the images
    target : numbers of classes, into ``target_names``
    target_names : names of the classes; numbers sorted by value, text by code point
    paths : the files, or None if the images came as an array
    source : the folder or file that was read
    skipped : (path, reason) of each broken image
    passed_over : how many hidden and non-image files there were

    Examples
    --------
    >>> pets = ImageSet.of(["a.png", "b.png", "c.png", "d.png"], ["dog", "cat", "cat", "dog"])
    >>> len(pets), pets.target_names.tolist(), pets.target.tolist()
    (4, ['cat', 'dog'], [1, 0, 0, 1])
    >>> train, test = pets.split(per_class=1, seed=0)
    >>> train.labels.tolist(), sorted(train.images + test.images) == pets.images
    (['dog', 'cat'], True)
    """

    images: Sequence[Any] | NDArray[Any]
    target: NDArray[np.intp]
    target_names: NDArray[np.str_]
    paths: list[str] | None = None
    source: str = ""
    skipped: list[tuple[str, str]] = field(default_factory=list)
    passed_over: int = 0

    @classmethod
    def of(
        cls, images: Sequence[Any] | NDArray[Any], labels: ArrayLike, source: str = "", passed_over: int = 0
    ) -> "ImageSet":
        """Build from images and one label each.

        Parameters
        ----------
        images : sequence of paths or arrays, or an array whose first axis counts the images
        labels : array
        source : str
            Shown in reports.
        passed_over : int
            Number of other files that were ignored.

        Returns
        -------
        ImageSet
        """
        names, target = np.unique(np.asarray(labels), return_inverse=True)
        files = len(images) > 0 and isinstance(images[0], str | os.PathLike)
        paths = [os.fspath(image) for image in images] if files else None
        return cls(images if paths is None else paths, target, names.astype(str), paths, source, [], passed_over)

    def __len__(self) -> int:
        return len(self.target)

    def __repr__(self) -> str:
        source = f" from {self.source}" if self.source else ""
        skipped = f", {len(self.skipped):,} skipped" if self.skipped else ""
        return f"ImageSet: {len(self):,} images of {len(self.target_names):,} classes{source}{skipped}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the number of images per class."""
        counts = np.bincount(self.target, minlength=len(self.target_names)).tolist()
        rows = [
            f'<tr><td style="text-align:left">{escape(name)}<td>{n:,}'
            for name, n in zip(self.target_names, counts, strict=True)
        ]
        more = f"<tr><td>and {len(rows) - _ROWS:,} more<td>" if len(rows) > _ROWS else ""
        return f"<div>{escape(repr(self))}<table><tr><th>class<th>images{''.join(rows[:_ROWS])}{more}</table></div>"

    @property
    def labels(self) -> NDArray[np.str_]:
        """The name of each image's class."""
        return self.target_names[self.target]

    def take(self, rows: NDArray[np.intp]) -> "ImageSet":
        """Return the images of the given rows; the classes stay as they are.

        Parameters
        ----------
        rows : array of int

        Returns
        -------
        ImageSet
        """
        paths = self.paths and take(self.paths, rows)
        return replace(self, images=take(self.images, rows), target=self.target[rows], paths=paths)

    def split(self, per_class: int | float | None = None, seed: int = 0) -> tuple["ImageSet", "ImageSet"]:
        """Draw images of each class for training; the rest are for testing.

        Parameters
        ----------
        per_class : int, float or None
            Number of training images per class, or a fraction of each class, strictly between 0 and 1 and rounded
            half up; None is one half.
        seed : int
            The same seed draws the same files, in whatever order they are listed.

        Returns
        -------
        train, test : ImageSet

        Raises
        ------
        DDLCNError
            If a class has too few images.
        """
        share = 0.5 if per_class is None else per_class
        if not (share >= 1 if isinstance(share, int | np.integer) else 0 < share < 1):
            raise DDLCNError(f"per_class={per_class!r}; give a whole number, or a fraction between 0 and 1")
        rng = np.random.default_rng(seed)
        train = np.zeros(len(self), dtype=bool)
        for number, name in enumerate(self.target_names):
            rows = np.flatnonzero(self.target == number)
            if self.paths:
                rows = np.array(sorted(rows, key=self.paths.__getitem__), dtype=np.intp)
            n = int(share) if share >= 1 else int(share * len(rows) + 0.5)
            if not 0 < n < len(rows):
                few = f"class {str(name)!r} has {len(rows)} image(s), too few for {n} to train and 1 to test"
                raise DDLCNError(f"{few}; add images or change per_class={per_class!r}")
            train[rng.permutation(rows)[:n]] = True
        return self.take(np.flatnonzero(train)), self.take(np.flatnonzero(~train))
