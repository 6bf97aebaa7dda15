"""Of very many training images, those that are hard, and so worth a close look.

An SVM rests on the images near its margin; the others could as well not be there. Which these are shows at a
glance: an SVM on the deep channel alone, whose rows cost a tenth of pooled codes, learns from every third
image and ranks all by their least margin, min over classes of t_i f_i. Those at the front train; what is
saved pays for patches closer together and for copies.
"""

from __future__ import annotations

import numpy as np

from ddlcn.layers.descent import Problem
from ddlcn.layers.rows import Rows

MANY = 20_000  # images: up to here, all train
CLOSER = 2.0  # patches along a line, in times of those at a glance
_SHARE, _LEAST = 1 / 8, 6000  # of all images, and how many at least, are taken as hard
_FULL = 30  # of each class
_EVERY = 3  # an image of so many teaches which are hard
_C, _TOL = 1.0, 1e-2


def pick(rows: Rows, codes: np.ndarray, seed: int | None, n_jobs: int | None) -> np.ndarray:
    """The numbers of hard images, in rising order, by rows of a glance at all of them."""
    problem = Problem(rows, codes, "coordinates", _TOL, seed, n_jobs)
    place = np.argsort(np.argsort(codes, kind="stable"))  # so that each class has its share
    descent = problem.descent(problem.classes, place % _EVERY == 0)
    descent.descend(_C, _TOL)
    scores = descent.scores(np.ones(len(codes), np.bool_))
    margins = np.where(codes == problem.classes[:, None], scores, -scores).min(axis=0)
    order = np.argsort(margins, kind="stable")
    taken = np.zeros(len(codes), np.bool_)
    taken[order[: max(_LEAST, round(_SHARE * len(codes)))]] = True
    for c in range(codes.max() + 1):
        taken[order[codes[order] == c][:_FULL]] = True
    return np.flatnonzero(taken)
