"""Copies and links in a folder per label: nothing is overwritten, and names are safe."""

import os
from pathlib import Path

import pytest

from ddlcn.cli.sorting import Sorter, safe_names
from ddlcn.errors import DDLCNError

LABELS = [
    "a/b",
    "a\\b",
    "..",
    "",
    ".hidden",
    "CON",
    "nul.txt",
    "é\x1b",
    "x" * 300,
    "画" * 100,
    "lone \ud800",
    "caf\u00e9",
    "cafe\u0301",
    "trail. ",
    "Case",
    "case",
    "a:b",
    "_",
]


def test_safe_names() -> None:
    names = safe_names(LABELS)
    assert len({name.casefold() for name in names.values()}) == len(LABELS)
    for name in names.values():
        assert 0 < len(name.encode()) <= 210
        assert not set(name) & set('<>:"/\\|?*\x1b')
        assert name not in (".", "..", "CON", "nul.txt")
        assert name[0] != "."
        assert name[-1] not in " ."
    assert names["case"] == "case (2)"
    assert safe_names([3, 10]) == {3: "3", 10: "10"}


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.png").write_text(name)
    (tmp_path / "three" / "a.png").write_text("one")  # the same content as the first
    mine = tmp_path / "out" / "cat" / "a.png"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    for _ in range(2):  # again: nothing new
        sorter = Sorter(tmp_path / "out", ["cat"], False, [])
        places = [Path(sorter.put(str(tmp_path / name / "a.png"), "cat")) for name in ("one", "two", "three")]
        assert [place.name for place in places] == ["a (2).png", "a (3).png", "a (2).png"]
        assert [place.read_text() for place in places] == ["one", "two", "one"]
        assert mine.read_text() == "mine"
        assert sorter.counts == {"cat": 3}
    assert len(list(mine.parent.iterdir())) == 3


def test_long_file_names(tmp_path: Path) -> None:
    """A second file of a name that has no room for a number."""
    sorter, name = Sorter(tmp_path / "sorted", ["a"], False, []), "x" * 250 + ".png"
    for folder, content in (("one", b"1"), ("two", b"2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(content)
        assert Path(sorter.put(str(tmp_path / folder / name), "a")).read_bytes() == content


def test_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.png").write_text("one")
    (tmp_path / "out" / "cat").mkdir(parents=True)
    os.symlink("nowhere", tmp_path / "out" / "cat" / "a.png")
    for _ in range(2):
        place = Path(Sorter(Path("out"), ["cat"], True, []).put("a.png", "cat"))
        assert place.name == "a (2).png"
        assert place.is_symlink()
        assert place.read_text() == "one"
    assert os.readlink("out/cat/a.png") == "nowhere"


def test_folder_among_the_images(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "sorted"):
        with pytest.raises(DDLCNError, match="whose images are sorted: name a folder outside of it"):
            Sorter(folder, ["cat"], False, [str(tmp_path)])
    Sorter(tmp_path / "sorted", ["cat"], False, [str(tmp_path / "new"), str(tmp_path / "a.png")])
