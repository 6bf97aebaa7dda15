"""Text on the terminal."""

import pytest
from rich.console import Console

from ddlcn.cli.terminal import console, wrapped


def test_names_are_no_markup(capsys) -> None:
    console().print("[red]label[/red] :smile:")
    assert capsys.readouterr().out == "[red]label[/red] :smile:\n"


def test_lines_end_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "reading\N{NO-BREAK SPACE}0.2 · " * 8 + "end"
    plain = console()
    assert wrapped(plain, text) == text.replace("\N{NO-BREAK SPACE}", " ")
    monkeypatch.setenv("COLUMNS", "40")
    terminal = Console(force_terminal=True, soft_wrap=True)
    lines = wrapped(terminal, text).split("\n")
    assert max(map(len, lines)) <= 40
    assert all(line.startswith(("reading 0.2", "· ", "end")) for line in lines)
    assert " ".join(lines) == text.replace("\N{NO-BREAK SPACE}", " ")
    assert wrapped(terminal, text, "  ").replace("\n ", "") == " ".join(lines)
