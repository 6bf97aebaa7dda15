"""Pictures of explanations."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

from ddlcn.report import draw_explanation, save_figure
from ddlcn.report.atoms import atom_channel
from ddlcn.report.explanation import atom_tiles, explain_both, sum_text
from ddlcn.report.tiles import signed
from tests.report.conftest import HOSTILE, Case, small_model


@pytest.mark.parametrize(("n_classes", "more"), [(2, {}), (3, {"image_shape": (32, 32)})])
def test_draw(n_classes: int, more: dict, tmp_path: Path) -> None:
    model, images = small_model(n_classes, (), **more)
    for name, image in (("bars.png", images[0]), ("flat.png", np.full((32, 32), 9, np.uint8))):
        save_figure(draw_explanation(model, image, label=1), tmp_path / name)
        with Image.open(tmp_path / name) as picture:
            assert picture.width > 1000


def test_what_channels_add(tested: Case, tmp_path: Path) -> None:
    evidence = tested.model.explain(tested.test.images[3], HOSTILE)
    sift, grid = (channel.total for channel in evidence.channels)
    assert sift + grid + evidence.bias == pytest.approx(evidence.score, abs=1e-5)
    picture = draw_explanation(tested.model, tested.test.images[3], HOSTILE)
    texts = [text.get_text() for text in picture.findobj(Text)]
    assert any(text.endswith(f"sift_grid adds {signed(grid, 3)}") for text in texts)
    save_figure(picture, tmp_path / "map.png")  # names are no formulas
    parts = f"sift {signed(sift, 2)}, sift_grid {signed(grid, 2)}, bias {signed(evidence.bias, 2)}"
    assert sum_text(evidence, 2) == f"score {signed(evidence.score, 2)} = {parts}"


def test_predicted_and_second(tested: Case) -> None:
    image = tested.test.images[3]
    probabilities = tested.model.predict_proba([image])[0]
    order = tested.model.classes_[np.argsort(-probabilities)]
    (predicted, p), (second, q) = explain_both(tested.model, image)
    assert (predicted.label, second.label) == (order[0], order[1])
    assert (p, q) == pytest.approx(tuple(np.sort(probabilities)[:-3:-1]))
    (chosen, _), (best, _) = explain_both(tested.model, image, order[2])
    assert (chosen.label, best.label) == (order[2], order[0])


def test_strongest_atoms(tested: Case) -> None:
    channel, grey = atom_channel(tested.model), tested.model.encoder_.working_image(tested.test.images[3])
    evidence = tested.model.explain(tested.test.images[3])["sift"]
    shares = evidence.by_atom(16)
    tile = atom_tiles(tested.model, channel, evidence, grey)[0]
    np.testing.assert_array_equal(tile.squares[0].values, channel.dictionaries[0][np.abs(shares).argmax()])
    assert tile.squares[0].caption.startswith(f"1.  {signed(max(shares, key=abs), 4)}\n")
    assert 2 <= len(tile.squares) <= 4
