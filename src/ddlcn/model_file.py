"""One safe file a model: tensors in safetensors, everything else as JSON in its header. Never pickle.

The file holds what answers depend on, spelt out, so that a later version of a preset changes no old model;
and nothing else, so that the same training gives the same file, byte for byte.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from ddlcn import model_claims
from ddlcn.errors import DDLCNError, ModelFileError
from ddlcn.layers.coding import LLCCoder, LocalityCoder
from ddlcn.layers.network import Network
from ddlcn.layers.pyramid import SpatialPyramid
from ddlcn.layers.sift import DenseSIFT
from ddlcn.layers.svm import LinearSVM
from ddlcn.progress import Stopwatch

if TYPE_CHECKING:
    from ddlcn.classifier import DDLCNClassifier

FORMAT = 2
_LARGEST_ATOM, _LARGEST_WEIGHT = 1e4, 1e15  # so that no score overflows
_CODERS = {"exact": LocalityCoder, "llc": LLCCoder}


def save(model: DDLCNClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted model: beside its place first, then renamed, so that no half file is ever seen."""
    network, svm = model.network_, model.svm_
    settings = model.get_params(deep=False)
    params = {name: settings[name] for name in settings if name not in ("descriptor", "n_jobs", "store")}
    header = {
        "format": FORMAT,
        "params": params,
        "descriptor": model.descriptor_.get_params(),
        "own_descriptor": model.descriptor is not None,
        "given": {} if model.descriptor is None else _chosen(model.descriptor),
        "coders": [
            {"kind": kind, **coder.get_params()}  # type: ignore[attr-defined]
            for coder in network.coders
            for kind, known in _CODERS.items()
            if isinstance(coder, known)
        ],
        "pyramid": network.pyramid.levels,
        "min_channel": network.min_channel,
        "power": network.power,
        "deep": network.deep,
        "search": network.search,
        "classes": model.classes_.tolist(),
        "classes_dtype": model.classes_.dtype.str,
        "value_range": model.value_range_,
        "n_train": model.n_train_,
        "copies": model.copies_,
        "picked_from": model.picked_from_,
        "n_features_in": getattr(model, "n_features_in_", None),
        "svm": {"C": svm.C_, "scale": svm.scale_, "duality_gap": svm.duality_gap_.tolist()},
    }
    tensors = {f"dictionary.{i}": atoms for i, atoms in enumerate(network.dictionaries)}
    tensors |= {"svm.coef": svm.coef_, "svm.intercept": svm.intercept_}
    tensors = {
        name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()
    }  # as safetensors writes
    write_atomically(path, to_bytes(tensors, {"ddlcn": json.dumps(header, default=_plain)}))


def load(cls: type[DDLCNClassifier], path: str | os.PathLike[str]) -> DDLCNClassifier:
    """Read a model back, with every claim of the file checked."""
    name = repr(os.fspath(path))
    if not os.path.isfile(path):  # nor a pipe or device, which could block for ever
        what = (
            "is no regular file: give a model" if os.path.exists(path) else "does not exist: check the path"
        )
        raise ModelFileError(f"{name} {what}, or make it with `ddlcn train`")
    try:
        with safe_open(path, framework="np") as file:
            header = _header(name, file.metadata() or {})
            claims = {key: _claim(file.get_slice(key)) for key in file.keys()}  # noqa: SIM118
            model_claims.check(header, claims)
            return _restore(cls, header, {key: file.get_tensor(key) for key in claims})
    except ModelFileError:
        raise
    except MemoryError:
        raise ModelFileError(f"{name} is too large for this machine's memory: free some") from None
    except (OSError, SafetensorError) as error:
        raise ModelFileError(
            f"{name} is damaged or is no ddlcn model ({_line(error)}): train it anew"
        ) from None
    except Exception as error:  # whatever a damaged header leads to
        raise ModelFileError(f"{name} is damaged ({_line(error)}): train it anew") from None


def _header(name: str, metadata: Mapping[str, str]) -> dict[str, Any]:
    if "ddlcn" not in metadata:
        raise ModelFileError(
            f"{name} is a safetensors file but no ddlcn model: give one made by `ddlcn train`"
        )
    header = model_claims.read_header(metadata["ddlcn"])
    version = header["format"]
    if version > FORMAT:
        raise ModelFileError(f"{name} has format {version}, newer than this ddlcn reads: upgrade ddlcn")
    if version < FORMAT:
        raise ModelFileError(f"{name} has format {version}, older than this ddlcn reads: train it anew")
    return header


def _claim(tensor: Any) -> model_claims.Tensor:
    return model_claims.Tensor(tensor.get_dtype(), tuple(tensor.get_shape()))


def read_format(path: str | os.PathLike[str]) -> int:
    """The format version of a model file."""
    with safe_open(path, framework="np") as file:
        return int(json.loads(file.metadata()["ddlcn"])["format"])


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise now, not after long work, if a file can't be written; a device is never replaced."""
    path = Path(path)
    if path.is_dir():
        raise DDLCNError(f"can't write {str(path)!r}: it is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise DDLCNError(f"can't write {str(path)!r}: it is no regular file; name one")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise DDLCNError(
            f"can't write {str(path)!r} ({error.strerror}): choose another place, or make its folder first"
        ) from None


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file whole or not at all."""
    path = Path(path)
    check_writable(path)
    try:
        handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent or ".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(beside, 0o666 & ~_umask())
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as error:
        raise DDLCNError(
            f"can't write {str(path)!r} ({error.strerror}): choose another place or free some space"
        ) from None


def _restore(
    cls: type[DDLCNClassifier], header: Mapping[str, Any], tensors: Mapping[str, np.ndarray]
) -> DDLCNClassifier:
    """The model of a header and tensors whose types and shapes have been checked."""
    for name, tensor in tensors.items():
        largest = _LARGEST_ATOM if name.startswith("dictionary") else _LARGEST_WEIGHT
        _expect(bool((np.abs(tensor) <= largest).all()), f"{name} is not finite, or too large")
    params = {key: _tuples(value) for key, value in header["params"].items()}
    descriptor = DenseSIFT(**{key: _tuples(value) for key, value in header["descriptor"].items()})
    descriptor.patch_sizes  # noqa: B018  # raises on sizes that have no sense
    given = {key: _tuples(value) for key, value in header.get("given", {}).items()}
    model = cls(**params, descriptor=descriptor.but(**given) if header["own_descriptor"] else None)
    model.descriptor_ = descriptor
    low, high = header["value_range"]
    model.value_range_ = float(low), float(high)
    model.n_train_ = header["n_train"]
    model.copies_, model.picked_from_ = header.get("copies", "none"), header.get("picked_from")
    if header["n_features_in"] is not None:
        model.n_features_in_ = header["n_features_in"]
    model.timings_ = Stopwatch()
    model.classes_ = np.array(header["classes"], dtype=np.dtype(header["classes_dtype"]))
    sorted_classes = np.unique(model.classes_)
    _expect(np.array_equal(sorted_classes, model.classes_), "its classes are not distinct and sorted")

    coders: list[Any] = []
    for spec in header["coders"]:
        known = _CODERS[spec["kind"]]
        coders.append(known(**{key: value for key, value in spec.items() if key != "kind"}))
    dictionaries = [tensors[f"dictionary.{layer}"] for layer in range(len(coders))]
    pyramid = SpatialPyramid(_tuples(header["pyramid"]))
    settings = (pyramid, header["min_channel"], model.expand, float(header["power"]))
    more = float(header.get("deep", 0)), float(header.get("search", 1))
    model.network_ = Network(dictionaries, coders, *settings, *more)

    svm = model.svm_ = LinearSVM(C=header["svm"]["C"])
    svm.classes_, svm.coef_, svm.intercept_ = (
        model.classes_,
        np.asfortranarray(tensors["svm.coef"]),
        tensors["svm.intercept"],
    )
    svm.C_, svm.scale_ = float(header["svm"]["C"]), float(header["svm"]["scale"])
    svm.duality_gap_ = np.array(header["svm"]["duality_gap"], dtype=float)
    svm.n_features_in_ = model.network_.n_features
    _expect(svm.coef_.shape[1] == svm.n_features_in_, "its weights do not fit its dictionaries")
    return model


def _chosen(descriptor: DenseSIFT) -> dict[str, Any]:
    """What training may have changed, as the user gave it."""
    return {name: getattr(descriptor, name) for name in model_claims.CHOSEN}


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    """NumPy numbers as Python's, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} can't be saved")


def _line(error: BaseException) -> str:
    return " ".join(f"{error or type(error).__name__}".split())[:200]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
