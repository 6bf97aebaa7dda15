"""Results of tasks by name, in a work folder that other processes and machines may share.

An entry is a safetensors file, never pickle. It has a digest of its name and content, and whatever is read is
checked: an entry that is damaged, or forged, is never used.
"""

import hashlib
import json
import os
from contextlib import AbstractContextManager, suppress
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save
from scipy.sparse import csr_array

from ddlcn.blas import one_blas_thread
from ddlcn.errors import DDLCNError
from ddlcn.execution.keys import Call, Function
from ddlcn.execution.storage import ENTRY, LocalFolder, RemoteFolder

RESUME = "run the same command again to resume"
_DAMAGE = (OSError, SafetensorError, ArithmeticError, LookupError, TypeError, ValueError)


class EntryError(DDLCNError):
    """An entry that is missing or invalid."""


class WorkFolder:
    """Entries by name.

    Parameters
    ----------
    path : str or path
        A local folder, or any address of fsspec (``s3://…``, extra ``cluster``).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as path:
    ...     folder = WorkFolder(path)
    ...     with folder.in_use():
    ...         folder.write("squares", np.array([1, 4, 9]))
    ...         folder.names(), folder.read("squares")
    ({'squares'}, array([1, 4, 9]))
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        given = os.fspath(path)
        self._files = RemoteFolder(given) if "://" in given else LocalFolder(given)
        self.local = None if "://" in given else str(self._files.path)
        self.path = self.local or given

    def names(self) -> set[str]:
        """Names of all entries."""
        return {name.removesuffix(ENTRY) for name in self._files.names() if name.endswith(ENTRY)}

    def __contains__(self, name: str) -> bool:
        return self._files.has(name + ENTRY)

    def read(self, name: str) -> Any:
        """Read and check an entry.

        Returns
        -------
        array, tuple of arrays, csr_array or dict of arrays

        Raises
        ------
        EntryError
            If it is missing, damaged or invalid.
        """
        try:
            return _decode(name, self._files.read(name + ENTRY))
        except _DAMAGE as error:
            why = " ".join(str(error).split())[:100]
            raise EntryError(f"{name + ENTRY!r} in {self.path!r} can't be used ({why})") from None

    def write(self, name: str, result: Any) -> None:
        """Write an entry, whole or not at all; the folder must be `in_use`."""
        try:
            self._files.write(name + ENTRY, _encode(name, result))
        except OSError as error:
            remedy = f"free some space or change permissions, and {RESUME}; finished work stays there"
            raise DDLCNError(f"can't write to {self.path!r} ({error.strerror or error}): {remedy}") from None
        except ValueError as error:
            raise EntryError(f"{name!r} can't be stored ({error}): please report this") from None

    def delete(self, name: str) -> None:
        """Delete an entry, if it is there."""
        self._files.delete(name + ENTRY)

    def compute(self, name: str, function: Function, call: Call) -> str:
        """Write the result of a task, unless a valid one is there; returns its name."""
        with suppress(EntryError):
            self.read(name)
            return name
        with one_blas_thread():
            self.write(name, function(*call))
        return name

    def in_use(self) -> AbstractContextManager[None]:
        """Make the folder, and keep other processes from removing it inside a `with` block."""
        return self._files.in_use()

    def remove(self) -> None:
        """Delete a local folder that is `in_use` here, unless another process uses it too."""
        self._files.remove()


# ---------------------------------------------------------------------------------- what is in an entry


def _encode(name: str, result: Any) -> bytes:
    kind, parts = "array", {"array": result}
    if isinstance(result, csr_array):
        indices, shape = result.indices.astype(np.int32, copy=False), np.array(result.shape)
        kind, parts = "csr_array", {"data": result.data, "indices": indices, "indptr": result.indptr, "shape": shape}
    elif isinstance(result, tuple):
        kind, parts = "tuple", {str(number): part for number, part in enumerate(result)}
    elif isinstance(result, dict):
        kind, parts = "dict", result
    arrays = {key: np.asarray(part, order="C") for key, part in parts.items()}
    arrays = {key: array.astype(array.dtype.newbyteorder("<"), copy=False) for key, array in arrays.items()}
    _result(kind, arrays)
    return save(arrays, {kind: content_digest(name, kind, arrays)})  # one item: safetensors would shuffle more


def _decode(name: str, content: bytes) -> Any:
    arrays = load(content)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    ((kind, digest),) = header["__metadata__"].items()
    if digest != content_digest(name, kind, arrays):
        raise EntryError("its content does not match its digest")
    return _result(kind, arrays)


def content_digest(name: str, kind: str, arrays: dict[str, Any]) -> str:
    """Digest of everything in an entry."""
    facts = {key: (array.dtype.str, array.shape) for key, array in arrays.items()}
    digest = hashlib.sha256(json.dumps([name, kind, facts], sort_keys=True).encode())
    for key in sorted(arrays):
        digest.update(arrays[key])
    return digest.hexdigest()


def _result(kind: str, arrays: dict[str, np.ndarray]) -> Any:
    """The result that arrays stand for; raises unless they are numbers, finite and in bounds."""
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            raise EntryError(f"array {name[:20]!r} of {array.dtype} has no finite numbers")
    if kind == "csr_array":
        return _rows(**arrays)
    if kind == "tuple":
        return tuple(arrays[str(number)] for number in range(len(arrays)))
    if kind == "array":
        return arrays["array"]
    if kind == "dict":
        return arrays
    raise EntryError(f"its kind is {kind[:20]!r}")


def _rows(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: np.ndarray) -> csr_array:
    """Sparse rows; raises unless they are in order and inside the matrix: compiled code relies on it."""
    n_rows, n_columns = shape.tolist()
    typed = data.dtype == np.float32 and indices.dtype == np.int32 and indptr.dtype.kind == "i"
    if not typed or (indptr[1:] < indptr[:-1]).any():  # SciPy overlooks differences that overflow
        raise EntryError("its rows are invalid")
    rows = csr_array((data, indices, indptr), shape=(n_rows, n_columns))
    rows.check_format(full_check=True)
    if not rows.has_canonical_format:
        raise EntryError("its columns are out of order")
    return rows
