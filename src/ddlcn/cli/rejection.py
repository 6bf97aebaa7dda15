"""What `predict` does with images that may be unknown: a label and a reason for those, and sets of labels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ddlcn import description
from ddlcn.cli.terminal import console
from ddlcn.description import FALSE_ALARMS, describe
from ddlcn.errors import DDLCNError

if TYPE_CHECKING:
    import numpy as np

    import ddlcn

Row = dict[str, Any]


@dataclass(frozen=True)
class RejectionOptions:
    """The options about unknown images.

    Parameters
    ----------
    model : DDLCNClassifier
        It must have what the options need.
    label : str
        Of rejected images.
    reject : bool
        Reject images unlike the training images.
    false_alarms : float or None
        Share of known images that may be rejected for that, given if and only if `reject` is.
    min_probability : float or None
        Reject images whose best class is less probable.
    coverage : float or None
        Share of images whose true label is to be among their `labels`.
    class_conditional : bool
        Reach the coverage for each class.
    """

    model: "ddlcn.DDLCNClassifier"
    label: str = "unknown"
    reject: bool = False
    false_alarms: float | None = None
    min_probability: float | None = None
    coverage: float | None = None
    class_conditional: bool = False

    def __post_init__(self) -> None:
        if self.false_alarms is not None and not self.reject:
            raise DDLCNError("--false-alarms is about --reject; add --reject")
        if self.class_conditional and self.coverage is None:
            raise DDLCNError("--class-conditional is about --coverage; add --coverage X")
        if self.rejects and self.label in map(str, self.model.classes_):
            raise DDLCNError(f"{self.label!r} is a class of this model; name another label with --unknown-label")
        self.model.check_calibration(
            false_alarms=self.false_alarms,
            coverage=self.coverage,
            class_conditional=self.class_conditional,
        )

    @property
    def rejects(self) -> bool:
        """Whether images can be rejected."""
        return self.reject or self.min_probability is not None

    @property
    def columns(self) -> list[str]:
        """The columns that predictions get."""
        return ["reason"] * self.rejects + ["labels"] * (self.coverage is not None)

    def assess(self, paths: list[str]) -> Iterator[tuple["np.ndarray", Row]]:
        """Yield for each image its probabilities and these columns; also `label`, if it is rejected."""
        found = self.model.assess(paths, self.class_conditional)
        nothing = [None] * len(paths)
        unlike = nothing if self.false_alarms is None else found.unknown_reasons(self.false_alarms)
        sets = nothing if self.coverage is None else found.sets(self.coverage)
        for probabilities, reason, inside in zip(found.probabilities, unlike, sets, strict=True):
            row: Row = dict.fromkeys(self.columns)
            below = probabilities.max() < (self.min_probability or 0)
            reasons = [reason, f"probability below {self.min_probability:g}" if below else None]
            if any(reasons):
                row |= {"label": self.label, "reason": "; ".join(filter(None, reasons))}
            if inside is not None:
                order = (-probabilities).argsort(kind="stable")
                row["labels"] = self.model.classes_[order[inside[order]]].tolist()
            yield probabilities, row


def default_false_alarms(model: "ddlcn.DDLCNClassifier") -> float:
    """Return 5 %; or, with a note, the least share that the model allows if this is a little more."""
    found = describe(model)["conformal"]
    share = description.default_false_alarms(found) or FALSE_ALARMS  # an error will say that it is not allowed
    if share > FALSE_ALARMS:
        n = found["n_images"]
        console(stderr=True).print(f"False alarms: about {share:.1%}, as {n} held-out training images allow no fewer")
    return share
