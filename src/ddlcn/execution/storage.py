"""The files of a work folder: in a local folder, or on any file system of fsspec.

A file is there whole or not at all. Each process that uses a local folder holds a lock file of its own in it,
which the operating system frees when the process ends, however it ends. So leftovers of dead processes can be told
from files in the making, and the last process that uses a folder may delete it.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ddlcn.errors import DDLCNError
from ddlcn.persistence.atomic import write_and_rename

ENTRY, _LOCK, _TEMPORARY = ".safetensors", ".lock", ".tmp"
_GATE = "gate" + _LOCK  # held for a moment by whoever opens or removes the folder
_MARKER = "ddlcn-work-folder.txt"
_TEXT = "Results of the tasks of ddlcn, to resume from. Delete the folder to start over.\n"


class LocalFolder:
    """A folder of this machine, or one that is mounted here.

    A copy in another process, such as a worker, writes under the lock of the process that it comes from.
    """

    def __init__(self, path: str | Path, job: str | None = None) -> None:
        self.path = Path(os.path.abspath(path))
        self._job = job or uuid.uuid4().hex
        self._lock = FileLock(self.path / (self._job + _LOCK), thread_local=False)

    def __reduce__(self) -> tuple[type["LocalFolder"], tuple[Path, str]]:
        return LocalFolder, (self.path, self._job)

    def names(self) -> list[str]:
        """All files."""
        return os.listdir(self.path) if self.path.exists() else []

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        return (self.path / name).exists()

    def read(self, name: str) -> bytes:
        """The content of a file."""
        return (self.path / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        """Write a file; the folder must be `in_use`."""
        temporary = f".{name}.{uuid.uuid4().hex}.{self._job}{_TEMPORARY}"
        write_and_rename(self.path / temporary, self.path / name, [content])

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Make the folder, delete what dead processes left, and hold our lock in it."""
        try:
            while not self._lock.is_locked:
                with suppress(FileNotFoundError):  # another process has just removed the folder
                    self._enter()
        except OSError as error:
            why = error.strerror or error
            raise DDLCNError(f"can't use {str(self.path)!r} ({why}): choose another folder") from None
        try:
            yield
        finally:
            self._lock.release()
            self.delete(self._job + _LOCK)

    def remove(self) -> None:
        """Delete our files, and the folder, unless another process uses it."""
        with FileLock(self.path / _GATE):
            if self._other_jobs():
                return
            self._lock.release()
            ours = [name for name in self.names() if name.endswith((ENTRY, _LOCK, _TEMPORARY)) and name != _GATE]
            self.delete(*ours, _MARKER, _GATE)  # a folder without the marker would be somebody else's
        with suppress(OSError):
            os.rmdir(self.path)

    def _enter(self) -> None:
        """Make the folder, unless it is there and somebody else's, and lock it."""
        others = set() if self.has(_MARKER) else set(self.names()) - {_GATE}
        if others and _MARKER not in others:
            what = f"{str(self.path)!r} is no work folder of ddlcn but holds {min(others)!r}"
            raise DDLCNError(f"{what}: choose an empty or a new folder")
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.has(_MARKER):
            (self.path / _MARKER).write_text(_TEXT)
        with FileLock(self.path / _GATE):
            if self.has(_MARKER):
                self._lock.acquire()
                alive = {self._job} | self._other_jobs()
                left = (name for name in self.names() if name.endswith(_TEMPORARY))
                self.delete(*(name for name in left if name.split(".")[-2] not in alive))

    def _other_jobs(self) -> set[str]:
        """Jobs of other processes that are alive; locks of dead ones are deleted."""
        alive = set()
        for name in set(self.names()) - {_GATE, self._job + _LOCK}:
            if name.endswith(_LOCK):
                try:
                    FileLock(self.path / name).acquire(blocking=False).lock.release()
                    self.delete(name)
                except Timeout:
                    alive.add(name.removesuffix(_LOCK))
        return alive

    def delete(self, *names: str) -> None:
        """Delete files, as far as that is possible."""
        for name in names:
            with suppress(OSError):
                (self.path / name).unlink()


class RemoteFolder:
    """A folder on a file system of fsspec. Others may use it too, so it is never removed."""

    def __init__(self, path: str) -> None:
        try:
            import fsspec

            self.files: Any
            self.files, self.path = fsspec.url_to_fs(path)
        except (ImportError, ValueError) as error:
            remedy = "pip install 'ddlcn[cluster]', or give a folder or another address"
            raise DDLCNError(f"can't use {path!r} ({error}): {remedy}") from None

    def names(self) -> list[str]:
        """All files."""
        self.files.invalidate_cache()
        return [name.rsplit("/", 1)[-1] for name in self.files.find(self.path, maxdepth=1)]

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        self.files.invalidate_cache()
        return bool(self.files.exists(f"{self.path}/{name}"))

    def read(self, name: str) -> bytes:
        """The content of a file."""
        return bytes(self.files.cat_file(f"{self.path}/{name}"))

    def write(self, name: str, content: bytes) -> None:
        """Write a file beside its place and move it there."""
        temporary = f"{self.path}/.{name}.{uuid.uuid4().hex}{_TEMPORARY}"
        self.files.makedirs(self.path, exist_ok=True)
        self.files.pipe_file(temporary, content)
        self.files.mv(temporary, f"{self.path}/{name}")

    def delete(self, name: str) -> None:
        """Delete a file, as far as that is possible."""
        with suppress(OSError):
            self.files.rm_file(f"{self.path}/{name}")

    def in_use(self) -> AbstractContextManager[None]:
        """No lock."""
        return nullcontext()

    def remove(self) -> None:
        """Nothing."""
