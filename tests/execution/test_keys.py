"""Keys: the same for the same call, another for any other."""

import os
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from ddlcn.errors import DDLCNError
from ddlcn.execution.keys import digest, source_hash, task_key
from tests.execution.tasks import Atoms, fail, total
from tests.helpers import run_python


def test_values_are_told_apart(tmp_path):
    values = [1, 1.0, True, "1", None, (1, 2), (12,), ((1,), 2), {"a": 1}, {"a": 2}, [], {}, np.float32(1), np.int64(1)]
    values += [np.zeros(2), np.zeros(2, np.float32), np.zeros((2, 1)), np.zeros(0), np.array(["a"]), np.zeros(1 << 17)]
    values += [LinearSVC(), LinearSVC(C=2), tmp_path]
    values += [Atoms([1, 2], {"scale": 1}), Atoms([1, 2], {"scale": 2}), Atoms([1, 3], {"scale": 1})]
    assert len({digest(value) for value in values}) == len(values)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3))),
        (Atoms([1], {"a": 1, "b": 2}), Atoms([1], {"b": 2, "a": 1})),
        (Path(os.path.relpath(__file__)), Path(__file__)),
    ],
)
def test_same_value_same_digest(one, other):
    assert digest(one) == digest(other)


def test_changed_file(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"one")
    before = digest(path)
    os.utime(path, ns=(1, 1))
    assert digest(path) != before
    with pytest.raises(DDLCNError, match="check the path"):
        digest(tmp_path / "none.png")


@pytest.mark.parametrize(("value", "error"), [(object(), TypeError), (np.array([object()]), DDLCNError)])
def test_values_without_digest(value, error):
    with pytest.raises(error):
        digest(value)


def test_key_is_the_same_in_another_process():
    code = "from ddlcn.execution.keys import task_key; from tests.execution.tasks import fail\n"
    code += "print(task_key(fail, ('text', 2.5, [1, None]), {}))"
    found = run_python(code).strip()
    assert found == task_key(fail, ("text", 2.5, [1, None]), {}) != task_key(total, ("text", 2.5, [1, None]), {})


@pytest.mark.parametrize("library", ["numpy", "onnxruntime", "pillow-heif"])
def test_libraries_are_part_of_the_key(tmp_path, library):
    """Whether they are installed or not; none is imported for it."""
    code = "import sys; from ddlcn.execution.keys import environment\n"
    code += "print(environment(), 'onnxruntime' in sys.modules)"
    found = {tuple(run_python(code).split())}
    for version in ("0.0.1", "0.0.2"):
        metadata = tmp_path / version / f"{library.replace('-', '_')}-{version}.dist-info" / "METADATA"
        metadata.parent.mkdir(parents=True)
        metadata.write_text(f"Metadata-Version: 2.1\nName: {library}\nVersion: {version}\n")
        path = f"import sys; sys.path.insert(0, {str(tmp_path / version)!r})\n"
        found.add(tuple(run_python(path + code).split()))
    assert len({key for key, _ in found}) == 3
    assert {imported for _, imported in found} == {"False"}


def test_source_is_part_of_the_key(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in {"one": "1", "other": "2", "same": "1"}.items():
        (tmp_path / f"{name}_source.py").write_text(f"def f(): return {text}")
    one, other, same = (import_module(f"{name}_source").__name__ for name in ("one", "other", "same"))
    assert source_hash(one) == source_hash(same) != source_hash(other)
