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
