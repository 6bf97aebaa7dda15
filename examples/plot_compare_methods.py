"""
Compare methods on digits
=========================

``ddlcn bench`` compares methods over many splits and settings, and can be stopped and taken up again. For a
quick look its registry of methods will do: each makes a scikit-learn estimator that takes images. Here,
five images of each digit to learn from, and one split only, so small differences mean nothing.
"""

from time import perf_counter

import matplotlib.pyplot as plt
from scipy.stats import binomtest
from sklearn.datasets import load_digits

from ddlcn import ImageSet
from ddlcn.baselines.registry import get_method
from ddlcn.report import save_figure

digits = load_digits()
train, test = ImageSet.of(digits.images, digits.target).split(per_class=5, seed=0)
names = ["ddlcn-best", "ddlcn", "ddlcn-1", "ddlcn-llc", "hog", "nearest", "svm", "ridge"]

for name in names[:2]:  # kernels are compiled once and kept; that is not to be timed
    get_method(name).make(1, 1, 0, 1).fit(train.images, train.target)

results = {}
for name in names:
    method = get_method(name)
    model = method.make(5, 10, 0, 1)  # p images and q atoms a class, seed, jobs
    start = perf_counter()
    right = int((model.fit(train.images, train.target).predict(test.images) == test.target).sum())
    results[name] = binomtest(right, len(test)), perf_counter() - start
    print(f"{name:12} {right / len(test):6.1%}  {results[name][1]:5.2f} s  {method.summary}")

# %%
# Our presets and their variants against a linear SVM on gradient histograms, and three methods on plain
# pixels. Bars are 95 % intervals for this split's test images.

figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
for place, (name, (test_of_share, _)) in enumerate(results.items()):
    share, interval = test_of_share.statistic, test_of_share.proportion_ci(method="wilson")
    colour = "#b2182b" if name.startswith("ddlcn") else "0.4"
    axis.plot(100 * share, place, "o", color=colour)
    axis.plot([100 * interval.low, 100 * interval.high], [place, place], color=colour)
axis.set_yticks(range(len(results)), results)
axis.invert_yaxis()
axis.set_xlabel(f"accuracy on {len(test)} digits, %, from 5 examples of each")
axis.grid(axis="x", alpha=0.3)
axis.spines[["top", "right", "left"]].set_visible(False)
save_figure(figure, "compare-methods.png")

# %%
# A name may go on with parameters to change, here a single layer with a higher price of far atoms:

model = get_method("ddlcn-best:beta=0.1+deeper_atoms=()").make(5, 10, 0, 1)
print(f"{model.fit(train.images, train.target).score(test.images, test.target):.1%}")
