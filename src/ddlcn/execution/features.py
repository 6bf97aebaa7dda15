"""One feature matrix from the parts that tasks made."""

from collections.abc import Iterable
from contextlib import suppress
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ddlcn.errors import DDLCNError


def assemble(
    parts: Iterable[csr_array], n_columns: int, folder: str | None = None, in_memory: int = 256 << 20
) -> csr_array:
    """Stack sparse rows.

    Parameters
    ----------
    parts : iterable of csr_array
        Of float32 values and int32 columns; one is in memory at a time.
    n_columns : int
        Columns of each part.
    folder : str, optional
        Local folder for large features; the system's temporary folder by default.
    in_memory : int
        Bytes that the features may take in memory; the arrays of larger ones are maps of unnamed files.

    Returns
    -------
    csr_array

    Raises
    ------
    DDLCNError
        If the disk is full, or a part has another number of columns.

    Examples
    --------
    >>> assemble([csr_array(np.eye(2)), csr_array(np.ones((1, 2)))], 2).toarray()
    array([[1., 0.],
           [0., 1.],
           [1., 1.]], dtype=float32)
    """
    place: dict[str, Any] = {"dir": folder, "prefix": ".features.", "suffix": ".tmp"}
    lengths = [np.zeros(1, np.int64)]
    with (
        SpooledTemporaryFile(in_memory // 2, **place) as values,
        SpooledTemporaryFile(in_memory // 2, **place) as columns,
    ):
        for part in parts:
            if part.shape[1] != n_columns:
                what = f"a part has {part.shape[1]} features where {n_columns} are expected"
                raise DDLCNError(f"{what}: start over with a new work folder")
            lengths.append(np.diff(part.indptr))
            _append(values, part.data, np.float32, folder)
            _append(columns, part.indices, np.int32, folder)
        indptr = np.cumsum(np.concatenate(lengths))
        data, indices = (_array(file, dtype, indptr[-1]) for file, dtype in ((values, "f4"), (columns, "i4")))
    if indptr[-1] < 2**31:
        return csr_array((data, indices, indptr.astype(np.int32)), shape=(len(indptr) - 1, n_columns))
    rows: Any = csr_array((len(indptr) - 1, n_columns), dtype=np.float32)
    rows.data, rows.indices, rows.indptr = data, indices, indptr  # the constructor would copy the indices as int64
    return rows


def _append(file: Any, array: np.ndarray, dtype: type, folder: str | None) -> None:
    try:
        file.write(np.ascontiguousarray(array, dtype).data)
        file.flush()
    except OSError as error:
        with suppress(OSError):  # it would fail again at the end
            file.close()
        what = f"can't write features to {folder or gettempdir()!r} ({error.strerror})"
        remedy = "free some space, or choose another disk by work_folder= or the variable TMPDIR"
        raise DDLCNError(f"{what}: {remedy}") from None


def _array(file: Any, dtype: str, size: int) -> np.ndarray:
    """The content of a file: read if it is still in memory, mapped if it is on the disk."""
    if file.name is not None:
        return np.memmap(file, dtype, "r+", shape=(size,))
    array = np.empty(size, dtype)
    file.seek(0)
    file.readinto(array.data)
    return array
