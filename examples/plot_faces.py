"""
Faces in bad light
==================

Ten people of the Extended Yale B set, five training images each. The light comes from all sides, and some
images are nearly black. So it matters how weak gradients are treated.

We may not distribute the images. Get them from their owners and set ``$DDLCN_DATA``. Without them this
example prints a note and uses handwritten digits instead.
"""

import numpy as np

from ddlcn import DDLCNClassifier, DDLCNError, ImageSet
from ddlcn.images import read_grey, value_range
from ddlcn.report import draw_explanation, save_figure
from ddlcn_lab.datasets import load_dataset

try:
    faces = load_dataset("yaleb")
except DDLCNError as error:
    print(f"NO FACES HERE, so these are digits.\n{error}")
    faces = load_dataset("digits")

ten = faces.take(np.flatnonzero(faces.target < 10))
train, test = ImageSet.of(ten.images, ten.labels).split(per_class=5, seed=0)
test = test.take(np.arange(0, len(test), 4))
print(f"{len(train)} training images, {len(test)} test images")

# %%
# Two presets
# -----------
# Preset ``"paper"`` follows the paper and the authors' code: descriptors of low contrast stay short, so
# they count little. Preset ``"best"`` scales them to unit length unless they are much weaker, which dark
# faces need. It also has the channel ``sift_grid``, which keeps positions.

models, correct = {}, {}
for preset in ("paper", "best"):
    model = DDLCNClassifier(images_per_class=5, atoms_per_class=5, preset=preset)
    models[preset] = model.fit(train.images, train.labels)
    correct[preset] = model.predict(test.images) == test.labels
    print(f"{preset:5}  {correct[preset].mean():.1%}")

# %%
# Where they differ
# -----------------
# An image of medium brightness that only ``"best"`` classifies correctly, and its evidence:

span = value_range(test.images)
only = [image for image, gain in zip(test.images, correct["best"] & ~correct["paper"], strict=True) if gain]
only.sort(key=lambda image: read_grey(image, value_range=span).mean())
save_figure(draw_explanation(models["best"], only[len(only) // 2]), "faces-best.png")

# %%
# The same image with preset ``"paper"``, and the evidence for its wrong label:

save_figure(draw_explanation(models["paper"], only[len(only) // 2]), "faces-paper.png")
