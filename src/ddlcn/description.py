"""What a fitted model is: as one dict for `ddlcn info --json`, reports and the server, and in plain words."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from math import ceil, floor
from typing import Any

from ddlcn.errors import listed
from ddlcn.intervals import wilson_interval

_CLASSES_SHOWN = 20
FALSE_ALARMS = 0.05  # share of images of known classes that are called unknown, by default
_MOST_FALSE_ALARMS = 0.1  # by default, where held-out images are few


def describe(model: Any) -> dict[str, Any]:
    """Return what a fitted model is, in JSON's types.

    Parameters
    ----------
    model : DDLCNClassifier
        A fitted model.

    Returns
    -------
    dict
        `classes`, `n_train`, the encoder's own description (`value_range`, `preprocessing`, `channels`, `weights`),
        `atoms` (the sizes of the dictionaries that each channel has learnt), `n_features`, `C`, `augmentation`,
        `selection` and `conformal`: how many held-out images novelty and prediction sets rest on (`n_images`, and
        `n_smallest_class` of them in the smallest class), and what they allow; None without calibration.
    """
    encoder = model.encoder_
    learnt = [channel for channel in encoder.channels if channel.atom_classes is not None]
    return {
        "classes": model.classes_.tolist(),
        "n_train": int(model.n_train_),
        **encoder.to_dict(),
        "atoms": {channel.name: [len(atoms) for atoms in channel.dictionaries] for channel in learnt},
        "n_features": int(encoder.n_features),
        "C": float(model.svm_.C_),
        "augmentation": model.augmentation_,
        "selection": [dict(row) for row in model.selection_],
        "conformal": _describe_calibration(model),
    }


def _describe_calibration(model: Any) -> dict[str, Any] | None:
    if model.calibration_ is None:
        return None
    n, smallest = (model.calibration_.n_images(each, len(model.classes_)) for each in (False, True))
    return {
        "n_images": n,
        "n_smallest_class": smallest,
        "min_false_alarms": 1 / (n + 1),
        "max_coverage": n / (n + 1),
        "max_class_conditional_coverage": smallest / (smallest + 1),
    }


def default_false_alarms(conformal: dict[str, Any] | None) -> float | None:
    """Return 5 %, or what the held-out images allow if that is between 5 and 10 %; None if it is more."""
    least = 1.0 if conformal is None else conformal["min_false_alarms"]
    return max(least, FALSE_ALARMS) if least <= _MOST_FALSE_ALARMS else None


def describe_training(model: Any) -> dict[str, Any]:
    """Return when and on what a model was trained, in JSON's types; None where its file does not tell.

    Parameters
    ----------
    model : DDLCNClassifier
        A fitted model.

    Returns
    -------
    dict
        `created` (date), `version` (of ddlcn), `class_counts` (images of each class) and `test`.
    """
    record = dict.fromkeys(("created", "version", "class_counts", "test")) | model.training_record_
    counts = record["class_counts"]
    return record | {"class_counts": counts and list(counts.values())}


def card(description: dict[str, Any]) -> dict[str, list[str]]:
    """Return the most important facts as lines of text, by name, for `ddlcn info` and notebooks.

    `description` is that of `describe` and of `describe_training` together.
    """
    names, counts, test = (
        [str(each) for each in description["classes"]],
        description["class_counts"],
        description["test"],
    )
    augmentation, tested = description["augmentation"], "none when it was trained; use ddlcn evaluate"
    copies = "" if augmentation == "none" else f" (augmentation: {augmentation})"
    when = f"{description['created']}, by ddlcn {description['version']}"
    if counts:
        names = [f"{name} ({n:,})" for name, n in zip(names, counts, strict=True)]
    if test:
        low, high = wilson_interval(test["accuracy"], test["n_images"])
        tested = f"accuracy {test['accuracy']:.1%} on {test['n_images']:,} held-out images"
        tested += f" (95% interval {low:.1%} to {high:.1%})"
    return {
        "trained": [when if description["created"] else "unknown when (the file is of an older version)"],
        "trained on": [f"{description['n_train']:,} images{copies}"],
        "classes": [f"{len(names)}{', with their images' if counts else ''}: {listed(names, _CLASSES_SHOWN)}"],
        "test": [tested],
        "unknown images": _calibration_sentences(description["conformal"]),
        "channels": channel_sentences(description),
        "selection": selection_sentences(description["selection"]),
    }


def fitted_repr(model: Any) -> str:
    """Return one line about a fitted model."""
    channels = ", ".join(channel.name for channel in model.encoder_.channels)
    classes = f"{len(model.classes_):,} classes ({listed(model.classes_, 5)})"
    return f"{type(model).__name__} fitted on {model.n_train_:,} images of {classes}, channels {channels}"


def fitted_html(model: Any) -> str:
    """Return what a notebook shows of a fitted model."""
    described = describe(model) | describe_training(model)
    rows = [(name, lines) for name, lines in card(described).items() if name != "test" or described["test"]]
    cells = [f'<tr><th>{name}<td style="text-align:left">{"<br>".join(map(escape, lines))}' for name, lines in rows]
    return f'<table class="ddlcn-model">{"".join(cells)}</table>'


def settings(description: dict[str, Any]) -> dict[str, str]:
    """Return the settings of a description as text, by name: `deskew`, `sift.weight`, `sift.coder`, …"""
    found = {"deskew": _text(description["preprocessing"]["deskew"] is not None)}
    seen: dict[str, str] = {}  # the first channel with each descriptor
    for channel, weight in zip(description["channels"], description["weights"], strict=True):
        name, *parts = channel.items()
        found[f"{name[1]}.weight"] = _text(weight)
        found |= {f"{name[1]}.{key}": _text(value) for key, value in parts if value is not None}
        first = seen.setdefault(found[f"{name[1]}.descriptor"], name[1])
        if first != name[1]:
            found[f"{name[1]}.descriptor"] = f"that of {first}"
        if atoms := description["atoms"].get(name[1]):
            found[f"{name[1]}.atoms"] = " + ".join(map(str, atoms))
    found |= {"augmentation": description["augmentation"], "C": _text(description["C"])}
    return found


def channel_sentences(description: dict[str, Any]) -> list[str]:
    """Return a line per channel of a description: its name, weight, and the sizes of its dictionaries."""
    found = []
    for channel, weight in zip(description["channels"], description["weights"], strict=True):
        atoms = description["atoms"].get(channel["name"])
        learnt = f", {' + '.join(map(str, atoms))} atoms" if atoms else ""
        found.append(f"{channel['name']}: weight {_text(weight)}{learnt}")
    return found


def _calibration_sentences(conformal: dict[str, Any] | None) -> list[str]:
    """What can be asked about unknown images, rounded to what is possible."""
    if conformal is None:
        return ["no calibration, so that images can't be rejected as unknown"]
    low = ceil(1000 * conformal["min_false_alarms"] - 1e-6) / 1000
    high, conditional = (
        floor(1000 * conformal[f"max_{kind}coverage"] + 1e-6) / 1000 for kind in ("", "class_conditional_")
    )
    return [
        f"calibrated on {conformal['n_images']:,} held-out training images,"
        f" {conformal['n_smallest_class']:,} in the smallest class",
        f"false alarms from {low:g}, coverage up to {high:g}"
        + (f", class-conditional up to {conditional:g}" if conditional else ""),
    ]


def networks(description: dict[str, Any]) -> list[str]:
    """Return the names of the frozen networks that channels of a description use."""
    descriptors = (channel["descriptor"] for channel in description["channels"])
    return list(dict.fromkeys(each["network"] for each in descriptors if each.get("kind") == "Backbone"))


def selection_sentences(selection: Iterable[dict[str, Any]]) -> list[str]:
    """Say in plain words what was chosen on held-out training images.

    Parameters
    ----------
    selection : list of dict
        `selection_` of a model.

    Returns
    -------
    list of str
        One for each setting.

    Examples
    --------
    >>> row = {"setting": "augmentation", "candidate": "none", "mean_gain": 0.0, "standard_error": 0.0, "chosen": False}
    >>> better = {"candidate": "flip", "mean_gain": 0.031, "standard_error": 0.008, "chosen": True}
    >>> selection_sentences([row, row | better])
    ['Augmentation: flip (gain 0.031 ± 0.008 in held-out log-likelihood over the default none)']
    """
    settings = groupby(selection, key=lambda row: row["setting"])
    return [_sentence(setting, list(rows)) for setting, rows in settings]


def _sentence(setting: str, rows: Sequence[dict[str, Any]]) -> str:
    chosen = next(row for row in rows if row["chosen"])
    return f"{setting[0].upper()}{setting[1:]}: {_candidate(chosen)} ({_reason(rows, chosen)})"


def _reason(rows: Sequence[dict[str, Any]], chosen: dict[str, Any]) -> str:
    default, *others = rows
    if not others or chosen["standard_error"] is None:
        return str(chosen["reason"])
    if chosen is default:
        tried = ", ".join(map(_candidate, others))
        return f"the default; {tried} gained no more than one standard error"
    earlier = rows[: rows.index(chosen)]
    beaten = [row for row in earlier if row is default or row["mean_gain"] > row["standard_error"]][-1]
    gain = f"gain {chosen['mean_gain']:.3f} ± {chosen['standard_error']:.3f} in held-out log-likelihood"
    return f"{gain} over {'the default ' if beaten is default else ''}{_candidate(beaten)}"


def _candidate(row: dict[str, Any]) -> str:
    """The value of a candidate; that of deskewing is whether it is done, or to what size."""
    value = row["candidate"]
    return _text(bool(value) if row["setting"] == "deskew" else value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if not isinstance(value, dict):
        return str(value)
    params = {name: each for name, each in value.items() if name != "kind" and each is not None}
    if "sha256" in params:
        params["sha256"] = f"{params['sha256'][:12]}…"
    return f"{value['kind']}({', '.join(f'{name}={each!r}' for name, each in params.items())})"
