"""Keys of tasks: everything that could change the result of a call, as 32 hexadecimal digits.

A key is the SHA-256 of the function's name, of a canonical JSON of its arguments (with digests of arrays, and
path, size and time of files), of the source, and of the versions of libraries that compute.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ddlcn.errors import DDLCNError

Function = Callable[..., Any]
Call = tuple[Any, ...]
Memo = dict[int, tuple[Any, Any]]  # by id: a value, kept alive, and its description
_LIBRARIES = ("numpy", "scipy", "numba", "pillow", "scikit-learn", "onnxruntime", "pillow-heif")
_NO_RESULTS = ("cli", "execution", "persistence", "report", "serve")  # of ddlcn: they change no result of a task
_LARGE = 1 << 16  # bytes; such arrays, and objects, are described once


def task_key(function: Function, call: Call, memo: Memo) -> str:
    """Key of one call; `memo` saves describing the same arguments again."""
    package = (function.__module__ or "").partition(".")[0]
    return _sha256([environment(), source_hash(package), _name(function), _describe(call, memo)])


def digest(value: Any, memo: Memo | None = None) -> str:
    """Digest of an argument.

    Examples
    --------
    >>> digest(np.zeros(2)) == digest(np.zeros(2)) != digest(np.zeros(3))
    True
    """
    return _sha256(_describe(value, {} if memo is None else memo))


def is_object(value: Any) -> bool:
    """Whether a value describes itself by `to_dict` and `arrays`."""
    return hasattr(value, "to_dict") and hasattr(value, "arrays")


def _describe(value: Any, memo: Memo) -> Any:
    """A value as JSON that no other value has."""
    if value is None or type(value) in (str, bool, int, float):
        return value
    if isinstance(value, list | tuple):
        return [_describe(each, memo) for each in value]
    if isinstance(value, dict):
        return {"dict": sorted((_describe(item, memo) for item in value.items()), key=_json)}
    if id(value) in memo:
        return memo[id(value)][1]
    found = {_name(type(value)): _facts(value)}
    if is_object(value) or getattr(value, "nbytes", 0) > _LARGE:
        memo[id(value)] = value, found
    return found


def _facts(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return _array(np.asarray(value))
    if isinstance(value, os.PathLike):
        return _file(value)
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if is_object(value):
        return _sha256([value.to_dict(), {name: _array(each) for name, each in value.arrays().items()}])
    if isinstance(value, BaseEstimator):
        return _describe(value.get_params(deep=False), {})
    raise TypeError(f"a {type(value).__name__} can't be an argument of a task: it has no to_dict and arrays")


def _array(array: np.ndarray) -> list[Any]:
    if array.dtype.hasobject:
        raise DDLCNError(f"an array of {array.dtype} can't be told from another: give numbers or text")
    content: Any = np.ascontiguousarray(array).view(np.uint8) if array.size else b""
    return [array.dtype.str, array.shape, hashlib.sha256(content).hexdigest()]


def _file(path: os.PathLike[str]) -> list[Any]:
    try:
        facts = os.stat(path)
    except OSError as error:
        what = f"{os.fspath(path)!r} can't be read ({error.strerror})"
        raise DDLCNError(f"{what}: check the path and its permissions") from None
    return [os.path.abspath(path), facts.st_size, facts.st_mtime_ns]


def _name(function: Any) -> str:
    return f"{function.__module__}.{getattr(function, '__qualname__', function.__name__)}"


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _sha256(value: Any) -> str:
    return hashlib.sha256(_json(value).encode()).hexdigest()[:32]


@cache
def environment() -> str:
    """Digest of the source of ddlcn and of versions: the same on all machines that share work."""
    return _sha256([source_hash("ddlcn"), *map(_version, _LIBRARIES)])


def _version(library: str) -> str:
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:  # of an extra
        return f"{library} is not installed"


@cache
def source_hash(package: str) -> str:
    """Hash of the source of an imported package, or of a module that is in none."""
    file = Path(getattr(sys.modules.get(package), "__file__", None) or os.devnull)
    files = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    left_out = {file.parent / name for name in _NO_RESULTS} if package == "ddlcn" else set()
    contents = [each.read_bytes() for each in files if left_out.isdisjoint(each.parents)]
    return hashlib.sha256(b"".join(contents)).hexdigest()
