"""Reports from made-up rows, so that every number in them is known."""

import json
import re
from itertools import product

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
        row |= {"accuracy": accuracy(job), "ms_per_test_image": 2.0, "commit": "c", "seed": 0, "seconds": {"fit": 3.0}}
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
    assert len(rows) == 27
    assert rows["DDLCN (15-15)"] == (
        "DDLCN (15-15)", "97.50", "", "", "2", "3.0", "2.00", "97.38 ± 0.54", "+0.12", "0.71",
    )  # fmt: skip
    assert rows["PCANet-2"] == ("PCANet-2", "not run", *[""] * 5, "99.85", "", "–")
    assert rows["ITDL"][1] == "not here"
    assert rows["ddlcn-1 15-15"][7:] == ("–", "", "–")


def test_frozen_networks(tmp_path):
    """They are marked, below the methods of a table of the paper and elsewhere."""
    names = "ddlcn,probe-svm,ddlcn-backbone"
    made = [
        made_up(tmp_path / dataset, dataset, lambda job: 0.9, methods=names, settings="1-1", t="5,30", splits=1)
        for dataset in ("caltech256", "flowers17")
    ]
    marked = {f"{name} (frozen network, not the paper's)" for name in ("probe-svm", "ddlcn-backbone")}
    paper = [row[0] for row in table(made[0], "Table 3: Caltech-256, caltech256, 30").rows]
    assert set(paper[-2:]) == marked
    assert marked < {row[0] for row in table(made[1], "Not in the paper: flowers17, 5").rows}


def test_leak(yaleb):
    leaks = table(yaleb, "How much the leak inflates").rows
    assert {row[6] for row in leaks} == {"+0.30"}


def test_difference_to_best(tmp_path):
    """Paired, on the same splits: the spread between splits does not count."""

    def accuracy(job):
        return 0.7 + 0.1 * job.split + (job.method == "hog") * (0.03 + 0.001 * job.split)

    path = made_up(tmp_path / "wbc1", "wbc1", accuracy, methods="ddlcn-best,hog", t="5", splits=3)
    rows = {row[0]: row for row in table(path, "Not in the paper: wbc1").rows}
    assert rows["hog"][3] == "+3.10 ± 0.25"  # 3.0, 3.1 and 3.2; Student's t of 4.303 times 0.1 / √3
    assert rows["ddlcn-best"][3] == ""


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


def test_settings_name_what_a_method_depends_on():
    cases = {
        ("ddlcn", None, 15): "A-15",
        ("k-svd:x=1", None, 15): "q=15",
        ("src", None, 0): "p=A",
        ("src", 5, 0): "p=5",
    }
    cases |= {("hog", None, 0): "", ("ddlcn-best", None, 0): ""}
    for case, setting in cases.items():
        assert Key("yaleb", *case, 0.5, False).setting == setting


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
    assert table(path, "Most confused").rows[0][-2:] == ("(0, 1): 300", "1 100.0%, 2 100.0%, 0 70.0%")
    (row,) = (row for row in table(path, "Table 4").rows if row[0] == "DDLCN (100-100)")
    assert row[2] == "88.93 to 91.07"  # own split, one run: 1.96 · √(0.9 · 0.1 / 3,000)
    assert any(name.endswith("confusion") and "(0, 1)" in caption for name, caption, _ in all_figures(results))


def test_curves(tmp_path):
    path = made_up(tmp_path / "ar", "ar", lambda job: 0.9 + job.q / 300, kind="curves", splits=2)
    curves = table(path, "Curves: ar")
    assert curves.header == ("p-q", "t = 1", "t = 5", "t = 10", "t = 20")
    assert curves.rows[0] == ("1-1", *["90.33"] * 4)
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


def write_rows(path, methods, source="s", **more):
    """A file of rows on wbc1 with 5 images per class, three splits, of 50 % and two percent more by split."""
    with path.open("a") as file:
        for method, split in product(methods, range(3)):
            job = {"method": method, "p": None, "q": 0, "t": 5, "split": split, "leak": False, "seed": 0}
            row = {
                "source": source,
                "dataset": "wbc1",
                **job,
                "images": {"test": 100},
                "wrong": list(range(50 - 2 * split)),
            }
            row |= {"balanced_accuracy": 0.4, "ms_per_test_image": 1.0, "seconds": {"fit": 1.0}, "commit": "c"}
            file.write(json.dumps(row | more) + "\n")
    return path


def test_file_of_rows(tmp_path):
    """The page of all tables: rows of the last source, what failed, what was not run."""
    path = write_rows(tmp_path / "paper.jsonl", ["ddlcn-best", "hog"], "old")
    write_rows(path, ["ddlcn-best"], confusion=[[0, 1, 9], [1, 1, 5]], classes=["a", "b"])
    write_rows(path, ["svm"], error="no memory")
    text = make_report([path], "markdown", tmp_path / "page.md")
    assert text.startswith("# All tables\n")
    assert "$ ddlcn bench paper\n" in text
    assert "are of one source, s (commit c); 6 rows of other sources are left out." in text
    assert "| ddlcn-best | 52.00 ± 2.00 | 47.03 to 56.97 |  | 3 | 1.0 | 1.00 | 40.00 |" in text
    (found,) = (t for t in all_tables(Results([path])) if t.title == "Not in the paper: wbc1, 5 per class")
    assert "svm (failed: no memory)" in found.note
    assert ", hog" in found.note
    assert "(a, b): 27" in text
    assert "Not run at all: wbc1 (20 per class), neu_det (5 per class)" in text


def test_empty_file_of_rows(tmp_path):
    path = tmp_path / "paper.jsonl"
    with pytest.raises(DDLCNError, match="make it with `ddlcn bench paper"):
        make_report([path])
    path.touch()
    assert make_report([path]).startswith("Rows of paper.jsonl are still to come.")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_in_the_browser(browser, tmp_path, yaleb, width, scheme):
    """It has the style of the report, and figures can be enlarged."""
    make_report([yaleb], "html", tmp_path / "report.html")
    open_page(browser, (tmp_path / "report.html").as_uri(), width, scheme)
    check_layout(browser, width, scheme)
    small = browser.find_element("css selector", "button.view")
    small.click()
    assert browser.find_element("css selector", "#view img").size["width"] > 1.3 * small.size["width"]
    browser.find_element("id", "close").click()
    assert not browser.find_element("id", "viewer").is_displayed()
    assert browser.get_log("browser") == []
