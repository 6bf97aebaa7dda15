"""Pictures of explanations."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

from ddlcn import DDLCNClassifier, presets
from ddlcn.report import draw_explanation, save_figure
from ddlcn.report.atoms import NETWORK_NOTE
from ddlcn.report.explanation import atom_tiles, explain_both, strongest
from ddlcn.report.tiles import signed
from tests.report.conftest import HOSTILE, Case, small_model


@pytest.mark.parametrize(("n_classes", "more"), [(2, {}), (3, {"image_shape": (32, 32)})])
def test_draw(n_classes: int, more: dict, tmp_path: Path) -> None:
    model, images = small_model(n_classes, (), **more)
    for name, image in (("bars.png", images[0]), ("flat.png", np.full((32, 32), 9, np.uint8))):
        save_figure(draw_explanation(model, image, label=1), tmp_path / name)
        with Image.open(tmp_path / name) as picture:
            assert picture.width > 1000


def text_boxes(picture: Figure) -> dict[str, Bbox]:
    """The box of each text that is drawn, in pixels."""
    canvas = FigureCanvasAgg(picture)
    canvas.draw()
    texts = [text for axes in picture.axes for text in (axes.title, *axes.texts)]
    bar = picture.axes[3].yaxis
    texts += [bar.label, *bar.get_ticklabels()]
    return {text.get_text(): text.get_window_extent(canvas.get_renderer()) for text in texts if text.get_text()}


@pytest.mark.parametrize("shape", [(32, 32), (24, 160), (160, 24)])
@pytest.mark.parametrize("name", ["", "W" * 60, "a long name of a class " * 3], ids=["short", "wide", "long"])
def test_texts_are_inside_the_picture(shape: tuple[int, int], name: str) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (8, *shape), dtype=np.uint8)
    channels = presets.best(atoms_per_class=4, deeper_atoms=()).channels
    channels = [channel.with_params(weight=1.0) for channel in channels]
    model = DDLCNClassifier(channels=channels, deskew=False, augmentation="none", C=1.0)
    model.fit(images, np.repeat([f"{name}1", f"{name}2"], 4))
    picture = draw_explanation(model, images[0])
    boxes, (width, height) = text_boxes(picture), picture.bbox.size
    for text, box in boxes.items():
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
        assert inside, (text, box.extents, width, height)
    texts = [(text, box) for text, box in boxes.items() if not text.isdigit()]  # but for numbers of patches
    for (one, box), (other, other_box) in combinations(texts, 2):
        assert not box.overlaps(other_box), (one, other)


def test_what_channels_add(tested: Case, tmp_path: Path) -> None:
    evidence = tested.model.explain(tested.test.images[3], HOSTILE)
    totals = {channel.name: channel.total for channel in evidence.channels}
    assert sum(totals.values()) + evidence.bias == pytest.approx(evidence.score, abs=1e-5)
    picture = draw_explanation(tested.model, tested.test.images[3], HOSTILE)
    texts = [text.get_text() for text in picture.findobj(Text)]
    assert any(f"sift_grid\xa0{signed(totals['sift_grid'], 3)}" in text for text in texts)
    save_figure(picture, tmp_path / "map.png")  # names are no formulas
    parts = ", ".join(f"{name} {signed(total, 2)}" for name, total in totals.items())
    assert list(totals)[:2] == ["sift", "sift_grid"]
    assert evidence.as_sum(2) == f"score {signed(evidence.score, 2)} = {parts}, bias {signed(evidence.bias, 2)}"


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
    model, image = tested.model, tested.test.images[3]
    evidence = model.explain(image)
    shares = evidence["sift"].by_atom(16)
    tile = atom_tiles(model, image, evidence, strongest(model, evidence))[0]
    np.testing.assert_array_equal(
        tile.squares[0].values, model.encoder_["sift"].dictionaries[0][np.abs(shares).argmax()]
    )
    assert tile.squares[0].caption.startswith(f"1. sift {signed(max(shares, key=abs), 4)}\n")
    assert 2 <= len(tile.squares) <= 4


def test_colour_and_network(coloured: tuple[DDLCNClassifier, list[np.ndarray]], tmp_path: Path) -> None:
    model, images = coloured
    evidence = model.explain(images[0])
    strong = strongest(model, evidence, 27)
    shares = [abs(share) for *_, share in strong]
    assert shares == sorted(shares, reverse=True)
    tiles = atom_tiles(model, images[0], evidence, strong)
    for (channel, *_), tile in zip(strong, tiles, strict=True):
        assert tile.squares[0].values.ndim == (1 if channel.name == "sift" else 3)
        assert all(square.values.ndim == 3 for square in tile.squares[1:])
    picture = draw_explanation(model, images[0])
    original, *maps = (axis.images[0].get_array() for axis in picture.axes[:3])
    assert original[:, :, 0].mean() > 2 * original[:, :, 1].mean()  # a red square
    assert all(each.shape == (*evidence.shape, 3) for each in maps)
    has_note = any(NETWORK_NOTE in text.get_text() for text in picture.findobj(Text))
    assert has_note == ("backbone" in [channel.name for channel in model.encoder_.channels])
    save_figure(picture, tmp_path / "why.png")
