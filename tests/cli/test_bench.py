"""`ddlcn bench` and `ddlcn bench-report`."""

import pytest

from .conftest import Run


@pytest.fixture
def asked(data, tmp_path):
    return (
        "bench",
        f"folder:{data}",
        "--pq",
        "1-1",
        "--splits",
        "2",
        "--out",
        tmp_path / "run",
        "--jobs",
        "1",
    )


def test_bench_then_report(run: Run, asked, tmp_path):
    ran = run(*asked)
    assert ran.code == 0
    assert ran.out.startswith("2 rows in")
    assert ran.err.splitlines()[0] == "0 of 2 rows"
    assert " left" in ran.err.splitlines()[1]
    assert "2 rows in" in run(*asked).out
    assert "ddlcn" in run("bench-report", tmp_path / "run").out
    assert run("bench-report", tmp_path / "run", "--json").json["tables"]
    assert run("bench-report", tmp_path / "run", "--format", "html", "-o", tmp_path / "r.html").code == 0
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


def test_mistakes_are_one_line(run: Run, asked, tmp_path):
    assert "choose from mnist" in run("bench", "nope", "--out", tmp_path / "run").line
    assert "choose from ddlcn" in run(*asked, "--methods", "nope").line
    assert "is no run" in run("bench-report", tmp_path / "nowhere").line
