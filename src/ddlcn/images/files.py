"""Find image files: below a folder, in a folder per class, or in a CSV manifest."""

import csv
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from ddlcn.errors import DDLCNError, listed
from ddlcn.images.decode import RAW
from ddlcn.images.imageset import ImageSet

SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".bmp", ".tif", ".tiff", ".webp"),
    *(".ppm", ".pgm", ".pbm", ".pnm", ".pfm", ".avif", ".jp2", ".j2k", ".jpx", ".heic", ".heif", ".hif", ".jxl"),
)
# Extended Yale B ships a picture of each person without flash, which is for calibration and no data.
NO_DATA = "_Ambient.pgm"
MACOS = "__MACOSX"  # the folder of metadata in archives that macOS makes
PATH_NAMES = ("path", "file", "filename", "image")  # of a manifest's columns
LABEL_NAMES = ("label", "class", "category", "target")
MAX_LINE, MAX_PATH, MAX_LABEL = 1 << 20, 4096, 255  # characters of a manifest's line, of a path, of a label


def find_images(paths: Iterable[str | os.PathLike[str]]) -> tuple[list[str], int]:
    """Return the image files that are named or lie below the named folders, and how many were passed over.

    A folder's images are sorted, and its hidden and non-image files passed over. A file that is named is
    always returned, so that reading it can say what is wrong with it.

    >>> find_images(["b.png", "a.png"])
    (['b.png', 'a.png'], 0)
    """
    given = [Path(path) for path in paths]
    found = [file for path in given for file in (_walk(path, _real(path)) if path.is_dir() else [path])]
    images = [str(file) for file in found if file]
    if not images:
        named = listed((repr(str(path)) for path in given), 3) or "an empty list"
        raise DDLCNError(f"no images in {named}; name image files, or folders that hold some")
    return images, len(found) - len(images)


def read_folder(root: Path) -> ImageSet:
    """Read a folder that holds a folder of images per class."""
    classes = {entry.name for entry in root.iterdir() if entry.is_dir() and is_ours(entry, _real(root))}
    if not classes:
        raise DDLCNError(f"{str(root)!r} has no folder per class; sort the images into one for each class")
    found = list(_walk(root, _real(root)))
    images = [file for file in found if file and file.parent != root]
    stray = [(str(file), "is in no class folder; move it into one") for file in found if file and file.parent == root]
    labels = [file.relative_to(root).parts[0] for file in images]
    empty = [(str(root / name), _why_empty(root / name, root)) for name in sorted(classes - set(labels))]
    if not images:
        folder, why = min(empty, key=lambda each: Path(each[0]).name == MACOS)
        raise DDLCNError(f"class folder {folder!r} {why}")
    passed_over = len(found) - len(images) - len(stray)
    return replace(ImageSet.of(images, labels, str(root), passed_over), skipped=empty + stray)


def _why_empty(folder: Path, root: Path) -> str:
    if folder.name == MACOS:
        return "is metadata of macOS; remove it"
    linked = any(entry.is_symlink() and not is_ours(entry, _real(root)) for entry in folder.iterdir())
    links = " (links that lead out of the data are not followed)" if linked else ""
    return f"has no images{links}; add some or remove it"


def read_manifest(path: Path) -> ImageSet:
    """Read a CSV file of paths, relative to its own folder, and labels."""
    name = f"manifest {str(path)!r}"
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            first = file.readline(MAX_LINE)
            file.seek(0)
            reader = csv.reader(_lines(file), delimiter=max(",;\t", key=first.count))
            rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except UnicodeDecodeError:
        raise DDLCNError(f"{name} is not UTF-8; save it as UTF-8") from None
    except csv.Error as error:
        raise DDLCNError(f"{name}, line {reader.line_num}: {error}; correct the line") from None
    header, path_at, label_at = ["path", "label"], 0, 1
    names = [cell.lower() for cell in rows[0][1]] if rows else []
    paths, labels = ([at for at, cell in enumerate(names) if cell in known] for known in (PATH_NAMES, LABEL_NAMES))
    if paths and labels:
        header, path_at, label_at, rows = names, paths[0], labels[0], rows[1:]
    elif {"path", "label"} & set(names):
        raise DDLCNError(f"{name} has the columns {_brief(names)}; it needs path and label")
    if not rows:
        raise DDLCNError(f"{name} lists no images; give it lines of path,label")
    wrong = []
    for line, row in rows:
        image, label = (row[path_at], row[label_at]) if len(row) == len(header) else ("", "")
        if not (0 < len(image) <= MAX_PATH and 0 < len(label) <= MAX_LABEL) or "\0" in image + label:
            wrong.append(f"line {line}: {_brief(row)}")
    if wrong:
        what = f"is not {_brief(header)}, of at most {MAX_PATH:,} and {MAX_LABEL} characters"
        remedy = f"correct the line{'s' if len(wrong) > 1 else ''}"
        raise DDLCNError(f"{name}, {listed(wrong, 5)} {what}; {remedy}")
    images = [_listed(path.parent, row[path_at]) for _, row in rows]
    return ImageSet.of(images, [row[label_at] for _, row in rows], str(path))


def _listed(folder: Path, name: str) -> Path:
    """The file of a manifest's line; Windows writes its path with backslashes."""
    path = folder / name
    return folder / name.replace("\\", "/") if "\\" in name and not path.exists() else path


def _lines(file: TextIO) -> Iterator[str]:
    while line := file.readline(MAX_LINE):
        if len(line) == MAX_LINE:
            raise csv.Error(f"it is over {MAX_LINE:,} characters")
        yield line


def _brief(cells: list[str]) -> str:
    """The cells of a line, to be shown.

    >>> _brief(["a.png", "x" * 100])
    "'a.png,xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'"
    """
    text = ",".join(cells[:61])
    return repr(text if len(text) <= 60 else f"{text[:60]}…")


def _walk(folder: Path, root: str) -> Iterator[Path | None]:
    """Yield the images below a folder, sorted by name, and None for each entry passed over.

    Below an entry of the folder a link leads to no folder that was entered before: neither round and round,
    nor by all the many ways in which links can reach a few folders.
    """
    for first in _entries(folder):
        entered, waiting = {_real(folder)}, [first]
        while waiting:
            entry = waiting.pop()
            if entry.name == MACOS or not is_ours(entry, root) or (entry.is_symlink() and _real(entry) in entered):
                yield None
            elif not entry.is_dir():
                yield entry if entry.is_file() and _is_image(entry.name) else None
            else:
                entered.add(_real(entry))
                waiting += reversed(_entries(entry))


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir(), key=lambda entry: entry.name)


def is_ours(entry: Path, root: str) -> bool:
    """Whether an entry is neither hidden nor a link that leads out of the root."""
    inside = not entry.is_symlink() or Path(_real(entry)).is_relative_to(root)
    return inside and not entry.name.startswith(".")


def _is_image(name: str) -> bool:
    return name.lower().endswith(SUFFIXES + RAW) and not name.endswith(NO_DATA)


def _real(path: Path) -> str:
    return os.path.realpath(path)  # unlike Path.resolve, never raises on circular links
