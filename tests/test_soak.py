"""Many calls in one process, and from many threads at once: nothing grows, no answer changes."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_a_short_soak():
    """In a process of its own: threads and memory of other tests are not its business."""
    script = """
from benchmarks.soak import OFTEN, judge, soak

samples = []
result = soak(4, variants=4, tell=samples.append)
assert set(result["by_kind"]) == set(OFTEN)
faults = judge(samples, result["changed"], may_grow=0.1)["faults"]
assert faults == [], faults
"""
    root = Path(__file__).parents[1]
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_threads_that_share_a_model_get_the_same_answers(n_jobs):
    digits = load_digits()
    model = DDLCNClassifier(atoms_per_class=3, n_jobs=n_jobs).fit(digits.images[:100], digits.target[:100])
    questions = [digits.images[100 + 5 * i : 105 + 5 * i] for i in range(32)]
    in_turn = [model.predict_proba(question) for question in questions]
    fresh = DDLCNClassifier(atoms_per_class=3, n_jobs=n_jobs).fit(digits.images[:100], digits.target[:100])
    for asked in (model, fresh):  # the second has computed nothing yet that threads could share
        with ThreadPoolExecutor(16) as pool:
            for one, many in zip(in_turn, pool.map(asked.predict_proba, questions), strict=True):
                np.testing.assert_array_equal(one, many)
