"""Predictions and explanations of uploaded images, in the API's types. Nothing here knows of HTTP."""

import io
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ddlcn import __version__
from ddlcn.assessment import Assessment
from ddlcn.channel import Channel
from ddlcn.classifier import DDLCNClassifier
from ddlcn.description import default_false_alarms, describe
from ddlcn.drawing import evidence_layer
from ddlcn.errors import DDLCNError, ImageError
from ddlcn.evidence import ChannelEvidence, Evidence
from ddlcn.images import LEAST_SIDE, decode_file
from ddlcn.images.decode import decoded_pixels, naming
from ddlcn.report.atoms import atom_channels, atom_class, atom_note, atom_values, heaviest, shared, visible_patch
from ddlcn.report.explanation import strongest
from ddlcn.report.pixels import data_uri, working_picture
from ddlcn.report.strokes import svg_paths
from ddlcn.serve import answers
from ddlcn.serve.limits import Limits

Upload = tuple[str, bytes]  # name and content of an image, as sent
_PATCHES = 3  # of an atom
_SIDE = 96  # of a patch that stands for an atom, in pixels


class NotFound(DDLCNError):
    """The model has no such class, channel or layer."""


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
        self.channels = {channel.name: channel for channel in atom_channels(self.model)}
        sides = [getattr(channel.descriptor, "max_side", 0) for channel in model.encoder_.channels]
        self._false_alarms = default_false_alarms(describe(model)["conformal"])
        self._least_side = max(LEAST_SIDE, 2 * max(sides))

    def warm_up(self) -> None:
        """Load the compiled kernels, so that the first request takes no longer than others."""
        self.model.explain(np.eye(32, dtype=np.float32))
        self._layers  # noqa: B018

    def describe(self) -> answers.Model:
        """Describe the model and the limits."""
        limits = answers.Allowed(bytes=self.limits.body_bytes, images=self.limits.images, pixels=self.limits.pixels)
        described = describe(self.model) | {"classes": self.classes}
        described |= {"false_alarms": self._false_alarms, "limits": limits}
        return answers.Model(name=_text(self.name), version=__version__, **described)

    def predict(self, uploads: list[Upload]) -> answers.Predictions:
        """Classify images."""
        found: list[answers.Prediction | answers.Failure] = []
        pixels = 0
        for name, content in uploads:
            try:
                if pixels >= self.limits.pixels:
                    most = f"{self.limits.pixels / 10**6:g} million pixels"
                    raise ImageError(f"{name!r} takes the request over {most}; send fewer images at once")
                with naming(repr(name)):
                    pixels += decoded_pixels(io.BytesIO(content), self.limits.pixels, self._least_side)
                image = self._decoded(name, content)
                found.append(answers.Prediction(**self._prediction(name, self.model.assess([image]))))
            except ImageError as error:
                found.append(answers.Failure(name=name, error=str(error)))
        failures = [each for each in found if isinstance(each, answers.Failure)]
        if len(failures) == len(found):
            raise ImageError(failures[0].error)
        return answers.Predictions(predictions=found)

    def explain(self, upload: Upload, label: str | None, numbers: bool) -> answers.Explanation:
        """Say where in an image the score of a class (by default, of the most likely) comes from."""
        number = None if label is None else self._number(label)
        name, image = upload[0], self._decoded(*upload)
        assessment = self.model.assess([image])
        number = int(assessment.probabilities.argmax()) if number is None else number
        evidence = self.model.explain(image, self.model.classes_[number])
        values, picture = evidence.map(), working_picture(self.model, image, evidence.shape)
        largest = float(np.abs(values).max())
        return answers.Explanation(
            **self._prediction(name, assessment),
            explained=self.classes[number],
            score=evidence.score,
            bias=evidence.bias,
            channels=[answers.ChannelShare(name=each.name, total=each.total) for each in evidence.channels],
            shape=evidence.shape,
            deskewed=self.model.encoder_.deskew is not None,
            largest=largest,
            image=data_uri(picture, max(evidence.shape)),
            map=data_uri(evidence_layer(values, largest), max(evidence.shape), "PNG"),
            values=values.tolist() if numbers else None,
            atoms=[self._share(image, evidence, *each) for each in strongest(self.model, evidence)],
        )

    def atoms(self, channel: str | None, layer: int, start: int, count: int, label: str | None) -> answers.Atoms:
        """Return some atoms of a channel's layer; of the first, on request, only those learnt from one class."""
        if not self.channels:
            raise NotFound("the model has no atoms")
        name = next(iter(self.channels)) if channel is None else channel
        if name not in self.channels:
            raise NotFound(f"channel={name!r}: choose from {', '.join(self.channels)}")
        layers = self._layers[name]
        if layer > len(layers):
            raise NotFound(f"layer={layer}: {name} has {len(layers)} layers; give 1 to that")
        found = layers[layer - 1]
        if label is not None:
            learnt_from = self.classes[self._number(label)]
            found = [atom for atom in found if atom.learnt_from == learnt_from]
        atoms, note = found[start : start + count], atom_note(self.channels[name])
        return answers.Atoms(channel=name, note=note, layer=layer, total=len(found), atoms=atoms)

    @cached_property
    def _layers(self) -> dict[str, list[list[answers.UsedAtom]]]:
        """All atoms by channel, a list per layer."""
        return {name: self._layers_of(channel) for name, channel in self.channels.items()}

    def _layers_of(self, channel: Channel) -> list[list[answers.UsedAtom]]:
        first, *deeper = channel.dictionaries
        numbers = heaviest(self.model, channel, len(first)).tolist()
        found = [[answers.UsedAtom(**self._atom(channel, j)) for j in numbers]]
        for depth, atoms in enumerate(deeper, start=1):
            found.append([])
            for k, users in shared(channel, depth, len(atoms)):
                used_by = [(weight, answers.Atom(**self._atom(channel, j))) for j, weight in users]
                found[depth].append(answers.UsedAtom(**_drawn(channel, atoms[k]), atom=k, used_by=used_by))
        return found

    def _decoded(self, name: str, content: bytes) -> np.ndarray:
        """An image: RGB in bytes, or grey with all its bits. A large one is shrunk, as the model does."""
        decode = partial(decode_file, max_pixels=self.limits.pixels, least_side=self._least_side)
        with naming(repr(name)):
            image = decode(io.BytesIO(content), colour=True)
            return image if np.ptp(image, axis=2).any() else decode(io.BytesIO(content))

    def _number(self, label: str) -> int:
        if label not in self.classes:
            known = ", ".join(self.classes[:10])
            raise NotFound(f"class={label!r}: choose from {known}{', …' if len(self.classes) > 10 else ''}")
        return self.classes.index(label)

    def _prediction(self, name: str, assessment: Assessment) -> dict[str, Any]:
        """The fields of a prediction for one image."""
        [probabilities], reason = assessment.probabilities, None
        order = np.argsort(-probabilities, kind="stable")
        shares = [answers.Share(label=self.classes[c], probability=float(probabilities[c])) for c in order]
        if self._false_alarms is not None:
            [reason] = assessment.unknown_reasons(self._false_alarms)
        return {
            "name": name,
            **shares[0].model_dump(),
            "classes": shares,
            "novelty": None if assessment.novelty is None else float(assessment.novelty[0]),
            "unknown": None if self._false_alarms is None else reason is not None,
            "reason": reason,
        }

    def _share(
        self, image: np.ndarray, evidence: Evidence, channel: Channel, atom: int, share: float
    ) -> answers.AtomShare:
        own = evidence[channel.name]
        patches, drawn = own.patches_of(atom)[:_PATCHES], self._atom(channel, atom)
        if not (drawn["strokes"] or drawn["picture"]):
            _, positions, shape, sizes = own.descriptors
            picture = working_picture(self.model, image, shape)
            nearest = visible_patch(channel, picture, positions[patches[0]], int(sizes[patches[0]]))
            drawn["picture"] = data_uri(nearest, _SIDE)
        return answers.AtomShare(**drawn, share=share, patches=[_patch(own, i) for i in patches])

    def _atom(self, channel: Channel, atom: int) -> dict[str, Any]:
        label = _text(atom_class(self.model, channel, atom))
        return {"atom": atom, "learnt_from": label, **_drawn(channel, channel.dictionaries[0][atom])}


def _drawn(channel: Channel, atom: np.ndarray) -> dict[str, Any]:
    """The fields of an atom that show it."""
    values = atom_values(channel, atom)
    found: dict[str, Any] = {"channel": channel.name, "strokes": [], "picture": None}
    if values is not None and values.ndim == 1:
        found["strokes"] = [answers.Stroke(path=path, strength=strength) for path, strength in svg_paths(values)]
    elif values is not None:
        found["picture"] = data_uri(values, len(values), "PNG")
    return found


def _patch(evidence: ChannelEvidence, i: int) -> answers.Patch:
    (y, x), size = evidence.descriptors.positions[i], float(evidence.descriptors.sizes[i])
    height, width = evidence.descriptors.shape
    return answers.Patch(
        left=(x - (size - 1) / 2) / width, top=(y - (size - 1) / 2) / height, width=size / width, height=size / height
    )


def _text(label: Any) -> str:
    """A label as valid Unicode; names of files need not be."""
    return str(label).encode("utf-8", "backslashreplace").decode()
