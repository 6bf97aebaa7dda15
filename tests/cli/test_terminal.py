"""Text on the terminal."""

from ddlcn.cli.terminal import console


def test_names_are_no_markup(capsys) -> None:
    console().print("[red]label[/red] :smile:")
    assert capsys.readouterr().out == "[red]label[/red] :smile:\n"
