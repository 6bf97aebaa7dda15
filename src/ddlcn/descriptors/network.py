"""ONNX image models, opened for inner tensors: checked, cut after these, and run on one thread.

A model is data from elsewhere. It can't read other files (models with external data are refused) or load code
(operators of other libraries are refused), and its size is limited; time and memory of a run are those of its graph.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddlcn.descriptors.layout import Layout, as_rows, layout_of
from ddlcn.errors import DDLCNError

MAX_BYTES = 1 << 30  # of a model
MAX_VALUES = 1 << 24  # of a map
SIZES = (8, 1024)  # least and greatest side of the input
MAX_LISTED = 24  # tensors in an error
DEFAULT_SIZE = 224  # where the model leaves it open
IMAGENET_MEAN, IMAGENET_SCALE = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
RANGES = {"NominalRange_0_255": (0.0, 1.0), "Normalized_0_1": (0.0, 255.0), "Normalized_1_1": (127.5, 127.5)}
_TYPES = {1: np.float32, 10: np.float16, 11: np.float64}
_DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}


@dataclass(frozen=True, eq=False)
class Network:
    """A model that is open, up to some of its tensors."""

    session: Any
    input: str
    dtype: Any
    channels_last: bool
    size: int
    outputs: tuple[str, ...]
    layouts: tuple[Layout, ...]
    mean: Any
    scale: Any

    def maps(self, pixels: np.ndarray) -> list[np.ndarray]:
        """Return the values at each place of each output, row by row, for normalised pixels (size, size, 3)."""
        found = run(self.session, self.input, self._batch(pixels))
        return [as_rows(values, layout) for values, layout in zip(found, self.layouts, strict=True)]

    def _batch(self, pixels: np.ndarray) -> np.ndarray:
        turned = pixels if self.channels_last else pixels.transpose(2, 0, 1)
        return np.ascontiguousarray(turned[None], self.dtype)


def run(session: Any, name: str, batch: np.ndarray) -> list[np.ndarray]:
    """Return the outputs of a session for one input."""
    return [np.asarray(each) for each in session.run(None, {name: batch})]


def open_network(content: bytes, outputs: Sequence[str | None] = (None,), size: int | None = None) -> Network:
    """Open an ONNX model.

    Parameters
    ----------
    content : bytes
    outputs : sequence of str
        Names of tensors; None takes the last one with a square of at least 2 × 2 places.
    size : int, optional
        Side of the input, needed only where the model leaves it open; then 224 by default.

    Returns
    -------
    Network

    Raises
    ------
    DDLCNError
        If the model can't be used.
    """
    try:
        return _open(content, outputs, size)
    except DDLCNError:
        raise
    except Exception as error:  # of damaged models there is no end
        raise DDLCNError(f"is no valid ONNX model ({_line(error)}); export it again") from None


def _open(content: bytes, wanted: Sequence[str | None], size: int | None) -> Network:
    model = _parsed(content)
    image, channels_last = _image_input(model.graph)
    side = _fix_size(image, channels_last, size)
    known = {name for node in model.graph.node for name in node.output}
    outputs = [
        each if each is not None and each in known else _choose(model, image.name, channels_last, each)
        for each in wanted
    ]
    _cut(model.graph, image.name, outputs)
    session, element = _session(model), image.type.tensor_type.elem_type
    shape = (1, side, side, 3) if channels_last else (1, 3, side, side)
    try:
        found = run(session, image.name, np.zeros(shape, _TYPES[element]))
    except Exception as error:
        raise DDLCNError(f"can't be run on an image of {side} x {side} pixels ({_line(error)}); set size") from None
    layouts = [_checked_layout(*each, channels_last) for each in zip(outputs, found, strict=True)]
    mean, scale = _input_settings(model.metadata_props)
    kind = _TYPES[element]
    return Network(session, image.name, kind, channels_last, side, tuple(outputs), tuple(layouts), mean, scale)


def _checked_layout(output: str, found: np.ndarray, channels_last: bool) -> Layout:
    layout = layout_of(found.shape, channels_last)
    if layout is None or found.size > MAX_VALUES or found.dtype.kind != "f":
        what = f"{found.dtype} of shape {' x '.join(map(str, found.shape))}"
        raise DDLCNError(f"tensor {output!r} is {what}, no map of channels over square places; choose another output")
    return layout


def _parsed(content: bytes) -> Any:
    import onnx

    try:
        model = onnx.load_model_from_string(content) if len(content) <= MAX_BYTES else None
    except Exception:
        model = onnx.ModelProto()
    if model is None:
        raise DDLCNError(f"has more than {MAX_BYTES >> 20} MB; use a smaller network")
    if not model.graph.node:
        raise DDLCNError("is no ONNX model; export the network with torch.onnx.export, tf2onnx or the like")
    own = {function.domain for function in model.functions}
    for message in _messages(model):
        if isinstance(message, onnx.TensorProto) and (message.data_location or message.external_data):
            raise DDLCNError("keeps weights in other files; save it as one: onnx.save(onnx.load(path), new_path)")
        if isinstance(message, onnx.NodeProto) and message.domain not in _DOMAINS | own:
            raise DDLCNError(f"uses the custom operator {message.domain}.{message.op_type}; export it with ONNX's own")
    return model


def _messages(message: Any) -> Iterator[Any]:
    """A protobuf message and all inside it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in [value] if hasattr(value, "ListFields") else value:
                yield from _messages(each)


def _image_input(graph: Any) -> tuple[Any, bool]:
    """The input that takes an image, and whether its channels come last."""
    initializers = {each.name for each in graph.initializer}
    inputs = {each.name: each for each in graph.input if each.name not in initializers}
    shapes = {name: [d.dim_value for d in each.type.tensor_type.shape.dim] for name, each in inputs.items()}
    for name, shape in shapes.items():
        if len(shape) == 4 and 3 in (shape[1], shape[3]) and shape[0] in (0, 1):
            if inputs[name].type.tensor_type.elem_type not in _TYPES:
                raise DDLCNError(f"input {name!r} is not of floats; export it with an input of float32")
            return inputs[name], shape[1] != 3
    found = ", ".join(f"{name!r} {' x '.join(str(d or '?') for d in shape)}" for name, shape in shapes.items())
    raise DDLCNError(f"has no input for one RGB image (1 x 3 x height x width, or channels last); it has {found}")


def _fix_size(image: Any, channels_last: bool, size: int | None) -> int:
    """Set the open dimensions of the input, and return its side."""
    dims = image.type.tensor_type.shape.dim
    own = {dim.dim_value for dim in (dims[1:3] if channels_last else dims[2:])} - {0}
    side = max(own, default=DEFAULT_SIZE) if size is None else size
    if len(own) > 1:
        raise DDLCNError(f"takes images of {' x '.join(map(str, own))} pixels; export it for a square")
    if own - {side}:
        raise DDLCNError(f"takes images of {max(own)} x {max(own)} pixels, not size={size}; leave size out")
    if not isinstance(side, int) or not SIZES[0] <= side <= SIZES[1]:
        raise DDLCNError(f"can't have size={side}: give a number of pixels from {SIZES[0]} to {SIZES[1]}")
    for dim, value in zip(dims, (1, side, side, 3) if channels_last else (1, 3, side, side), strict=True):
        dim.dim_value = value
    return side


def _choose(model: Any, image: str, channels_last: bool, wanted: str | None) -> str:
    """The last tensor with a square of places that depends on the image; an error if another one was wanted."""
    import onnx

    del model.graph.value_info[:]  # of open dimensions, which are fixed now
    for each in model.graph.output:
        each.type.tensor_type.ClearField("shape")
    try:
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except Exception:
        graph = model.graph
    known = (*graph.value_info, *graph.output)
    shapes = {each.name: tuple(dim.dim_value for dim in each.type.tensor_type.shape.dim) for each in known}
    reached, found = {image}, list[str]()
    for node in graph.node:
        if reached & _inputs(node):
            reached.update(node.output)
            for name in node.output:
                layout = layout_of(shapes.get(name, ()), channels_last)
                if layout is not None and layout.side > 1 and layout.channels > 1:
                    found.append(name)
    if wanted is None and found:
        return found[-1]
    last = {shapes[name]: name for name in found if len(shapes[name]) == 4}  # of each shape
    maps = ", ".join(f"{name} ({' x '.join(map(str, shape[1:]))})" for shape, name in list(last.items())[-MAX_LISTED:])
    what = "has no map that is known before it runs" if wanted is None else f"has no tensor {wanted!r}"
    raise DDLCNError(f"{what}; choose output from its 4-D tensors, such as {maps or 'none found'}")


def _inputs(node: Any) -> set[str]:
    """Names that a node needs, also in its subgraphs."""
    return {name for each in _messages(node) if hasattr(each, "op_type") for name in each.input} - {""}


def _cut(graph: Any, image: str, outputs: Sequence[str]) -> None:
    """Remove all that some tensors do not depend on, and make them the only outputs."""
    needed, kept, output = set(outputs), [], outputs[0]
    for node in reversed(graph.node):
        if needed & set(node.output):
            needed |= _inputs(node)
            kept.append(node)
    initializers = {each.name for each in graph.initializer} | {each.values.name for each in graph.sparse_initializer}
    others = [each.name for each in graph.input if each.name in needed - initializers - {image}]
    if others:
        raise DDLCNError(f"tensor {output!r} needs more inputs than the image: {', '.join(others)}; choose another")
    if image not in needed:
        raise DDLCNError(f"tensor {output!r} does not depend on the image; choose another output")
    inputs, weights = ([v for v in field if v.name in needed] for field in (graph.input, graph.initializer))
    for field, values in ((graph.node, kept[::-1]), (graph.input, inputs), (graph.initializer, weights)):
        del field[:]
        field.extend(values)
    del graph.output[:], graph.value_info[:]
    for name in outputs:
        graph.output.add(name=name)


def _session(model: Any) -> Any:
    """A session on one thread, so that results do not depend on the number of jobs."""
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        content, providers = model.SerializeToString(), ["CPUExecutionProvider"]
        return onnxruntime.InferenceSession(content, options, providers, enable_fallback=0)
    except Exception as error:
        raise DDLCNError(f"is refused by onnxruntime ({_line(error)}); export it for an older opset") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _input_settings(properties: Any) -> tuple[Any, Any]:
    """Mean and scale from a model's metadata, else those of ImageNet."""
    found = {each.key: each.value for each in properties}
    if found.get("Image.BitmapPixelFormat", "Rgb8") not in ("Rgb8", "Rgba8"):
        raise DDLCNError(f"takes images as {found['Image.BitmapPixelFormat']!r}; export it for Rgb8")
    try:
        if "mean" in found and "scale" in found:
            return json.loads(found["mean"]), json.loads(found["scale"])
        if "image_mean" in found and "image_std" in found:
            mean, scale = (np.multiply(json.loads(found[key]), 255.0) for key in ("image_mean", "image_std"))
            return mean.tolist(), scale.tolist()
    except (ValueError, TypeError):
        raise DDLCNError("has a mean and scale in its metadata that are no numbers; give mean and scale") from None
    return RANGES.get(found.get("Image.NominalPixelRange", ""), (IMAGENET_MEAN, IMAGENET_SCALE))
