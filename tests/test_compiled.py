"""Compiled code gives the same results in the process that compiles it and in those that find it on disk."""

import importlib
import pkgutil

import pytest
from numba.core.caching import NullCache
from numba.core.registry import CPUDispatcher

import ddlcn.kernels
import ddlcn_lab.kernels
from tests.helpers import run_python

FIT = """
import hashlib
from tests.helpers import quick_model, small_digits
images, labels = small_digits()
model = quick_model(augmentation="flip", C="auto").fit(images, labels)
rows, shares = model.transform(images), model.explain(images[0]).map()
arrays = [*model.encoder_.arrays().values(), model.svm_.coef_, rows.data, shares]
print(hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest())
"""


@pytest.mark.slow
def test_first_run_equals_later_runs(tmp_path):
    first, second = (run_python(FIT, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert any(tmp_path.rglob("*.nbi"))
    assert first == second


@pytest.mark.parametrize("package", [ddlcn.kernels, ddlcn_lab.kernels])
def test_functions_that_kernels_call_are_inlined(package):
    """Linked on their own, they could be optimised differently, and last digits depend on what was compiled before."""
    calls = 0
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, CPUDispatcher):
                for called in called_by(value.py_func):
                    calls += 1
                    assert called.targetoptions.get("inline") == "always", (value, called)
                    assert isinstance(called._cache, NullCache)
    assert calls > 20 or package is ddlcn_lab.kernels


def called_by(function):
    """Compiled functions that a function names, directly or as an attribute of a module."""
    names = function.__code__.co_names
    globals_ = [function.__globals__[name] for name in names if name in function.__globals__]
    members = [getattr(value, name, None) for value in globals_ for name in names]
    return {value for value in globals_ + members if isinstance(value, CPUDispatcher)}
