"""What the API answers, as it stands in its OpenAPI description."""

from pydantic import BaseModel, Field


class Problem(BaseModel):
    """Why there is no other answer."""

    detail: str


class Share(BaseModel):
    """A class and how likely it is."""

    label: str
    probability: float = Field(ge=0, le=1)


class Prediction(BaseModel):
    """What an image shows."""

    name: str = Field(description="the file's name, as sent")
    label: str = Field(description="the likeliest class")
    probability: float = Field(ge=0, le=1, description="calibrated on the training images")
    classes: list[Share] = Field(description="all classes, likeliest first")


class Predictions(BaseModel):
    """Answers in the order of the images."""

    predictions: list[Prediction]


class Stroke(BaseModel):
    """Edges of one strength: SVG path data in a square of 100 × 100."""

    path: str
    strength: float = Field(description="up to 1, the strongest of the atom")


class Atom(BaseModel):
    """An atom of a dictionary, drawn as the edges it stands for."""

    atom: int = Field(description="its number in the dictionary, from 0")
    strokes: list[Stroke]
    learnt_on: str | None = Field(default=None, description="the class of a first-layer atom")


class Patch(BaseModel):
    """A square of the image, in fractions of its width and height."""

    left: float
    top: float
    width: float
    height: float


class AtomShare(Atom):
    """What an atom brought to the score, and the patches that it fired on, strongest first."""

    share: float = Field(description="its part of the score")
    patches: list[Patch]


class Explanation(Prediction):
    """Where in an image a class's score comes from: score = bias + the sum of the evidence."""

    explained: str = Field(description="the class that the evidence is for")
    score: float = Field(description="of the linear SVM, before it becomes a probability")
    bias: float = Field(description="the part of the score that no patch brings")
    deep: float = Field(
        description="the part of the score that patches bring by the deep channel, not by atoms"
    )
    shape: tuple[int, int] = Field(description="height and width of the image as the model sees it")
    largest: float = Field(description="the strongest evidence of a pixel, for or against")
    image: str = Field(description="the image as the model sees it: a data URI")
    map: str = Field(
        description="the evidence to lay over the image, red for and blue against: a PNG data URI"
    )
    values: list[list[float]] | None = Field(
        default=None, description="the evidence of each pixel, if asked for"
    )
    atoms: list[AtomShare] = Field(description="the atoms that matter most")


class SharedAtom(Atom):
    """An atom and, in a deeper layer, the first-layer atoms that share it, with their weights."""

    shared_by: list[tuple[float, Atom]] = Field(
        default=[], description="weight and first-layer atom, heaviest first"
    )


class Atoms(BaseModel):
    """Some atoms of a layer, those that matter most first."""

    layer: int
    total: int = Field(description="how many there are to ask for")
    atoms: list[SharedAtom]


class Layer(BaseModel):
    """A dictionary and how images are coded with it."""

    atoms: int = Field(description="how many")
    coder: str = Field(description="exact or llc")
    neighbors: int = Field(description="the nearest atoms that take part in a code")


class Allowed(BaseModel):
    """What a request may bring."""

    bytes: int = Field(description="of the whole body")
    images: int = Field(description="to predict at once")
    pixels: int = Field(description="of all images together")


class Model(BaseModel):
    """What is served."""

    name: str
    version: str = Field(description="of ddlcn")
    classes: list[str]
    n_train: int = Field(description="images that it was trained on")
    layers: list[Layer]
    limits: Allowed


class Health(BaseModel):
    """A sign of life."""

    status: str = Field(description="ok")
