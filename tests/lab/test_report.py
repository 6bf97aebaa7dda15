"""Reports from made-up rows, so that every number in them is known."""

import json
import re

import numpy as np
import pytest

from ddlcn.errors import DDLCNError
from ddlcn_lab.figures import all_figures
from ddlcn_lab.grid import make_grid
from ddlcn_lab.report import make_report
from ddlcn_lab.results import Key, Mean, Results
from ddlcn_lab.run_folder import Run
from ddlcn_lab.tables import all_tables
from tests.report.conftest import check_layout, open_page


def made_up(path, dataset, accuracy, n_classes=3, skip=0, **arguments):
    """A run whose rows have the accuracies that a function of the job gives."""
    grid = make_grid(dataset, **arguments)
    names = [str(c) for c in range(n_classes)]
    run = Run.create(path, grid, {"classes": names, "images": ""})
    for job in grid.jobs()[skip:]:
        truth = np.repeat(np.arange(n_classes), 1000)
        predicted = truth.copy()
        predicted[: round((1 - accuracy(job)) * len(truth))] = 1
        row = {"predicted": predicted.tolist(), "truth": truth.tolist(), "balanced_accuracy": accuracy(job)}
        row |= {"accuracy": accuracy(job), "ms_per_test_image": 2.0, "commit": "c", "seed": 0}
        run.append({**job._asdict(), **row})
    return path


@pytest.fixture
def yaleb(tmp_path):
    arguments = {"methods": "ddlcn,ddlcn-1", "settings": "15-15", "splits": 2, "leak": True}
    return made_up(tmp_path / "yaleb", "yaleb", lambda job: 0.97 + 0.01 * job.split + 0.003 * job.leak, **arguments)


def table(path, title):
    (found,) = (t for t in all_tables(Results([path])) if t.title.startswith(title))
    return found


def test_times_are_inside_the_figure(yaleb):
    """Each point, and the space around it."""
    (figure,) = (figure for name, _, figure in all_figures(Results([yaleb])) if name == "yaleb-time")
    (axes,) = figure.axes
    rows = axes.lines[0].get_ydata(orig=False)
    assert len(rows) == 2
    assert max(axes.get_ylim()) >= max(rows) + 0.4
    assert min(axes.get_ylim()) <= min(rows) - 0.4


def test_difference_from_published(yaleb):
    rows = {row[0]: row for row in table(yaleb, "Table 1: Extended Yale B, yaleb, half").rows}
    assert len(rows) == 26
    assert rows["DDLCN (15-15)"] == (
        "DDLCN (15-15)", "97.50", "", "97.38 ± 0.54", "+0.12", "2.00", "0.71",
    )  # fmt: skip
    assert rows["PCANet-2"][1:5] == ("not run", "", "99.85", "")


def test_frozen_networks(tmp_path):
    """They have rows of their own beside the paper's networks, and are marked in other tables."""
    names = "ddlcn,probe-svm,ddlcn-backbone"
    made = [made_up(tmp_path / name, name, lambda job: 0.9, methods=names, t="30", splits=2, settings="15-15")
            for name in ("caltech256", "caltech101")]  # fmt: skip
    rows = [row[0] for row in table(made[0], "Table 3").rows]
    at = rows.index("VGG19") + 1
    marked = [f"{name} (frozen network, not the paper's)" for name in ("probe-svm", "ddlcn-backbone")]
    assert rows[at : at + 3] == [*marked, "DDLCN (1-1)"]
    assert [t.title for t in all_tables(Results(made[:1])) if t.title.startswith("Not in")] == []
    assert [row[1] for row in table(made[1], "Not in the paper's tables").rows] == ["ddlcn", *marked]


def test_leak_and_gains(yaleb):
    leaks = table(yaleb, "How much the leak inflates").rows
    assert {row[6] for row in leaks} == {"+0.30"}
    assert table(yaleb, "Against ddlcn").rows == [("yaleb", "15-15", "half", "ddlcn-1", "+0.00", "", "", "2")]


@pytest.mark.parametrize(
    ("accuracies", "ours", "interval"),
    [
        ((0.7,), "70.00", ""),
        ((0.7, 0.9), "80.00", ""),
        ((0.811, 0.811, 0.811), "81.10 ± 0.00", ""),
        ((0.9, 0.92, 0.94), "92.00 ± 2.00", "87.03 to 96.97"),
        ((0.99, 0.9, 0.99), "96.00 ± 5.20", "83.09 to 100.00"),
    ],
)
def test_intervals_of_few_splits(tmp_path, accuracies, ours, interval):
    arguments = {"methods": "ddlcn,ddlcn-1", "settings": "15-15", "splits": len(accuracies)}
    path = made_up(tmp_path / "yaleb", "yaleb", lambda job: accuracies[job.split], **arguments)
    rows = {row[0]: row for row in table(path, "Table 1").rows}
    assert rows["DDLCN (15-15)"][1:3] == (ours, interval)
    assert table(path, "Against ddlcn").rows[0][4:7] == ("+0.00", "", "")


def test_intervals():
    """Over splits, or of the one split."""
    mean = Mean.of(np.arange(100) < right for right in (90, 92, 94))
    assert (mean.mean, mean.std) == (pytest.approx(92), pytest.approx(2))
    assert mean.half == pytest.approx(4.302653 * 2 / 3**0.5)
    mean = Mean.of([np.arange(400) < 300])
    assert (mean.mean, mean.std, mean.n) == (75, None, 1)
    assert mean.half == pytest.approx(100 * 1.96 * (0.75 * 0.25 / 400) ** 0.5)


def test_confused_pairs(tmp_path):
    path = made_up(tmp_path / "mnist", "mnist", lambda job: 0.9, settings="100-100", splits=1)
    results = Results([path])
    assert results.confused_pairs(Key("mnist", "ddlcn", 100, 100, None, False)) == [("0", "1", 300)]
    assert table(path, "Most confused").rows[0][-1] == "(0, 1): 300"
    assert any(name.endswith("confusion") and "(0, 1)" in caption for name, caption, _ in all_figures(results))


def test_curves(tmp_path):
    path = made_up(tmp_path / "ar", "ar", lambda job: 0.9 + job.q / 300, kind="curves", splits=2)
    assert [name for name, _, _ in all_figures(Results([path]))] == [
        "ar-ddlcn-p", "ar-ddlcn-q", "ar-ddlcn-t", "ar-time",
    ]  # fmt: skip


def test_figure_of_methods(tmp_path):
    def accuracy(job):
        return 0.7 + job.t / 50 + (job.method == "hog") / 10

    arguments = {"methods": "ddlcn,hog", "t": "1,2,5", "settings": "1-1", "splits": 2}
    path = made_up(tmp_path / "ar", "ar", accuracy, **arguments)
    figures = {name: figure for name, _, figure in all_figures(Results([path]))}
    (axes,) = figures["ar-methods"].axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ddlcn 1-1", "hog"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "2", "5"]
    assert axes.containers[1].lines[0].get_ydata() == pytest.approx([82, 84, 90])


def test_formats(tmp_path, yaleb):
    assert "DDLCN (15-15)" in make_report([yaleb])
    output = tmp_path / "report.md"
    assert "| DDLCN (15-15) | 97.50 |" in make_report([yaleb], "markdown", output)
    assert "](yaleb-time.png)" in output.read_text()
    assert (tmp_path / "yaleb-time.png").read_bytes().startswith(b"\x89PNG")
    page = make_report([yaleb], "html", tmp_path / "report.html")
    assert "data:image/png;base64," in page
    assert not re.search(r"https?:|url\(", page)
    assert json.loads(make_report([yaleb], "json"))["tables"]
    with pytest.raises(DDLCNError, match="choose from terminal, markdown, html, json"):
        make_report([yaleb], "pdf")


def test_unfinished_run(tmp_path):
    path = made_up(tmp_path / "ar", "ar", lambda job: 0.9, splits=2, skip=1)
    assert make_report([path]).startswith("1 rows are missing")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_in_the_browser(browser, tmp_path, yaleb, width, scheme):
    """It has the style of the report, and figures can be enlarged."""
    make_report([yaleb], "html", tmp_path / "report.html")
    open_page(browser, (tmp_path / "report.html").as_uri(), width, scheme)
    check_layout(browser, width, scheme)
    browser.find_element("css selector", "button.view").click()
    assert browser.find_element("css selector", "#view img").is_displayed()
    browser.find_element("id", "close").click()
    assert not browser.find_element("id", "viewer").is_displayed()
    assert browser.get_log("browser") == []
