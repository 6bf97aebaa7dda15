"""What results depend on besides the method: the source, versions, the commit, the machine."""

import hashlib
import os
import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

_PACKAGES = ("ddlcn", "numpy", "scipy", "scikit-learn", "numba", "pillow")


@cache
def facts() -> dict[str, Any]:
    """Return versions, commit and machine, to be stored with every row."""
    return {
        "versions": {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        "commit": _commit(),
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_gb": _memory_gb(),
        },
    }


@cache
def source_hash() -> str:
    """Return the hash of the source: of all Python files of both packages, by their sorted paths."""
    src = Path(__file__).parents[1]
    files = sorted(path for name in ("ddlcn", "ddlcn_lab") for path in (src / name).rglob("*.py"))
    found = hashlib.sha256()
    for path in files:
        found.update(path.relative_to(src).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def peak_memory_mb() -> float | None:
    """Return the most memory that this process has held so far; None where the platform does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def _memory_gb() -> float | None:
    if not hasattr(os, "sysconf"):  # Windows
        return None
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)


def _commit() -> str | None:
    """The commit of a source checkout, with + if files differ from it; None for an installed package."""
    here = Path(__file__).parent
    try:
        commit, changes = (
            subprocess.run(
                ["git", "-C", str(here), *command], capture_output=True, text=True, check=True
            ).stdout.strip()
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "--", str(here.parent)])
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+" if changes else "")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
