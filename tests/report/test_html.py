"""Pages that need no other file."""

import pytest
from jinja2 import TemplateNotFound, UndefinedError

from ddlcn.report.html import render


def test_page_of_another_package() -> None:
    facts = {"tables": [], "figures": [("<b>caption", "data:,")], "remarks": ["1 < 2"]}
    page = render("report.html", facts, generator="tests & more", package="ddlcn_lab")
    assert page.startswith("<!doctype html>")
    assert 'content="tests &amp; more"' in page
    assert "1 &lt; 2" in page
    assert "<b>caption" not in page
    assert page.count("<style>") == page.count("<script>") == 1


def test_what_is_missing() -> None:
    with pytest.raises(UndefinedError):
        render("page.html", {}, generator="")
    with pytest.raises(TemplateNotFound):
        render("nowhere.html", {}, generator="")
