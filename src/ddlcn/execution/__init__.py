"""Run tasks on threads, in a resumable work folder, or on a Dask cluster: one small interface.

Examples
--------
>>> from ddlcn import execution
>>> with execution.session() as run:
...     list(run.map("length", len, [("ab",), ("abc",)], "Lengths"))
[2, 3]
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ddlcn.execution.run import Run, session

__all__ = ["Run", "session"]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that to import `progress` alone is quick."""
    if name not in __all__:
        raise AttributeError(f"module 'ddlcn.execution' has no attribute {name!r}")
    from ddlcn.execution import run

    return getattr(run, name)
