"""Drawings that evidence, reports and the server share: evidence over an image, data URIs, signed numbers.

Matplotlib is imported when something is drawn, so that it costs no time before.
"""

import io
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EVIDENCE_COLOURS = "RdBu_r"  # red is evidence for the class, blue against it


def evidence_layer(evidence: np.ndarray, largest: float) -> np.ndarray:
    """Return evidence as RGBA in [0, 1]: the stronger, the more colour and the more opaque; ±`largest` is full."""
    from matplotlib import colormaps

    strength = np.clip(evidence / max(largest, 1e-12), -1, 1)
    layer: np.ndarray = colormaps[EVIDENCE_COLOURS](0.5 + strength / 2)
    layer[..., 3] = 0.85 * np.sqrt(np.abs(strength))
    return layer


def overlay(grey: np.ndarray, evidence: np.ndarray, largest: float) -> np.ndarray:
    """Draw evidence over a grey image, as RGB in [0, 1]."""
    layer = evidence_layer(evidence, largest)
    colour, cover = layer[..., :3], layer[..., 3:]
    return (1 - cover) * (0.15 + 0.75 * grey[..., None]) + cover * colour


def draw_map(axes: "Axes", grey: np.ndarray, evidence: np.ndarray, title: Any) -> None:
    """Draw evidence over a grey image, with a colour bar and a title."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    largest = max(float(np.abs(evidence).max()), 1e-12)
    axes.imshow(overlay(grey, evidence, largest))
    axes.set_title(str(title).replace("$", r"\$"), fontsize=10)
    axes.set_axis_off()
    colours = ScalarMappable(Normalize(-largest, largest), EVIDENCE_COLOURS)
    bar = axes.figure.colorbar(colours, ax=axes, shrink=0.8)
    bar.set_ticks([-largest, 0, largest], labels=["against", "0", "for"])


def data_uri(picture: np.ndarray, side: int, kind: str = "JPEG") -> str:
    """Return grey or RGB in [0, 1], or RGB(A) bytes, as a small picture whose longest side is `side`."""
    pixels = picture if picture.dtype == np.uint8 else (255 * picture.clip(0, 1) + 0.5).astype(np.uint8)
    height, width = (max(1, round(side * n / max(pixels.shape[:2]))) for n in pixels.shape[:2])
    small = Image.fromarray(pixels).resize((width, height), Image.Resampling.BICUBIC)
    file = io.BytesIO()
    small.save(file, kind, optimize=True, quality=80)
    return f"data:image/{kind.lower()};base64,{b64encode(file.getvalue()).decode()}"


def signed(value: float, digits: int) -> str:
    """Return a number with its sign.

    >>> signed(0.5, 2), signed(-0.25, 2)
    ('+0.50', '−0.25')
    """
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")
