"""Compiled code gives the same answer in the process that compiles it and in those that find it on disk."""

import importlib
import os
import pkgutil
import subprocess
import sys

from numba.core.caching import NullCache
from numba.core.registry import CPUDispatcher

import ddlcn.kernels

FIT = """
import hashlib
from sklearn.datasets import load_digits
from ddlcn import DDLCNClassifier
digits = load_digits()
model = DDLCNClassifier(atoms_per_class=3, deeper_atoms=(8,)).fit(digits.images[:100], digits.target[:100])
parts = [*model.network_.dictionaries, model.svm_.coef_]
print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
"""


def test_first_run_and_later_runs(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    answers = [
        subprocess.run(
            [sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert any(tmp_path.rglob("*.nbi"))
    assert answers[0] == answers[1]


def test_what_kernels_call_is_pasted_into_them():
    found = 0
    for module in pkgutil.iter_modules(ddlcn.kernels.__path__, "ddlcn.kernels."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, CPUDispatcher):
                for called in _called(value.py_func):
                    found += 1
                    assert called.targetoptions.get("inline") == "always", (value, called)
                    assert isinstance(called._cache, NullCache)
    assert found > 20


def _called(function):
    """Compiled functions that a function names, directly or as an attribute of a module."""
    names = function.__code__.co_names
    globals_ = [function.__globals__[name] for name in names if name in function.__globals__]
    members = [getattr(value, name, None) for value in globals_ for name in names]
    return {value for value in globals_ + members if isinstance(value, CPUDispatcher)}
