"""A run directory: `manifest.json` says what is to be computed, `rows.jsonl` what has been.

A row is one line, appended under a lock and forced to disk. A process that dies leaves at most a part of a
line, which the next one cuts off. Work is claimed by locks on bytes of the file `claims`, which the system
gives back when a process ends, however it ends: there are no stale claims.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ddlcn import __version__
from ddlcn.errors import DDLCNError
from ddlcn.experiments.grid import Grid, Job
from ddlcn.model_file import write_atomically

FORMAT = 1


class Run:
    """Rows of a grid, shared by any number of processes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.manifest = self._read_manifest()
        self._claims = os.open(self.path / "claims", os.O_RDWR | os.O_CREAT, 0o666)
        self._seen, self._done = 0, set[Job]()

    @classmethod
    def create(cls, path: str | os.PathLike[str], grid: Grid, facts: dict[str, Any]) -> Run:
        """Start a run, or go on with one of the very same grid and version."""
        path = Path(path)
        wanted = {"format": FORMAT, "version": __version__, "grid": grid.facts(), **facts}
        try:
            path.mkdir(parents=True, exist_ok=True)
            with open(path / "claims", "ab") as lock:
                fcntl.lockf(lock, fcntl.LOCK_EX, 1, 0)
                if not (path / "manifest.json").exists():
                    strange = {e.name for e in path.iterdir() if not e.name.startswith(".manifest")} - {
                        "claims"
                    }
                    if strange:
                        what = f"{str(path)!r} is no run but holds {min(strange)!r}"
                        raise DDLCNError(f"{what}: choose an empty or a new folder as --out")
                    write_atomically(path / "manifest.json", json.dumps(wanted, indent=1).encode())
        except OSError as error:
            raise DDLCNError(
                f"can't write to {str(path)!r} ({error.strerror}): choose another --out"
            ) from None
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
                    "give the same command to go on, or choose another --out"
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
            raise DDLCNError(f"{str(self.path)!r} is no run: make one with `ddlcn bench … --out`") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, DDLCNError):
                raise
            raise DDLCNError(f"{name!r} is damaged: restore it, or choose another --out") from None

    def expected(self) -> int:
        """How many rows the grid has."""
        return len(Grid.from_facts(self.manifest["grid"]).jobs())

    def rows(self) -> list[dict[str, Any]]:
        """All rows computed so far; a last line that is still being written does not count."""
        return list(self._rows_from(0))

    def done(self) -> set[Job]:
        """The jobs whose rows are there; reads no more than what was added since it was last asked."""
        for row in self._rows_from(self._seen):
            self._done.add(job_of(row))
        return self._done

    def _rows_from(self, start: int) -> Iterator[dict[str, Any]]:
        try:
            with open(self.path / "rows.jsonl", "rb") as file:
                file.seek(start)
                lines = file.read().split(b"\n")[:-1]
        except FileNotFoundError:
            lines = []
        for line in lines:
            try:
                row = json.loads(line)
                job_of(row)
            except (ValueError, KeyError, TypeError):
                where = f"{str(self.path / 'rows.jsonl')!r} has a damaged line at byte {start}"
                raise DDLCNError(f"{where}: delete it, and bench computes that row anew") from None
            yield row
            start += len(line) + 1
        self._seen = start

    def append(self, row: dict[str, Any]) -> None:
        """Add a row, durably and whole."""
        line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
        try:
            with open(self.path / "rows.jsonl", "ab+") as file:
                fcntl.lockf(file, fcntl.LOCK_EX)
                file.truncate(_whole_lines(file))
                try:
                    file.write(line)
                    file.flush()
                finally:
                    os.fsync(file.fileno())
        except OSError as error:
            raise DDLCNError(
                f"can't write to {str(self.path / 'rows.jsonl')!r} ({error.strerror}): "
                "free some space and give the same command; it goes on where it was"
            ) from None

    @contextmanager
    def claim(self, number: int, wait: bool) -> Iterator[bool]:
        """Hold a piece of work; False if another process does, unless `wait` says to wait for that one."""
        place = number + 1  # byte 0 guards the manifest
        try:
            fcntl.lockf(self._claims, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, place)
        except BlockingIOError:
            yield False
            return
        try:
            yield True
        finally:
            fcntl.lockf(self._claims, fcntl.LOCK_UN, 1, place)

    def close(self) -> None:
        """Give back all claims."""
        os.close(self._claims)


def job_of(row: dict[str, Any]) -> Job:
    """The job that a row answers."""
    return Job(**{key: row[key] for key in Job._fields})


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
