"""Entries of a work folder: good ones, some made to harm, mutations, and the reader under fuzz."""

import random
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from safetensors.numpy import load, save
from scipy.sparse import csr_array
from sklearn.base import clone

from ddlcn import DDLCNError
from ddlcn.execution import session
from ddlcn.execution.cache import WorkFolder, content_digest
from ddlcn.training_data import recall
from tests.helpers import quick_channels, quick_model, small_digits

DIGEST = re.compile(rb'"(\w*)":"([0-9a-f]{64})"')  # with the kind before it
KINDS = ("array", "tuple", "dict", "csr_array", "pickle", "")
TYPES = ("f2", "f4", "f8", "i1", "i4", "i8", "u1", "u8", "?")
NUMBERS = (0, 1, -1, 2, 7, 127, 2**15, 2**30, 2**31 - 1, 2**62, 2**63 - 1, 0.5, 1e38, 1e300, np.nan, np.inf)


@cache
def trained() -> tuple[Any, dict[str, Any]]:
    """The SVM of a small training, and the results that it left in its work folder."""
    channels = quick_channels("paper", sift__pooling__levels=(1,))
    with TemporaryDirectory() as folder:
        model = quick_model(channels=channels, work_folder=folder).fit(*small_digits(4, 3))
        found = WorkFolder(folder)
        return model.svm_, {name: found.read(name) for name in sorted(found.names())}


def content(kind: str, arrays: dict[str, np.ndarray]) -> bytes:
    """An entry of the name `fuzz` with the right digest."""
    return save(arrays, {kind: content_digest("fuzz", kind, arrays)})


def as_arrays(result: Any) -> tuple[str, dict[str, np.ndarray]]:
    """The kind and the arrays of a result."""
    if isinstance(result, csr_array):
        parts = {"data": result.data, "indices": result.indices, "indptr": result.indptr}
        return "csr_array", parts | {"shape": np.array(result.shape)}
    return ("dict", result) if isinstance(result, dict) else ("array", {"array": result})


@cache
def good() -> dict[str, bytes]:
    """One entry of each sort."""
    found = {type(result).__name__: result for result in trained()[1].values()}  # the last: of the SVM
    entries = {name: content(*as_arrays(result)) for name, result in found.items()}
    return entries | {"tuple": content("tuple", {"0": np.arange(3), "1": np.eye(2)})}


def bad() -> dict[str, bytes]:
    """Entries made to harm."""
    found = trained()[1]
    facts = next(result for result in found.values() if isinstance(result, dict))
    rows = as_arrays(next(result for result in found.values() if isinstance(result, csr_array)))[1]
    changed: dict[str, dict[str, np.ndarray]] = {
        "column out of range": rows | {"indices": rows["indices"] + np.int32(2**31 - 1 - rows["indices"].max())},
        "huge rows": rows | {"indptr": rows["indptr"] * 2**30},
        "fewer rows": as_arrays(csr_array((1, rows["shape"][1]), dtype=np.float32))[1],
        "target out of range": facts | {"targets": facts["targets"] + 3},
        "negative target": facts | {"targets": facts["targets"] - 1},
        "fewer targets": facts | {"targets": facts["targets"][1:]},
        "fewer flags": facts | {"unseen": facts["unseen"][1:]},
        "no parts": facts | {"parts": facts["parts"][1:]},
        "no weights": {name: array for name, array in facts.items() if name != "weights"},
    }
    good_rows = content("csr_array", rows)
    deep = b'{"__metadata__":' + b'{"a":' * 50_000
    return {name: content("csr_array" if "data" in arrays else "dict", arrays) for name, arrays in changed.items()} | {
        "another digest": content("csr_array", rows | {"data": rows["data"] / 2})[:400] + good_rows[400:],
        "long header": (2**63).to_bytes(8, "little") + b"{}",
        "deep header": len(deep).to_bytes(8, "little") + deep,
    }


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Change an array, its type or shape, its name, or the kind; the digest is right."""
    try:
        arrays, kind = load(data), DIGEST.findall(data)[0][0].decode()
    except Exception:  # changed beyond reading before
        return data
    for _ in range(rng.choice((1, 1, 2))):
        if not arrays:
            break
        name = rng.choice(list(arrays))
        array, what = arrays.pop(name), rng.random()
        if what < 0.4 and array.size:
            array = array.copy()
            with np.errstate(all="ignore"):
                array.ravel()[rng.randrange(array.size)] = np.float64(rng.choice(NUMBERS)).astype(array.dtype)
        elif what < 0.55:
            with np.errstate(all="ignore"):
                array = array.astype(rng.choice(TYPES))
        elif what < 0.7:
            array = rng.choice((array.ravel(), array[None], array[..., None], array.T, array[..., :0]))
        elif what < 0.85:
            array = array.ravel()[: rng.randrange(array.size + 1)]
        elif what < 0.9:
            name = rng.choice(("0", "1", "array", "data", "indices", "targets", "evil"))
        elif what < 0.95:
            kind = rng.choice(KINDS)
        arrays[name] = np.ascontiguousarray(array) if what < 0.97 else np.concatenate([array.ravel()] * 2)
    return content(kind, arrays)


def sealed(data: bytes) -> bytes:
    """An entry with the digest of its content, if it can be read."""
    try:
        kind, digest = DIGEST.findall(data)[0]
        return data.replace(digest, content_digest("fuzz", kind.decode(), load(data)).encode(), 1)
    except Exception:
        return data


class Given:
    """A run whose entries are those of the small training, except one."""

    def __init__(self, run: Any, found: Any) -> None:
        self.run, self.found, self.assemble = run, found, run.assemble

    def read(self, name: str) -> Any:
        good = trained()[1].get(name)
        if good is None:
            raise DDLCNError(f"no entry {name}: train again")
        return self.found if isinstance(self.found, dict) == isinstance(good, dict) else good


def read(path: Path, data: bytes) -> None:
    """Read an entry, and what it could be of: the rows that an SVM was trained on."""
    folder = path / "fuzz"
    svm, _ = trained()
    with session(folder) as run:
        (folder / "fuzz.safetensors").write_bytes(data)
        found = run.read("fuzz")
        if not isinstance(found, dict | csr_array):
            return
        try:
            rows = recall(Given(run, found), svm)
            again = clone(svm).fit(*rows)
        except DDLCNError as error:
            raise DDLCNError(f"fuzz: {error}") from None
    assert rows.features.shape == (len(rows.labels), svm.n_features_in_)
    assert np.isfinite(again.coef_).all()
