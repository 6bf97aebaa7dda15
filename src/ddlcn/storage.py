"""Where a store keeps its files: a folder, or any file system of fsspec. No file is ever half there."""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

import numpy as np
from safetensors.numpy import load, load_file

from ddlcn.errors import DDLCNError

_IN_USE = "in-use"  # a file that runs lock; that it is there also tells a store from any other folder


class Folder:
    """A folder of this machine, or one that is mounted here."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._held: IO[bytes] | None = None

    def names(self) -> list[str]:
        """All files."""
        try:
            return os.listdir(self.path)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise DDLCNError(f"can't use {self.path!r} ({error.strerror}): choose another folder") from None

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        return os.path.exists(self._at(name))

    def read(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of a file."""
        return load_file(self._at(name))

    def write(self, name: str, content: bytes) -> None:
        """Write a file beside its place, force it to the disk, and rename it."""
        self._make()
        beside = self._at(f".{name}.{uuid.uuid4().hex}")
        try:
            with open(beside, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self._at(name))
        except BaseException:
            with suppress(OSError):
                os.unlink(beside)
            raise

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Hold a lock that the system gives back when the process ends, however it ends."""
        try:
            self._held = self._lock()
        except OSError as error:
            raise DDLCNError(f"can't use {self.path!r} ({error.strerror}): choose another folder") from None
        try:
            yield
        finally:
            self._held.close()
            self._held = None

    def remove(self) -> None:
        """Delete the folder if no other process holds it."""
        assert self._held is not None, "a folder is removed by one who holds it"
        with suppress(BlockingIOError):
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(self.path, ignore_errors=True)

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name)

    def _make(self) -> None:
        """Make the folder, unless it is there and somebody else's."""
        names = self.names() if not self.has(_IN_USE) else [_IN_USE]
        if names and _IN_USE not in names:
            what = f"{self.path!r} is no store but holds {min(names)!r}"
            raise DDLCNError(f"{what}: choose an empty or a new folder")
        if not names:
            os.makedirs(self.path, exist_ok=True)
            open(self._at(_IN_USE), "ab").close()

    def _lock(self) -> IO[bytes]:
        while True:
            self._make()
            with suppress(FileNotFoundError):  # removed by another run as we came
                file = open(self._at(_IN_USE), "rb")  # noqa: SIM115
                fcntl.flock(file, fcntl.LOCK_SH)
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(file.fileno()), os.stat(self._at(_IN_USE))):
                        return file
                file.close()


class Remote:
    """A file system of fsspec. Who else uses it can't be known, so it is never removed."""

    def __init__(self, path: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise DDLCNError(f"{path!r} needs fsspec: pip install 'ddlcn[cluster]'") from None
        try:
            self.files: Any
            self.files, self.path = fsspec.url_to_fs(path)
        except (ImportError, ValueError) as error:
            raise DDLCNError(f"can't use {path!r} ({error}): give a folder or another address") from None

    def names(self) -> list[str]:
        """All files."""
        self.files.invalidate_cache()
        try:
            return [str(name).rsplit("/", 1)[-1] for name in self.files.ls(self.path, detail=False)]
        except FileNotFoundError:
            return []

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        self.files.invalidate_cache()
        return bool(self.files.exists(f"{self.path}/{name}"))

    def read(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of a file."""
        return load(self.files.cat_file(f"{self.path}/{name}"))

    def write(self, name: str, content: bytes) -> None:
        """Write a file beside its place and move it there."""
        beside = f"{self.path}/.{name}.{uuid.uuid4().hex}"
        self.files.makedirs(self.path, exist_ok=True)
        self.files.pipe_file(beside, content)
        self.files.mv(beside, f"{self.path}/{name}")

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """No lock."""
        yield

    def remove(self) -> None:
        """Nothing."""
