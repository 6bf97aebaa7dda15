"""The page of `ddlcn check`, whose names are hostile."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ddlcn import DDLCNError, ImageSet
from ddlcn.checks import DataCheck, HeldOutPredictions, examine, image_facts
from ddlcn.report import write_check
from tests.report.conftest import HOSTILE, bars, check_layout, open_page
from tests.report.test_page import Parsed


@pytest.fixture(scope="module")
def check() -> DataCheck:
    """Every kind of finding, of 80 images."""
    rng = np.random.default_rng(0)
    images = [bars(rng, i % 2) for i in range(80)]
    images = [np.stack([each] * 3, axis=2) for each in images]
    for i in range(1, 80, 2):
        images[i][..., 1:] //= 4  # red
    images[2], images[4], images[6] = images[1], images[0], np.full_like(images[0], 255)
    labels = np.array([HOSTILE if i % 2 else "b & <i>" for i in range(79)] + ["few"])
    found = ImageSet.of(np.array(images), labels, "data <b>", passed_over=1)
    found = replace(found, skipped=[("data <b>/few/broken.png", "is empty")])
    probabilities = 0.05 + 0.85 * np.eye(3)[found.target]
    probabilities[8:70] = probabilities[8:70][:, ::-1]
    distances = rng.uniform(0, 0.9, 80)
    distances[7] = 5
    return examine(found, image_facts(found.images), HeldOutPredictions(probabilities, distances))


@pytest.fixture(scope="module")
def page(check: DataCheck, tmp_path_factory: pytest.TempPathFactory) -> Path:
    command = "ddlcn check '<script>pwned=1</script>'"
    return write_check(tmp_path_factory.mktemp("check") / "new", check, command=command, stages={"checking": 2.0})


def test_findings_are_shown(check: DataCheck, page: Path) -> None:
    parsed = Parsed(page)
    for n, finding in (
        (check.flags["mislabelled"].sum(), "Likely mislabelled"),
        (check.flags["duplicate"].sum(), "Duplicates"),
        (1, "Unlike the other images"),
        (1, "Blank"),
        (1, "Very unbalanced classes"),
        ("yes", "Greyness that follows the class"),
    ):
        assert f"{finding}: {n}" in parsed.text
    assert check.flags["mislabelled"].sum() > 24  # some are only named
    assert "1 group has different labels" in parsed.text
    assert "few/broken.png" in parsed.text
    assert "data <b>/few" not in parsed.text  # the data may be moved
    assert "1 other file in the data" in parsed.text
    assert "checking 2.0 s" in parsed.text
    assert "few\N{NO-BREAK SPACE}1" in parsed.text


def test_names_are_no_markup(page: Path) -> None:
    parsed = Parsed(page)
    assert len(parsed.all("script")) == 1  # the page's own
    assert not parsed.all("i")
    assert HOSTILE in parsed.text
    assert "ddlcn check '<script>pwned=1</script>'" in parsed.text
    assert all(each.get("alt") for each in parsed.all("img"))
    assert {(each["src"] or "")[:5] for each in parsed.all("img")} == {"data:"}
    headings = [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert max(np.diff(headings)) <= 1


def test_nothing_found(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = ImageSet.of(np.array([bars(rng, i % 2) for i in range(8)]), [0, 1] * 4)
    parsed = Parsed(write_check(tmp_path, examine(images, image_facts(images.images))))
    assert "0 of 8 images in 2 classes" in " ".join(parsed.text.split())
    assert "Likely mislabelled: not checked" in parsed.text
    assert "at least two classes need two different images each" in parsed.text
    assert "Not found: duplicates, blank images" in parsed.text
    assert not parsed.all("img")


def test_page_of_someone_else_is_kept(check: DataCheck, page: Path, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(DDLCNError, match="is no report of ddlcn"):
        write_check(tmp_path, check)
    assert (tmp_path / "index.html").read_text() == "mine"
    write_check(page.parent, check)  # an earlier page is replaced
    with pytest.raises(DDLCNError, match=r"can't make .*: choose another folder"):
        write_check(tmp_path / "index.html", check)


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_opens_without_errors(browser, page: Path, width: int, scheme: str) -> None:  # type: ignore[no-untyped-def]
    open_page(browser, page.as_uri(), width, scheme)
    check_layout(browser, width, scheme)
    assert browser.get_log("browser") == []
