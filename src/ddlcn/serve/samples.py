"""Sample responses of the API, for `/openapi.json` and `/docs`. Data URIs and paths are cut short."""

from typing import Any

_CLASSES = [{"label": "tulip", "probability": 0.91}, {"label": "daisy", "probability": 0.09}]
_PREDICTION = {"name": "one.jpg", "label": "tulip", "probability": 0.91, "classes": _CLASSES}
_KNOWN = {**_PREDICTION, "novelty": 0.36, "unknown": False, "reason": None}
_REASON = "unlike the training images: channel sift has fewer active codes than they usually have"
_UNKNOWN = {**_PREDICTION, "name": "white.png", "novelty": 0.98, "unknown": True, "reason": _REASON}
_PATH = {"path": "M16 24L16 1M16 99L16 76", "strength": 1.0}
_ATOM = {"channel": "sift", "atom": 12, "strokes": [_PATH], "picture": None, "learnt_from": "tulip"}
_GIVEN = {"mean_gain": None, "standard_error": None, "chosen": True, "reason": "given, or by the preset"}

PREDICTIONS: dict[str, Any] = {
    "predictions": [
        _KNOWN,
        _UNKNOWN,
        {"name": "two.png", "error": "'two.png' is damaged or unreadable (unexpected end); replace it or remove it"},
    ]
}
EXPLANATION: dict[str, Any] = {
    **_KNOWN,
    "explained": "tulip",
    "score": 0.53,
    "bias": -0.25,
    "channels": [{"name": "sift", "total": 0.34}, {"name": "color", "total": 0.44}],
    "shape": [225, 300],
    "deskewed": False,
    "largest": 0.00042,
    "image": "data:image/jpeg;base64,/9j/4AAQSkZJRg…",
    "map": "data:image/png;base64,iVBORw0KGgo…",
    "values": None,
    "atoms": [{**_ATOM, "share": 0.0464, "patches": [{"left": 0.31, "top": 0.2, "width": 0.08, "height": 0.107}]}],
}
ATOMS: dict[str, Any] = {
    "channel": "sift",
    "note": "Strokes are edges; the thicker, the stronger. Each stroke is on the bright side of its edge.",
    "layer": 2,
    "total": 64,
    "atoms": [{**_ATOM, "atom": 3, "learnt_from": None, "used_by": [[1.11, _ATOM]]}],
}
MODEL: dict[str, Any] = {
    "name": "flowers",
    "version": "0.1.0",
    "classes": ["daisy", "tulip"],
    "n_train": 147,
    "value_range": [0.0, 1.0],
    "preprocessing": {"deskew": None},
    "channels": [
        {
            "name": "sift",
            "descriptor": {"kind": "DenseSIFT", "patch_size": [16, 24, 32], "step": 8},
            "coder": {"kind": "LocalityCoder", "beta": 0.01, "n_neighbors": 15},
            "pooling": {"kind": "SpatialPyramid", "levels": [1, 2, 4], "minima": True},
        }
    ],
    "weights": [1.0],
    "atoms": {"sift": [1024, 64]},
    "n_features": 43008,
    "C": 1.0,
    "augmentation": "flip",
    "selection": [{"setting": "augmentation", "candidate": "flip", **_GIVEN}],
    "conformal": {
        "n_images": 49,
        "n_smallest_class": 24,
        "min_false_alarms": 0.02,
        "max_coverage": 0.98,
        "max_class_conditional_coverage": 0.96,
    },
    "false_alarms": 0.05,
    "limits": {"bytes": 33554432, "images": 16, "pixels": 32000000},
}
HEALTH = {"status": "ok"}
