"""Networks, with torch (extra `cnn`): one trained from scratch, and one pretrained.

SmallCNN        min over θ of −Σ_i log softmax(net_θ(x_i))_{y_i}: three times 3 × 3 convolution, ReLU and
                2 × 2 maxima with 32, 64 and 128 maps, then 128 units with dropout; by Adam.
FrozenFeatures  the mean over the image of each map of the last layer of a VGG whose weights lie in a local
                file (Simonyan, Zisserman, ICLR 2015), for a linear SVM; Donahue et al.: DeCAF, ICML 2014.
"""

from __future__ import annotations

import os
import re
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ddlcn.errors import DDLCNError
from ddlcn.execution.progress import track
from ddlcn.images import read_colour
from ddlcn_lab.methods.inputs import Pixels

_IMAGES_AT_ONCE = 64
_MEAN, _SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet's colours


class SmallCNN(ClassifierMixin, BaseEstimator):
    """A small convolutional network trained from scratch on images.

    Parameters
    ----------
    epochs : int
    learning_rate : float
    longest_side : int, optional
        Shrink images so that no side exceeds this.
    random_state : int
    color : bool
        Red, green and blue instead of grey.

    Attributes
    ----------
    network_ : torch.nn.Sequential
    loss_path_ : ndarray
        Mean loss of each epoch.
    """

    def __init__(
        self,
        epochs: int = 20,
        learning_rate: float = 1e-3,
        longest_side: int | None = 48,
        random_state: int = 0,
        color: bool = False,
    ) -> None:
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.longest_side = longest_side
        self.random_state = random_state
        self.color = color

    def fit(self, images: Any, y: ArrayLike) -> SmallCNN:
        """Train on images with labels `y`."""
        torch = import_torch()
        self.classes_, targets = np.unique(np.asarray(y), return_inverse=True)
        self.pixels_ = Pixels(self.longest_side).fit(images)
        if min(self.pixels_.shape_) < 8:
            raise DDLCNError(f"images of {self.pixels_.shape_} pixels are too small: give at least 8 per side")
        x, target = self._maps(images), torch.from_numpy(targets)
        self.mean_, self.spread_ = float(x.mean()), max(float(x.std()), 1e-6)
        x = self._tensor(x)
        self._prepare(x)
        with torch.random.fork_rng(devices=[]):  # leaves the caller's random state unchanged
            torch.manual_seed(self.random_state)
            self.network_ = _small(torch.nn, x.shape[1:], len(self.classes_))
            optimizer = torch.optim.Adam(self.network_.parameters(), self.learning_rate)
            path = []
            for _ in track("Training", range(self.epochs), total=self.epochs):
                losses = []
                for rows in torch.randperm(len(x)).split(_IMAGES_AT_ONCE):
                    loss = self._loss(x, target, rows)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    losses.append(float(loss.detach()))
                path.append(np.mean(losses))
        self.network_.eval()
        self.loss_path_ = np.array(path)
        return self

    def decision_function(self, images: Any) -> np.ndarray:
        """Scores before the softmax, a column per class."""
        check_is_fitted(self)
        torch, starts = import_torch(), range(0, len(images), _IMAGES_AT_ONCE)
        with torch.no_grad():
            parts = (
                self.network_(self._tensor(self._maps(images[start : start + _IMAGES_AT_ONCE]))) for start in starts
            )
            return torch.cat(list(track("Predicting", parts, total=len(starts)))).numpy()

    def predict(self, images: Any) -> np.ndarray:
        """The label with the largest score."""
        return self.classes_[self.decision_function(images).argmax(axis=1)]

    def _prepare(self, x: Any) -> None:
        """What a subclass finds in the training images before it trains."""

    def _loss(self, x: Any, target: Any, rows: Any) -> Any:
        """Of some rows of the training images."""
        return import_torch().nn.functional.cross_entropy(self.network_(x[rows]), target[rows])

    def _maps(self, images: Any) -> np.ndarray:
        """Images of one size (n, 1 or 3, height, width)."""
        if not self.color:
            return self.pixels_.images(images)[:, None]
        size, values = self.pixels_.shape_[::-1], self.pixels_.value_range_
        colours = (Image.fromarray(read_colour(image, value_range=values)) for image in images)
        resized = [np.asarray(each.resize(size, Image.Resampling.BICUBIC), np.float32) for each in colours]
        return np.stack(resized).transpose(0, 3, 1, 2) / 255

    def _tensor(self, maps: np.ndarray) -> Any:
        return import_torch().from_numpy((maps - self.mean_) / self.spread_)


class FrozenFeatures(TransformerMixin, BaseEstimator):
    """Images to the mean maps of a pretrained VGG; nothing is learnt and nothing is downloaded.

    Parameters
    ----------
    weights : path
        A file of torch with the weights of a VGG without batch normalisation, named as torchvision names them
        (`features.0.weight` …); these names distinguish VGG-11 to VGG-19.
    longest_side : int, optional
        Shrink images so that no side exceeds this. All three colours get the grey image.
    """

    def __init__(self, weights: str | os.PathLike[str] | None = None, longest_side: int | None = 224) -> None:
        self.weights = weights
        self.longest_side = longest_side

    def fit(self, images: Any, y: object = None) -> FrozenFeatures:
        """Read the weights."""
        torch = import_torch()
        if self.weights is None:
            name = "frozen-vgg:frozenfeatures__weights=vgg19.pth"
            raise DDLCNError(f"no weights: give the file of a pretrained VGG, as in {name}")
        try:
            state = torch.load(self.weights, map_location="cpu", weights_only=True)
            self.network_ = _vgg(torch.nn, state)
        except Exception as error:  # torch raises many kinds on damaged files
            what = " ".join(str(error).split())[:100]
            raise DDLCNError(f"{str(self.weights)!r} has no weights of a VGG ({what})") from None
        self.pixels_ = Pixels(self.longest_side).fit(images)
        return self

    def transform(self, images: Any) -> np.ndarray:
        """One row for each image: the mean of each map."""
        check_is_fitted(self)
        torch, starts = import_torch(), range(0, len(images), 8)
        mean, spread = (torch.tensor(value)[:, None, None] for value in (_MEAN, _SPREAD))
        rows = []
        with torch.no_grad():
            for start in track("Features", starts, total=len(starts)):
                grey = torch.from_numpy(self.pixels_.images(images[start : start + 8]))[:, None]
                rows.append(self.network_((grey - mean) / spread).mean(dim=(2, 3)))
        return torch.cat(rows).numpy()


def _small(nn: Any, shape: tuple[int, ...], n_classes: int) -> Any:
    layers: list[Any] = []
    for before, after in ((shape[0], 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    size = 128 * (shape[1] // 8) * (shape[2] // 8)
    return nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(size, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, n_classes)
    )


def _vgg(nn: Any, state: dict[str, Any]) -> Any:
    """Convolution, ReLU, convolution, …; max-pooling where the numbers of two convolutions differ by three."""
    places = sorted(int(found[1]) for key in state if (found := re.fullmatch(r"features\.(\d+)\.weight", key)))
    if not places:
        raise ValueError("no features.0.weight")
    layers: list[Any] = []
    for place in places:
        layers += [nn.MaxPool2d(2)] * (place - len(layers))
        weight = state[f"features.{place}.weight"]
        conv = nn.Conv2d(weight.shape[1], weight.shape[0], weight.shape[2], padding=weight.shape[2] // 2)
        conv.load_state_dict({key: state[f"features.{place}.{key}"] for key in ("weight", "bias")})
        layers += [conv, nn.ReLU()]
    return nn.Sequential(*layers).eval()


def import_torch() -> ModuleType:
    """Return the package, or raise an error that says how to install it."""
    try:
        import torch
    except ImportError:
        raise DDLCNError("this method needs torch: pip install 'ddlcn[cnn]'") from None
    return torch
