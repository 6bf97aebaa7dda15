"""The learning curve."""

from ddlcn.report import learning_curve
from tests.report.conftest import Case


def test_sizes_double_up_to_all_images(tested: Case) -> None:
    points = learning_curve(tested.model, tested.train, tested.test)
    assert [point.images_per_class for point in points] == [2, 4, 6]
    assert points[-1].accuracy == tested.evaluation.accuracy
    assert (points[-1].low, points[-1].high) == tested.evaluation.interval
    assert all(point.low <= point.accuracy <= point.high for point in points)
