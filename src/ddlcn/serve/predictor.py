"""Predictions and explanations of uploaded images, in the API's types. Nothing here knows of HTTP."""

import io
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib import colormaps

from ddlcn import __version__
from ddlcn.classifier import DDLCNClassifier
from ddlcn.description import describe
from ddlcn.errors import DDLCNError, ImageError
from ddlcn.evidence import ChannelEvidence, Evidence
from ddlcn.images import decode_file
from ddlcn.images.decode import naming
from ddlcn.report.atoms import atom_channel, atom_class, heaviest, shared
from ddlcn.report.explanation import strongest
from ddlcn.report.pixels import EVIDENCE_COLOURS, data_uri
from ddlcn.report.strokes import svg_paths
from ddlcn.serve import answers
from ddlcn.serve.limits import Limits

Upload = tuple[str, bytes]  # name and content of an image, as sent
_PATCHES = 3  # of an atom


class NotFound(DDLCNError):
    """The model has no such class or layer."""


class Predictor:
    """A model that classifies and explains uploads.

    Parameters
    ----------
    model : DDLCNClassifier
        A fitted model.
    name : str
    limits : Limits
    """

    def __init__(self, model: DDLCNClassifier, name: str = "model", limits: Limits = Limits()) -> None:
        self.model = copy(model).set_params(n_jobs=1, image_shape=None, work_folder=None)
        self.model.encoder_ = replace(model.encoder_, value_range=(0.0, 1.0))  # decoded files have this one
        self.name, self.limits = name, limits
        self.classes = [_text(label) for label in model.classes_]
        self.channel = atom_channel(self.model)

    def warm_up(self) -> None:
        """Load the compiled kernels, so that the first request takes no longer than others."""
        self.model.explain(np.eye(32, dtype=np.float32))
        self._layers  # noqa: B018

    def describe(self) -> answers.Model:
        """Describe the model and the limits."""
        limits = answers.Allowed(bytes=self.limits.body_bytes, images=self.limits.images, pixels=self.limits.pixels)
        described = describe(self.model) | {"classes": self.classes}
        return answers.Model(name=_text(self.name), version=__version__, limits=limits, **described)

    def predict(self, uploads: list[Upload]) -> answers.Predictions:
        """Classify images."""
        found = (self._ranked(name, self.model.predict_proba([image])[0]) for name, image in self._decoded(uploads))
        return answers.Predictions(predictions=[answers.Prediction(**fields) for fields in found])

    def explain(self, upload: Upload, label: str | None, numbers: bool) -> answers.Explanation:
        """Say where in an image the score of a class (by default, of the most likely) comes from."""
        number = None if label is None else self._number(label)
        [(name, image)] = self._decoded([upload])
        probabilities = self.model.predict_proba([image])[0]
        number = int(probabilities.argmax()) if number is None else number
        evidence = self.model.explain(image, self.model.classes_[number])
        values, grey = evidence.map(), self.model.encoder_.working_image(image)
        largest = float(np.abs(values).max())
        return answers.Explanation(
            **self._ranked(name, probabilities),
            explained=self.classes[number],
            score=evidence.score,
            bias=evidence.bias,
            channels=[answers.ChannelShare(name=each.name, total=each.total) for each in evidence.channels],
            shape=grey.shape,
            deskewed=self.model.encoder_.deskew is not None,
            largest=largest,
            image=data_uri(grey, max(grey.shape)),
            map=data_uri(_coloured(values, largest), max(grey.shape), "PNG"),
            values=values.tolist() if numbers else None,
            atoms=self._strongest(evidence),
        )

    def atoms(self, layer: int, start: int, count: int, label: str | None) -> answers.Atoms:
        """Return some atoms of a layer; of the first, on request, only those learnt from one class."""
        if layer > len(self._layers):
            raise NotFound(f"layer={layer}: the model has {len(self._layers)} layers; give 1 to that")
        found = self._layers[layer - 1]
        if label is not None:
            name = self.classes[self._number(label)]
            found = [atom for atom in found if atom.learnt_from == name]
        return answers.Atoms(layer=layer, total=len(found), atoms=found[start : start + count])

    @cached_property
    def _layers(self) -> list[list[answers.UsedAtom]]:
        """All atoms, a list per layer."""
        if self.channel is None:
            return []
        first, *deeper = self.channel.dictionaries
        numbers = heaviest(self.model, self.channel, len(first)).tolist()
        found = [[answers.UsedAtom(**self._atom(j)) for j in numbers]]
        for depth, atoms in enumerate(deeper, start=1):
            found.append([])
            for k, users in shared(self.channel, depth, len(atoms)):
                used_by = [(weight, answers.Atom(**self._atom(j))) for j, weight in users]
                found[depth].append(answers.UsedAtom(atom=k, strokes=_strokes(atoms[k]), used_by=used_by))
        return found

    def _decoded(self, uploads: list[Upload]) -> Iterator[tuple[str, np.ndarray]]:
        """Names and images in grey, one at a time."""
        pixels = 0
        for name, content in uploads:
            with naming(repr(name)):
                grey = decode_file(io.BytesIO(content), max_pixels=self.limits.pixels)
            pixels += grey.size
            if pixels > self.limits.pixels:
                most = f"{self.limits.pixels / 10**6:g} million pixels"
                raise ImageError(f"{name!r} takes the request over {most}; send fewer images at once")
            yield name, grey

    def _number(self, label: str) -> int:
        if label not in self.classes:
            known = ", ".join(self.classes[:10])
            raise NotFound(f"class={label!r}: choose from {known}{', …' if len(self.classes) > 10 else ''}")
        return self.classes.index(label)

    def _ranked(self, name: str, probabilities: np.ndarray) -> dict[str, Any]:
        """The fields of a prediction."""
        order = np.argsort(-probabilities, kind="stable")
        shares = [answers.Share(label=self.classes[c], probability=float(probabilities[c])) for c in order]
        return {"name": name, **shares[0].model_dump(), "classes": shares}

    def _strongest(self, evidence: Evidence) -> list[answers.AtomShare]:
        if self.channel is None:
            return []
        own = evidence[self.channel.name]
        return [
            answers.AtomShare(
                **self._atom(atom), share=share, patches=[_patch(own, i) for i in own.patches_of(atom)[:_PATCHES]]
            )
            for atom, share in strongest(own, self.channel)
            if share
        ]

    def _atom(self, atom: int) -> dict[str, Any]:
        assert self.channel is not None
        label = _text(atom_class(self.model, self.channel, atom))
        return {"atom": atom, "strokes": _strokes(self.channel.dictionaries[0][atom]), "learnt_from": label}


def _strokes(atom: np.ndarray) -> list[answers.Stroke]:
    return [answers.Stroke(path=path, strength=strength) for path, strength in svg_paths(atom)]


def _patch(evidence: ChannelEvidence, i: int) -> answers.Patch:
    (y, x), size = evidence.descriptors.positions[i], float(evidence.descriptors.sizes[i])
    height, width = evidence.descriptors.shape
    return answers.Patch(
        left=(x - (size - 1) / 2) / width, top=(y - (size - 1) / 2) / height, width=size / width, height=size / height
    )


def _coloured(values: np.ndarray, largest: float) -> np.ndarray:
    """Evidence as RGBA bytes: the stronger, the more opaque."""
    strength = values / max(largest, 1e-12)
    colours = colormaps[EVIDENCE_COLOURS](0.5 + 0.3 * np.sign(strength) + 0.1 * strength)  # never pale
    colours[..., 3] = np.abs(strength) ** 0.7
    return (255 * colours + 0.5).astype(np.uint8)


def _text(label: Any) -> str:
    """A label as valid Unicode; names of files need not be."""
    return str(label).encode("utf-8", "backslashreplace").decode()
