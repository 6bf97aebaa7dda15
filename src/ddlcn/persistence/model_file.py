"""The model file, format 3: a description in JSON and tensors, in one safetensors file. Never pickle.

It holds what answers depend on, spelt out, so that a later version of a preset changes no old model; and no path,
seed or number of threads. The same training on the same day gives the same file, byte for byte: for that we write the
container, whose order safetensors does not promise. Its metadata are `ddlcn`, the description, and `sha256`, the digest
of the whole file with zeros in place of the digest.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from ddlcn.conformal import LEAST_USUAL, SMALLEST_DEVIATION, Conformal
from ddlcn.encoder import ImageEncoder
from ddlcn.errors import DDLCNError, ModelFileError, NetworkError
from ddlcn.linear.svm import LinearSVM
from ddlcn.persistence import schema
from ddlcn.persistence.atomic import write_atomically

_TYPES = {"<f4": "F32", "<f8": "F64", "<i4": "I32"}
_LARGEST_ATOM, _LARGEST_PROJECTION, _LARGEST_WEIGHT = 1e4, 1e7, 1e15  # so that no score overflows
_BOUNDS = dict.fromkeys(("svm.coef", "svm.intercept"), (-_LARGEST_WEIGHT, _LARGEST_WEIGHT)) | {
    "calibration.own": (-1e24, 1e-3),  # log-probabilities, less what is unusual
    "calibration.expected": (-1e24, 1e-3),
    "calibration.largest": (-1e24, 1e-3),
    "calibration.mean": (-1e6, 1e6),
    "calibration.deviation": (SMALLEST_DEVIATION, 1e6),
    "calibration.whitening": (-1e3, 1e3),
    "calibration.usual": (LEAST_USUAL, 1e6),
}
_DIGEST, _ZEROS = re.compile(rb'(?<="sha256":")[0-9a-f]{64}(?=")'), b"0" * 64


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model, whole or not at all.

    Parameters
    ----------
    model : DDLCNClassifier
    path : path

    Raises
    ------
    DDLCNError
        If the file can't be written, or the model has parts or values that no model file may have.
    """
    tensors = model.encoder_.arrays() | {"svm.coef": model.svm_.coef_, "svm.intercept": model.svm_.intercept_}
    tensors |= model.calibration_.arrays() if model.calibration_ else {}
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0]))  # so that numbers are aligned
    tensors = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in ordered}
    try:
        text = schema.canonical(_describe(model))
        schema.check(json.loads(text), {name: _described(array) for name, array in tensors.items()})
        _check_values(tensors, len(model.classes_))
    except (ValueError, TypeError, AttributeError) as error:
        remedy = "train it with parts and values that a model file can hold"
        raise DDLCNError(f"can't save this model ({_line(error)}): {remedy}") from None
    header, body = _header(text, tensors), [array.data for array in tensors.values()]
    write_atomically(path, [_DIGEST.sub(_digest(header, body), header), *body])


def load(cls: Any, path: str | os.PathLike[str]) -> Any:
    """Read a model; everything in the file is checked first.

    Parameters
    ----------
    cls : type
        DDLCNClassifier, or a subclass of it.
    path : path

    Returns
    -------
    DDLCNClassifier

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, of another format, or no model file.
    """
    name = repr(os.fspath(path))
    if not os.path.isfile(path):  # nor a pipe or device, which could block for ever
        what = "is no regular file: give a model" if os.path.exists(path) else "does not exist: check the path"
        raise ModelFileError(f"{name} {what}, or make it with `ddlcn train`")
    try:
        with safe_open(path, framework="np") as file:
            description = _description(name, file.metadata() or {})
            _check_digest(path)
            slices = {key: file.get_slice(key) for key in file.keys()}  # noqa: SIM118
            shapes = {key: schema.Tensor(s.get_dtype(), tuple(s.get_shape())) for key, s in slices.items()}
            schema.check(description, shapes)
            return _restore(cls, description, {key: file.get_tensor(key) for key in shapes})
    except ModelFileError:
        raise
    except NetworkError as error:
        raise ModelFileError(f"{name} can't be used here: {error}") from None
    except MemoryError:
        raise ModelFileError(f"{name} is too large for this machine's memory: free some") from None
    except Exception as error:  # whatever a damaged file leads to
        what = "damaged or is no ddlcn model" if isinstance(error, OSError | SafetensorError) else "damaged"
        raise ModelFileError(f"{name} is {what} ({_line(error)}): train it again") from None


def read_format(path: str | os.PathLike[str]) -> int:
    """Return the format of a model file that can be loaded."""
    with safe_open(path, framework="np") as file:
        return int(schema.parse(file.metadata()["ddlcn"])["format"])


# ------------------------------------------------------------------------------------------------- writing


def _describe(model: Any) -> dict[str, Any]:
    svm, classes, class_weight = model.svm_, model.classes_, model.class_weight
    if classes.dtype.kind not in "biufU":  # text in objects
        classes = np.array(classes.tolist())
    if isinstance(class_weight, Mapping):
        class_weight = [class_weight.get(label, 1.0) for label in classes.tolist()]
    training = {"n_train": model.n_train_, "augmentation": model.augmentation_, "image_shape": model.image_shape}
    training |= {"n_features_in": getattr(model, "n_features_in_", None), "class_weight": class_weight}
    record = dict(model.training_record_)
    if "class_counts" in record:
        record["class_counts"] = [record["class_counts"][label] for label in model.classes_.tolist()]
    training |= record
    return model.encoder_.to_dict() | {
        "format": schema.FORMAT,
        "classes": classes.tolist(),
        "classes_dtype": classes.dtype.str,
        "svm": {"C": svm.C_, "scale": svm.scale_, "duality_gap": svm.duality_gap_.tolist()},
        "selection": model.selection_,
        "training": training,
    }


def _header(text: str, tensors: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of a safetensors file that come before its tensors, without the digest."""
    entries, end = dict[str, Any](__metadata__={"ddlcn": text, "sha256": _ZEROS.decode()}), 0
    for name, array in tensors.items():
        start, end = end, end + array.nbytes
        entries[name] = _described(array)._asdict() | {"data_offsets": (start, end)}
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header


def _digest(header: bytes, body: Iterable[bytes | memoryview]) -> bytes:
    digest = hashlib.sha256(_DIGEST.sub(_ZEROS, header))
    for part in body:
        digest.update(part)
    return digest.hexdigest().encode()


def _described(array: np.ndarray) -> schema.Tensor:
    return schema.Tensor(_TYPES.get(array.dtype.str, array.dtype.str), array.shape)


# ------------------------------------------------------------------------------------------------- reading


def _description(name: str, metadata: Mapping[str, str]) -> dict[str, Any]:
    """The description in a file, if it is of this format."""
    if "ddlcn" not in metadata:
        raise ModelFileError(f"{name} is a safetensors file but no ddlcn model: give one made by `ddlcn train`")
    found = schema.parse(metadata["ddlcn"])
    if (version := found["format"]) != schema.FORMAT:
        newer = version > schema.FORMAT
        what = "newer than this ddlcn reads: upgrade ddlcn" if newer else "older than this ddlcn reads: train it again"
        raise ModelFileError(f"{name} has format {version}, {what}")
    canonical = set(metadata) == {"ddlcn", "sha256"} and schema.canonical(found) == metadata["ddlcn"]
    schema.expect(canonical, "its description is not canonical JSON")
    return found


def _check_digest(path: str | os.PathLike[str]) -> None:
    with open(path, "rb") as file:
        size = file.read(8)
        header = size + file.read(int.from_bytes(size, "little"))  # that long it is: safetensors has checked it
        digest = _digest(header, iter(lambda: file.read(1 << 20), b""))
    schema.expect(_DIGEST.findall(header) == [digest], "its content does not match its SHA-256")


def _check_values(tensors: Mapping[str, np.ndarray], n_classes: int) -> None:
    for name, array in tensors.items():
        numbers = name.endswith((".atom_classes", "calibration.classes"))
        largest = _LARGEST_PROJECTION if ".projection." in name else _LARGEST_ATOM
        least, most = (0, n_classes - 1) if numbers else _BOUNDS.get(name, (-largest, largest))
        schema.expect(least <= array.min() and array.max() <= most, f"{name} has invalid numbers")  # such as NaN


def _restore(cls: Any, description: dict[str, Any], tensors: dict[str, np.ndarray]) -> Any:
    """The model of a description and tensors whose types and shapes have been checked."""
    classes, training, given = schema.labels(description), description["training"], description["svm"]
    _check_values(tensors, len(classes))
    svm = LinearSVM(float(given["C"]))
    svm.coef_, svm.intercept_ = np.asfortranarray(tensors.pop("svm.coef")), tensors.pop("svm.intercept")
    svm.classes_, svm.C_, svm.scale_, svm.selection_ = classes, float(given["C"]), float(given["scale"]), []
    svm.duality_gap_ = np.array(given["duality_gap"], dtype=float)
    calibration = Conformal.from_arrays(tensors) if "calibration.own" in tensors else None
    encoder = ImageEncoder.from_dict(description, tensors)
    svm.n_features_in_ = encoder.n_features
    schema.expect(svm.coef_.shape[1] == encoder.n_features, "svm.coef does not fit the dictionaries")
    channels = [replace(c.learnt(()), weight=w) for c, w in zip(encoder.channels, encoder.weights, strict=True)]
    policy, class_weight = training["augmentation"], training["class_weight"]
    if isinstance(class_weight, list):
        class_weight = dict(zip(classes.tolist(), class_weight, strict=True))
    model = cls(channels=channels, deskew=encoder.deskew is not None, augmentation=policy, C=svm.C_)
    model.set_params(class_weight=class_weight, image_shape=_tuple(training["image_shape"]))
    model.encoder_, model.svm_, model.classes_, model.timings_ = encoder, svm, classes, {}
    model.augmentation_, model.n_train_ = policy, training["n_train"]
    model.calibration_, model.held_out_ = calibration, None
    model.selection_ = [row | {"candidate": _tuple(row["candidate"])} for row in description["selection"]]
    model.training_record_ = {name: training[name] for name in schema.RECORD if name in training}
    if "class_counts" in training:
        model.training_record_["class_counts"] = dict(zip(classes.tolist(), training["class_counts"], strict=True))
    if training["n_features_in"] is not None:
        model.n_features_in_ = training["n_features_in"]
    return model


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _line(error: BaseException) -> str:
    return "".join(c if c.isprintable() else " " for c in str(error) or type(error).__name__)[:200]
