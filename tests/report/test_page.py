"""The report: complete, self-contained, small, and safe from markup in names."""

import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ddlcn import DDLCNClassifier, DDLCNError, ImageSet
from ddlcn.evaluation import Evaluation, evaluate
from ddlcn.report import draw_atoms, draw_explanation, write_report
from tests.report.conftest import Case, check_layout, open_page, small_model


class Parsed(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def test_sections(tested: Case) -> None:
    parsed = Parsed(tested.page)
    titles = {each.get("id") for each in parsed.all("h2")}
    assert titles == {
        *("classes", "confusion", "calibration", "pairs", "mistakes", "gallery", "best", "leaks", "checks"),
        *("atoms", "curve"),
        *("selection", "skipped", "run"),
    }
    assert f"{100 * tested.evaluation.accuracy:.1f}" in parsed.text
    assert "1 of 24 test images" in parsed.text  # the duplicate
    assert "plain/broken <b>.png" in parsed.text
    assert str(Path(tested.test.source)) not in parsed.text  # the data may be moved
    assert "ddlcn train '<script>pwned=1</script>'" in parsed.text
    assert "DenseSIFT(contrast_threshold=0.1" in parsed.text


def test_page_of_someone_else_is_kept(tested: Case, tmp_path: Path) -> None:
    page, case = tmp_path / "index.html", (tested.evaluation, tested.model, tested.test)
    page.write_text("<title>My home page</title>")
    with pytest.raises(DDLCNError, match=r"index.html' is no report of ddlcn; name another folder, or remove"):
        write_report(tmp_path, *case)
    assert page.read_text() == "<title>My home page</title>"
    page.write_bytes(tested.page.read_bytes()[:5000])  # a report is replaced
    write_report(tmp_path, *case)
    assert page.read_text("utf-8").endswith("</html>")


def test_names_are_no_markup(tested: Case) -> None:
    parsed = Parsed(tested.page)
    assert len(parsed.all("script")) == 1
    assert not [tag for tag, attributes in parsed.tags if any(name.startswith("on") for name in attributes)]
    assert not parsed.all("b")[1:]  # the one in the interval
    assert {(each["src"] or "")[:5] for each in parsed.all("img")} == {"data:"}
    for name in tested.model.classes_:
        assert str(name) in parsed.text


def test_self_contained(tested: Case) -> None:
    source = tested.page.read_text("utf-8")
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", source)
    assert "http:" not in source
    assert "https:" not in source
    assert "url(" not in source


def test_accessible(tested: Case) -> None:
    parsed = Parsed(tested.page)
    assert all(each.get("alt") for each in parsed.all("img"))
    assert all(each.get("scope") in ("col", "row") for each in parsed.all("th"))
    assert all(each.get("aria-label") for each in parsed.all("svg"))
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    headings = [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))


def test_no_mistakes_and_no_correct_predictions(tmp_path: Path) -> None:
    model, images = small_model(2, ())
    y = np.repeat([0, 1], 4)
    perfect = Evaluation(model.classes_, y, np.eye(2)[y], 0.1)
    parsed = Parsed(write_report(tmp_path, perfect, model, ImageSet.of(images, y)))
    assert "No mistakes." in parsed.text
    assert "Not searched" in parsed.text
    assert "image 2" in str(parsed.tags)
    wrong = Evaluation(model.classes_, y, np.eye(2)[1 - y], 0.1)
    parsed = Parsed(write_report(tmp_path, wrong, model, ImageSet.of(images, y)))  # replaces the page
    assert "No image was classified correctly." in parsed.text
    assert [file.name for file in tmp_path.iterdir()] == ["index.html"]


def test_no_dictionaries(without_atoms: tuple[DDLCNClassifier, np.ndarray], tmp_path: Path) -> None:
    model, images = without_atoms
    test = ImageSet.of(images[:4], [0] * 4)  # and a class without test images
    page = write_report(tmp_path, evaluate(model, test.images, test.labels), model, test)
    assert "no channel of this model learns dictionaries" in Parsed(page).text
    assert draw_explanation(model, images[0]).axes
    with pytest.raises(DDLCNError, match="this model has no atoms: train it with a channel that learns"):
        draw_atoms(model)


def test_errors(tested: Case, tmp_path: Path) -> None:
    with pytest.raises(DDLCNError, match="24 predictions for 3 images: give the evaluation of this ImageSet"):
        write_report(tmp_path, tested.evaluation, tested.model, tested.test.take(np.arange(3)))
    (tmp_path / "file").touch()
    with pytest.raises(DDLCNError, match=r"can't make .*: choose another folder"):
        write_report(tmp_path / "file", tested.evaluation, tested.model, tested.test)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of 250 classes and 2,000 images, of which 60 % are classified correctly."""
    rng, names = np.random.default_rng(0), np.array([f"class {i} <i>" for i in range(250)])
    images = ImageSet.of(rng.integers(0, 255, (500, 24, 24)).astype(np.uint8), np.repeat(names, 2))
    model = DDLCNClassifier("paper", atoms_per_class=1, deeper_atoms=()).fit(images.images, images.labels)
    truth = np.arange(2000) % 250
    predicted = np.where(rng.random(2000) < 0.6, truth, rng.integers(0, 250, 2000))
    test = ImageSet.of(rng.integers(0, 255, (2000, 24, 24)).astype(np.uint8), model.classes_[truth])
    evaluation = Evaluation(model.classes_, truth, np.eye(250)[predicted], 9.0)
    return write_report(tmp_path_factory.mktemp("many"), evaluation, model, test, train=images)


def test_many_classes(many: Path) -> None:
    parsed = Parsed(many)
    assert many.stat().st_size < 3_000_000
    assert len(parsed.all("tr")) > 250
    assert len(parsed.tags) < 10_000  # what a browser has to lay out
    mistakes = sum(map(int, re.findall(r"(\d+) more, of lower probability", parsed.text))) + 200
    assert 750 < mistakes < 850


def test_many_classes_in_the_browser(many: Path, browser) -> None:  # type: ignore[no-untyped-def]
    open_page(browser, many.as_uri())
    browser.execute_script(
        "const heat = document.getElementById('heat'), box = heat.getBoundingClientRect();"
        "const at = {clientX: box.left + 1, clientY: box.top + 1};"
        "heat.dispatchEvent(new PointerEvent('pointermove', at));"
    )
    cell = browser.find_element("id", "cell")
    assert re.fullmatch(r"class 0 <i>: \d+ correct", cell.text)
    heat = browser.find_element("id", "heat")
    for key in ("\ue014", "\ue015"):  # right and down: the next mistake
        before = cell.text
        heat.send_keys(key)
        assert re.fullmatch(r"class \d+ <i> classified as class \d+ <i>: [1-9]\d*", cell.text)
        assert cell.text != before
    assert browser.find_element("id", "mark").is_displayed()
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_opens_without_errors(browser, tested: Case, width: int, scheme: str) -> None:  # type: ignore[no-untyped-def]
    open_page(browser, tested.page.as_uri(), width, scheme)
    check_layout(browser, width, scheme)
    loaded = "return [...document.images].every(each => each.complete && each.naturalWidth > 0)"
    assert browser.execute_script(loaded)
    assert browser.execute_script("return typeof pwned") == "undefined"
    assert browser.get_log("browser") == []


def test_tables_on_a_phone(browser, tested: Case) -> None:  # type: ignore[no-untyped-def]
    """Numbers need no scrolling, and settings are not squeezed beside their long names."""
    open_page(browser, tested.page.as_uri(), 390)
    wide = "return [...document.querySelectorAll('.beside .scroll')].some(each => each.scrollWidth > each.clientWidth)"
    assert not browser.execute_script(wide)
    widths = "return [...document.querySelectorAll('.settings td')].map(each => each.clientWidth)"
    assert min(browser.execute_script(widths)) > 300


OVERLAPS = """
const box = (caption) => { const range = document.createRange(); range.selectNodeContents(caption);
  const text = range.getBoundingClientRect(), own = caption.getBoundingClientRect();
  const right = getComputedStyle(caption).overflow === "hidden" ? Math.min(text.right, own.right) : text.right;
  return [text.left, right, text.top, text.bottom, caption.textContent]; };
const boxes = [...document.querySelectorAll(".tile figcaption")].filter((each) => each.textContent).map(box);
return [boxes.length, boxes.flatMap((a, i) => boxes.slice(i + 1)
  .filter((b) => a[0] < b[1] - 1 && b[0] < a[1] - 1 && a[2] < b[3] - 1 && b[2] < a[3] - 1).map((b) => [a[4], b[4]]))];
"""


@pytest.mark.parametrize("with_patches", [False, True])
@pytest.mark.parametrize("width", [360, 1280])
def test_captions_of_atoms(browser, tested: Case, width: int, with_patches: bool, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    train = tested.train if with_patches else None
    page = write_report(tmp_path, tested.evaluation, tested.model, tested.test, train=train)
    page.write_text(re.sub(r"<figcaption>\d+\n", "<figcaption>1017\n", page.read_text("utf-8")), "utf-8")
    open_page(browser, page.as_uri(), width)
    n, overlaps = browser.execute_script(OVERLAPS)
    assert n > 20
    assert overlaps == []


def test_sort_and_search_by_keyboard(browser, tested: Case) -> None:  # type: ignore[no-untyped-def]
    open_page(browser, tested.page.as_uri())
    recalls = sorted(100 * tested.evaluation.recall)
    button = browser.find_elements("css selector", "#class-table thead button")[1]
    for order, expected in (("ascending", recalls), ("descending", recalls[::-1]), ("ascending", recalls)):
        cells = browser.find_elements("css selector", "#class-table td.bar")
        assert [float(cell.text.split()[0]) for cell in cells] == pytest.approx(expected, abs=0.051)
        assert button.find_element("xpath", "..").get_attribute("aria-sort") == order
        button.send_keys("\n")
    browser.find_element("id", "find").send_keys("PLAIN")
    rows = browser.find_elements("css selector", "#class-table tbody tr")
    shown = [row.text for row in rows if row.is_displayed()]
    assert shown
    assert all("plain" in text for text in shown)
    assert browser.find_element("id", "found").text == f"{len(shown)} of 4"
    assert browser.get_log("browser") == []


def dialog_text(browser) -> str:  # type: ignore[no-untyped-def]
    return browser.find_element("id", "view").text


def test_gallery(browser, tested: Case) -> None:  # type: ignore[no-untyped-def]
    from selenium.webdriver.support.ui import WebDriverWait

    open_page(browser, tested.page.as_uri())
    wrong = tested.evaluation.predicted != tested.evaluation.truth
    images = browser.find_elements("css selector", "#mistake-list button.view")
    assert len(images) == wrong.sum() >= 3
    small = images[0].find_element("css selector", "img").size
    images[0].send_keys("\n")
    viewer = browser.find_element("id", "viewer")
    assert viewer.is_displayed()
    large = viewer.find_element("css selector", "#view img").size
    assert large["height"] > 2 * small["height"]
    worst = tested.evaluation.probabilities.max(axis=1)[wrong].max()
    assert f"{100 * worst:.1f}" in dialog_text(browser)
    assert browser.find_element("id", "position").text == f"1 of {len(images)}"
    first = dialog_text(browser)
    viewer.send_keys("\ue014")  # arrow right
    assert browser.find_element("id", "position").text == f"2 of {len(images)}"
    assert dialog_text(browser) != first
    browser.find_element("id", "previous").click()
    browser.find_element("id", "previous").click()
    assert browser.find_element("id", "position").text == f"{len(images)} of {len(images)}"
    viewer.send_keys("\ue00c")  # Escape
    assert not viewer.is_displayed()
    WebDriverWait(browser, 5, 0.05).until(lambda _: browser.switch_to.active_element == images[-1])
    assert browser.get_log("browser") == []


def test_search_in_the_gallery(browser, tested: Case) -> None:  # type: ignore[no-untyped-def]
    open_page(browser, tested.page.as_uri())
    browser.find_element("css selector", "#gallery ~ p input").send_keys("bold")
    items = browser.find_elements("css selector", "#mistake-list > li")
    shown = [item for item in items if item.is_displayed()]
    assert 0 < len(shown) < len(items)
    assert all("bold" in item.text for item in shown)
    shown[0].find_element("css selector", "button").click()
    expected = f"1 of {len(shown)}" if len(shown) > 1 else ""
    assert browser.find_element("id", "position").text == expected


@pytest.mark.parametrize("larger", [False, True])
def test_slider_from_evidence_to_original(browser, tested: Case, larger: bool) -> None:  # type: ignore[no-untyped-def]
    open_page(browser, tested.page.as_uri())
    card = browser.find_element("css selector", "#mistakes ~ .cards > .card")
    if larger:
        card.find_element("css selector", "button.compare").click()
        card = browser.find_element("css selector", "#view > .card")
    original = card.find_element("css selector", ".original img").get_attribute("src")
    for before in card.find_elements("css selector", ".before"):
        assert before.get_attribute("src") == original
    sizes = "return [...arguments[0].querySelectorAll('.compare img')].map((each) => each.clientWidth)"
    assert len(set(browser.execute_script(sizes, card))) == 1
    clip = "return getComputedStyle(arguments[0].querySelector('.after')).clipPath"
    assert "100%" not in browser.execute_script(clip, card)
    card.find_element("css selector", ".wipe input").send_keys("\ue010")  # End
    assert "100%" in browser.execute_script(clip, card)


def test_deskewed_image_under_the_evidence(browser, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    images = [np.pad(rng.integers(0, 256, (12, 6 + 8 * (i % 2)), np.uint8), 10) for i in range(8)]
    test = ImageSet.of(images, ["narrow", "wide"] * 4)
    model = DDLCNClassifier("paper", atoms_per_class=2, deskew=True).fit(images, test.labels)
    wrong = Evaluation(model.classes_, test.target, np.eye(2)[1 - test.target], 0.1)
    open_page(browser, write_report(tmp_path, wrong, model, test).as_uri())
    card = browser.find_element("css selector", "#mistakes ~ .cards > .card")
    first, second = (each.get_attribute("src") for each in card.find_elements("css selector", ".before"))
    assert first == second != card.find_element("css selector", ".original img").get_attribute("src")


@pytest.mark.parametrize("n_classes", [20, 60])
def test_labels_of_the_confusion_matrix(browser, tmp_path: Path, n_classes: int) -> None:  # type: ignore[no-untyped-def]
    """Each is as tall as its letters, and the whole table fits on a wide screen."""
    names = np.array([f"class number {i:02d}" for i in range(n_classes)])
    images = ImageSet.of(
        np.random.default_rng(0).integers(0, 255, (2 * n_classes, 24, 24)).astype(np.uint8), [*names] * 2
    )
    model = DDLCNClassifier("paper", atoms_per_class=1, deeper_atoms=()).fit(images.images, images.labels)
    rng, truth = np.random.default_rng(1), np.arange(2 * n_classes) % n_classes
    predicted = np.where(rng.random(len(truth)) < 0.6, truth, rng.integers(0, n_classes, len(truth)))
    evaluation = Evaluation(model.classes_, truth, np.eye(n_classes)[predicted], 0.1)
    page = write_report(tmp_path, evaluation, model, ImageSet.of(images.images, names[truth]))
    open_page(browser, page.as_uri())
    measured = browser.execute_script(
        "return [...document.querySelectorAll('.matrix th')].map((each) => {"
        " const text = each.firstElementChild ?? each, across = each.scope === 'col';"
        " const side = across ? each.clientWidth : each.clientHeight;"
        " return [text.textContent, parseFloat(getComputedStyle(text).fontSize), side,"
        "   text.scrollWidth <= text.clientWidth && text.scrollHeight <= text.clientHeight]; })"
    )
    assert [name for name, *_ in measured] == [*names, *names]
    for name, font, side, whole in measured:
        assert font >= 11, name
        assert side >= font, name
        assert whole, name
    sheet = browser.find_element("class name", "sheet")
    assert browser.execute_script("return arguments[0].scrollWidth <= arguments[0].clientWidth", sheet)


def test_other_scripts_are_blocked(browser, tested: Case) -> None:  # type: ignore[no-untyped-def]
    open_page(browser, tested.page.as_uri())
    browser.execute_script(
        "const script = document.createElement('script'); script.textContent = 'pwned = 1';document.body.append(script)"
    )
    assert browser.execute_script("return typeof pwned") == "undefined"
    assert any("Content Security Policy" in entry["message"] for entry in browser.get_log("browser"))
