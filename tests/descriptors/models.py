"""ONNX models of a few operators, and what their maps are."""

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="needs the extra backbone")
onnx = pytest.importorskip("onnx", reason="needs the extra backbone")


def save(path, nodes, inputs, arrays, outputs=("scores",), metadata=(), domains=("",)):
    """Write an ONNX model of float32 tensors; nodes are (operator, inputs, outputs, settings)."""
    helper = onnx.helper
    made = [helper.make_node(kind, given, out, **settings) for kind, given, out, settings in nodes]
    inputs = [helper.make_tensor_value_info(name, 1, shape) for name, shape in inputs]
    outputs = [onnx.ValueInfoProto(name=name) for name in outputs]
    for each in outputs:
        each.type.tensor_type.elem_type = 1
    weights = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    opsets = [helper.make_opsetid(domain, 17 if domain == "" else 1) for domain in domains]
    graph = helper.make_graph(made, "test", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    helper.set_model_props(model, dict(metadata))
    path.write_bytes(model.SerializeToString())
    return str(path)


def weights(channels=6, patch=4, seed=0):
    """Weights of a convolution of patches beside each other, and of a linear classifier."""
    rng = np.random.default_rng(seed)
    return {
        "w": rng.normal(size=(channels, 3, patch, patch)).astype(np.float32),
        "b": rng.normal(size=channels).astype(np.float32),
        "v": rng.normal(size=(channels, 2)).astype(np.float32),
    }


def patch_map(pixels, arrays):
    """Oracle: the convolution of normalised pixels (height, width, 3), as (rows, columns, channels)."""
    patch = arrays["w"].shape[-1]
    rows, columns = (side // patch for side in pixels.shape[:2])
    tiles = pixels.reshape(rows, patch, columns, patch, 3).astype(np.float64)
    return np.einsum("iujvc,kcuv->ijk", tiles, arrays["w"]) + arrays["b"]


def classifier(path, side=32, channels_last=False, metadata=(), batch=1, **settings):
    """A small convolutional classifier: patches, ReLU, global mean, scores. Its last map is `map`."""
    arrays = weights(**settings)
    patch = arrays["w"].shape[-1]
    first = [("Transpose", ["image"], ["turned"], {"perm": [0, 3, 1, 2]})] if channels_last else []
    nodes = [
        *first,
        ("Conv", ["turned" if channels_last else "image", "w", "b"], ["inner"], {"strides": [patch] * 2}),
        ("Relu", ["inner"], ["map"], {}),
        ("GlobalAveragePool", ["map"], ["mean"], {}),
        ("Flatten", ["mean"], ["flat"], {}),
        ("MatMul", ["flat", "v"], ["scores"], {}),
    ]
    shape = [batch, side, side, 3] if channels_last else [batch, 3, side, side]
    return save(path, nodes, [("image", shape)], arrays, metadata=metadata), arrays


def transformer(path, side=32, extra=1, **settings):
    """Tokens as in a vision transformer: patches and extra tokens, attention, scores from the first token."""
    arrays = weights(**settings)
    patch, channels = arrays["w"].shape[-1], len(arrays["b"])
    arrays |= {
        "shape": np.array([1, channels, -1]),
        "class": np.full((1, extra, channels), 9, np.float32),
        "shift": np.full(channels, 0.5, np.float32),
        "first": np.array(0),
        "axis": np.array([1]),
    }
    nodes = [
        ("Conv", ["image", "w", "b"], ["inner"], {"strides": [patch] * 2}),
        ("Reshape", ["inner", "shape"], ["flat"], {}),
        ("Transpose", ["flat"], ["patches"], {"perm": [0, 2, 1]}),
        ("Concat", ["class", "patches"] if extra else ["patches"], ["tokens"], {"axis": 1}),
        ("Unsqueeze", ["tokens", "axis"], ["per_head"], {}),
        ("Transpose", ["per_head"], ["keys"], {"perm": [0, 1, 3, 2]}),
        ("MatMul", ["per_head", "keys"], ["attention"], {}),
        ("Softmax", ["attention"], ["unused"], {"axis": -1}),
        ("Add", ["tokens", "shift"], ["normed"], {}),
        ("Gather", ["normed", "first"], ["class_token"], {"axis": 1}),
        ("MatMul", ["class_token", "v"], ["scores"], {}),
    ]
    return save(path, nodes, [("image", ["n", 3, "h", "w_"])], arrays, ("scores", "unused")), arrays
