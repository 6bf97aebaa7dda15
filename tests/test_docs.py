"""The documents name what exists, and all of it."""

import ast
import inspect
import json
import re
from functools import reduce
from importlib import import_module

import numpy as np
import pytest
from PIL import Image
from typer.main import get_command

import ddlcn
from ddlcn.cli import GROUPS, main
from ddlcn.cli.app import app
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


def commands_of(page):
    """The words of each `ddlcn …` in a block of a page that is for the terminal, without comments."""
    for block in re.findall(r"^```(?:console|bash|sh)\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
        for line in block.replace("\\\n", " ").split("\n"):
            for part in re.split(r"&&|\||;", line.split(" #")[0]):
                words = part.removeprefix("$").split()
                if words[:1] == ["ddlcn"]:
                    yield words[1:]


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_pages_have_known_options(page):
    for group in GROUPS:
        import_module(f"ddlcn.cli.{group}")
    known = get_command(app).commands
    for words in commands_of(page):
        if not words[0].startswith("-"):
            options = {option for parameter in known[words[0]].params for option in parameter.opts} | {"--help"}
            given = {word.split("=")[0] for word in words if re.match(r"--?[A-Za-z]", word)}
            assert given <= options, (words, given - options)


def test_readme_has_the_signature_of_the_constructor():
    """Whatever is written as `DDLCNClassifier(name=…)` or `set_params(name=…)` is a parameter."""
    known = set(inspect.signature(ddlcn.DDLCNClassifier).parameters)
    for page in [ROOT / "README.md", *PAGES]:
        for call in re.findall(r"DDLCNClassifier\(([^()]*)\)", page.read_text("utf-8")):
            given = set(re.findall(r"(\w+)=", call))
            assert given <= known, f"{page.name}: {given - known}"


@pytest.mark.parametrize("picture", sorted((DOCS / "figures").iterdir()), ids=lambda picture: picture.name)
def test_pictures_are_used_and_small(picture):
    pages = "".join(page.read_text("utf-8") for page in [ROOT / "README.md", *PAGES])
    assert f"figures/{picture.name}" in pages
    assert picture.stat().st_size < 150_000


def test_citation_has_the_version_of_the_package():
    assert f"version: {ddlcn.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


QUICK = "--preset paper --atoms-per-class 2 --jobs 1 -q --json"
TRAINING = "train, demo, evaluate, extend"
JSON_OF = {
    TRAINING: f"train data -o again.ddlcn --train-per-class 4 {QUICK}",
    "cross-validate": f"cross-validate data --folds 2 {QUICK}",
    "check": "check data --folds 2 -q --json",
    "predict": "predict model.ddlcn data -q --json",
    "explain": "explain model.ddlcn data/fine/0.png -o why.png -q --json",
    "atoms": "atoms model.ddlcn -o atoms.png -q --json",
    "info": "info model.ddlcn --json",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Noise of two kinds in folders, one image of it twice and one broken, and a model of it."""
    home, rng = tmp_path_factory.mktemp("json"), np.random.default_rng(0)
    for kind in ("fine", "coarse"):
        (home / "data" / kind).mkdir(parents=True)
        for number in range(8):
            pixels = rng.integers(0, 255, (24, 24) if kind == "fine" else (6, 6), np.uint8)
            Image.fromarray(pixels).resize((24, 24), 0).save(home / "data" / kind / f"{number}.png")
    for name, content in (("twice.png", (home / "data" / "fine" / "0.png").read_bytes()), ("broken.png", b"")):
        (home / "data" / "fine" / name).write_bytes(content)
    with pytest.raises(SystemExit):
        main(f"train {home / 'data'} -o {home / 'model.ddlcn'} {QUICK}".split())
    return home


def run(command, capsys):
    """What a command prints."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(command.split())
    assert not end.value.code
    return capsys.readouterr().out


def names_in(text):
    """What is in backticks."""
    return set(re.findall(r"`(\w+)`", text))


def documented(section, page="json"):
    """The tables of a section of a page: for each, the description of every key."""
    text = (DOCS / "guide" / f"{page}.md").read_text("utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    tables = re.findall(r"(?<=---\|\n)(?:\|.*\n)+", text)
    lines = [[line.strip("| ").split(" | ") for line in table.splitlines()] for table in tables]
    return [{key: row[-1] for row in rows for key in names_in(row[0])} for rows in lines]


@pytest.mark.parametrize("section", JSON_OF)
def test_json_page_has_all_keys(section, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    found, (keys, *inner) = json.loads(run(JSON_OF[section], capsys)), documented(section)
    assert set(found) == set(keys)
    told = {key: names_in(f"{text} {documented(TRAINING)[0].get(key)}") for key, text in keys.items()}
    told |= {"predictions": set(*inner), "images": set(documented("The CSV file", "data-checks")[0])}
    for key, value in found.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            assert set(value[0]) <= told[key], key


def test_json_page_has_all_keys_of_a_prediction(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    options = "--top 2 --probabilities --min-probability 0.1 --coverage 0.5 --sort-into sorted --format jsonl -q"
    command = f"predict model.ddlcn data {options}"
    assert set(json.loads(run(command, capsys).splitlines()[0])) == set(documented("predict")[1])


def test_json_page_has_all_keys_of_bench(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    run("bench folder:data --out run --methods svm --pq 1-1 --t 4 --splits 1 -q", capsys)
    row, report = documented("bench and bench-report")
    assert set(json.loads((folder / "run" / "rows.jsonl").read_text("utf-8"))) == set(row)
    found = json.loads(run("bench-report run --json", capsys))
    assert set(found) == set(report)
    assert set(found["tables"][0]) == names_in(report["tables"])
