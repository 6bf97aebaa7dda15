"""The page: complete, self-contained, small, and deaf to markup in names."""

import io
import re
from base64 import b64decode
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from PIL import Image

from ddlcn import DDLCNClassifier, DDLCNError, ImageSet
from ddlcn.evaluation import Evaluation, evaluate
from ddlcn.report import page as page_module
from ddlcn.report import write_report
from tests.report.conftest import Case, bars


class Seen(HTMLParser):
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


def test_every_section_is_there(tested: Case) -> None:
    seen = Seen(tested.page)
    titles = {each.get("id") for each in seen.all("h2")}
    assert titles == {
        *("classes", "confusion", "pairs", "mistakes", "best", "leaks", "atoms", "curve", "skipped", "run")
    }
    assert f"{100 * tested.evaluation.accuracy:.1f}" in seen.text
    assert "1 of 24 test images" in seen.text  # the one copied to both sides
    assert "broken <b>.png" in seen.text
    assert "ddlcn train '<script>pwned=1</script>'" in seen.text
    assert "DenseSIFT(contrast_threshold=0.1" in seen.text


def test_names_are_text_and_never_markup(tested: Case) -> None:
    seen = Seen(tested.page)
    assert len(seen.all("script")) == 1
    assert not [tag for tag, attributes in seen.tags if any(name.startswith("on") for name in attributes)]
    assert not seen.all("b")[1:]  # the one in the interval
    assert {(each["src"] or "")[:5] for each in seen.all("img")} == {"data:"}
    for name in tested.model.classes_:
        assert str(name) in seen.text


def test_nothing_comes_from_elsewhere(tested: Case) -> None:
    source = tested.page.read_text("utf-8")
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", source)
    assert "http:" not in source
    assert "https:" not in source
    assert "url(" not in source


def test_it_is_accessible(tested: Case) -> None:
    seen = Seen(tested.page)
    assert all(each.get("alt") for each in seen.all("img"))
    assert all(each.get("scope") in ("col", "row") for each in seen.all("th"))
    assert all(each.get("aria-label") for each in seen.all("svg"))
    ids = [attributes["id"] for _, attributes in seen.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    headings = [int(tag[1]) for tag, _ in seen.tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))


@pytest.mark.parametrize("theme", [0, 1])
def test_text_has_contrast(theme: int) -> None:
    style = (Path(page_module.__file__).parent / "page.css").read_text()
    colours = {name: values[theme] for name in ("ground", "card", "text", "quiet", "accent", "for", "against")
               if (values := re.findall(rf"--{name}: (#\w+);", style))}  # fmt: skip

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for ground in ("ground", "card"):
        for ink in ("text", "quiet", "accent", "for", "against"):
            low, high = sorted(luminance(colours[name]) for name in (ground, ink))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (ground, ink)


def test_two_classes_no_mistakes_no_training_images(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images, labels = [bars(rng, 2 * (i % 2)) for i in range(12)], np.arange(12) % 2
    model = DDLCNClassifier(atoms_per_class=3, deeper_atoms=()).fit(images, labels)
    right = Evaluation(model.classes_, labels, np.eye(2)[labels], 0.1)
    seen = Seen(write_report(tmp_path, right, model, ImageSet.of(images, labels)))
    assert "No mistakes." in seen.text
    assert "Not looked for" in seen.text
    assert "image 2" in str(seen.tags)
    wrong = Evaluation(model.classes_, labels, np.eye(2)[1 - labels], 0.1)
    seen = Seen(write_report(tmp_path, wrong, model, ImageSet.of(images, labels)))  # replaces the page
    assert "No right answers." in seen.text
    assert [file.name for file in tmp_path.iterdir()] == ["index.html"]


def test_a_class_that_was_not_tested_is_no_trouble(tested: Case, tmp_path: Path) -> None:
    part = tested.test.take(np.flatnonzero(tested.test.target != 1))
    write_report(tmp_path, evaluate(tested.model, part.images, part.labels), tested.model, part)


def test_mistakes_of_users_are_one_line(tested: Case, tmp_path: Path) -> None:
    with pytest.raises(DDLCNError, match="24 answers for 3 images: evaluate this very ImageSet"):
        write_report(tmp_path, tested.evaluation, tested.model, tested.test.take(np.arange(3)))
    (tmp_path / "file").touch()
    with pytest.raises(DDLCNError, match=r"can't make .*: choose another folder"):
        write_report(tmp_path / "file", tested.evaluation, tested.model, tested.test)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """A page of 250 classes and 10,000 images, and the seconds of work it took."""
    rng = np.random.default_rng(0)
    names = np.array([f"class {i} <i>" for i in range(250)])
    labels = np.repeat(names, 2)
    images = rng.integers(0, 255, (500, 48, 48)).astype(np.uint8)
    model = DDLCNClassifier(atoms_per_class=1, deeper_atoms=(), C=1.0, n_jobs=2).fit(images, labels)
    truth = np.arange(10_000) % 250
    guess = np.where(rng.random(10_000) < 0.6, truth, rng.integers(0, 250, 10_000))
    probabilities = 0.001 * rng.random((10_000, 250))
    probabilities[np.arange(10_000), guess] = 0.9
    test = ImageSet.of(rng.integers(0, 255, (10_000, 48, 48)).astype(np.uint8), model.classes_[truth])
    evaluation = Evaluation(model.classes_, truth, probabilities, 9.0)
    start = process_time()
    page = write_report(
        tmp_path_factory.mktemp("many"), evaluation, model, test, train=ImageSet.of(images, labels)
    )
    return page, process_time() - start


def test_many_classes_and_images_stay_small_and_fast(many: tuple[Path, float]) -> None:
    page, seconds = many
    assert page.stat().st_size < 3_000_000
    assert seconds < 30
    seen = Seen(page)
    assert len(seen.all("tr")) > 250
    assert len(seen.tags) < 10_000  # what a browser has to lay out
    assert len(seen.all("i")) == 2  # in the interval, and the mark on the matrix


def test_many_classes_in_the_browser(many: tuple[Path, float], browser) -> None:  # type: ignore[no-untyped-def]
    browser.get(many[0].as_uri())
    browser.execute_script(
        "const heat = document.getElementById('heat'), box = heat.getBoundingClientRect();"
        "const at = {clientX: box.left + 1, clientY: box.top + 1};"
        "heat.dispatchEvent(new PointerEvent('pointermove', at));"
    )
    cell = browser.find_element("id", "cell")
    assert re.fullmatch(r"class 0 <i>: \d+ right", cell.text)
    heat = browser.find_element("id", "heat")
    for key in ("\ue014", "\ue015"):  # right and down: the next mistake
        before = cell.text
        heat.send_keys(key)
        assert re.fullmatch(r"class \d+ <i> taken for class \d+ <i>: [1-9]\d*", cell.text)
        assert cell.text != before
    assert browser.find_element("id", "mark").is_displayed()
    assert browser.get_log("browser") == []


def test_pictures_are_in_colour(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = [np.dstack([bars(rng, 2 * (i % 2)), np.zeros((32, 32, 2), np.uint8)]) for i in range(12)]
    labels = np.arange(12) % 2
    model = DDLCNClassifier(atoms_per_class=3, deeper_atoms=()).fit(images, labels)
    wrong = Evaluation(model.classes_, labels, np.eye(2)[1 - labels], 0.1)
    seen = Seen(write_report(tmp_path, wrong, model, ImageSet.of(images, labels)))
    pictures = [each["src"] for each in seen.all("img") if each.get("title")]
    assert len(pictures) == 2 * 4 + 8
    for source in pictures:
        with Image.open(io.BytesIO(b64decode((source or "").split(",")[1]))) as picture:
            red, green, blue = np.asarray(picture.convert("RGB"), dtype=float).mean(axis=(0, 1))
        assert red > 100
        assert max(green, blue) < 20
