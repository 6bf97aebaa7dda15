"""Rules tell valid values from others, in JSON's types, and say what a value must be."""

import pytest

from ddlcn.rules import AUTO, NOTHING, list_of, number, one_of, text, whole

CASES = [
    (number(0, 1), [0, 0.5, 1], [-0.1, 2, float("nan"), True, "0.5", None]),
    (whole(1, 9), [1, 9], [0, 10, 1.0, True, "1"]),
    (text("[a-z]+"), ["ab"], ["", "a1", 1, None]),
    (one_of(True, "x"), [True, "x"], [1, "y", None]),
    (list_of(whole(1, 9), 1, 2), [[1], [1, 2]], [[], [1, 2, 3], [0], (1,), 1]),
    (whole(1, 9) | NOTHING | AUTO, [1, None, "auto"], [0, "", "none"]),
]


@pytest.mark.parametrize(("rule", "valid", "invalid"), CASES, ids=lambda case: getattr(case, "text", ""))
def test_values(rule, valid, invalid):
    assert all(rule.holds(value) for value in valid)
    assert not any(rule.holds(value) for value in invalid)


def test_words():
    assert (whole(1, 9) | AUTO).text == "a whole number from 1 to 9 or 'auto'"
    assert list_of(number(0, 0.5), 1, 2).text == "a sequence of 1 to 2, each a number from 0 to 0.5"
