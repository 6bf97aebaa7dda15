"""Calibration in the report."""

import numpy as np
import pytest

from ddlcn.evaluation import Evaluation
from ddlcn.report.calibration import calibration


def evaluation(n: int, n_classes: int = 3) -> Evaluation:
    rng = np.random.default_rng(0)
    return Evaluation(np.arange(n_classes), rng.integers(0, n_classes, n), rng.dirichlet(np.ones(n_classes), n), 1.0)


@pytest.mark.parametrize("n", [1, 30, 5000])
def test_everything_lies_within_the_axes(n: int) -> None:
    found = calibration(evaluation(n))
    assert 0 <= found["floor"] < 1
    assert all(found["floor"] <= min(each["confidence"], each["low"]) for each in found["bins"])
    assert all(point.risk <= found["ceiling"] for point in found["curve"])
    assert found["curve"][-1].coverage == 1


def test_curve_has_few_points_and_both_ends() -> None:
    tested = evaluation(5000)
    curve = calibration(tested)["curve"]
    assert len(curve) == 200
    assert curve[0].coverage == 1 / 5000
    assert curve[-1].risk == pytest.approx(1 - tested.accuracy)


def test_no_errors() -> None:
    found = calibration(Evaluation(np.arange(2), np.array([0, 1]), np.eye(2), 1.0))
    assert (found["expected_calibration_error"], found["area_under_risk_coverage"]) == (0, 0)
    assert 0 < found["ceiling"] <= 1
