"""Errors that a user can fix.

Every message is one line that names the thing and the remedy. The command line prints it and exits with 2.
"""

from collections.abc import Iterable
from typing import Any


class DDLCNError(ValueError):
    """A mistake that the user can fix."""


class ImageError(DDLCNError):
    """An image that can't be read or used."""


class NetworkError(DDLCNError):
    """A frozen network that is missing on this machine, or can't be used."""


class ModelFileError(DDLCNError):
    """A model file that is damaged, foreign, or of a newer version."""


def grouped(problems: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each reason, with the first name that it is about; the most frequent reason first.

    Examples
    --------
    >>> grouped([("a", "is empty"), ("b", "is no image"), ("c", "is no image")])
    ['b (and 1 more) is no image', 'a is empty']
    """
    found: dict[str, list[str]] = {}
    for name, reason in problems:
        found.setdefault(reason, []).append(name)
    rows = sorted(found.items(), key=lambda row: -len(row[1]))
    return [f"{names[0]}{f' (and {len(names) - 1:,} more)' if names[1:] else ''} {reason}" for reason, names in rows]


def listed(names: Iterable[Any], most: int = 10) -> str:
    """Return names for a message; of many, the first, and how many more there are.

    Parameters
    ----------
    names : iterable
    most : int
        How many to name.

    Returns
    -------
    str

    Examples
    --------
    >>> listed("abc"), listed("abcde", most=2)
    ('a, b, c', 'a, b and 3 more')
    """
    every = [str(name) for name in names]
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
