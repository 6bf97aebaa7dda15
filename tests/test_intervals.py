"""Confidence intervals of shares."""

import pytest
from scipy.stats import binomtest

from ddlcn.intervals import wilson_interval


@pytest.mark.parametrize(("k", "n"), [(0, 7), (3, 7), (7, 7), (180, 200)])
def test_wilson_interval_is_scipys(k, n):
    expected = binomtest(k, n).proportion_ci(method="wilson")
    assert wilson_interval(k / n, n) == pytest.approx((expected.low, expected.high), abs=1e-9)
