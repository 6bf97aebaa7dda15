"""Atomic writes: a file is there whole, or as it was before.

The content goes to a temporary file beside the target, which is then renamed. A process that is killed in between
leaves the temporary file; the next write of the same target removes it.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import tempfile
import time
import zlib
from collections.abc import Iterable
from contextlib import suppress
from glob import escape
from pathlib import Path

from ddlcn.errors import DDLCNError

_HOST = f"{zlib.crc32(platform.node().encode()):08x}"
_OLD = 86_400  # seconds, after which a temporary file of any host is stale


def check_writable(path: str | os.PathLike[str]) -> None:
    """Check, before long work, that a file can be written after it.

    Parameters
    ----------
    path : path

    Raises
    ------
    DDLCNError
        If `path` is a folder or a device, or its folder is missing or can't be written to.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        what = "a folder; name a file in it" if path.is_dir() else "no regular file; name one"
        raise DDLCNError(f"can't write {str(path)!r}: it is {what}")
    try:
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        remedy = "choose another place, or make its folder first"
        raise DDLCNError(f"can't write {str(path)!r} ({error.strerror}): {remedy}") from None


def write_atomically(path: str | os.PathLike[str], content: bytes | Iterable[bytes | memoryview]) -> None:
    """Write a file whole or not at all; it is on the disk when this returns.

    Parameters
    ----------
    path : path
    content : bytes, or an iterable of bytes
        Parts are written one after another.

    Raises
    ------
    DDLCNError
        If the file can't be written; one that was there before is unchanged.
    """
    path = Path(path)
    check_writable(path)
    start = f".{path.name[:40]}."  # a name may not grow too long
    _sweep(path.parent, start)
    temporary = path.with_name(f"{start}{_HOST}-{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        write_and_rename(temporary, path, [content] if isinstance(content, bytes) else content)
    except OSError as error:
        remedy = "choose another place or free some space"
        raise DDLCNError(f"can't write {str(path)!r} ({error.strerror}): {remedy}") from None


def write_and_rename(temporary: Path, path: Path, content: Iterable[bytes | memoryview]) -> None:
    """Write a file under a temporary name, force it to the disk, and rename it; after a failure nothing is left."""
    try:
        with open(temporary, "xb") as file:
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    with suppress(OSError):  # not all platforms can force names to the disk
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _sweep(folder: Path, start: str) -> None:
    """Remove the temporary files of processes that are dead."""
    for path in folder.glob(escape(start) + "*.tmp"):
        if found := re.fullmatch(r"([0-9a-f]{8})-(\d{1,9})-[0-9a-f]{8}\.tmp", path.name.removeprefix(start)):
            with suppress(OSError):
                old = time.time() - path.lstat().st_mtime > _OLD
                if old or (found[1] == _HOST and not _is_alive(int(found[2]))):
                    path.unlink()


def _is_alive(process: int) -> bool:
    if os.name == "nt":  # signals are no check there, but files in use can't be removed
        return False
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)  # it may be another user's
    return True
