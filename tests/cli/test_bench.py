"""`bench` and `bench-report`."""

import sys

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def bench(data, tmp_path):
    return f"bench folder:{data} --pq 1-1 --splits 2 --jobs 1 --out {tmp_path / 'run'}"


def test_bench_then_report(run: Run, bench, tmp_path):
    ran = run(bench)
    assert ran.code == 0
    assert ran.out.startswith("2 rows in")
    assert ran.err.splitlines()[0] == "0 of 2 rows"
    assert " left" in ran.err.splitlines()[1]
    assert "2 rows in" in run(bench).out
    assert "ddlcn" in run("bench-report", tmp_path / "run").out
    assert run("bench-report", tmp_path / "run", "--json").json["tables"]
    assert run("bench-report", tmp_path / "run", "--format", "html", "-o", tmp_path / "r.html").code == 0
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


def test_missing_package(run: Run, bench, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ddlcn_lab.grid", None)
    monkeypatch.setitem(sys.modules, "ddlcn_lab.report", None)
    assert "ddlcn_lab.grid is not installed; pip install 'ddlcn[lab]'" in run(bench).line
    assert "pip install 'ddlcn[lab]'" in run("bench-report", tmp_path / "run").line


@pytest.fixture
def tiny_plan(monkeypatch, data):
    """A plan of two rows, on a few images."""
    from ddlcn_lab import paper
    from ddlcn_lab.grid import make_grid
    from ddlcn_lab.rows_file import Task

    dataset = f"folder:{data}"
    jobs = make_grid(dataset, methods="svm,ridge", splits=1).jobs()
    monkeypatch.setattr(paper, "entries", lambda: [paper.Entry("new", Task(dataset, job)) for job in jobs])
    monkeypatch.setitem(paper._FACTS, dataset, (2, 5, 0.1))


@pytest.mark.usefixtures("tiny_plan")
def test_paper_resumes(run: Run, tmp_path):
    """Stopped by the limit of time, then resumed; the report is one page."""
    paper = f"bench paper --only new --jobs 1 --out {tmp_path / 'paper.jsonl'}"
    assert "2 of 2 rows left" in run(f"{paper} --plan").out
    assert not (tmp_path / "paper.jsonl").exists()
    assert run(f"{paper} --hours 0").out.startswith("0 of 2 rows in")
    ran = run(f"{paper} --methods svm")
    assert ran.out.startswith("1 of 1 rows in")
    assert "method=svm" in ran.err
    assert run(paper).out.startswith("2 of 2 rows in")
    assert len((tmp_path / "paper.jsonl").read_text().splitlines()) == 2
    page = tmp_path / "tables.md"
    assert run(f"bench-report {tmp_path / 'paper.jsonl'} --format markdown -o {page}").code == 0
    assert "| ridge |" in page.read_text()


@pytest.mark.usefixtures("tiny_plan")
def test_paper_ignores_other_sources(run: Run, tmp_path, monkeypatch):
    from ddlcn_lab import machine

    out = f"--out {tmp_path / 'paper.jsonl'}"
    run(f"bench paper --jobs 1 {out}")
    monkeypatch.setattr(machine, "source_hash", lambda: "new")
    told = run(f"bench paper --plan {out}")
    assert "2 rows of another source are ignored (this is new)" in told.err
    assert "2 of 2 rows left" in told.out


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("digits", "name a run folder, as in --out runs/digits"),
        ("digits --plan", "--plan is not for 'digits'"),
        ("paper --pq 1-1", "--pq is not for 'paper'"),
        ("paper --seed 7", "--seed is not for 'paper'"),
        ("paper --plan --methods ddlcn-best-llc --out new.jsonl", "the plan has no such rows: ddlcn-best-llc"),
        ("paper --only table9", "table or data set 'table9' is unknown"),
    ],
)
def test_invalid_options(run: Run, options, line):
    assert line in run(f"bench {options}").line
