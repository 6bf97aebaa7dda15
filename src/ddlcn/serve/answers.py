"""What the API answers, as in its OpenAPI description."""

from typing import Any

from pydantic import BaseModel, Field


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str


class Share(BaseModel):
    """A class and its probability."""

    label: str
    probability: float = Field(ge=0, le=1)


class Prediction(BaseModel):
    """The classes of an image."""

    name: str = Field(description="the file's name, as sent")
    label: str = Field(description="the most likely class")
    probability: float = Field(ge=0, le=1, description="calibrated on the training images")
    classes: list[Share] = Field(description="all classes, the most likely first")
    novelty: float | None = Field(
        ge=0, le=1, description="high for images unlike the training images; null if the model has no calibration"
    )
    unknown: bool | None = Field(
        description="whether the novelty is at least 1 − false_alarms of /api/model; null if that is null"
    )
    reason: str | None = Field(description="unlike the training images, and why, in words; null unless unknown")


class Failure(BaseModel):
    """Why an image has no prediction."""

    name: str = Field(description="the file's name, as sent")
    error: str = Field(description="what is wrong with the image, and what to do")


class Predictions(BaseModel):
    """Predictions in the order of the images, with a failure for each image that can't be used."""

    predictions: list[Prediction | Failure]


class Stroke(BaseModel):
    """Edges of one strength: SVG path data in a square of 100 × 100."""

    path: str
    strength: float = Field(description="up to 1, the strongest of the atom")


class Atom(BaseModel):
    """An atom of a dictionary: one of SIFT is drawn as edges, one of colour statistics as a picture."""

    channel: str
    atom: int = Field(description="its number in the dictionary, from 0")
    strokes: list[Stroke] = Field(default=[], description="the edges of an atom of SIFT")
    picture: str | None = Field(
        default=None,
        description="a data URI: the colours of an atom of colour statistics; for an atom that can't be drawn, its "
        "strongest patch in the image that is explained",
    )
    learnt_from: str | None = Field(default=None, description="the class of a first-layer atom")


class Patch(BaseModel):
    """A square of the image, in fractions of its width and height."""

    left: float
    top: float
    width: float
    height: float


class AtomShare(Atom):
    """The share of an atom in the score, and its patches in the image, the strongest first."""

    share: float = Field(description="its part of the score")
    patches: list[Patch]


class ChannelShare(BaseModel):
    """What a channel adds to the score."""

    name: str
    total: float


class Explanation(Prediction):
    """Where in an image a class's score comes from: score = bias + the sum of the evidence."""

    explained: str = Field(description="the class that the evidence is for")
    score: float = Field(description="of the linear SVM, before calibration to a probability")
    bias: float = Field(description="the part of the score that no patch adds")
    channels: list[ChannelShare] = Field(description="what each channel adds to the score")
    shape: tuple[int, int] = Field(description="height and width of the image at working size")
    deskewed: bool = Field(description="whether the image at working size is deskewed")
    largest: float = Field(description="the largest evidence of a pixel, for or against")
    image: str = Field(description="the image at working size: a data URI")
    map: str = Field(description="the evidence to lay over the image, red for and blue against: a PNG data URI")
    values: list[list[float]] | None = Field(default=None, description="the evidence of each pixel, if numbers=true")
    atoms: list[AtomShare] = Field(description="the atoms with the largest shares")


class UsedAtom(Atom):
    """An atom and, in a deeper layer, the first-layer atoms that use it, with their weights."""

    used_by: list[tuple[float, Atom]] = Field(
        default=[], description="weight and first-layer atom, the largest weight first"
    )


class Atoms(BaseModel):
    """Some atoms of a layer, those with the largest weights first."""

    channel: str
    note: str = Field(description="how to read the atoms of this channel")
    layer: int
    total: int = Field(description="number of atoms of the layer, or of one class of it")
    atoms: list[UsedAtom]


class Allowed(BaseModel):
    """The limits of a request."""

    bytes: int = Field(description="of the whole body")
    images: int = Field(description="of /api/predict")
    pixels: int = Field(description="of all images together; of JPEGs, after they are shrunk")


class Model(BaseModel):
    """The model that is served, described as by ddlcn info --json."""

    name: str
    version: str = Field(description="of ddlcn")
    classes: list[str]
    n_train: int = Field(description="number of training images")
    value_range: tuple[float, float] = Field(description="black and white of arrays of floats")
    preprocessing: dict[str, Any]
    channels: list[dict[str, Any]] = Field(description="descriptor, coder, pooling, … of each channel")
    weights: list[float] = Field(description="of the channels")
    atoms: dict[str, list[int]] = Field(description="atoms of each layer, by channel")
    n_features: int
    C: float = Field(description="weight of errors in the SVM")
    augmentation: str = Field(description="of the training images")
    selection: list[dict[str, Any]] = Field(description="settings chosen on held-out training images")
    conformal: dict[str, Any] | None = Field(
        description="how many held-out images novelty rests on; null if the model has no calibration"
    )
    false_alarms: float | None = Field(
        description="share of images of known classes that are called unknown: 0.05, or 1 / (n + 1) for a calibration "
        "on n = 9 to 18 images; null if unknown images can't be recognised: fewer images, or no calibration"
    )
    limits: Allowed


class Health(BaseModel):
    """The server is running."""

    status: str = Field(description="ok")
