"""The way in: help at once, the version, and ways out that are no mistake."""

import subprocess
import sys
from time import perf_counter

import pytest

import ddlcn
from ddlcn.cli.terminal import progress
from tests.cli.conftest import Run

COMMANDS = ("demo", "train", "evaluate", "predict", "info", "explain", "atoms")


def test_help_imports_nothing_heavy() -> None:
    script = """if True:
        import sys
        from ddlcn.cli import main
        try:
            main(["--help"])
        except SystemExit as end:
            assert not end.code
        heavy = {"numpy", "scipy", "numba", "sklearn", "matplotlib", "PIL", "joblib", "jinja2"}
        assert not heavy & set(sys.modules), heavy & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)


def test_help_answers_within_a_second() -> None:
    def seconds() -> float:
        start = perf_counter()
        shown = subprocess.run(
            [sys.executable, "-m", "ddlcn", "--help"], check=True, capture_output=True, text=True
        )
        assert all(command in shown.stdout for command in COMMANDS)
        assert "\x1b" not in shown.stdout
        return perf_counter() - start

    assert min(seconds() for _ in range(3)) < 1


def test_nothing_typed_is_help(run: Run) -> None:
    assert run().out == run("--help").out == run("-h").out


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(run: Run, command: str) -> None:
    ran = run(command, "--help")
    assert ran.code == 0
    assert ran.out


def test_version(run: Run) -> None:
    assert run("--version").out == f"ddlcn {ddlcn.__version__}\n"


def test_a_reader_that_leaves_is_no_mistake(model: object) -> None:
    command = f"{sys.executable} -m ddlcn info {model} --json | true"
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert ran.stderr == ""


def test_no_bars_unless_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as tell:
        tell("Coding", 0, 2)
        tell("Coding", 2, 2)
    assert capsys.readouterr() == ("", "")
