"""The work folder of a command, by which it resumes."""

from collections.abc import Iterator
from contextlib import contextmanager

from ddlcn.cli.interrupts import START_OVER, interruptible


@contextmanager
def work_folder(where: str | None, keep: bool = True) -> Iterator[str | None]:
    """Use a work folder during this block, and say what it keeps if the block is interrupted.

    Parameters
    ----------
    where : str or None
        A folder, or an fsspec address. None is no work folder.
    keep : bool
        Keep it when the block is done.
    """
    if where is None:
        yield None
        return
    from ddlcn.execution.cache import RESUME, WorkFolder

    folder, done = WorkFolder(where), False

    def kept() -> str:
        return f"finished work is kept in {where!r}, {RESUME}" if folder.names() else START_OVER

    with folder.in_use():
        try:
            with interruptible(kept):
                yield where
            done = True
        finally:
            if not keep and (done or not folder.names()):
                folder.remove()
