"""The model's answers about uploaded images, in the API's types. Nothing here knows of HTTP."""

import io
from collections.abc import Iterable
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps

from ddlcn import __version__
from ddlcn.classifier import DDLCNClassifier
from ddlcn.errors import DDLCNError, ImageError
from ddlcn.evidence import Evidence
from ddlcn.images import decode_file
from ddlcn.layers.coding import LocalityCoder
from ddlcn.report.atoms import atom_class, heaviest, shared
from ddlcn.report.pixels import EVIDENCE_COLOURS, data_uri
from ddlcn.report.strokes import svg_paths
from ddlcn.serve import answers
from ddlcn.serve.limits import Limits

_ATOMS, _PATCHES = 8, 3  # that matter most


class Upload(NamedTuple):
    """An image as it was sent."""

    name: str
    content: bytes


class Unknown(DDLCNError):
    """The model has no such class or layer."""


class Judge:
    """A model that is asked about uploads."""

    def __init__(self, model: DDLCNClassifier, name: str = "model", limits: Limits = Limits()) -> None:
        self.model = copy(model).set_params(n_jobs=1, image_shape=None)
        self.model.value_range_ = (0.0, 1.0)  # of decoded files, whatever it was trained on
        self.name, self.limits = name, limits
        self.classes = [_text(label) for label in model.classes_]

    def warm_up(self) -> None:
        """Load the compiled kernels, so that the first answer is as quick as the next."""
        self.model.explain(np.eye(32, dtype=np.float32))
        self._layers  # noqa: B018

    def describe(self) -> answers.Model:
        """What is served."""
        network = self.model.network_
        return answers.Model(
            name=_text(self.name),
            version=__version__,
            classes=self.classes,
            n_train=self.model.n_train_,
            layers=[
                answers.Layer(
                    atoms=len(atoms),
                    coder="exact" if isinstance(coder, LocalityCoder) else "llc",
                    neighbors=coder.n_neighbors,
                )
                for atoms, coder in zip(network.dictionaries, network.coders, strict=True)
            ],
            limits=answers.Allowed(
                bytes=self.limits.body_bytes, images=self.limits.images, pixels=self.limits.pixels
            ),
        )

    def predict(self, uploads: Iterable[Upload]) -> answers.Predictions:
        """What images show."""
        uploads = list(uploads)
        found = self.model.predict_proba(self._decode(uploads))
        return answers.Predictions(
            predictions=[
                answers.Prediction(**self._ranked(upload, probabilities))
                for upload, probabilities in zip(uploads, found, strict=True)
            ]
        )

    def explain(self, upload: Upload, label: str | None, numbers: bool) -> answers.Explanation:
        """Where in an image the score of a class (by default, of the likeliest) comes from."""
        code = None if label is None else self._code(label)
        [image] = self._decode([upload])
        probabilities = self.model.predict_proba([image])[0]
        if code is None:
            code = int(probabilities.argmax())
        evidence = self.model.explain(image, self.model.classes_[code])
        values, seen = evidence.map(), self.model.descriptor_.resize(image)
        largest = float(np.abs(values).max())
        return answers.Explanation(
            **self._ranked(upload, probabilities),
            explained=self.classes[code],
            score=evidence.score,
            bias=evidence.bias,
            deep=float(evidence.deep.sum()),
            shape=seen.shape,
            largest=largest,
            image=data_uri(seen, max(seen.shape)),
            map=data_uri(_coloured(values, largest), max(seen.shape), "PNG"),
            values=values.tolist() if numbers else None,
            atoms=self._strongest(evidence),
        )

    def atoms(self, layer: int, start: int, count: int, label: str | None) -> answers.Atoms:
        """Some atoms of a layer; of the first, if wished, only those learnt on one class."""
        if layer > len(self._layers):
            raise Unknown(f"layer={layer}: the model has {len(self._layers)}; give 1 to that")
        found = self._layers[layer - 1]
        if label is not None:
            name = self.classes[self._code(label)]
            found = [atom for atom in found if atom.learnt_on == name]
        return answers.Atoms(layer=layer, total=len(found), atoms=found[start : start + count])

    @cached_property
    def _layers(self) -> list[list[answers.SharedAtom]]:
        """All atoms, a list for each layer."""
        dictionaries = self.model.network_.dictionaries
        first = [self._atom(int(j)) for j in heaviest(self.model, len(dictionaries[0]))]
        by_number = {atom["atom"]: answers.Atom(**atom) for atom in first}
        return [
            [answers.SharedAtom(**atom) for atom in first],
            *(
                [
                    answers.SharedAtom(
                        atom=k,
                        strokes=_strokes(atoms[k]),
                        shared_by=[(weight, by_number[j]) for j, weight in users],
                    )
                    for k, users in shared(self.model, depth, len(atoms))
                ]
                for depth, atoms in enumerate(dictionaries[1:], start=1)
            ),
        ]

    def _decode(self, uploads: list[Upload]) -> list[np.ndarray]:
        """The images as the model sees them; nothing of a larger size is kept."""
        images, pixels = [], 0
        for upload in uploads:
            try:
                grey = decode_file(io.BytesIO(upload.content), max_pixels=self.limits.pixels)
            except ImageError as error:
                raise ImageError(f"{upload.name!r} {error}") from None
            pixels += grey.size
            if pixels > self.limits.pixels:
                most = f"{self.limits.pixels / 10**6:g} million pixels"
                raise ImageError(f"{upload.name!r} takes the request over {most}; send fewer images at once")
            descriptor = self.model.descriptor_
            images.append(descriptor.shrink(grey))
        return images

    def _code(self, label: str) -> int:
        if label not in self.classes:
            known = ", ".join(self.classes[:10])
            raise Unknown(
                f"class={label!r}: the model knows {known}{', …' if len(self.classes) > 10 else ''}"
            )
        return self.classes.index(label)

    def _ranked(self, upload: Upload, probabilities: np.ndarray) -> dict[str, Any]:
        """The part of an answer that all have."""
        order = np.argsort(-probabilities, kind="stable")
        shares = [answers.Share(label=self.classes[c], probability=float(probabilities[c])) for c in order]
        return {"name": upload.name, **shares[0].model_dump(), "classes": shares}

    def _strongest(self, evidence: Evidence) -> list[answers.AtomShare]:
        shares = evidence.by_atom(len(self.model.network_.dictionaries[0]))
        strongest = np.argsort(-np.abs(shares), kind="stable")[:_ATOMS]
        return [
            answers.AtomShare(
                **self._atom(int(atom)),
                share=float(shares[atom]),
                patches=[_patch(evidence, i) for i in evidence.fired_by(atom)[:_PATCHES]],
            )
            for atom in strongest
            if shares[atom]
        ]

    def _atom(self, atom: int) -> dict[str, Any]:
        strokes = _strokes(self.model.network_.dictionaries[0][atom])
        return {"atom": atom, "strokes": strokes, "learnt_on": _text(atom_class(self.model, atom))}


def _strokes(atom: np.ndarray) -> list[answers.Stroke]:
    return [answers.Stroke(path=path, strength=strength) for path, strength in svg_paths(atom)]


def _patch(evidence: Evidence, i: int) -> answers.Patch:
    (y, x), size = evidence.descriptors.positions[i], float(evidence.descriptors.sizes[i])
    height, width = evidence.descriptors.shape
    return answers.Patch(
        left=(x - (size - 1) / 2) / width,
        top=(y - (size - 1) / 2) / height,
        width=size / width,
        height=size / height,
    )


def _coloured(values: np.ndarray, largest: float) -> np.ndarray:
    """Evidence as RGBA bytes: the stronger, the less is seen through it."""
    strength = values / max(largest, 1e-12)
    colours = colormaps[EVIDENCE_COLOURS](0.5 + 0.3 * np.sign(strength) + 0.1 * strength)  # never pale
    colours[..., 3] = np.abs(strength) ** 0.7
    return (255 * colours + 0.5).astype(np.uint8)


def _text(label: Any) -> str:
    """A label as text that is Unicode, whatever a file system made of it."""
    return str(label).encode("utf-8", "backslashreplace").decode()
