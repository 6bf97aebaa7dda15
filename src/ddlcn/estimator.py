"""What scikit-learn and notebooks want of a classifier of images: tags, nested parameters, views."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import Tags

from ddlcn.channel import nested_params, with_nested_params
from ddlcn.description import fitted_html, fitted_repr


class ImageEstimator(ClassifierMixin, TransformerMixin, BaseEstimator):
    """A classifier with the parameters `channels`, whose parts have parameters too, and `image_shape`."""

    channels: Any
    image_shape: tuple[int, ...] | None

    def __sklearn_tags__(self) -> Tags:
        tags, rows_are_images = super().__sklearn_tags__(), self.image_shape is not None
        tags.input_tags.two_d_array = rows_are_images
        tags.input_tags.three_d_array = tags.input_tags.string = not rows_are_images
        tags.transformer_tags.preserves_dtype, tags.classifier_tags.poor_score = [], True  # points are no images
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with `deep`, also those of given channels, as in `sift__coder__beta`."""
        return super().get_params(deep=False) | (nested_params(self.channels) if deep else {})

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of given channels."""
        super().set_params(**{key: value for key, value in params.items() if "__" not in key})
        nested = {key: value for key, value in params.items() if "__" in key}
        self.channels = with_nested_params(self.channels, nested) if nested else self.channels
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return fitted_repr(self) if hasattr(self, "training_record_") else super().__repr__(N_CHAR_MAX)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What a notebook shows: facts about a fitted model, then scikit-learn's view of the parameters."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if hasattr(self, "training_record_") and "text/html" in bundle:
            bundle["text/html"] = fitted_html(self) + bundle["text/html"]
        return bundle
