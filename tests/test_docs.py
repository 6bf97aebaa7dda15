"""The documents say what is true of the code."""

import re
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

import ddlcn

ROOT = Path(__file__).parents[1]
ROWS = re.findall(
    r"^\| (.+?) \|.*\| `(ddlcn\.[\w.]+)` \| `(tests/[\w/.]+)` \|$",
    (ROOT / "docs/paper-map.md").read_text(),
    re.M,
)


def resolve(dotted):
    """The object that a dotted name stands for."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            module = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, parts[cut:], module)
    raise AssertionError(dotted)


@pytest.mark.parametrize(("equation", "name", "test"), ROWS)
def test_paper_map_points_at_code_and_at_tests_of_it(equation, name, test):
    resolve(name)
    text = (ROOT / test).read_text()
    assert any(part in text for part in name.split(".")[-2:]), f"{test} never speaks of {name}"


def test_paper_map_has_every_equation():
    told = " ".join(equation for equation, *_ in ROWS)
    assert {f"Eq. {n}" for n in range(1, 8)} <= set(re.findall(r"Eq\. \d", told))
    assert "Algorithm 1" in told


def test_public_names_exist_and_are_documented():
    reference = " ".join(page.read_text() for page in ROOT.glob("docs/api/*.md"))
    for name in ddlcn.__all__:
        assert getattr(ddlcn, name).__doc__
        assert re.search(rf":: ddlcn\.{name}$", reference, re.M), f"docs/api has no {name}"
    with pytest.raises(AttributeError):
        ddlcn.nothing  # noqa: B018


@pytest.mark.parametrize("name", ["images", "report", "serve", "evaluation"])
def test_public_names_of_parts_are_documented(name):
    module = import_module(f"ddlcn.{name}")
    reference = " ".join(page.read_text() for page in ROOT.glob("docs/api/*.md"))
    public = getattr(module, "__all__", ["Confusion", "Evaluation", "evaluate"])
    for each in public:
        value = getattr(module, each)
        if callable(value):  # a constant is told of where it counts
            assert re.search(rf":: ddlcn\.({name}\.)?{each}$", reference, re.M), f"docs/api has no {each}"


def test_every_method_that_the_design_names_is_documented():
    methods = {"fit", "predict", "decision_function", "predict_proba", "score", "explain", "save", "load"}
    assert methods - set(vars(ddlcn.DDLCNClassifier)) == {"score"}  # scikit-learn's, so autodoc has it not
    assert "method:: score(" in (ROOT / "docs/api/classifier.md").read_text()


def test_links_between_documents_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\((?!http|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_deviations_tell_the_presets_truly():
    from ddlcn.presets import PRESETS

    text = (ROOT / "docs/deviations.md").read_text()
    assert f"{PRESETS['best'].descriptor.contrast_threshold} in `best`" in text
    assert PRESETS["paper"].descriptor.contrast_threshold == 1
    assert f"| {PRESETS['paper'].beta}; {PRESETS['best'].beta} in `best` |" in text
