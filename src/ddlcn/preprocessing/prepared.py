"""An image as descriptors see it: decoded once, then resized, augmented and deskewed in the same way for all."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from PIL import Image

from ddlcn.images import LEAST_SIDE, DecodedImage, content_digest
from ddlcn.preprocessing.augmentation import Augmentation
from ddlcn.preprocessing.deskew import deskew


class PreparedImage:
    """An image in grey and in colour, at the sizes that descriptors ask for.

    Parameters
    ----------
    source : path or array
        See `ddlcn.images.read_grey`.
    value_range : (float, float)
        Black and white of arrays of floats.
    augmentation : Augmentation, optional
        Applied after resizing.
    deskewed_size : (float, float), optional
        Deskew the foreground to this height and width, after augmentation (see `preprocessing.deskew`).

    Examples
    --------
    >>> image = PreparedImage(np.eye(4))
    >>> image.shape, image.grey((8, 8)).shape, image.rgb((8, 8)).shape
    ((4, 4), (8, 8), (8, 8, 3))
    """

    def __init__(
        self,
        source: Any,
        value_range: tuple[float, float] = (0.0, 1.0),
        augmentation: Augmentation | None = None,
        deskewed_size: tuple[float, float] | None = None,
    ) -> None:
        self._source, self._shrunk = source, DecodedImage(source, value_range, LEAST_SIDE)
        self._value_range = value_range
        self._augmentation, self._deskewed_size = augmentation, deskewed_size
        self.computed: dict[Any, Any] = {}  # descriptors, and what they share, such as the maps of a network
        self._found: dict[tuple[bool, tuple[int, int]], np.ndarray] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the image as it was given."""
        return self._whole.shape

    def shape_for(self, side: int) -> tuple[int, int]:
        """Return the height and width of what is resized: a large photograph is shrunk to over twice the side first.

        Parameters
        ----------
        side : int
            The longer side after resizing, at most.

        Returns
        -------
        (int, int)
        """
        return self._decoded(side).shape

    def _decoded(self, side: int) -> DecodedImage:
        return self._shrunk if 2 * side <= LEAST_SIDE else self._whole

    @cached_property
    def _whole(self) -> DecodedImage:
        whole = min(self._shrunk.shape) < LEAST_SIDE
        return self._shrunk if whole else DecodedImage(self._source, self._value_range)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """What the pixels depend on: two images with equal keys are the same."""
        return content_digest(self._source), self._value_range, self._augmentation, self._deskewed_size

    def grey(self, shape: tuple[int, int] | None = None) -> np.ndarray:
        """Return the image in grey.

        Parameters
        ----------
        shape : (int, int), optional
            Height and width; by default the image's own.

        Returns
        -------
        2-D array, float32 in [0, 1]
        """
        return self._prepared(shape or self.shape, colour=False)

    def rgb(self, shape: tuple[int, int] | None = None) -> np.ndarray:
        """Return the image in colour; a grey one has three equal channels.

        Parameters
        ----------
        shape : (int, int), optional
            Height and width; by default the image's own.

        Returns
        -------
        array of shape (height, width, 3), float32 in [0, 1]
        """
        return self._prepared(shape or self.shape, colour=True)

    def described(self, descriptor: Any) -> Any:
        """Return the descriptors of the image; those of equal parts are computed once.

        Parameters
        ----------
        descriptor : part with `describe` and `to_dict`

        Returns
        -------
        Descriptors
        """
        key = str(descriptor.to_dict())
        if key not in self.computed:
            self.computed[key] = descriptor.describe(self)
        return self.computed[key]

    def _prepared(self, shape: tuple[int, int], colour: bool) -> np.ndarray:
        key = colour, shape
        if key not in self._found:
            image = self._augmented(shape, colour)
            if self._deskewed_size is not None:
                grey = self._augmented(shape, colour=False) if colour else image
                image = deskew(image, self._deskewed_size, grey)
            self._found[key] = image
        return self._found[key]

    def _augmented(self, shape: tuple[int, int], colour: bool) -> np.ndarray:
        decoded = self._decoded(max(shape))
        pixels = decoded.rgb() if colour else decoded.grey()
        if pixels.shape[:2] != shape:
            pixels = np.array(Image.fromarray(pixels).resize(shape[::-1], Image.Resampling.BICUBIC))
        image = pixels.astype(np.float32) / 255 if colour else pixels
        return image if self._augmentation is None else self._augmentation.apply(image)
