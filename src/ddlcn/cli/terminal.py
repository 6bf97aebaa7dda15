"""Text and JSON on the terminal.

Nothing is markup, so that a label like [red] is printed as it is; no colours unless it is a terminal.
"""

import json
from textwrap import fill
from typing import Any

from rich.console import Console

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # as OWASP lists them


def console(stderr: bool = False) -> Console:
    """Return a console on the current standard stream."""
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=True)


def wrapped(out: Console, text: str, indent: str = "") -> str:
    """Return text in lines that end between words, if it is for a terminal; no-break spaces become spaces.

    The lines after the first are indented.
    """
    if out.is_terminal:
        text = fill(text, out.width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return text.replace("\N{NO-BREAK SPACE}", " ")


def show_json(result: dict[str, Any]) -> None:
    """Print one JSON object."""
    print(json.dumps(result, indent=2, allow_nan=False))


def printable(text: Any) -> str:
    r"""Return text with its control characters escaped.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def disarmed(text: str) -> str:
    """Return text with ' before it if spreadsheets would take it for a formula.

    >>> disarmed("=1+1"), disarmed("rose")
    ("'=1+1", 'rose')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text
