"""The page as people open it: from disk, on a phone or a wide screen, light or dark."""

import pytest

from tests.report.conftest import Case


def open_page(browser, tested: Case, width: int = 1280, scheme: str = "light") -> None:  # type: ignore[no-untyped-def]
    browser.get_log("browser")
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(tested.page.as_uri())


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_without_complaint(browser, tested: Case, width: int, scheme: str) -> None:  # type: ignore[no-untyped-def]
    open_page(browser, tested, width, scheme)
    run = browser.execute_script
    assert run("return document.documentElement.scrollWidth") <= width
    assert run("return [...document.images].every(each => each.complete && each.naturalWidth > 0)")
    ground = run("return getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 20, 25)"}[scheme]
    assert run("return typeof pwned") == "undefined"
    assert browser.get_log("browser") == []


def test_the_table_sorts_and_searches_by_keyboard(browser, tested: Case) -> None:  # type: ignore[no-untyped-def]
    open_page(browser, tested)
    accuracies = sorted(100 * tested.evaluation.class_accuracy)
    button = browser.find_elements("css selector", "#class-table thead button")[1]
    for order, expected in (("ascending", accuracies), ("descending", accuracies[::-1])):
        button.send_keys("\n")
        cells = browser.find_elements("css selector", "#class-table td.bar")
        assert [float(cell.text.split()[0]) for cell in cells] == pytest.approx(expected, abs=0.051)
        assert button.find_element("xpath", "..").get_attribute("aria-sort") == order
    browser.find_element("id", "find").send_keys("PLAIN")
    rows = browser.find_elements("css selector", "#class-table tbody tr")
    shown = [row.text for row in rows if row.is_displayed()]
    assert shown
    assert all("plain" in text for text in shown)
    assert browser.find_element("id", "found").text == f"{len(shown)} of 4"
    assert browser.get_log("browser") == []


def test_script_of_others_can_not_run(browser, tested: Case) -> None:  # type: ignore[no-untyped-def]
    open_page(browser, tested)
    browser.execute_script(
        "const script = document.createElement('script'); script.textContent = 'pwned = 1';"
        "document.body.append(script)"
    )
    assert browser.execute_script("return typeof pwned") == "undefined"
    assert any("Content Security Policy" in entry["message"] for entry in browser.get_log("browser"))
