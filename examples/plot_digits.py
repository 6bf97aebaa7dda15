"""
First model: handwritten digits
===============================

Ten images of each digit to learn from, 1,697 others to be asked about, all 8 × 8 pixels and all part of
scikit-learn: nothing is downloaded.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, ImageSet
from ddlcn.evaluation import evaluate
from ddlcn.report import save_figure

digits = load_digits()
train, test = ImageSet.of(digits.images, digits.target).split(per_class=10, seed=0)

model = DDLCNClassifier().fit(train.images, train.labels)
print(f"{model.score(test.images, test.labels):.1%} of {len(test)} digits, from {len(train)} examples")

# %%
# Where the time went, in seconds, and what the cross-validation chose:

print({stage: round(seconds, 2) for stage, seconds in model.timings_.items()}, "C =", model.svm_.C_)

# %%
# How sure it is
# --------------
# Probabilities are calibrated on held-out training images. An evaluation holds them beside the truth:
# accuracy with its 95 % interval, and what was taken for what.

tested = evaluate(model, test.images, test.labels)
print("accuracy between {:.1%} and {:.1%}".format(*tested.interval))
for truth, predicted, times in tested.most_confused(3):
    print(f"{truth} taken for {predicted}: {times} times")

# %%
# The mistakes it was surest of, with the answer and its probability:

sure = tested.probabilities.max(axis=1)
wrong = np.flatnonzero(tested.predicted != tested.truth)
figure, axes = plt.subplots(1, 6, figsize=(10, 2.2), layout="constrained")
for axis, i in zip(axes, wrong[np.argsort(-sure[wrong])], strict=False):
    axis.imshow(test.images[i], cmap="gray_r")
    axis.set_title(f"{test.labels[i]} as {tested.classes[tested.predicted[i]]}, {sure[i]:.0%}", fontsize=11)
for axis in axes:
    axis.set_axis_off()
save_figure(figure, "digits-mistakes.png")

# %%
# One file
# --------
# A model is one safe file; what it answers after a round trip is what it answered before.

with TemporaryDirectory() as home:
    file = Path(home, "digits.ddlcn")
    model.save(file)
    again = DDLCNClassifier.load(file)
    print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")
few = test.images[:50]
print("the same scores:", (again.decision_function(few) == model.decision_function(few)).all())
