"""
First model: handwritten digits
===============================

Train on ten images of each digit and test on 1,697 others. The images have 8 × 8 pixels and are part of
scikit-learn, so nothing is downloaded.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, ImageSet
from ddlcn.description import selection_sentences
from ddlcn.evaluation import evaluate
from ddlcn.report import save_figure

digits = load_digits()
train, test = ImageSet.of(digits.images, digits.target).split(per_class=10, seed=0)

model = DDLCNClassifier().fit(train.images, train.labels)
print(f"accuracy {model.score(test.images, test.labels):.1%} on {len(test)} digits, from {len(train)} training images")

# %%
# What it decided
# ---------------
# Settings were chosen on held-out training images. ``selection_`` has the numbers; here they are in words:

print("\n".join(selection_sentences(model.selection_)))

# %%
# Seconds by stage of training:

print({stage: round(seconds, 2) for stage, seconds in model.timings_.items()})

# %%
# How good it is
# --------------
# An evaluation compares predictions with the true labels: accuracy with its 95 % interval, and the most
# frequent mistakes.

tested = evaluate(model, test.images, test.labels)
print("accuracy between {:.1%} and {:.1%}".format(*tested.interval))
for truth, predicted, times in tested.most_confused(3):
    print(f"{truth} classified as {predicted}: {times} times")

# %%
# The mistakes with the highest probability:

highest = tested.probabilities.max(axis=1)
wrong = np.flatnonzero(tested.predicted != tested.truth)
figure, axes = plt.subplots(1, 6, figsize=(10, 2.2), layout="constrained")
for axis, i in zip(axes, wrong[np.argsort(-highest[wrong])], strict=False):
    axis.imshow(test.images[i], cmap="gray_r")
    axis.set_title(f"{test.labels[i]} as {tested.classes[tested.predicted[i]]}, {highest[i]:.0%}", fontsize=11)
for axis in axes:
    axis.set_axis_off()
save_figure(figure, "digits-mistakes.png")

# %%
# One file
# --------
# A model is one safe file. A loaded model gives the same scores as the saved one.

with TemporaryDirectory() as folder:
    file = Path(folder, "digits.ddlcn")
    model.save(file)
    loaded = DDLCNClassifier.load(file)
    print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")
few = test.images[:50]
print("the same scores:", (loaded.decision_function(few) == model.decision_function(few)).all())
