"""Entries: read as they were written, or refused."""

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.testing import assert_array_equal, assert_equal
from safetensors.numpy import load, save
from scipy.sparse import csr_array

from ddlcn.errors import DDLCNError
from ddlcn.execution.cache import EntryError, WorkFolder, content_digest
from tests.execution.tasks import rows


@pytest.fixture
def folder(tmp_path):
    folder = WorkFolder(tmp_path / "work")
    with folder.in_use():
        yield folder


@pytest.fixture
def entry(folder):
    return Path(folder.path, "a.safetensors")


@pytest.mark.parametrize(
    "result",
    [
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array(2.5),
        np.zeros((0, 4), np.float32),
        np.array([True, False]),
        np.arange(5, dtype=">u2"),
        tuple(np.array([i]) for i in range(12)),
        {"b": np.arange(2), "a": np.eye(2, dtype=np.float32)},
        rows(0),
        csr_array((0, 5), dtype=np.float32),
        csr_array((4, 5), dtype=np.float32),
    ],
)
def test_results(folder, result):
    folder.write("a", result)
    found = folder.read("a")
    assert type(found) is type(result)
    if isinstance(result, csr_array):
        assert (found.dtype, found.indices.dtype) == (np.float32, np.int32)
        found, result = found.toarray(), result.toarray()
    assert_equal(found, result)


def test_any_damage(folder, entry):
    folder.write("a", rows(0))
    content = entry.read_bytes()
    damaged = [content[:length] for length in (0, 1, 8, 60, len(content) - 1)] + [content + b"\0"]
    for bit in range(0, 8 * len(content), 17):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        damaged.append(flipped)
    for each in damaged:
        entry.write_bytes(each)
        with pytest.raises(EntryError, match=r"'a\.safetensors' in .* can't be used"):
            folder.read("a")


def columns(*values):
    return {"indices": np.array(values, np.int32)}


def bounds(*values):
    return {"indptr": np.array(values)}


FORGED = {
    "column out of range": columns(0, 2, 4, 0, 3),
    "negative column": columns(-1, 2, 1, 0, 3),
    "columns out of order": columns(2, 0, 1, 0, 3),
    "column twice": columns(2, 2, 1, 0, 3),
    "columns of another type": {"indices": np.array([0, 2, 1, 0, 3])},
    "too few columns": columns(0, 2, 1, 0),
    "columns of two dimensions": {"indices": np.zeros((5, 1), np.int32), "data": np.ones((5, 1), np.float32)},
    "huge row": bounds(0, 2**30, 3, 5),
    "overflowing rows": bounds(0, 2**63 - 1, -(2**62) - 1, 5),
    "too many rows": bounds(0, 2, 3, 5, 5),
    "no rows": bounds(),
    "not a number": {"data": np.array([1, np.nan, 1, 1, 1], np.float32)},
    "values of another type": {"data": np.ones(5, np.int32)},
    "values of float64": {"data": np.full(5, 1e300)},
    "negative shape": {"shape": np.array([3, -4])},
    "huge shape": {"shape": np.array([2**63 - 1, 4])},
    "shape of one": {"shape": np.array([4])},
    "further array": {"more": np.arange(3)},
    "unknown kind": {"kind": "pickle"},
    "other kind": {"kind": "array"},
}


@pytest.mark.parametrize("changes", FORGED.values(), ids=FORGED)
def test_forged_rows(folder, entry, changes):
    """An attacker can change arrays and write the right digest."""
    good = csr_array((np.ones(5, np.float32), np.array([0, 2, 1, 0, 3], np.int32), np.array([0, 2, 3, 5])), (3, 4))
    folder.write("a", good)
    for forged in ({}, changes):
        assert_array_equal(folder.read("a").toarray(), good.toarray())
        arrays = load(entry.read_bytes()) | forged
        kind = arrays.pop("kind", "csr_array")
        entry.write_bytes(save(arrays, {kind: content_digest("a", kind, arrays)}))
    with pytest.raises(EntryError, match="can't be used"):
        folder.read("a")


@pytest.mark.parametrize("result", [np.array([np.nan]), (np.zeros(2), np.array(np.inf)), np.array(["text"])])
def test_results_that_can_not_be_stored(folder, result):
    with pytest.raises(EntryError, match="'a' can't be stored"):
        folder.write("a", result)
    assert folder.names() == set()


def test_full_disk(folder, monkeypatch):
    folder.write("a", np.zeros(3))
    monkeypatch.setattr("os.fsync", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(DDLCNError, match=r"No space left .* run the same command again"):
        folder.write("b", np.zeros(3))
    assert folder.names() == {"a"}


@pytest.mark.parametrize(
    ("address", "line"),
    [("{}/file/work", "Not a directory.*choose another folder"), ("{}/file", "choose"), ("nosuch://place", "nosuch")],
)
def test_unusable_addresses(tmp_path, address, line):
    (tmp_path / "file").write_text("")
    with pytest.raises(DDLCNError, match=line), WorkFolder(address.format(tmp_path)).in_use():
        pass
