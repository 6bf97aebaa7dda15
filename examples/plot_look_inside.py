"""
Look inside: atoms and evidence
===============================

A score is a sum over the patches of the image, plus a bias: nothing is approximated, so one can look at the
terms.
"""

from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, ImageSet
from ddlcn.report import draw_atoms, draw_explanation, save_figure

digits = load_digits()
train, test = ImageSet.of(digits.images, digits.target).split(per_class=30, seed=0)
model = DDLCNClassifier(atoms_per_class=10).fit(train.images, train.labels)

# %%
# Why this answer?
# ----------------
# Red speaks for a class, blue against it. The answer is on the left, the runner-up on the right, on one
# scale; below are the atoms that matter most, each beside the patches that fired it.

image = test.images[16]
save_figure(draw_explanation(model, image), "look-inside-why.png")

# %%
# The same numbers in Python. Shares of patches and the bias add up to the score that the SVM gives:

evidence = model.explain(image)
score = model.decision_function([image])[0].max()
print(f"label {evidence.label}")
print(f"patches {evidence.patches.sum():+.6f}  bias {evidence.bias:+.6f}  sum {evidence.score:+.6f}")
print(f"what the SVM says: {score:+.6f}")

# %%
# Any class can be asked about, as in "why not an 8?":

doubt = model.explain(image, label="8")
strongest = abs(doubt.patches).argmax()
y, x = doubt.descriptors.positions[strongest]
print(f"8 scores {doubt.score:+.3f}; most of all by the patch around row {y:.0f}, column {x:.0f}")

# %%
# What the dictionaries hold
# --------------------------
# An atom is a mean patch in terms of edges: strokes show where its gradients are strong. Beside each are
# the training patches nearest to it; the second layer's atoms stand beside the first-layer atoms that share
# them.

save_figure(draw_atoms(model, train.images, most=24), "look-inside-atoms.png")

# %%
# What depth does
# ---------------
# In the paper's formula a deeper layer gives each first-layer atom two weights, one for its largest code in
# a cell and one for its smallest. Here they are, least and greatest; the proof is on the page about the
# collapse.

for name, weights in zip(("maxima", "minima"), model.network_.weights, strict=True):
    print(f"{name}: {weights.min():.2f} to {weights.max():.2f} over {len(weights)} atoms")
