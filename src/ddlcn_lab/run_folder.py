"""A run folder: `manifest.json` says what is to be computed, `rows.jsonl` has what has been computed.

A row is one line, appended under a lock and forced to disk. A process that is killed leaves at most a partial line,
which the next one cuts off. Pieces of work are claimed by lock files, which the operating system frees when a process
ends, however it ends.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from filelock import FileLock, Timeout

from ddlcn import __version__
from ddlcn.errors import DDLCNError
from ddlcn.persistence.atomic import write_atomically
from ddlcn_lab.grid import Grid, Job

FORMAT = 2
_LOCK = "run.lock"  # held while the manifest or a row is written


class Run:
    """Rows of a grid, shared by any number of processes.

    Parameters
    ----------
    path : path
        A run folder.

    Raises
    ------
    DDLCNError
        If it is no run folder, or damaged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.manifest = self._read_manifest()
        self._seen, self._done = 0, set[Job]()

    @classmethod
    def create(cls, path: str | os.PathLike[str], grid: Grid, facts: dict[str, Any]) -> Run:
        """Start a run, or resume one of the same grid and version."""
        path = Path(path)
        manifest = path / "manifest.json"
        wanted = {"format": FORMAT, "version": __version__, "grid": grid.facts(), **facts}
        try:
            path.mkdir(parents=True, exist_ok=True)
            others = [each.name for each in path.iterdir() if not each.name.startswith((".manifest", _LOCK))]
            if others and not manifest.exists():
                what = f"{str(path)!r} is no run folder but holds {min(others)!r}"
                raise DDLCNError(f"{what}: choose an empty or a new folder as --out")
            with FileLock(path / _LOCK):
                if not manifest.exists():
                    write_atomically(manifest, json.dumps(wanted, indent=1).encode())
        except OSError as error:
            raise DDLCNError(f"can't write to {str(path)!r} ({error.strerror}): choose another --out") from None
        run = cls(path)
        if run.manifest["version"] != __version__:
            raise DDLCNError(
                f"{str(path)!r} was made by ddlcn {run.manifest['version']}, this is {__version__}: "
                "results are not mixed, choose another --out"
            )
        for key in [*wanted["grid"], *facts]:
            have, want = ({**side["grid"], **side}.get(key) for side in (run.manifest, wanted))
            if have != want:
                raise DDLCNError(
                    f"{str(path)!r} is of another grid ({key} was {_short(have)}, now {_short(want)}): "
                    "run the same command again to resume, or choose another --out"
                )
        return run

    def _read_manifest(self) -> dict[str, Any]:
        name = str(self.path / "manifest.json")
        try:
            manifest = json.loads(Path(name).read_text("utf-8"))
            if manifest["format"] != FORMAT:
                what = f"{name!r} has format {manifest['format']}, not {FORMAT}"
                raise DDLCNError(f"{what}: use the ddlcn that made it, or choose another --out")
            return {key: manifest[key] for key in ("version", "grid", "classes", "images")}
        except FileNotFoundError:
            raise DDLCNError(f"{str(self.path)!r} is no run folder: make one with `ddlcn bench … --out`") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, DDLCNError):
                raise
            raise DDLCNError(f"{name!r} is damaged: restore it, or choose another --out") from None

    def expected(self) -> int:
        """Return the number of rows of the grid."""
        return len(Grid.from_facts(self.manifest["grid"]).jobs())

    def rows(self) -> list[dict[str, Any]]:
        """Return all rows computed so far; a last line that is still being written does not count."""
        return list(self._rows_from(0))

    def done(self) -> set[Job]:
        """Return the jobs whose rows are there; reads only what was added since the last call."""
        for row in self._rows_from(self._seen):
            self._done.add(job_of(row))
        return self._done

    def _rows_from(self, start: int) -> Iterator[dict[str, Any]]:
        for row, end in read_rows(self.path / "rows.jsonl", start):
            yield row
            self._seen = end

    def append(self, row: dict[str, Any]) -> None:
        """Add a row, whole and durable."""
        append_row(self.path / "rows.jsonl", row, self.path / _LOCK)

    def claim(self, number: int, wait: bool) -> AbstractContextManager[bool]:
        """Claim a piece of work inside a `with` block: see `claim`."""
        return claim(self.path / f"claim-{number}.lock", wait)

    def cache(self, number: int) -> Path:
        """Return the work folder of a piece of work; only the process that has the claim uses it."""
        return self.path / "cache" / str(number)

    def remove_cache(self, number: int) -> None:
        """Remove the cache of a piece of work whose rows are all there."""
        shutil.rmtree(self.cache(number), ignore_errors=True)

    def clean(self) -> None:
        """Remove all caches and claims of a complete run."""
        shutil.rmtree(self.path / "cache", ignore_errors=True)
        for claim in self.path.glob("claim-*.lock"):
            with suppress(OSError):  # Windows can't remove a file that another process has open
                claim.unlink()


def job_of(row: dict[str, Any]) -> Job:
    """Return the job of a row."""
    return Job(**{key: row[key] for key in Job._fields})


@contextmanager
def claim(path: Path, wait: bool = False) -> Iterator[bool]:
    """Claim a piece of work by a lock file inside a `with` block.

    Parameters
    ----------
    path : path
    wait : bool
        Wait for another process that has claimed it.

    Yields
    ------
    bool
        Whether this process has the claim.
    """
    lock = FileLock(path)
    try:
        lock.acquire(timeout=-1 if wait else 0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def read_rows(path: Path, start: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
    """Read a file of rows; a last line that is still being written does not count.

    Parameters
    ----------
    path : path
    start : int
        The byte to start at.

    Yields
    ------
    (dict, int)
        A row, and the byte after it.

    Raises
    ------
    DDLCNError
        If a line is damaged.
    """
    try:
        with open(path, "rb") as file:
            file.seek(start)
            lines = file.read().split(b"\n")[:-1]
    except FileNotFoundError:
        return
    for line in lines:
        try:
            row = json.loads(line)
            job_of(row)
        except (ValueError, KeyError, TypeError):
            where = f"{str(path)!r} has a damaged line at byte {start}"
            raise DDLCNError(f"{where}: delete it and run the same command again") from None
        start += len(line) + 1
        yield row, start


def append_row(path: Path, row: dict[str, Any], lock: Path) -> None:
    """Add a row to a file, whole and durable.

    Parameters
    ----------
    path : path
        A partial line at its end, of a process that was killed, is cut off.
    row : dict
    lock : path
        Held while the row is written.

    Raises
    ------
    DDLCNError
        If it can't be written.
    """
    line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
    try:
        with FileLock(lock), open(path, "ab+") as file:
            file.truncate(_whole_lines(file))
            try:
                file.write(line)
                file.flush()
            finally:
                os.fsync(file.fileno())
    except OSError as error:
        raise DDLCNError(
            f"can't write to {str(path)!r} ({error.strerror}): "
            "free some space, then run the same command again to resume"
        ) from None


def _whole_lines(file: IO[bytes]) -> int:
    """Bytes up to the end of the last whole line."""
    end = file.seek(0, os.SEEK_END)
    block = 1 << 16
    start = end
    while start > 0:
        start = max(0, start - block)
        file.seek(start)
        found = file.read(block).rfind(b"\n")
        if found >= 0:
            return start + found + 1
    return 0


def _short(value: object) -> str:
    return repr(value) if len(repr(value)) < 60 else f"{repr(value)[:57]}…"
