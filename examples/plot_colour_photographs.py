"""
Colour photographs
==================

Six kinds of leaves, some of the same form, some of the same colour: a birch and a beech leaf differ in
colour, a maple and an oak leaf in form. So a model needs both, and the channels ``color`` and
``sift`` work together. The leaves are drawn by the script, and nothing is downloaded. Use the path of a folder of your
own photographs instead.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from ddlcn import DDLCNClassifier, load_images, presets
from ddlcn.description import selection_sentences
from ddlcn.evaluation import evaluate
from ddlcn.report import draw_explanation, save_figure

LEAVES = {  # form, and colour in RGB
    "beech": ("oval", (150, 70, 45)),
    "birch": ("oval", (205, 170, 50)),
    "ivy": ("lobed", (50, 105, 55)),
    "maple": ("lobed", (185, 65, 40)),
    "oak": ("wavy", (150, 85, 40)),
    "willow": ("slim", (110, 145, 70)),
}


def outline(form, rng):
    """Distance of the edge from the centre, in all directions from the tip on."""
    angle = np.linspace(0, 2 * np.pi, 240)
    width = {"slim": 0.2, "wavy": 0.55}.get(form, 0.66) * rng.uniform(0.85, 1.15)
    radius = width / np.sqrt((width * np.cos(angle)) ** 2 + np.sin(angle) ** 2)
    if form == "lobed":
        radius = 0.5 + 0.42 * np.abs(np.cos(2.5 * angle)) ** 1.5
    waves, height = {"wavy": (11, 0.13), "oval": (40, 0.03)}.get(form, (24, 0.01))
    return angle, radius * (1 + height * np.sin(waves * angle + rng.uniform(0, 6)))


def draw(kind, rng, size):
    """A colour image of a leaf on the ground, in some light."""
    form, colour = LEAVES[kind]
    ground = rng.normal(0, 1, (size, size, 1)) * 14 + rng.normal(0, 5, 3) + rng.choice([(96, 84, 70), (120, 122, 118)])
    picture = Image.fromarray(ground.clip(0, 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(1.2))
    picture = picture.resize((3 * size, 3 * size))
    angle, radius = outline(form, rng)
    centre, length, turn = 1.5 * size + rng.uniform(-40, 40, 2), rng.uniform(190, 250), rng.uniform(-0.6, 0.6)

    def place(angle, radius):
        direction = np.stack([np.sin(angle + turn), -np.cos(angle + turn)], axis=-1)
        return [tuple(point) for point in centre + length * np.asarray(radius)[..., None] * direction]

    pen, own = ImageDraw.Draw(picture), np.array(colour) + rng.normal(0, 22, 3)
    shade, vein = (tuple((own * light).clip(0, 255).astype(int)) for light in (0.45, 1.35))
    edge = place(angle, radius)
    pen.polygon([(x + 12, y + 14) for x, y in edge], fill=shade)
    pen.polygon(edge, fill=tuple(own.clip(0, 255).astype(int)))
    pen.line(place(np.array([np.pi, np.pi, 0]), [1.25, 0.8, 0.85]), fill=vein, width=7)
    for side in np.linspace(0.5, 2.4, 5):
        for sign in (-1, 1):
            reach = 0.8 * np.interp(side, angle, radius)
            pen.line(place(np.array([np.pi, sign * side]), [0.1, reach]), fill=vein, width=3)
    light = np.linspace(*rng.uniform(0.6, 1.25, 2), size)[:, None, None]
    pixels = np.asarray(picture.resize((size, size), Image.Resampling.LANCZOS)) * light
    return Image.fromarray((pixels + rng.normal(0, 8, pixels.shape)).clip(0, 255).astype(np.uint8))


rng = np.random.default_rng(0)
home = TemporaryDirectory()
folder = Path(home.name, "leaves")
for kind in LEAVES:
    (folder / kind).mkdir(parents=True)
    for number in range(24):
        draw(kind, rng, 128).save(folder / kind / f"{number:02}.jpg")

figure, axes = plt.subplots(2, 6, figsize=(9, 3.3), layout="constrained")
for column, kind in zip(axes.T, LEAVES, strict=True):
    column[0].set_title(kind)
    for number, axis in enumerate(column):
        axis.imshow(plt.imread(folder / kind / f"{number:02}.jpg"))
        axis.set_axis_off()
save_figure(figure, "colour-leaves.png")

# %%
# Train
# -----
# Colour needs no option: the channel ``color`` is used because the images have colour, and its weight is
# chosen on training images. (Augmentation is switched off here to save time.)

leaves = load_images(folder)
train, test = leaves.split(per_class=8, seed=0)
model = DDLCNClassifier(augmentation="none", n_jobs=-1).fit(train.images, train.labels)
print("\n".join(selection_sentences(model.selection_)))

# %%
# What colour brings
# ------------------
# The same training without the channels that see colour (``color`` and the covariances), and with them. On the
# command line: ``--channels sift,sift_grid``.

without = [channel for channel in presets.best().channels if channel.name in ("sift", "sift_grid")]
grey = DDLCNClassifier(channels=without, augmentation="none", n_jobs=-1).fit(train.images, train.labels)
for name, each in {"without colour": grey, "with colour": model}.items():
    tested = evaluate(each, test.images, test.labels)
    confused = ", ".join(f"{pair.truth} as {pair.predicted} ({pair.times} ×)" for pair in tested.most_confused(3))
    print(f"{name}: accuracy {tested.accuracy:.1%} on {len(test)} images; {confused or 'no mistakes'}")

# %%
# Why this label?
# ---------------
# Each channel has its share of the score. The atoms of ``color`` are patches of colour, those of ``sift``
# are edges:

maple = next(image for image, label in zip(test.images, test.labels, strict=True) if label == "maple")
save_figure(draw_explanation(model, maple), "colour-why.png")
for channel in model.explain(maple).channels:
    print(f"{channel.name} adds {channel.total:+.2f} to the score of maple")
home.cleanup()

# %%
# Photographs of everyday things are often easier with a frozen network beside these channels:
# ``DDLCNClassifier(backbone="efficientnet-lite0")``, which needs the extra ``backbone``.
