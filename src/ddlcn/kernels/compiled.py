"""How every kernel is compiled."""

from collections.abc import Callable
from typing import Any

from numba import njit

# NaN and infinity are refused at the door, so reassociation is safe and lets sums run on vector units
_FAST = {"contract", "reassoc", "nsz", "nnan"}
# called from Python, and kept on disk
kernel: Callable[..., Any] = njit(cache=True, nogil=True, fastmath=_FAST)
# called by kernels, and pasted into each: a function of its own may be linked from what another kernel
# brought along, optimised differently, so that last digits would depend on what was compiled before
part: Callable[..., Any] = njit(nogil=True, fastmath=_FAST, inline="always")
