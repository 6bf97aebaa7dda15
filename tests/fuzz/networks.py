"""ONNX files: good ones, some made to harm, mutations, and the reader under fuzz."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

from ddlcn.descriptors import backbone
from ddlcn.descriptors.backbone import Backbone
from ddlcn.layers.part import Part
from tests.descriptors.models import classifier, onnx, transformer

PIXELS = np.linspace(0, 1, 1200, dtype=np.float32).reshape(20, 20, 3) ** 2
SIDES = (0, 1, 2, 3, 4, 7, 8, 32, 33, 224, 1024, 1025, 2**31, 2**62, -1)
TEXTS = (
    "", "NaN", "[NaN, 1, 1]", "1", "0", "-1", "1e308", "1e999", "[1, 2]", "[1, 2, 3]", "[[1], [2], [3]]", "{}", "null",
    "true", '"a"', "9" * 5000, "[" * 5000, "[" * 500 + "]" * 500, "Bgr8", "\x1b[2J", "Normalized_0_1", "a" * 9000,
)  # fmt: skip
KEYS = ("mean", "scale", "image_mean", "image_std", "Image.BitmapPixelFormat", "Image.NominalPixelRange", "evil")
NAMES = ("", "image", "w", "b", "map", "inner", "scores", "\x1b[2J", "x" * 9000, "../../etc/passwd")
OPERATORS = ("Relu", "Identity", "Transpose", "Flatten", "Shape", "Loop", "If", "NonZero", "Evil", "")


@cache
def good() -> dict[str, bytes]:
    """A convolutional network with channels first and last, and a transformer."""
    imagenet = {"image_mean": "[0.485, 0.456, 0.406]", "image_std": "[0.229, 0.224, 0.225]"}
    with TemporaryDirectory() as folder:
        path = Path(folder, "net.onnx")
        found = {}
        for name, make, settings in (
            ("first", classifier, {"metadata": imagenet}),
            ("last", classifier, {"channels_last": True, "metadata": {"mean": "127.5", "scale": "[1, 2, 3]"}}),
            ("tokens", transformer, {}),
        ):
            make(path, **settings)
            found[name] = path.read_bytes()
        return found


def changed(change: Any) -> bytes:
    """The first network after a change of its protobuf message."""
    model = onnx.load_model_from_string(good()["first"])
    change(model)
    return bytes(model.SerializeToString())


def _setting(key: str, value: str) -> Any:
    return lambda model: onnx.helper.set_model_props(model, {"mean": "1", "scale": "1", key: value})


def _side(*shape: int) -> Any:
    def change(model: Any) -> None:
        for dim, side in zip(model.graph.input[0].type.tensor_type.shape.dim, shape, strict=True):
            dim.dim_value = side

    return change


def _outside(model: Any) -> None:
    tensor = model.graph.initializer[0]
    tensor.data_location = 1
    tensor.external_data.add(key="location", value="/etc/passwd")


@cache
def bad() -> dict[str, bytes]:
    """Networks made to harm."""
    return {
        "NaN": changed(_setting("mean", "NaN")),
        "infinity": changed(_setting("scale", "1e999")),
        "zero": changed(_setting("scale", "0")),
        "deep": changed(_setting("mean", "[" * 100_000)),
        "digits": changed(_setting("mean", "9" * 5000)),
        "words": changed(_setting("scale", '["a", "b", "c"]')),
        "object": changed(_setting("scale", '{"a": 1}')),
        "pixels": changed(_setting("Image.BitmapPixelFormat", "\x1b[2J")),
        "huge input": changed(_side(1, 3, 2**20, 2**20)),
        "many images": changed(_side(2**40, 3, 32, 32)),
        "other files": changed(_outside),
        "own operator": changed(lambda model: setattr(model.graph.node[0], "domain", "evil")),
        "unknown operator": changed(lambda model: setattr(model.graph.node[0], "op_type", "Evil")),
        "no nodes": changed(lambda model: model.graph.ClearField("node")),
        "empty": b"",
        "pickle": b"\x80\x04\x95\x0b\0\0\0\0\0\0\0\x8c\x02os\x94.",
    }


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Change a setting, a side of the input, a name, an operator, or the type or shape of a weight."""
    try:
        model = onnx.load_model_from_string(data)
    except Exception:  # changed beyond reading before
        return data
    graph = model.graph
    for _ in range(rng.choice((1, 1, 2))):
        what = rng.randrange(6)
        try:
            if what < 2:
                props = {each.key: each.value for each in model.metadata_props}
                onnx.helper.set_model_props(model, props | {rng.choice(KEYS): rng.choice(TEXTS)})
            elif what == 2:
                kind = rng.choice(graph.input).type.tensor_type
                rng.choice(kind.shape.dim).dim_value = rng.choice(SIDES)
                kind.elem_type = rng.choice((1, 1, 1, 10, 11, 7, 99))
            elif what == 3:
                names = rng.choice(graph.node)
                part = rng.choice((names.input, names.output))
                part[rng.randrange(len(part))] = rng.choice(NAMES)
            elif what == 4:
                setattr(rng.choice(graph.node), *rng.choice((("op_type", rng.choice(OPERATORS)), ("domain", "evil"))))
            else:
                weight = rng.choice(graph.initializer)
                weight.data_type = rng.choice((1, 1, 10, 11, 7, 99))
                weight.dims[rng.randrange(len(weight.dims))] = rng.choice(SIDES)
        except (IndexError, ValueError):  # nothing of the kind is left
            continue
    return bytes(model.SerializeToString())


@contextmanager
def cache_folder(path: Path, content: bytes | None = None) -> Iterator[None]:
    """Keep networks below a folder inside a `with` block: one of some content, or none."""
    kept = path / "backbones"
    kept.mkdir(exist_ok=True)
    if content is None:
        backbone._opened.clear()
        for old in kept.iterdir():
            old.unlink()
    elif not (file := kept / f"{sha256(content).hexdigest()}.onnx").exists():
        file.write_bytes(content)
    with patch.dict(os.environ, DDLCN_CACHE=str(path)):
        yield


def read(path: Path, data: bytes) -> None:
    """Open a network and describe an image by it."""
    (path / "fuzz.onnx").write_bytes(data)
    with cache_folder(path):
        network = Backbone(str(path / "fuzz.onnx"))
        found = network.describe(PIXELS)
        again = Part.from_dict(network.to_dict())
        np.testing.assert_array_equal(again.describe(PIXELS).values, found.values)
    assert found.values.dtype == np.float32
    assert np.isfinite(found.values).all()
