"""Rules for parameters: whether a value, in JSON's types, is valid, and what it must be in words.

Each part of a channel has a rule for every parameter, which is used twice: for the error line of a user's mistake, and
in the schema of model files.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple


class Rule(NamedTuple):
    """Whether a value is valid; and what it must be, as in "a whole number from 1 to 512"."""

    holds: Callable[[Any], object]
    text: str

    def __or__(self, other: Rule) -> Rule:
        """A rule that either of two fulfils."""
        return Rule(lambda value: self.holds(value) or other.holds(value), f"{self.text} or {other.text}")


def number(least: float, most: float) -> Rule:
    """A number within bounds.

    >>> number(0, 1).holds(0.5), number(0, 1).holds(float("nan")), number(0, 1).text
    (True, False, 'a number from 0 to 1')
    """
    words = f"a number from {least:g} to {most:g}"
    return Rule(lambda value: type(value) in (int, float) and least <= value <= most, words)


def whole(least: int, most: int) -> Rule:
    """A whole number within bounds."""
    return Rule(lambda value: type(value) is int and least <= value <= most, f"a whole number from {least} to {most}")


def text(pattern: str, words: str = "a text") -> Rule:
    """A text of some form."""
    return Rule(lambda value: isinstance(value, str) and re.fullmatch(pattern, value, re.DOTALL), words)


def one_of(*values: Any) -> Rule:
    """One of a few values."""
    words = " or ".join(map(repr, values))
    return Rule(lambda value: any(type(value) is type(each) and value == each for each in values), words)


def list_of(rule: Rule, least: int, most: int) -> Rule:
    """A list of valid values."""
    return Rule(
        lambda value: isinstance(value, list) and least <= len(value) <= most and all(map(rule.holds, value)),
        f"a sequence of {least} to {most}, each {rule.text}",
    )


NOTHING, FLAG, AUTO = one_of(None), one_of(True, False), one_of("auto")
COUNT = whole(1, (1 << 31) - 1)
