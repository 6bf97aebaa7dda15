"""The page in a browser."""

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.report.conftest import bars, check_layout, open_page
from tests.serve.conftest import CLASSES, running

DROP = """
const [text, type] = arguments, transfer = new DataTransfer();
transfer.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], "dropped.png", {type}));
const event = new Event("EVENT", {bubbles: true, cancelable: true});
event.dataTransfer = event.clipboardData = transfer;
document.body.dispatchEvent(event);
"""
CAMERA = """
const canvas = Object.assign(document.createElement("canvas"), {width: 64, height: 48});
const pen = canvas.getContext("2d");
pen.fillStyle = "white";
setInterval(() => { for (let y = 0; y < 48; y += 8) pen.fillRect(0, y, 64, 4); }, 20);
navigator.mediaDevices.getUserMedia = async () => canvas.captureStream();
"""
Page = Any  # selenium's driver, opened on the page


@pytest.fixture(scope="module")
def address(model) -> Iterator[str]:
    from ddlcn.serve import create_app

    with running(create_app(model, name="<b>bars</b>")) as (host, port):
        yield f"http://{host}:{port}/"


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Page]:
    """The page on a wide screen; at the end, the console must be empty."""
    yield open_page(browser, address)
    assert browser.get_log("browser") == []


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    rng = np.random.default_rng(2)
    for angle, name in enumerate(["one.png", "two <i>.png", "three.tiff"]):
        Image.fromarray(bars(rng, angle, 48)).save(tmp_path / name)
    return [str(tmp_path / name) for name in ("one.png", "two <i>.png", "three.tiff")]


def wait(page: Page, until: Callable[[], Any]) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(page, 20, 0.05).until(lambda _: until())


def text(page: Page, place: str) -> str:
    return page.find_element("css selector", place).text


def choose(page: Page, *files: str) -> None:
    page.find_element("id", "files").send_keys("\n".join(files))
    wait(page, lambda: "…" not in text(page, "#images") and text(page, "#images"))
    wait(page, lambda: text(page, "#label"))


def test_unknown_image(browser: Any, calibrated, tmp_path: Path) -> None:
    from ddlcn.serve import create_app

    Image.fromarray(np.zeros((40, 40), np.uint8)).save(tmp_path / "blank.png")
    Image.fromarray(bars(np.random.default_rng(2), 0, 40)).save(tmp_path / "bars.png")
    with running(create_app(calibrated)) as (host, port):
        page = open_page(browser, f"http://{host}:{port}/", 390)
        wait(page, lambda: "trained on" in text(page, "#about"))
        assert "can't" not in text(page, "#about")
        choose(page, str(tmp_path / "blank.png"), str(tmp_path / "bars.png"))
        assert "This image is unlike the training images: channel " in text(page, ".name")
        blank, known = page.find_elements("css selector", "#images button")
        assert blank.text.startswith("unknown")
        assert "%, but unlike the training images: " in blank.get_attribute("aria-label")
        check_layout(page, 390, "light")
        known.click()
        assert known.text.startswith("level")
        assert not page.find_element("id", "reason").is_displayed()
        assert browser.get_log("browser") == []


def test_choose_files(page: Page, files: list[str], model) -> None:
    wait(page, lambda: text(page, "#name") == "<b>bars</b>")
    assert text(page, "#about").endswith("can't recognise unknown images")
    choose(page, *files)
    assert len(page.find_elements("css selector", "#images button")) == 3
    expected = model.predict(files)
    assert text(page, "#label").startswith(expected[0])
    shares = [float(each.text.split()[0]) for each in page.find_elements("css selector", "#classes span")]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(100, abs=0.3)
    for name in ("photo", "map"):
        size = f"return {name}.complete && {name}.naturalWidth > 0 && {name}.getBoundingClientRect().width > 100"
        assert wait(page, lambda size=size: page.execute_script(size))

    def coloured() -> bool:  # the evidence lies above the grey image
        with Image.open(io.BytesIO(page.find_element("css selector", ".frame .after").screenshot_as_png)) as shown:
            return bool(np.ptp(np.asarray(shown.convert("RGB"), int), axis=2).max() > 60)

    assert wait(page, coloured)
    third = page.find_elements("css selector", "#images button")[2]  # a TIFF, which no browser shows by itself
    third.click()
    wait(page, lambda: text(page, "#file") == "three.tiff")
    assert text(page, "#label").startswith(expected[2])
    assert third.get_attribute("aria-current") == "true"
    assert third.get_attribute("aria-label").startswith(f"three.tiff: {expected[2]}, ")
    assert wait(page, lambda: page.execute_script("return photo.naturalWidth > 0"))


def test_results_are_announced_but_not_shown_twice(page: Page, files: list[str]) -> None:
    choose(page, *files[:2])
    status = page.find_element("id", "status")
    wait(page, lambda: status.get_attribute("textContent").startswith(Path(files[1]).name))
    assert status.value_of_css_property("opacity") == "0"  # for screen readers only
    assert status.get_attribute("role") == "status"


def test_keyboard(page: Page, files: list[str]) -> None:
    choose(page, files[0])
    first = page.find_element("id", "map").get_attribute("src")
    chosen = page.find_element("css selector", "#classes input:checked")
    second = page.find_elements("css selector", "#classes input")[1].get_attribute("value")
    chosen.send_keys("\ue015")  # arrow down
    wait(page, lambda: text(page, ".legend .explained") == second)
    assert page.find_element("id", "map").get_attribute("src") != first
    assert second in page.find_element("id", "map").get_attribute("alt")
    assert second in page.find_element("id", "status").get_attribute("textContent")
    slider = page.find_element("id", "wipe")
    slider.send_keys("\ue010")  # End: the original
    wait(
        page,
        lambda: "100%" in page.execute_script("return getComputedStyle(document.querySelector('.after')).clipPath"),
    )
    page.find_element("id", "prediction-tab").send_keys("\ue014")  # arrow right
    assert not page.find_element("id", "answer").is_displayed()
    strongest = page.find_element("css selector", "#strongest button")
    assert strongest.get_attribute("aria-label").startswith("Atom ")
    strongest.send_keys("\n")
    assert page.find_elements("css selector", "#patches i")
    assert page.find_element("css selector", "#strongest button").get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("event", ["drop", "paste"])
def test_drop_and_paste(page: Page, files: list[str], event: str) -> None:
    from base64 import b64encode

    content = b64encode(Path(files[0]).read_bytes()).decode()
    page.execute_script(DROP.replace("EVENT", event), content, "image/png")
    wait(page, lambda: text(page, "#file") == "dropped.png")


def test_camera(page: Page) -> None:
    page.execute_script(CAMERA)
    page.find_element("id", "camera").click()
    wait(page, lambda: page.execute_script("return video.videoWidth") == 64)
    page.find_element("id", "take").click()
    wait(page, lambda: text(page, "#file") == "snapshot 1.png")
    assert page.execute_script("return video.srcObject.getTracks().every((t) => t.readyState === 'ended')")


def test_broken_file(browser: Any, address: str, files, tmp_path) -> None:
    page = open_page(browser, address)
    (tmp_path / "bad <b>.png").write_text("no image")
    choose(page, str(tmp_path / "bad <b>.png"), files[0])
    assert "'bad <b>.png' is no image of a known kind" in text(page, "#problems")
    assert text(page, "#file") == "one.png"
    page.find_element("css selector", "#problems button").click()
    assert text(page, "#problems") == ""
    [entry] = browser.get_log("browser")  # the browser's own, about the answer
    assert "422" in entry["message"]


def test_clear(page: Page, files: list[str]) -> None:
    choose(page, *files)
    page.find_element("id", "clear").click()
    wait(page, lambda: text(page, "#images") == "" and not page.find_element("id", "answer").is_displayed())
    assert not page.find_element("id", "clear").is_displayed()
    choose(page, files[1])
    assert text(page, "#file") == "two <i>.png"


def test_photo_then_evidence_then_atoms(browser: Any, address: str, files: list[str]) -> None:
    page = open_page(browser, address, 390)
    assert "Choose an image" in text(page, "#empty")
    choose(page, *files)
    tops = [
        page.find_element("css selector", place).location["y"] for place in ("#photo", "#map", "#classes", "#score")
    ]
    assert tops == sorted(tops)
    assert not page.find_element("id", "strongest").is_displayed()
    page.find_element("id", "atoms-tab").click()
    assert page.find_element("id", "strongest").is_displayed()
    assert not page.find_element("id", "photo").is_displayed()
    assert page.find_element("id", "atoms-tab").get_attribute("aria-selected") == "true"


def test_numbers_of_thumbnails(browser: Any, tmp_path: Path) -> None:
    """They are visible beside the longest name."""
    from ddlcn import DDLCNClassifier
    from ddlcn.serve import create_app

    rng = np.random.default_rng(0)
    images = [bars(rng, angle) for angle in (0, 2) for _ in range(4)]
    labels = np.repeat(["a very long name of a class", "b" * 90], 4)
    model = DDLCNClassifier("paper", atoms_per_class=2).fit(images, labels)
    Image.fromarray(images[0]).save(tmp_path / "one.png")
    with running(create_app(model)) as (host, port):
        page = open_page(browser, f"http://{host}:{port}/", 390)
        choose(page, str(tmp_path / "one.png"))
        share = page.find_element("css selector", "#images span + span")
        assert re.fullmatch(r"\d+\.\d\s%", share.text)
        assert page.execute_script("return arguments[0].scrollWidth <= arguments[0].clientWidth", share)


@pytest.mark.parametrize("touch", [True, False])
def test_words_for_touch(browser: Any, address: str, files: list[str], touch: bool) -> None:
    def emulate(on: bool) -> None:
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": on, "maxTouchPoints": 5})

    emulate(touch)
    try:
        page = open_page(browser, address, 390)
        choose(page, files[0])
        page.find_element("id", "atoms-tab").click()
        shown = text(page, "body")
        assert ("Touch one to see its patches" in shown, "with Tab" in shown, "Drop images" in shown) == (
            (True, False, False) if touch else (False, True, True)
        )
    finally:
        emulate(False)


def test_atoms(page: Page) -> None:
    page.find_element("id", "atoms-tab").click()
    wait(page, lambda: text(page, "#count").startswith("All 16 atoms"))
    page.find_element("css selector", f"#learnt option[value='{CLASSES[3]}']").click()
    wait(page, lambda: text(page, "#count").startswith("All 4 atoms"))
    page.find_elements("css selector", "#layers button")[1].click()
    wait(page, lambda: text(page, "#count").startswith("All 6 atoms"))
    assert len(page.find_elements("css selector", "#atoms svg")) > 6


def test_atoms_of_channels(browser: Any, coloured, tmp_path) -> None:
    from ddlcn.serve import create_app

    Image.fromarray(coloured[1][0]).save(tmp_path / "red.png")
    with running(create_app(coloured[0])) as (host, port):
        page = open_page(browser, f"http://{host}:{port}/")
        page.find_element("id", "atoms-tab").click()
        wait(page, lambda: text(page, "#count").startswith("All 9 atoms"))
        for button in page.find_elements("css selector", "#channels button")[1:]:
            button.click()
            drawn = button.text == "color"
            wait(page, lambda drawn=drawn: text(page, "#count").startswith("All 9 atoms" if drawn else "9 atoms; draw"))
            assert len(page.find_elements("css selector", "#atoms img")) == (9 if drawn else 0)
        page.find_element("id", "prediction-tab").click()
        choose(page, str(tmp_path / "red.png"))
        page.find_element("id", "atoms-tab").click()
        assert page.find_elements("css selector", "#strongest img")
        assert page.find_element("id", "network").is_displayed() == ("efficientnet-lite0" in text(page, "#about"))
        assert wait(page, lambda: page.execute_script("return searched.naturalWidth > 0"))
        assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_layout(browser, address, files, width, scheme) -> None:
    page = open_page(browser, address, width, scheme)
    choose(page, *files)
    check_layout(page, width, scheme)
    nameless = page.execute_script(
        "return [...document.querySelectorAll('button, input, select')].filter((each) =>"
        " each.checkVisibility() && !(each.ariaLabel || each.labels?.length || each.textContent.trim() ||"
        " each.title)).length"
    )
    assert nameless == 0
    page.get(f"{address}docs")
    check_layout(page, width, scheme)
    assert browser.get_log("browser") == []


def test_token(browser: Any, model) -> None:
    from ddlcn.serve import create_app

    with running(create_app(model, name="secret", token="open-sesame")) as (host, port):
        page = open_page(browser, f"http://{host}:{port}/#token=open-sesame")
        wait(page, lambda: text(page, "#name") == "secret")
        assert "sesame" not in page.current_url
        page.execute_script("sessionStorage.clear()")
        page.refresh()
        wait(page, lambda: page.find_element("id", "token").is_displayed())
        page.find_element("id", "token").send_keys("open-sesame\n")
        wait(page, lambda: text(page, "#name") == "secret")
        page.execute_script("sessionStorage.clear()")
