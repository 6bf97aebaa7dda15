"""Many calls in one process, and from many threads at once: no result changes, no file or thread is left open."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from tests.helpers import quick_model, run_python

SOAK = """
from benchmarks.soak import OFTEN, soak

result = soak(4, variants=4)
assert set(result["by_kind"]) == set(OFTEN), result
assert not set(result["faults"]) - {"memory"}, result  # four seconds tell nothing of memory
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="open files are read from /proc")
def test_short_soak():
    run_python(SOAK)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_threads_that_share_a_model(n_jobs):
    digits = load_digits()
    model = quick_model(n_jobs=n_jobs).fit(digits.images[:100], digits.target[:100])
    parts = [digits.images[100 + 5 * i : 105 + 5 * i] for i in range(32)]
    in_turn = [model.predict_proba(part) for part in parts]
    fresh = clone(model).fit(digits.images[:100], digits.target[:100])
    for each in (model, fresh):  # the second has computed nothing yet that threads could share
        with ThreadPoolExecutor(16) as pool:
            for one, many in zip(in_turn, pool.map(each.predict_proba, parts), strict=True):
                np.testing.assert_array_equal(one, many)
