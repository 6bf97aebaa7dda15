"""How every kernel is compiled."""

from collections.abc import Callable
from typing import Any

from numba import njit

# NaN and infinity are refused at the door, so reassociation is safe and lets sums run on vector units
kernel: Callable[..., Any] = njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz", "nnan"})
