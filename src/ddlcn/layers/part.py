"""Parts of a channel: descriptors, coders, poolings and dictionaries. A part is stateless; its parameters say all.

A class of parts is known by its name from its definition on, so that model files with it can be read.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from ddlcn.errors import DDLCNError
from ddlcn.rules import Rule


class Part(BaseEstimator):
    """A stateless part, described by its kind and its parameters.

    A class of parts says what it can be in a channel (`role`: "descriptor", "coder", "pooling" or "dictionary"),
    and has a rule for each parameter.
    """

    kinds: ClassVar[dict[str, type[Part]]] = {}
    role: ClassVar[str] = ""
    rules: ClassVar[dict[str, Rule]] = {}
    _names: ClassVar[list[str]]
    later: ClassVar[tuple[str, ...]] = ()  # parameters that files of format 3 may lack: the default then

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        Part.kinds[cls.__name__] = cls

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, as in scikit-learn; `check` reads them for every image, so their names are kept."""
        if deep:
            return super().get_params()
        kind = type(self)
        if "_names" not in vars(kind):
            kind._names = kind._get_param_names()
        return {name: getattr(self, name) for name in kind._names}

    def check(self) -> None:
        """Raise if a parameter is invalid.

        Raises
        ------
        DDLCNError
            Names the parameter and what it must be.

        Examples
        --------
        >>> from ddlcn.layers.coding import LLCCoder
        >>> LLCCoder(n_neighbors=0).check()
        Traceback (most recent call last):
        ddlcn.errors.DDLCNError: n_neighbors=0 of LLCCoder: must be a whole number from 1 to 512
        """
        for name, value in self.to_dict().items():
            if name in self.rules and not self.rules[name].holds(value):
                raise DDLCNError(f"{name}={value!r} of {type(self).__name__}: must be {self.rules[name].text}")

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

    @staticmethod
    def from_dict(description: dict[str, Any]) -> Part:
        """Return the part of a description, checked.

        Parameters
        ----------
        description : dict
            What `to_dict` returns.

        Returns
        -------
        Part
        """
        params = {key: tuple(v) if isinstance(v, list) else v for key, v in description.items() if key != "kind"}
        kind = description.get("kind")
        if kind not in Part.kinds:
            raise DDLCNError(f"{kind!r} is no part of a channel; known are {', '.join(Part.kinds)}")
        return Part.kinds[kind](**params)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.item() if hasattr(value, "item") else value
