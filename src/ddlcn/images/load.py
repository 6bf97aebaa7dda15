"""Load labelled images from wherever they are, with the broken ones left out and accounted for."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from joblib import Parallel, delayed

from ddlcn.errors import DDLCNError, ImageError, grouped, listed
from ddlcn.images.arrays import IDX_NAME, idx_in, read_idx, read_npz
from ddlcn.images.decode import NOT_FINITE, check_image
from ddlcn.images.files import read_folder, read_manifest
from ddlcn.images.imageset import ImageSet

Progress = Callable[[int, int], object]
SHOWN = 5  # problems of a kind in an error message
AT_ONCE = 32  # files per task: one alone takes less time than to start a task


def load_images(
    source: str | os.PathLike[str],
    *,
    part: Literal["train", "test"] | None = None,
    strict: bool = False,
    min_per_class: int = 1,
    min_classes: int = 2,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> ImageSet:
    """Load labelled images.

    Parameters
    ----------
    source : path
        - a folder with a folder of images per class, searched to any depth;
        - a CSV manifest of paths, relative to its own folder, and labels, headed ``path,label`` or not, separated
          by commas, semicolons or tabs;
        - IDX images (``train-images-idx3-ubyte``), plain or gzipped, labels beside them, or their folder;
        - an ``.npz`` file with arrays ``images`` (or ``X``, ``data``, ``x_train``) and ``labels`` (or ``y``,
          ``target``, ``y_train``).
    part : "train" or "test"
        Which of two IDX pairs in a folder, or ``x_test`` of an ``.npz`` file; the training part unless said.
        A collection without parts serves as either.
        ``source`` of the result names the file that was taken.
    strict : bool
        Raise on a broken image, an image in no class folder, or a folder without images, rather than skip it.
    min_per_class, min_classes : int
        What must be left once broken images are skipped.
    n_jobs : int or None
        Threads that check the files.
    progress : callable or None
        Called with the files checked so far and their total.

    Returns
    -------
    ImageSet
        Broken images, images in no class folder and folders without images are in `skipped`.

    Raises
    ------
    DDLCNError
        If there is nothing to read, or too few images or classes are left.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/stripes.npz", images=np.eye(4).reshape(4, 2, 2), labels=["a", "b", "b", "a"])
    ...     stripes = load_images(f"{folder}/stripes.npz")
    >>> stripes.images.shape, stripes.target.tolist(), stripes.target_names.tolist()
    ((4, 2, 2), [0, 1, 1, 0], ['a', 'b'])
    """
    try:
        found = _read(Path(source), part)
    except OSError as error:
        name = error.filename or os.fspath(source)
        raise DDLCNError(f"can't read {name!r} ({error.strerror or error}); check its permissions") from None
    reasons = _check(found, n_jobs, progress)
    names = found.paths or [f"{found.source}[{row}]" for row in range(len(found))]
    broken = [(name, reason) for name, reason in zip(names, reasons, strict=True) if reason]
    misplaced, n_images = found.skipped, len(found)
    if broken:
        good = np.flatnonzero([reason is None for reason in reasons])
        found = replace(found.take(good), skipped=found.skipped + broken)
    problems = _problems_of_classes(found, min_per_class, min_classes, [] if strict else (broken or misplaced)[:1])
    if strict and found.skipped:
        lines = grouped((repr(name), why) for name, why in [*broken, *misplaced])
        more = [f"{len(lines) - SHOWN:,} further reason{'s' * (len(lines) - SHOWN > 1)}"] if len(lines) > SHOWN else []
        count = f"strict: {len(broken)} of {n_images} images are broken: " if broken else ""
        problems[:0] = [count + lines[0], *lines[1:SHOWN], *more]
    if problems:
        raise (ImageError if strict and broken else DDLCNError)("; also, ".join(problems))
    return found


def _read(source: Path, part: str | None) -> ImageSet:
    """Read names and labels, and arrays; image files are not opened yet."""
    if part not in (None, "train", "test"):
        raise DDLCNError(f"part={part!r}: give 'train' or 'test'")
    if source.is_dir():
        idx = idx_in(source, part)
        return read_idx(idx, source) if idx else read_folder(source)
    if not source.is_file():  # a pipe or device could block for ever
        what = "is no regular file; copy what it gives to one" if source.exists() else "does not exist; check the path"
        raise DDLCNError(f"{str(source)!r} {what}")
    if IDX_NAME.search(source.name):
        return read_idx(source)
    if source.suffix.lower() in (".csv", ".tsv"):
        return read_manifest(source)
    if source.suffix.lower() == ".npz":
        return read_npz(source, part)
    give = "a folder with a folder per class, a .csv or .tsv manifest, *-images-idx3-ubyte[.gz] or .npz"
    raise DDLCNError(f"{str(source)!r} is no collection of images; give {give}")


def _check(found: ImageSet, n_jobs: int | None, progress: Progress | None) -> list[str | None]:
    """Return what is wrong with each image, or None."""
    if found.paths is None:
        finite = np.isfinite(np.reshape(found.images, (len(found), -1)))
        return [None if each.all() else NOT_FINITE for each in finite]
    reasons: list[str | None] = []
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator", batch_size=AT_ONCE)
    for reason in parallel(delayed(check_image)(path) for path in found.paths):
        reasons.append(reason)
        if progress:
            progress(len(reasons), len(found))
    return reasons


def _problems_of_classes(
    found: ImageSet, min_per_class: int, min_classes: int, example: list[tuple[str, str]]
) -> list[str]:
    """Say if too few classes, or too few images of some classes, are left."""
    counts = np.bincount(found.target, minlength=len(found.target_names))
    lost = [f" ({len(found.skipped)} skipped, first {path!r}: it {why})" for path, why in example]
    few = [(str(name), n) for name, n in zip(found.target_names, counts, strict=True) if n < min_per_class]
    problems = []
    if few:
        shown = listed((f"class {name!r} has {n} usable image(s)" for name, n in few), SHOWN)
        remedy = f"add images to {found.source!r} or remove the {'classes' if len(few) > 1 else 'class'}"
        problems.append(f"{shown}, {min_per_class} needed{''.join(lost)}; {remedy}")
    if len(counts) < min_classes:
        only = ", ".join(found.target_names)
        problems.append(f"{found.source!r} has only {len(counts)} class(es), {only}{''.join(lost)}; add classes")
    return problems
