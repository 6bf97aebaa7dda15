"""Copies of images, or links to them, in a folder per predicted label. No file is ever overwritten."""

import filecmp
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any
from unicodedata import normalize

from ddlcn.errors import DDLCNError

_UNSAFE = re.compile(r'[\x00-\x1f\x7f-\x9f\ud800-\udfff<>:"/\\|?*]')  # on one system or another
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # of Windows
_LONGEST = 200  # bytes of a name, before a number is added


def safe_names(labels: Iterable[Any]) -> dict[Any, str]:
    """Return a name for the folder of each label, that any system can have and no other label has.

    >>> safe_names(["daisy", "a/b", "A:b", "..", "CON"])
    {'daisy': 'daisy', 'a/b': 'a_b', 'A:b': 'A_b (2)', '..': '_', 'CON': '_CON'}
    """
    names: dict[Any, str] = {}
    taken: set[str] = set()
    for label in labels:
        name = _shortened(_UNSAFE.sub("_", normalize("NFC", str(label))).strip(" .")).rstrip(" .") or "_"
        name = f"_{name}" if _DEVICES.fullmatch(name) else name
        free = (name if n == 1 else f"{name} ({n})" for n in count(1))
        names[label] = next(each for each in free if each.casefold() not in taken)  # some systems ignore case
        taken.add(names[label].casefold())
    return names


def _shortened(name: str) -> str:
    """The start of a name that file systems have room for."""
    return os.fsencode(name)[:_LONGEST].decode(errors="ignore") if len(os.fsencode(name)) > _LONGEST else name


class Sorter:
    """Puts images into a folder per label.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    labels : iterable
        All that there can be.
    link : bool
        Make symbolic links instead of copies.
    given : iterable of str
        What images are searched in; the folder may not lie there, or its copies would be found the next time.

    Attributes
    ----------
    counts : Counter
        Images by the name of their folder.
    n_there : int
        How many of them were there already.
    """

    def __init__(self, folder: Path, labels: Iterable[Any], link: bool, given: Iterable[str]) -> None:
        self.folder, self._names, self._link, self.counts = folder, safe_names(labels), link, Counter[str]()
        self.n_there = 0
        for place in map(Path, given):
            if place.is_dir() and folder.resolve().is_relative_to(place.resolve()):
                where = f"--sort-into {str(folder)!r} is in {str(place)!r}, whose images are sorted"
                raise DDLCNError(f"{where}: name a folder outside of it")

    def put(self, image: str, label: Any) -> str:
        """Copy or link an image, and return where; an equal file that is there already stays as it is."""
        home = self.folder / self._names[label]
        home.mkdir(parents=True, exist_ok=True)
        stem, suffix = Path(image).stem, Path(image).suffix
        for n in count(1):
            target = home / (f"{stem}{suffix}" if n == 1 else f"{_shortened(stem)} ({n}){suffix}")
            there = self._same(image, target)
            if there or self._make(image, target):
                self.n_there += there
                self.counts[self._names[label]] += 1
                return str(target)
        raise AssertionError("unreachable")

    def _same(self, image: str, target: Path) -> bool:
        if self._link:
            return target.is_symlink() and os.path.realpath(target) == os.path.realpath(image)
        return target.is_file() and not target.is_symlink() and filecmp.cmp(image, target, shallow=False)

    def _make(self, image: str, target: Path) -> bool:
        """Whether a new file could be made, because there was none."""
        try:
            if self._link:
                os.symlink(os.path.abspath(image), target)
                return True
            with open(image, "rb") as source, open(target, "xb") as copy:
                try:
                    shutil.copyfileobj(source, copy)
                except BaseException:
                    os.unlink(target)  # no incomplete file is left
                    raise
            shutil.copystat(image, target)
        except FileExistsError:
            return False
        return True
