"""Example images of the report."""

import io
from base64 import b64decode

import numpy as np
import pytest
from PIL import Image

from ddlcn.evaluation import Evaluation
from ddlcn.report.examples import Examples
from tests.report.conftest import Case


@pytest.fixture
def examples(tested: Case) -> Examples:
    """Of 24 images, two of class 0 are classified as 1 and one of class 2 as 3, with the highest probability."""
    truth = tested.evaluation.truth
    predicted = truth.copy()
    first, second, other = *np.flatnonzero(truth == 0)[:2], np.flatnonzero(truth == 2)[0]
    predicted[[first, second, other]] = [1, 1, 3]
    probabilities = 0.7 * np.eye(4)[predicted] + 0.05
    probabilities[other] = 0.9 * np.eye(4)[3]
    return Examples(tested.model, Evaluation(tested.model.classes_, truth, probabilities, 0.1), tested.test)


def test_pairs(examples: Examples) -> None:
    a, b, c, d = examples.evaluation.classes
    assert [(each["truth"], each["predicted"], each["times"]) for each in examples.pairs()] == [(a, b, 2), (c, d, 1)]
    assert [(len(each["mistaken"]), len(each["correct"])) for each in examples.pairs()] == [(2, 4), (1, 4)]


def test_mistakes_by_probability(examples: Examples) -> None:
    a, b, c, d = examples.evaluation.classes
    mistakes = examples.mistakes()
    assert [(each["predicted"]["label"], each["truth"]["label"]) for each in mistakes] == [(d, c), (b, a), (b, a)]
    assert mistakes[0]["predicted"]["probability"] == pytest.approx(0.9)


def test_gallery(examples: Examples) -> None:
    a, b, c, d = examples.evaluation.classes
    found = examples.gallery()
    assert [(each["predicted"]["label"], each["truth"]["label"]) for each in found["mistakes"]] == [
        (d, c),
        (b, a),
        (b, a),
    ]
    assert found["mistakes"][1]["truth"]["probability"] == pytest.approx(0.05)
    assert found["more"] == 0


def test_pictures_are_not_enlarged(examples: Examples) -> None:
    """An image of 32 × 32 pixels stays one, without loss."""
    kind, content = examples.gallery()["mistakes"][0]["picture"]["uri"].split(",")
    pixels = np.asarray(Image.open(io.BytesIO(b64decode(content))))
    assert (kind, pixels.shape) == ("data:image/png;base64", (32, 32, 3))
    wrong = np.flatnonzero(examples.evaluation.predicted != examples.evaluation.truth)
    originals = [np.asarray(Image.open(examples.test.images[i]).convert("RGB")) for i in wrong]
    assert any(np.array_equal(pixels, original) for original in originals)


def test_best_classes(examples: Examples) -> None:
    _, b, _, d = examples.evaluation.classes
    assert [(each["label"], each["recall"], each["n"]) for each in examples.best()] == [(b, 1.0, 6), (d, 1.0, 6)]
