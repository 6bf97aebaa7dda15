"""Images in: find them, load them with their labels, and decode each safely to grey.

A collection is a folder per class, a CSV manifest, an IDX pair or an ``.npz`` file (:func:`load_images`);
images without labels are files and folders (:func:`find_images`). Broken files are left out, each with its
reason.
"""

from ddlcn.images.decode import (
    LEAST_SIDE,
    MAX_PIXELS,
    DecodedImage,
    check_image,
    decode_file,
    read_colour,
    read_grey,
    value_range,
)
from ddlcn.images.files import find_images
from ddlcn.images.imageset import ImageSet
from ddlcn.images.inputs import absolute, as_images, canonical_order, content_digest, take
from ddlcn.images.load import load_images

__all__ = [
    "LEAST_SIDE",
    "MAX_PIXELS",
    "DecodedImage",
    "ImageSet",
    "absolute",
    "as_images",
    "canonical_order",
    "check_image",
    "content_digest",
    "decode_file",
    "find_images",
    "load_images",
    "read_colour",
    "read_grey",
    "take",
    "value_range",
]
