"""The confusion matrix of the report."""

import numpy as np
import pytest

from ddlcn.evaluation import Evaluation
from ddlcn.report.confusions import class_rows, heat

EVALUATION = Evaluation(np.array(["a", "b", "c"]), np.array([0, 0, 0, 1]), np.eye(3)[[0, 2, 2, 1]], 0.1)


def test_rows() -> None:
    a, b, c = class_rows(EVALUATION)
    assert (a["n"], a["correct"], a["precision"], a["classified_as"]) == (3, 1, 1.0, [("c", 2)])
    assert a["recall"] == pytest.approx(1 / 3)
    assert (b["recall"], b["precision"], b["classified_as"]) == (1.0, 1.0, [])
    assert (c["n"], c["recall"], c["precision"]) == (0, None, 0.0)


def test_worst_class_first() -> None:
    truth = np.array([0, 0, 1, 1, 2, 2, 2])
    evaluation = Evaluation(np.array(["a", "b", "c"]), truth, np.eye(3)[[0, 0, 1, 2, 2, 0, 1]], 0.1)
    assert [row["name"] for row in class_rows(evaluation)] == ["c", "b", "a"]


def test_heat() -> None:
    found = heat(EVALUATION)
    assert found["names"] == ["a", "b", "c"]
    assert found["counts"] == {"0,0": 1, "0,2": 2, "1,1": 1}
    assert found["uri"].startswith("data:image/png;base64,")
