"""Images stored as arrays: IDX pairs (MNIST's format), plain or gzipped, and ``.npz`` files."""

import gzip
import math
import os
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddlcn.errors import DDLCNError
from ddlcn.images.files import is_ours
from ddlcn.images.imageset import ImageSet

IDX_NAME = re.compile(r"images[-.]idx3-ubyte(\.gz)?$")
PARTS = {"train": ("train",), "test": ("test", "t10k")}
NPZ_NAMES = {  # a file without parts serves as either
    "train": (("images", "X", "data", "x_train"), ("labels", "y", "target", "y_train")),
    "test": (("x_test", "images", "X", "data"), ("y_test", "labels", "y", "target")),
}
CHUNK = 1 << 24
# What packed data may grow to, whatever its file's size, by dimensions; beyond that, so many times its file.
FREE, RATIO = {1: 1 << 24, 3: 1 << 28}, 100


def idx_in(folder: Path, part: str | None) -> Path | None:
    """Return the IDX file of a folder's images: of the part asked, else the only one or the training part."""
    root = os.path.realpath(folder)
    found = [entry for entry in folder.iterdir() if IDX_NAME.search(entry.name) and is_ours(entry, root)]
    names = sorted((file.name for file in found if file.is_file()), reverse=True)
    files = list({name.removesuffix(".gz"): name for name in names}.values())  # plain before gzipped
    words = PARTS[part or "train"] if part or len(files) > 1 else ("",)
    chosen = [name for name in files if any(word in name for word in words)]
    if files and len(chosen) != 1:
        raise DDLCNError(f"{str(folder)!r} holds {', '.join(sorted(files))}; name the one file to load")
    return folder / chosen[0] if files else None


def read_idx(path: Path, root: Path | None = None) -> ImageSet:
    """Read an IDX file of images, and the labels beside it; they are no link that leads out of the root."""
    name = path.name.replace("images", "labels").replace("idx3", "idx1")
    beside = (path.with_name(name) for name in (name, name.removesuffix(".gz"), f"{name}.gz"))
    inside = (file for file in beside if root is None or is_ours(file, os.path.realpath(root)))
    labels = next((file for file in inside if file.is_file()), None)
    if labels is None:
        raise DDLCNError(f"{str(path)!r} has no labels; put {name} beside it")
    codes = _read_idx(labels, 1)  # first: many labels take few bytes, but far more memory
    return _image_set(path, _read_idx(path, 3), codes)


def _read_idx(path: Path, ndim: int) -> NDArray[np.uint8]:
    """Read one array of bytes; never holds more of it than both header and file vouch for."""
    header = 4 + 4 * ndim
    zipped = path.suffix == ".gz"
    try:
        with gzip.open(path) if zipped else open(path, "rb") as file:
            head = file.read(header)
            if len(head) < header or head[:4] != bytes((0, 0, 8, ndim)):
                raise DDLCNError(f"{str(path)!r} is no IDX file of {ndim}-D bytes; download it again")
            shape = struct.unpack(f">{ndim}I", head[4:])
            size, packed = math.prod(shape), path.stat().st_size
            if size == 0:
                raise DDLCNError(f"{str(path)!r} is empty by its header; download it again")
            body = bytearray()
            if zipped:
                _check_growth(path, size, packed, ndim)
            if zipped or packed == header + size:
                while chunk := file.read(min(CHUNK, size + 1 - len(body))):
                    body += chunk
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DDLCNError(f"{str(path)!r} is damaged ({error}); download it again") from None
    if len(body) != size:
        raise DDLCNError(f"{str(path)!r} is not of the size in its header ({size} bytes); download it again")
    return np.frombuffer(body, np.uint8).reshape(shape)


def _check_growth(path: Path, size: int, packed: int, ndim: int) -> None:
    if size > max(FREE[ndim], RATIO * packed):
        grown = f"would grow from {packed:,} to {size:,} bytes"
        raise DDLCNError(f"{str(path)!r} {grown} (a decompression bomb?); unpack it first or remove it")


def read_npz(path: Path, part: str | None) -> ImageSet:
    """Read images and labels from an ``.npz`` file, never by pickle."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            wanted = [next((n for n in names if n in file), names[0]) for names in NPZ_NAMES[part or "train"]]
            members = [file.zip.getinfo(f"{name}.npy") for name in wanted]
            for member, ndim in zip(members, (3, 1), strict=True):
                _check_growth(path, member.file_size, member.compress_size, ndim)
            images, labels = (file[member.filename] for member in members)
    except DDLCNError:
        raise
    except Exception as error:  # numpy, zipfile and zlib each raise their own on damaged files
        what = " ".join(f"{error or type(error).__name__}".split())[:200]
        remedy = "write it by numpy.savez, with arrays images and labels"
        raise DDLCNError(f"{str(path)!r} can't be read ({what}); {remedy}") from None
    return _image_set(path, images, labels)


def _image_set(path: Path, images: NDArray[Any], labels: NDArray[Any]) -> ImageSet:
    colour = images.ndim == 4 and images.shape[3] in (1, 3, 4)
    if not (images.ndim == 3 or colour) or not images.size or images.dtype.kind not in "biuf":
        have = f"{images.dtype} of shape {images.shape}"
        raise DDLCNError(f"{str(path)!r} holds {have}; give numbers, n x height x width [x channels]")
    if labels.dtype.kind not in "biuU":
        raise DDLCNError(f"{str(path)!r} has labels of {labels.dtype}; give integers, text or booleans")
    if labels.shape not in ((len(images),), (len(images), 1)):
        have = f"{len(images)} images and labels of shape {labels.shape}"
        raise DDLCNError(f"{str(path)!r} has {have}; give one label an image")
    return ImageSet.of(images, labels.ravel(), str(path))
