"""Deep Micro-Dictionary Learning and Coding Network: image recognition with little data and no GPU.

    image ─► decode ─► (deskew) ─► describe ─► encode ─► pool ─► one block per channel ─► row ─► LinearSVM

Samples and atoms are rows, as in scikit-learn; the paper writes columns.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ddlcn.channel import Channel
    from ddlcn.classifier import DDLCNClassifier
    from ddlcn.encoder import ImageEncoder
    from ddlcn.errors import DDLCNError, ImageError, ModelFileError
    from ddlcn.evidence import Evidence
    from ddlcn.images import ImageSet, find_images, load_images
    from ddlcn.layers.coding import LinearCoder, LLCCoder, LocalityCoder
    from ddlcn.layers.covariance import LogCovariance
    from ddlcn.layers.dictionary import DictionaryLearning, L1BallDictionary
    from ddlcn.layers.pooling import MeanGrid, SpatialPyramid
    from ddlcn.layers.sift import DenseSIFT
    from ddlcn.linear.svm import LinearSVM

__version__ = version("ddlcn")

_HOMES = {
    "Channel": "channel",
    "DDLCNClassifier": "classifier",
    "ImageEncoder": "encoder",
    "DDLCNError": "errors",
    "ImageError": "errors",
    "ModelFileError": "errors",
    "Evidence": "evidence",
    "ImageSet": "images",
    "find_images": "images",
    "load_images": "images",
    "LLCCoder": "layers.coding",
    "LinearCoder": "layers.coding",
    "LocalityCoder": "layers.coding",
    "LogCovariance": "layers.covariance",
    "DictionaryLearning": "layers.dictionary",
    "L1BallDictionary": "layers.dictionary",
    "MeanGrid": "layers.pooling",
    "SpatialPyramid": "layers.pooling",
    "DenseSIFT": "layers.sift",
    "LinearSVM": "linear.svm",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `ddlcn --help` answers at once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ddlcn' has no attribute {name!r}")
    return getattr(import_module(f"ddlcn.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
