"""The model and the channels that the options of `ddlcn train` and `ddlcn cross-validate` describe."""

from typing import Any

import ddlcn
from ddlcn.errors import DDLCNError


def build_model(
    preset: str,
    channels: dict[str, float | str | None] | None,
    backbone: str | None,
    seed: int,
    n_jobs: int,
    *,
    deskew: str,
    augmentation: str,
    C: float | str,
    class_weight: str,
    coder: str | None = None,
    neighbors: tuple[int, ...] | None = None,
    beta: float | None = None,
    **dictionary: Any,
) -> "ddlcn.DDLCNClassifier":
    """Return the classifier that options describe; `dictionary` has parameters of `DictionaryLearning`."""
    preset, augmentation = str(preset), str(augmentation)  # choices of options are a subclass of str
    own = {"backbone": backbone, **dictionary}
    changed = build_channels(preset, channels, coder, neighbors, beta, **own)
    return ddlcn.DDLCNClassifier(
        preset=preset,
        channels=changed,
        **(own if changed is None else {}),
        deskew={"yes": True, "no": False}.get(deskew, "auto"),
        augmentation=augmentation,
        C=C,
        class_weight=None if class_weight == "none" else str(class_weight),
        random_state=seed,
        n_jobs=n_jobs,
    )


def build_channels(
    preset: str,
    weights: dict[str, float | str | None] | None = None,
    coder: str | None = None,
    neighbors: tuple[int, ...] | None = None,
    beta: float | None = None,
    backbone: str | None = None,
    **dictionary: Any,
) -> "list[ddlcn.Channel] | None":
    """Return the channels of a preset with other settings; None if no option changes them.

    Parameters
    ----------
    preset : str
    weights : dict, optional
        The channels to use, and their weights; None is the weight of the preset.
    coder : "exact" or "llc", optional
        The coders of `sift`.
    neighbors : tuple of int, optional
        Nearest atoms in its codes: of the first layer, and of deeper ones.
    beta : float, optional
        Price of far atoms (exact coder).
    backbone : str, optional
        A frozen network, by name or as the path of an ONNX file.
    **dictionary
        Parameters of `DictionaryLearning`.

    Raises
    ------
    DDLCNError
        If the preset has no such channel, or a coder no such parameter.
    """
    if weights is None and coder is None and neighbors is None and beta is None:
        return None
    from ddlcn.presets import get_preset

    known = {channel.name: channel for channel in get_preset(preset, backbone, **dictionary).channels}
    for name, weight in (weights or {}).items():
        if name not in known:
            raise DDLCNError(f"--channels: preset {preset} has no channel {name!r}; choose from {', '.join(known)}")
        known[name] = known[name] if weight is None else known[name].with_params(weight=weight)
    if "sift" in known:
        known["sift"] = _with_coders(known["sift"], coder, neighbors, beta)
    return [known[name] for name in weights or known]


def _with_coders(
    channel: "ddlcn.Channel", coder: str | None, neighbors: tuple[int, ...] | None, beta: float | None
) -> "ddlcn.Channel":
    for layer, role in enumerate(("coder", "deeper_coder")):
        old = getattr(channel, role)
        kind: Any = {None: type(old), "exact": ddlcn.LocalityCoder, "llc": ddlcn.LLCCoder}[coder]
        params = old.get_params() if kind is type(old) else {"n_neighbors": old.n_neighbors}
        if neighbors and layer < len(neighbors):
            params["n_neighbors"] = neighbors[layer]
        if beta is not None:
            if kind is not ddlcn.LocalityCoder:
                raise DDLCNError("--beta is a parameter of the exact coder; leave it out, or --coder llc")
            params["beta"] = beta
        channel = channel.with_params(**{role: kind(**params)})
    return channel
