"""Tiles of atoms."""

from ddlcn.report.tiles import plain


def test_text_for_matplotlib() -> None:
    assert plain("$x_1$") == r"\$x_1\$"
    assert plain("a" * 40, 10) == "a" * 9 + "…"
