"""Likely duplicates between training and test images, which inflate the accuracy."""

from typing import NamedTuple

import numpy as np

from ddlcn.checks.duplicates import SIMILAR, similar_pairs
from ddlcn.checks.facts import ImageFacts, image_facts
from ddlcn.classifier import DDLCNClassifier
from ddlcn.images import ImageSet
from ddlcn.report.pixels import as_image


class Leak(NamedTuple):
    """A test image and the training image most similar to it; `exact` if every pixel is the same."""

    test: int
    train: int
    similarity: float
    exact: bool


def find_leaks(model: DDLCNClassifier, train: ImageSet, test: ImageSet, similar: float = SIMILAR) -> list[Leak]:
    """Find test images that are probably training images too.

    Parameters
    ----------
    model : DDLCNClassifier
        Says how arrays become images.
    train, test : ImageSet
    similar : float
        Cosine of two fingerprints from which images are duplicates.

    Returns
    -------
    list of Leak
        Exact ones first, then the most similar.
    """
    return leaks_between(facts_for(model, train), facts_for(model, test), similar)


def leaks_between(train: ImageFacts, test: ImageFacts, similar: float = SIMILAR) -> list[Leak]:
    """Find test images that are probably training images too, by the facts of both."""
    known = {digest: row for row, digest in reversed(list(enumerate(train.digests)))}
    leaks = {i: Leak(i, known[digest], 1.0, True) for i, digest in enumerate(test.digests) if digest in known}
    pairs = similar_pairs(test.fingerprints, train.fingerprints, similar)
    for i in np.argsort(-pairs.similarity, kind="stable"):  # the most similar first
        row = int(pairs.first[i])
        leaks.setdefault(row, Leak(row, int(pairs.second[i]), float(pairs.similarity[i]), False))
    return sorted(leaks.values(), key=lambda leak: (not leak.exact, -leak.similarity, leak.test))


def facts_for(model: DDLCNClassifier, images: ImageSet) -> ImageFacts:
    """Return facts about images as a model reads them."""
    shaped = [as_image(model, image) for image in images.images]
    return image_facts(shaped, model.encoder_.value_range, model.n_jobs, "Duplicates")
