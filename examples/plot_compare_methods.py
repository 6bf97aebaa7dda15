"""
Compare methods on digits
=========================

``ddlcn bench`` compares methods over many splits and settings, and resumes if interrupted. For a quick look
you can use its methods directly: each makes a scikit-learn estimator for images. Here they learn from five
images of each digit, on one split only, so small differences mean nothing.
"""

from time import perf_counter

import matplotlib.pyplot as plt
from scipy.stats import binomtest
from sklearn.datasets import load_digits

from ddlcn import ImageSet
from ddlcn.report import save_figure
from ddlcn_lab.methods.registry import get_method

digits = load_digits()
train, test = ImageSet.of(digits.images, digits.target).split(per_class=5, seed=0)
names = ["ddlcn-best", "ddlcn", "ddlcn-1", "ddlcn-llc", "hog", "nearest", "svm", "ridge"]

for name in names[:2]:  # compiles the kernels, which is not timed
    get_method(name).make(1, 1, 0, 1).fit(train.images, train.target)

results = {}
for name in names:
    method = get_method(name)
    model = method.make(5, 10, 0, 1)  # p images and q atoms per class, seed, n_jobs
    start = perf_counter()
    correct = int((model.fit(train.images, train.target).predict(test.images) == test.target).sum())
    results[name] = binomtest(correct, len(test)), perf_counter() - start
    print(f"{name:12} {correct / len(test):6.1%}  {results[name][1]:5.2f} s  {method.summary}")

# %%
# Our presets and their variants, a linear SVM on gradient histograms, and three methods on pixels. Bars are
# 95 % intervals over the test images of this split.

figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
for place, (name, (tested, _)) in enumerate(results.items()):
    interval = tested.proportion_ci(method="wilson")
    colour = "#b2182b" if name.startswith("ddlcn") else "0.4"
    axis.plot(100 * tested.statistic, place, "o", color=colour)
    axis.plot([100 * interval.low, 100 * interval.high], [place, place], color=colour)
axis.set_yticks(range(len(results)), results)
axis.invert_yaxis()
axis.set_xlabel(f"accuracy on {len(test)} digits, %, from 5 training images of each")
axis.grid(axis="x", alpha=0.3)
axis.spines[["top", "right", "left"]].set_visible(False)
save_figure(figure, "compare-methods.png")

# %%
# A name may have parameters. Those of a channel start with its name; here far atoms cost more, and C is
# fixed:

model = get_method("ddlcn-best:sift__coder__beta=0.1+C=10.0").make(5, 10, 0, 1)
print(f"{model.fit(train.images, train.target).score(test.images, test.target):.1%}")
