"""What a notebook shows of a model, of images and of evidence, in a browser."""

from pathlib import Path

import pytest

from tests.report.conftest import Case, check_layout, open_page

# a cell of a notebook, whose own style is that of its theme
PAGE = """<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>body {{ margin: 0; background: {ground}; color: {text}; font: 14px sans-serif }}</style>{views}"""
COLOURS = {"light": ("rgb(255, 255, 255)", "rgb(0, 0, 0)"), "dark": ("rgb(15, 20, 25)", "rgb(230, 230, 230)")}


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_views(browser, tested: Case, tmp_path: Path, width: int, scheme: str) -> None:  # type: ignore[no-untyped-def]
    evidence = tested.model.explain(tested.test.images[0])
    views = [tested.model._repr_mimebundle_()["text/html"], tested.train._repr_html_(), evidence._repr_html_()]
    ground, text = COLOURS[scheme]
    (tmp_path / "cell.html").write_text(PAGE.format(ground=ground, text=text, views="<hr>".join(views)), "utf-8")
    open_page(browser, (tmp_path / "cell.html").as_uri(), width, scheme)
    check_layout(browser, width, scheme)
    assert browser.execute_script("return [...document.images].map(each => each.naturalWidth > 0)") == [True, True]
    cells = browser.find_elements("css selector", ".ddlcn-model td")
    assert "24 images" in cells[1].text
    for each in (cells[1], browser.find_element("xpath", "//*[starts-with(text(), 'Evidence for')]")):
        assert each.is_displayed()
        assert each.value_of_css_property("color").replace("rgba", "rgb").replace(", 1)", ")") == text
    assert browser.execute_script("return typeof pwned") == "undefined"
