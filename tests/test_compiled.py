"""Compiled code gives the same results in the process that compiles it and in those that find it on disk."""

import pytest

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
