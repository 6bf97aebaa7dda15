"""Assembling features: in memory, or on disk without a copy."""

import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, vstack

from ddlcn.errors import DDLCNError
from ddlcn.execution.features import assemble
from tests.execution.tasks import rows
from tests.helpers import run_python

EMPTY, ZEROS = csr_array((0, 40), dtype=np.float32), csr_array((2, 40), dtype=np.float32)
PARTS = {
    "none": [],
    "many": [rows(seed, n_rows=seed % 3 + 1) for seed in range(9)],
    "with empty ones": [EMPTY, rows(0), EMPTY, ZEROS, rows(1), EMPTY],
    "only zeros": [ZEROS],
    "of other types": [csr_array(rows(0), dtype=np.float64)],
}
FULL = """
import resource
from ddlcn.errors import DDLCNError
from ddlcn.execution.features import assemble
from tests.execution.tasks import rows
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    assemble((rows(seed) for seed in range(200)), 40, in_memory=64)
except DDLCNError as error:
    print(error)
"""


def is_mapped(array):
    while not isinstance(array, np.memmap) and array is not None:
        array = getattr(array, "base", None)
    return array is not None


@pytest.mark.parametrize("in_memory", [1 << 20, 64])
@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_stacks_rows(tmp_path, parts, in_memory):
    found, truth = assemble(iter(parts), 40, str(tmp_path), in_memory), vstack([EMPTY, *parts], format="csr")
    assert (found.shape, found.dtype) == (truth.shape, np.float32)
    assert (found.indices.dtype, found.indptr.dtype) == (np.int32, np.int32)
    assert_array_equal(found.toarray(), truth.toarray())
    assert is_mapped(found.data) == is_mapped(found.indices) == (in_memory == 64 and truth.nnz > 0)
    assert os.listdir(tmp_path) == []  # files have no names
    found.data *= 2
    assert_array_equal(found.toarray(), 2 * truth.toarray())


def test_other_number_of_columns():
    with pytest.raises(DDLCNError, match="has 40 features where 39 are expected"):
        assemble([rows(0)], 39)


def test_full_disk(tmp_path):
    pytest.importorskip("resource")
    line = run_python(FULL, TMPDIR=str(tmp_path))
    assert line.startswith(f"can't write features to '{tmp_path}' (File too large)")
    assert "TMPDIR" in line
    assert line.count("\n") == 1
