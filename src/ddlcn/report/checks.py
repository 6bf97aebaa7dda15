"""The section about the data, of the report and of the page of `ddlcn check`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ddlcn.checks import DataCheck
from ddlcn.images import ImageSet
from ddlcn.report.examples import image_name

_SHOWN, _GROUPS, _MEMBERS, _LISTED = 24, 12, 4, 500

Picture = Callable[[ImageSet, int], dict[str, str]]


def check_section(check: DataCheck, picture: Picture) -> dict[str, Any]:
    """Return what the template of the section needs, with pictures of the first images of each finding.

    Parameters
    ----------
    check : DataCheck
    picture : callable
        Gives the picture of an image of an ImageSet.

    Returns
    -------
    dict
    """

    def shown(finding: str) -> dict[str, Any]:
        rows, score = check.first(finding).tolist(), check.scores[finding]
        cards = [
            {
                "picture": picture(check.images, i),
                "label": labels[i],
                "suggested": names[check.suggested[i]] if check.suggested[i] >= 0 else None,
                "score": float(score[i]),
            }
            for i in rows[:_SHOWN]
        ]
        more = [image_name(check.images, i) for i in rows[_SHOWN : _SHOWN + _LISTED]]
        return {"n": len(rows), "cards": cards, "more": more, "judged": not np.isnan(score).all()}

    labels, names = check.images.labels, check.images.target_names
    groups = []
    for rows, facts in zip(check.duplicates.members()[:_GROUPS], check.groups(), strict=False):
        pictures = [picture(check.images, i) | {"label": labels[i]} for i in rows[:_MEMBERS].tolist()]
        groups.append(facts | {"pictures": pictures, "more": len(rows) - len(pictures)})
    every, classes = check.groups(), check.classes()
    return {
        **{name: shown(name) for name in ("mislabelled", "unusual", "blank")},
        "groups": groups,
        "n_groups": len(every),
        "n_differ": sum(group["labels_differ"] for group in every),
        "n_duplicates": int(check.flags["duplicate"].sum()),
        "unbalanced": [each for each in classes if each["is_unbalanced"]],
        "largest": max(classes, key=lambda each: each["n_images"]),
        "grey": [each["label"] for each in classes if each["color_share"] <= 0.05],
        "colored": [each["label"] for each in classes if each["color_share"] >= 0.95],
        "is_grey_by_class": check.is_grey_by_class,
        "n_judged": int((~np.isnan(check.scores["mislabelled"])).sum()),
        "n_images": len(check.images),
        "accuracy": check.held_out_accuracy,
    }
