"""
Faces in bad light
==================

Ten people of the Extended Yale B set, five images of each to learn from. The light comes from all sides,
and some images are nearly black: what counts is how the describer treats weak gradients.

The images are not ours to pass on. Get them from their makers and set ``$DDLCN_DATA``; where they are
missing this example says so and takes handwritten digits instead.
"""

import numpy as np

from ddlcn import DDLCNClassifier, DDLCNError, ImageSet
from ddlcn.experiments.datasets import load_dataset
from ddlcn.images import read_grey, value_range
from ddlcn.report import draw_explanation, save_figure

try:
    faces = load_dataset("yaleb")
except DDLCNError as error:
    print(f"NO FACES HERE, so these are digits.\n{error}")
    faces = load_dataset("digits")

ten = faces.take(np.flatnonzero(faces.target < 10))
train, test = ImageSet.of(ten.images, ten.labels).split(per_class=5, seed=0)
test = test.take(np.arange(0, len(test), 4))
print(f"{len(train)} images to learn from, {len(test)} to be asked about")

# %%
# Two presets
# -----------
# ``"paper"`` holds to the paper and to the authors' code: descriptors of low contrast are left short, and
# so count for little. ``"best"`` brings them to full length unless they are far weaker, which is what dark
# faces need.

models, right = {}, {}
for preset in ("paper", "best"):
    model = DDLCNClassifier(images_per_class=5, atoms_per_class=5, preset=preset)
    models[preset] = model.fit(train.images, train.labels)
    right[preset] = model.predict(test.images) == test.labels
    print(f"{preset:5}  {right[preset].mean():.1%}")

# %%
# Where they differ
# -----------------
# Of the images that only ``"best"`` gets right, one of middling darkness, and where its evidence lies:

span = value_range(test.images)
only = [image for image, gain in zip(test.images, right["best"] & ~right["paper"], strict=True) if gain]
only.sort(key=lambda image: read_grey(image, value_range=span).mean())
save_figure(draw_explanation(models["best"], only[len(only) // 2]), "faces-best.png")

# %%
# The same image to ``"paper"``, with the evidence for its wrong answer:

save_figure(draw_explanation(models["paper"], only[len(only) // 2]), "faces-paper.png")
