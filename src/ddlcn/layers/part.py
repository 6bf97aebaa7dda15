"""Parts of a channel: descriptors, coders and poolings. A part is stateless; its parameters say all about it."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator


class Part(BaseEstimator):
    """A stateless part, described by its kind and its parameters."""

    def to_dict(self) -> dict[str, Any]:
        """Return the kind and the parameters, in JSON's types.

        Returns
        -------
        dict

        Examples
        --------
        >>> from ddlcn.layers.coding import LLCCoder
        >>> LLCCoder(n_neighbors=5).to_dict()
        {'kind': 'LLCCoder', 'epsilon': 0.0001, 'n_neighbors': 5}
        """
        params = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        return {"kind": type(self).__name__, **params}


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.item() if hasattr(value, "item") else value
