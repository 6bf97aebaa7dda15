"""Pixels for people: an image as the model sees it, evidence laid over it, and both as data URIs."""

from __future__ import annotations

import io
from base64 import b64encode
from typing import Any

import numpy as np
from matplotlib import colormaps
from PIL import Image

from ddlcn.classifier import DDLCNClassifier
from ddlcn.images import read_grey

EVIDENCE_COLOURS = "RdBu_r"  # red speaks for the class, blue against it


def seen(model: DDLCNClassifier, image: Any) -> np.ndarray:
    """The image in grey, at the size that the model works on."""
    if model.image_shape is not None:
        image = np.reshape(image, model.image_shape)
    return model.descriptor_.resize(read_grey(image, value_range=model.value_range_)).clip(0, 1)


def overlay(grey: np.ndarray, evidence: np.ndarray, largest: float) -> np.ndarray:
    """Evidence over a grey image, as RGB in [0, 1]: the stronger, the more colour; ±`largest` is full."""
    strength = np.clip(evidence / max(largest, 1e-12), -1, 1)
    colour = colormaps[EVIDENCE_COLOURS](0.5 + strength / 2)[..., :3]
    cover = 0.85 * np.sqrt(np.abs(strength))[..., None]
    return (1 - cover) * (0.15 + 0.75 * grey[..., None]) + cover * colour


def patch(grey: np.ndarray, position: np.ndarray, size: int) -> np.ndarray:
    """The pixels that a patch's descriptor depends on: two beyond each side, black where the image ends."""
    top, left = (round(float(centre) - (size - 1) / 2) for centre in position)
    return np.pad(grey, 2)[top : top + size + 4, left : left + size + 4]


def data_uri(picture: np.ndarray, side: int, kind: str = "JPEG") -> str:
    """Grey or RGB in [0, 1], or RGBA bytes, as a small picture whose longest side is `side`."""
    pixels = picture if picture.dtype == np.uint8 else (255 * picture.clip(0, 1) + 0.5).astype(np.uint8)
    scale = side / max(pixels.shape[:2])
    height, width = (max(1, round(scale * n)) for n in pixels.shape[:2])
    shrunk = Image.fromarray(pixels)
    if scale != 1:
        shrunk = shrunk.resize((width, height), Image.Resampling.BICUBIC)
    file = io.BytesIO()
    shrunk.save(file, kind, optimize=True, quality=80)
    return f"data:image/{kind.lower()};base64,{b64encode(file.getvalue()).decode()}"
