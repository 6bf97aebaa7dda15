"""Checks of labelled images: likely wrong labels, duplicates, unusual and blank images, unbalanced classes.

Every finding X has an `X_score` in [0, 1], high if it is likely, and an `is_X`. Nothing is ever changed or deleted.
"""

from ddlcn.checks.duplicates import Duplicates, find_duplicates
from ddlcn.checks.facts import ImageFacts, image_facts
from ddlcn.checks.findings import DataCheck, check_images, examine
from ddlcn.checks.held_out import HeldOutPredictions, held_out_predictions
from ddlcn.checks.scores import blank_score, is_mislabelled, mislabelled_score, unbalanced_score, unusual_score

__all__ = [
    "DataCheck",
    "Duplicates",
    "HeldOutPredictions",
    "ImageFacts",
    "blank_score",
    "check_images",
    "examine",
    "find_duplicates",
    "held_out_predictions",
    "image_facts",
    "is_mislabelled",
    "mislabelled_score",
    "unbalanced_score",
    "unusual_score",
]
