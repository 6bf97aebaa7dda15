"""Images stored as arrays: IDX pairs (MNIST's format), plain or gzipped, and ``.npz`` files."""

import gzip
import math
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddlcn.errors import DDLCNError
from ddlcn.images.imageset import ImageSet

IDX_NAME = re.compile(r"images[-.]idx3-ubyte(\.gz)?$")
PARTS = {"train": ("train",), "test": ("test", "t10k")}
NPZ_NAMES = {  # a file without parts serves as either
    "train": (("images", "X", "data", "x_train"), ("labels", "y", "target", "y_train")),
    "test": (("x_test", "images", "X", "data"), ("y_test", "labels", "y", "target")),
}
CHUNK = 1 << 24


def idx_in(folder: Path, part: str | None) -> Path | None:
    """Return the IDX file of a folder's images: of the part asked, else the only one or the training part."""
    names = sorted((file.name for file in folder.iterdir() if IDX_NAME.search(file.name)), reverse=True)
    files = list({name.removesuffix(".gz"): name for name in names}.values())  # plain before gzipped
    if part or len(files) > 1:
        chosen = [name for name in files if any(word in name for word in PARTS[part or "train"])]
    else:
        chosen = files
    if files and len(chosen) != 1:
        raise DDLCNError(f"{str(folder)!r} holds {', '.join(sorted(files))}; name the one file to load")
    return folder / chosen[0] if files else None


def read_idx(path: Path) -> ImageSet:
    """Read an IDX file of images, and the labels beside it."""
    name = path.name.replace("images", "labels").replace("idx3", "idx1")
    names = (name, name.removesuffix(".gz"), f"{name}.gz")
    labels = next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)
    if labels is None:
        raise DDLCNError(f"{str(path)!r} has no labels; put {name} beside it")
    return _image_set(path, _read_idx(path, 3), _read_idx(labels, 1))


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
            size = math.prod(shape)
            body = bytearray()
            if zipped or path.stat().st_size == header + size:
                while chunk := file.read(min(CHUNK, size + 1 - len(body))):
                    body += chunk
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DDLCNError(f"{str(path)!r} is damaged ({error}); download it again") from None
    if len(body) != size:
        raise DDLCNError(f"{str(path)!r} is not of the size in its header ({size} bytes); download it again")
    return np.frombuffer(body, np.uint8).reshape(shape)


def read_npz(path: Path, part: str | None) -> ImageSet:
    """Read images and labels from an ``.npz`` file, never by pickle."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            wanted = [next((n for n in names if n in file), names[0]) for names in NPZ_NAMES[part or "train"]]
            images, labels = (file[name] for name in wanted)
    except KeyError as error:
        raise DDLCNError(f"{str(path)!r}: {error.args[0]}; name its arrays images and labels") from None
    except Exception as error:  # numpy, zipfile and zlib each raise their own on damaged files
        what = " ".join(str(error).split())
        raise DDLCNError(f"{str(path)!r} can't be read ({what}); write it by numpy.savez") from None
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
