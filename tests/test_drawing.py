"""Evidence over an image."""

import numpy as np
from matplotlib.figure import Figure

from ddlcn.drawing import draw_map, overlay


def test_overlay() -> None:
    against, nothing, evidence = overlay(np.full((1, 3), 0.5), np.array([[-1.0, 0.0, 1.0]]), 1.0)[0]
    assert against[2] > against[0]
    assert np.ptp(nothing) == 0
    assert evidence[0] > evidence[2]


def test_draw_map() -> None:
    for values in (np.zeros((4, 6)), np.linspace(-1, 1, 24).reshape(4, 6)):
        figure = Figure()
        axes = figure.add_subplot()
        draw_map(axes, np.full((4, 6), 0.5), values, "$5 off$")
        figure.canvas.draw()  # a formula would fail here
        assert axes.images[0].get_array().shape == (4, 6, 3)
        assert len(figure.axes) == 2
