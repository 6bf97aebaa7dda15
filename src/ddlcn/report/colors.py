"""An atom of colour statistics as a patch of 4 × 4 colours."""

import numpy as np

from ddlcn.kernels.color import N_CELLS, N_PLANES

_OPPONENT = np.array([[1, -1, 0], [1, 1, -2], [1, 1, 1]]) / np.sqrt([[2], [6], [3]])  # orthonormal, from RGB
_CONTRAST = 2.5  # an atom has length 1, so that its colours are pale
_SIDE = 12  # pixels of a cell


def color_patch(atom: np.ndarray) -> np.ndarray:
    """Return the mean colours of an atom's cells around mid-grey, as RGB in [0, 1]; the deviations are left out.

    >>> atom = np.zeros(96)
    >>> atom[0] = 0.2  # red − green of the first cell
    >>> picture = color_patch(atom)
    >>> picture.shape, picture[0, 0].round(2).tolist(), picture[-1, -1].tolist()
    ((48, 48, 3), [0.85, 0.15, 0.5], [0.5, 0.5, 0.5])
    """
    means = atom[: N_PLANES * N_CELLS**2].reshape(N_CELLS, N_CELLS, N_PLANES)
    colours = np.clip(0.5 + _CONTRAST * (means @ _OPPONENT), 0, 1)
    return colours.repeat(_SIDE, axis=0).repeat(_SIDE, axis=1)
