"""
Look inside: evidence and atoms
===============================

The score of a class is a sum over the patches of the image, plus a bias. Nothing is approximated, so you
can look at each term.
"""

from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, ImageSet
from ddlcn.report import draw_atoms, draw_explanation, save_figure

digits = load_digits()
train, test = ImageSet.of(digits.images, digits.target).split(per_class=30, seed=0)
model = DDLCNClassifier(atoms_per_class=10).fit(train.images, train.labels)

# %%
# Why this label?
# ---------------
# Red is evidence for a class, blue against it. The predicted class is in the middle, the second class on
# the right, on the same scale. Below are the atoms with the largest shares, each with its patches in the
# image.

image = test.images[16]
save_figure(draw_explanation(model, image), "look-inside-why.png")

# %%
# The same in numbers. What the channels add, and the bias, is the score of the SVM:

evidence = model.explain(image)
score = model.decision_function([image])[0].max()
for channel in evidence.channels:
    print(f"{channel.name} {channel.total:+.6f}")
print(f"bias {evidence.bias:+.6f}, sum {evidence.score:+.6f}, score of the SVM {score:+.6f}")

# %%
# You can ask for any class, as in "why not an 8?":

other = model.explain(image, label="8")
sift = other["sift"]
strongest = abs(sift.shares.sum(axis=1)).argmax()
y, x = sift.descriptors.positions[strongest]
print(f"8 has the score {other.score:+.3f}; the patch with the largest share is around row {y:.0f}, column {x:.0f}")

# %%
# What the dictionaries have learnt
# ---------------------------------
# Strokes show where the gradients of an atom are strong. Beside each atom are the training patches nearest
# to it. Atoms of the second layer are beside the first-layer atoms that use them.

save_figure(draw_atoms(model, train.images, most=24), "look-inside-atoms.png")

# %%
# What depth does
# ---------------
# In the paper's formula a deeper layer gives each first-layer atom two weights: one for its largest code in
# a cell, one for its smallest. The page about the collapse has the proof.

for name, weights in zip(("maxima", "minima"), model.encoder_["sift"].depth_weights, strict=True):
    print(f"{name}: {weights.min():.2f} to {weights.max():.2f} over {len(weights)} atoms")
