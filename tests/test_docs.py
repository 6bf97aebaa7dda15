"""The documents name what exists, and all of it."""

import ast
import inspect
import re
from functools import reduce
from importlib import import_module

import pytest

import ddlcn
from tests.helpers import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if not {"_build", "gallery"} & set(page.parts))
ROWS = re.findall(
    r"^\| (.+?) \|.*\| `(ddlcn\.[\w.]+)` \| `(tests/[\w/.]+)` \|$", (DOCS / "paper-map.md").read_text("utf-8"), re.M
)
REFERENCE = "\n".join(page.read_text("utf-8") for page in DOCS.glob("api/*.md"))
PARTS = {
    "images": None,
    "checks": None,
    "report": None,
    "serve": None,
    "execution": None,
    "evaluation": ["Confusion", "Rejection", "evaluate", "cross_validate"],
}


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


def names_in_tests(path):
    """Names and attributes that the test functions of a module use, and its helpers; no text counts."""
    functions = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]
    nodes = [node for function in functions for node in ast.walk(function)]
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }


@pytest.mark.parametrize(("equation", "name", "test"), ROWS)
def test_paper_map_names_code_and_a_test_that_uses_it(equation, name, test):
    resolve(name)
    assert name.split(".")[-1] in names_in_tests(ROOT / test), f"no function of {test} uses {name}"


def test_paper_map_has_every_equation():
    told = " ".join(equation for equation, *_ in ROWS)
    assert {f"Eq. {n}" for n in range(1, 8)} <= set(re.findall(r"Eq\. \d", told))
    assert "Algorithm 1" in told


@pytest.mark.parametrize("name", ddlcn.__all__)
def test_public_name_is_documented(name):
    value = getattr(ddlcn, name)
    assert re.search(rf":: ddlcn\.{name}$", REFERENCE, re.M), f"docs/api has no {name}"
    assert value.__doc__
    if inspect.isclass(value) and "__init__" in vars(value) and not issubclass(value, Exception):
        for parameter in inspect.signature(value).parameters:
            words = rf"^    (?:\w+, )*{parameter}(?:, \w+)* : |``?{parameter}"
            assert re.search(words, value.__doc__, re.M), f"the docstring of {name} has no {parameter}"


@pytest.mark.parametrize("part", PARTS)
def test_public_names_of_parts_are_documented(part):
    module = import_module(f"ddlcn.{part}")
    for name in PARTS[part] or module.__all__:
        if callable(getattr(module, name)):  # a constant is told of where it counts
            assert re.search(rf":: ddlcn\.({part}\.(\w+\.)?)?{name}$", REFERENCE, re.M), f"docs/api has no {name}"


def test_extras_are_installed_in_one_way():
    """As error messages say it, which works in any folder; `-e '.[dev]'` is for those who change the code."""
    for page in [ROOT / "README.md", *PAGES]:
        assert "pip install '.[" not in page.read_text("utf-8"), page
    for page in (ROOT / "README.md", DOCS / "serve.md", DOCS / "guide" / "install.md"):
        assert "pip install 'ddlcn[serve]'" in page.read_text("utf-8"), page


def test_readme_trains_on_labels_and_links_to_readable_pages():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "train.labels" in readme
    assert ".target" not in readme
    assert "docs/index.md" not in readme


def test_every_page_is_in_a_toctree():
    listed = {DOCS / "index.md"}
    for page in PAGES:
        for entries in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
            names = [re.sub(r".*<(.+)>", r"\1", line) for line in entries.split("\n") if line and line[0] != ":"]
            listed |= {(page.parent / f"{name}.md").resolve() for name in names}
    assert set(PAGES) <= listed, set(PAGES) - listed


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http|#|mailto)([^)#]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def test_readme_has_the_signature_of_the_constructor():
    """Whatever is written as `DDLCNClassifier(name=…)` or `set_params(name=…)` is a parameter."""
    known = set(inspect.signature(ddlcn.DDLCNClassifier).parameters)
    for page in [ROOT / "README.md", *PAGES]:
        for call in re.findall(r"DDLCNClassifier\(([^()]*)\)", page.read_text("utf-8")):
            given = set(re.findall(r"(\w+)=", call))
            assert given <= known, f"{page.name}: {given - known}"
