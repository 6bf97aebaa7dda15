"""The entry point: help, the version, and every way that a command ends."""

import errno
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from unittest.mock import Mock

import pytest
from typer.main import get_command

import ddlcn
from ddlcn import DDLCNClassifier
from ddlcn.cli import GROUPS
from ddlcn.cli.app import app
from tests.cli.conftest import QUICK, Run
from tests.helpers import run_python

LEARN = ("demo", "train", "check", "extend", "evaluate", "cross-validate")
USE = ("predict", "explain", "atoms", "info", "serve")
COMMANDS = (*LEARN, *USE, "bench", "bench-report")


@pytest.fixture
def refused(run: Run, tmp_path: Path):
    """Train on a folder that can't be used, and return the one line; no file may be left behind."""

    def refused(data: Path, *options: str) -> str:
        (tmp_path / "out").mkdir()
        line = run("train", data, "-o", tmp_path / "out" / "m.ddlcn", QUICK, *options).line
        assert not any((tmp_path / "out").iterdir())
        return line

    return refused


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
    run_python(script)


def test_help_and_version(run: Run) -> None:
    shown = run("--help").out
    assert run().out == run("-h").out == shown
    assert set(re.findall(r"^│ (\S+) ", shown.split("Commands")[1], re.MULTILINE)) == set(COMMANDS)
    for command in COMMANDS:
        shown = run(command, "--help").out
        assert f"ddlcn {command}" in shown
        assert ("--json" in shown) == (command not in ("bench", "serve"))
        assert ("--quiet" in shown) == (command not in ("info", "serve", "bench-report"))
        assert re.search(rf"Examples?: +\n ddlcn {command} ?", shown)
        assert not re.search(r"\w…", shown), "cut at 80 columns"
        assert not re.search(r"<\w+[ >[]|\{", shown), "types of Python"
    assert run("-V").out == run("--version").out == f"ddlcn {ddlcn.__version__}\n"


def test_panels_of_train(run: Run) -> None:
    panels = run("train", "--help").out.split("╭─ ")[1:]
    assert [panel.split()[0] for panel in panels] == ["Arguments", "Options", "Model", "Work"]
    for panel, option in zip(panels[1:], ("--report", "--preset", "--scheduler"), strict=True):
        assert option in panel


def test_examples_have_known_options() -> None:
    for group in GROUPS:
        import_module(f"ddlcn.cli.{group}")
    commands = get_command(app).commands
    assert set(commands) == set(COMMANDS)
    for name, command in commands.items():
        known = {option for parameter in command.params for option in parameter.opts}
        heading, *examples = command.epilog.split("\n")
        assert heading == ("Example:" if len(examples) == 1 else "Examples:")
        for example in examples:
            assert example.split()[:2] == ["ddlcn", name]
            assert {word for word in example.split()[2:] if word.startswith("-")} <= known


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("ddlcn cross", ["cross-validate"]),
        ("ddlcn train --pre", ["--preset"]),
        ("ddlcn train --preset ", ["best", "paper"]),
    ],
)
def test_shell_completion(typed: str, offered: list[str]) -> None:
    asked = {"_DDLCN_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    command = [sys.executable, "-c", "from ddlcn.cli import main; main()"]
    ran = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == offered


def test_quiet(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    for option, shown in (("", True), ("-q", False)):
        ran = run("predict", model, model.parent / "data", "-o", tmp_path / "out.csv", option)
        assert ("Predicting" in ran.err) == shown


def test_closed_pipe(model: Path) -> None:
    command = f"{sys.executable} -m ddlcn info {model} --json | true"
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert ran.stderr == ""


def test_unreadable_image(refused, data: Path) -> None:
    (data / "level" / "0.png").write_bytes(b"no image")
    assert "0.png' is no image of a known kind; replace it" in refused(data, "--strict")


def test_disk_full_while_saving(refused, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    wanted = r"can't write to .*m.ddlcn.work' \(No space left on device\): free some space"
    assert re.search(wanted, refused(data))


def test_out_of_memory(refused, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DDLCNClassifier, "fit", Mock(side_effect=MemoryError))
    assert "out of memory; use fewer --jobs" in refused(data)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_disk_full_for_standard_output(model: Path) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "ddlcn", "info", str(model)]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 2
    assert re.fullmatch(r"ddlcn: .*\(No space left on device\); check .*\n", ran.stderr)


def test_control_characters_in_errors(run: Run) -> None:
    assert "'\\x1b[31m' does not exist" in run("info", "\x1b[31m").line.replace("\\\\", "\\")
