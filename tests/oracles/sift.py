"""h(x, y, a) = Σ_p w(p_x − c_x) w(p_y − c_y) |∇I(p)| max(cos(θ(p) − 2πa/8), 0)⁹  over the patch's p.

w(t) = max(0, 1 − |t|/b) with b = patch/4, the side of a bin, whose centres are c = b/2 − ½, 3b/2 − ½, …
"""

import numpy as np
from scipy.ndimage import correlate


def gradient_filters():
    """Discrete gradient, along rows and along columns, of a 5×5 Gaussian of σ = 0.8; Σ|·| = 2 for each."""
    t = np.arange(-2, 3)
    gauss = np.exp(-(t[:, None] ** 2 + t**2) / (2 * 0.8**2))
    return [2 * g / np.abs(g).sum() for g in np.gradient(gauss / gauss.sum())]


def orientation_energy(image):
    """|∇I| max(cos(θ − 2πa/8), 0)⁹ for a = 0 … 7: (h, w, 8)."""
    dy, dx = (correlate(np.asarray(image, float), f, mode="constant") for f in gradient_filters())
    theta = np.arctan2(dy, dx)[..., None] - np.arange(8) * 2 * np.pi / 8
    return np.hypot(dy, dx)[..., None] * np.maximum(np.cos(theta), 0) ** 9


def corners(side, patch, step):
    """First pixels of the patches on one axis: the grid is centred, a lone spare pixel goes to the end."""
    return range((side - patch) % step // 2, side - patch + 1, step)


def normalised(h, contrast_threshold):
    """h/‖h‖ clipped at 0.2, over its norm; an h with ‖h‖ below the threshold is only clipped."""
    norm = np.linalg.norm(h)
    if norm < contrast_threshold or norm == 0:
        return np.minimum(h, 0.2)
    h = np.minimum(h / norm, 0.2)
    return h / np.linalg.norm(h)


def dense_sift(image, patch=16, step=6, contrast_threshold=1.0):
    """Descriptors (n, 128), x-bin slowest and angle fastest, and centres (n, 2) of a grey image in [0, 1]."""
    energy, b = orientation_energy(image), patch / 4
    w = np.maximum(0, 1 - np.abs(np.arange(patch) - (np.arange(4)[:, None] + 0.5) * b + 0.5) / b)
    grid = [(r, c) for r in corners(len(image), patch, step) for c in corners(len(image[0]), patch, step)]
    h = [np.einsum("xj,yi,ija->xya", w, w, energy[r : r + patch, c : c + patch]).ravel() for r, c in grid]
    return np.array([normalised(row, contrast_threshold) for row in h]), np.array(grid) + (patch - 1) / 2
