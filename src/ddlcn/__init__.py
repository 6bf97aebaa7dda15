"""Deep Micro-Dictionary Learning and Coding Network: image recognition with little data and no GPU.

    images ──► DenseSIFT ──► descriptors (n, 128) + positions (n, 2)
                                  │
          layer 1: a dictionary a class, V (s1, 128)       LocalityCoder, 15 nearest
                                  │  codes: k indices + k values a descriptor, never dense
          layer 2: L1BallDictionary U (s2, 128), learnt on the ATOMS of V; LocalityCoder, 10 nearest
          …  layer n: learnt on the atoms of layer n − 1, the same way
                                  │
                            SpatialPyramid 1×1 + 2×2 + 4×4, max over signed codes ──► one sparse row an image
                                  │
                            LinearSVM ──► label, scores, evidence

Samples and atoms are rows, scikit-learn's habit; the paper writes columns.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ddlcn.classifier import DDLCNClassifier
    from ddlcn.errors import DDLCNError, ImageError, ModelFileError
    from ddlcn.evidence import Evidence
    from ddlcn.images import ImageSet, find_images, load_images
    from ddlcn.layers.coding import LLCCoder, LocalityCoder
    from ddlcn.layers.dictionary import ClasswiseDictionary, L1BallDictionary
    from ddlcn.layers.network import Network
    from ddlcn.layers.pyramid import SpatialPyramid
    from ddlcn.layers.sift import DenseSIFT
    from ddlcn.layers.svm import LinearSVM

__version__ = version("ddlcn")

_HOMES = {
    "DDLCNClassifier": "classifier",
    "DDLCNError": "errors",
    "ImageError": "errors",
    "ModelFileError": "errors",
    "Evidence": "evidence",
    "ImageSet": "images",
    "find_images": "images",
    "load_images": "images",
    "LLCCoder": "layers.coding",
    "LocalityCoder": "layers.coding",
    "ClasswiseDictionary": "layers.dictionary",
    "L1BallDictionary": "layers.dictionary",
    "Network": "layers.network",
    "SpatialPyramid": "layers.pyramid",
    "DenseSIFT": "layers.sift",
    "LinearSVM": "layers.svm",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `ddlcn --help` answers at once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ddlcn' has no attribute {name!r}")
    return getattr(import_module(f"ddlcn.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
