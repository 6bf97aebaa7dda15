"""Confidence intervals of shares."""

import math

_Z = 1.959963984540054  # 97.5 % of a normal distribution lie below


def wilson_interval(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95 % confidence interval of a share.

    Parameters
    ----------
    share : float
        What was found, from 0 to 1.
    n : float
        The number of independent observations; it need not be whole.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> [round(end, 3) for end in wilson_interval(0.8, 50)]
    [0.67, 0.888]
    """
    middle = share + _Z**2 / (2 * n)
    half = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n * n))
    low, high = ((middle + end) / (1 + _Z**2 / n) for end in (-half, half))
    return max(0.0, low), min(1.0, high)
