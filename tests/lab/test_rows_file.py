"""Files of rows: resumed, of another source, failing methods, a limit of time."""

import json

import pytest
from sklearn.dummy import DummyClassifier

from ddlcn.errors import DDLCNError
from ddlcn_lab import machine
from ddlcn_lab.grid import Job
from ddlcn_lab.methods.registry import METHODS, Method
from ddlcn_lab.rows_file import RowsFile, Task


@pytest.fixture
def majority(monkeypatch):
    """A method that takes no time, and one that fails."""
    monkeypatch.setitem(METHODS, "majority", Method("", lambda *_: DummyClassifier(), depends_on=""))

    def fail(*_):
        raise DDLCNError("too much memory")

    monkeypatch.setitem(METHODS, "failing", Method("", fail, depends_on=""))


def tasks(dataset, *methods, splits=2):
    return [Task(dataset, Job(name, None, 0, 5, split, False)) for name in methods for split in range(splits)]


@pytest.mark.usefixtures("majority")
def test_resume(tmp_path, few_digits):
    path, wanted = tmp_path / "rows.jsonl", tasks(few_digits, "majority")
    first = RowsFile(path)
    next(first.fill(wanted))
    path.write_bytes(path.read_bytes() + b'{"source": "cut o')  # killed while it wrote
    again = RowsFile(path, machine.source_hash())
    assert [task for task, _ in again.fill(wanted)] == wanted[1:]
    assert [task for task, _ in RowsFile(path, machine.source_hash()).fill(wanted)] == []
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["split"] for row in rows] == [0, 1]
    assert rows[0]["accuracy"] == pytest.approx(1 - len(rows[0]["wrong"]) / rows[0]["images"]["test"])
    assert "confusion" not in rows[0]
    assert [each.name for each in (tmp_path / ".rows.jsonl.locks").iterdir()] == ["append.lock"]  # no claims


@pytest.mark.usefixtures("majority")
def test_other_source(tmp_path, few_digits):
    path, wanted = tmp_path / "rows.jsonl", tasks(few_digits, "majority", splits=1)
    list(RowsFile(path, "old").fill(wanted))
    new = RowsFile(path, "new")
    assert (len(new.rows), len(new.others)) == (0, 1)
    assert len(list(new.fill(wanted))) == 1
    assert RowsFile(path).source == "new"  # of the last row


@pytest.mark.usefixtures("majority")
def test_failures_do_not_end_a_run(tmp_path, few_digits):
    path = tmp_path / "rows.jsonl"
    wanted = [
        *tasks(few_digits, "failing", "majority", splits=1),
        *tasks("folder:no-such-folder", "majority", splits=1),
    ]
    rows = [row for _, row in RowsFile(path).fill(wanted)]
    assert rows[0]["error"] == "too much memory"
    assert rows[1]["accuracy"] > 0
    assert "no-such-folder" in rows[2]["error"]
    assert len(RowsFile(path).rows) == 2  # a missing data set may be there next time


@pytest.mark.usefixtures("majority")
def test_two_processes(tmp_path, few_digits):
    """While one computes a row, another that fills the same file goes on with the next, and no row is there twice."""
    path, wanted = tmp_path / "rows.jsonl", tasks(few_digits, "majority", splits=3)
    first = RowsFile(path).fill(wanted)
    next(first)  # has finished row 0 and still holds its claim
    others = [task for task, _ in RowsFile(path).fill(wanted)]
    assert others == wanted[1:]
    assert list(first) == []
    assert len(path.read_text().splitlines()) == 3


@pytest.mark.usefixtures("majority")
def test_limit_of_time(tmp_path, few_digits):
    assert list(RowsFile(tmp_path / "rows.jsonl").fill(tasks(few_digits, "majority"), hours=0)) == []


def test_confusion_of_first_split(tmp_path, few_digits):
    """Of our methods; it adds up to the test images, and its diagonal to the accuracy."""
    jobs = [Job("ddlcn", 1, 1, 5, split, False) for split in (0, 1)]
    (_, row), (_, other) = RowsFile(tmp_path / "rows.jsonl").fill([Task(few_digits, job) for job in jobs])
    assert sum(n for *_, n in row["confusion"]) == row["images"]["test"]
    right = sum(n for true, predicted, n in row["confusion"] if true == predicted)
    assert right / row["images"]["test"] == pytest.approx(row["accuracy"])
    assert row["classes"] == ["0", "1", "2"]
    assert "confusion" not in other


def test_source_hash(tmp_path, monkeypatch):
    """It changes with the content and the name of any module, and with nothing else."""

    def hash_of(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return machine.source_hash.__wrapped__()

    monkeypatch.setattr(machine, "__file__", str(tmp_path / "ddlcn_lab" / "machine.py"))
    first = hash_of({"ddlcn/a.py": "1", "ddlcn_lab/machine.py": "2"})
    assert hash_of({"ddlcn/notes.txt": "x"}) == first
    second = hash_of({"ddlcn/a.py": "1 "})
    assert second != first
    (tmp_path / "ddlcn" / "a.py").rename(tmp_path / "ddlcn" / "b.py")
    assert machine.source_hash.__wrapped__() not in (first, second)


def test_rows_of_a_run_folder(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"seed": 0} | Job("svm", 5, 5, 5, 0, False)._asdict()) + "\n")
    with pytest.raises(DDLCNError, match="name the run folder"):
        RowsFile(path)


def test_what_this_machine_lacks_is_no_result(tmp_path, few_digits, monkeypatch):
    def make(*_):
        raise ModuleNotFoundError("No module named 'torch'")

    monkeypatch.setitem(METHODS, "lacking", Method("", make, depends_on=""))
    path = tmp_path / "rows.jsonl"
    told = [row["error"] for _, row in RowsFile(path).fill(tasks(few_digits, "lacking"))]
    assert told == 2 * ["No module named 'torch'"]
    assert not path.exists()
