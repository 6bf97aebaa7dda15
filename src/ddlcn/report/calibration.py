"""Calibration in the report: reliability diagram, risk–coverage curve, table of thresholds."""

from typing import Any

import numpy as np

from ddlcn.evaluation import Evaluation
from ddlcn.reliability import reliability, risk_coverage_curve

_MOST_POINTS = 200  # of the curve, so that the page stays small


def calibration(evaluation: Evaluation) -> dict[str, Any]:
    """Return what `reliability` found, `curve` (at most 200 points of risk over coverage) and the ends of its axes."""
    confidence, correct = evaluation.probabilities.max(axis=1), evaluation.predicted == evaluation.truth
    found = reliability(evaluation.probabilities, evaluation.truth)
    curve, _ = risk_coverage_curve(confidence, correct)
    chosen = np.unique(np.linspace(0, len(curve) - 1, _MOST_POINTS).astype(int))
    least = min(min(each["confidence"], each["low"]) for each in found["bins"])
    return found | {
        "curve": [curve[i] for i in chosen],
        "floor": float(np.floor(10 * least) / 10),  # of both axes of the reliability diagram
        "ceiling": max(0.1, float(np.ceil(10 * max(each.risk for each in curve)) / 10)),  # of the risk
    }
