"""The classifier by the contract of scikit-learn, and what may never happen to a model."""

import inspect
import io

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_array_equal
from PIL import Image
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from ddlcn import Channel, DDLCNClassifier, DDLCNError, ImageError, ImageSet, MeanGrid, presets
from ddlcn.execution.progress import listen
from ddlcn.layers.part import Part
from ddlcn.layers.patches import Descriptors
from tests.helpers import (
    assert_same_model,
    counting_channels,
    eight_bit,
    image_files,
    quick_channels,
    quick_model,
    run_python,
)


@pytest.fixture(scope="module")
def fitted(digits):
    return quick_model().fit(*digits)


# ------------------------------------------------------------------------------------ scikit-learn's contract

# rows of these checks are points, not images: brightness is all they have, so contrast must count
BRIGHTNESS = quick_channels(sift__descriptor__contrast_threshold=100.0)
WEIGHTS = {"check_sample_weight_equivalence_on_dense_data": "weights act in the SVM; dictionaries have no weights"}


@parametrize_with_checks(
    [quick_model(image_shape=(1, -1), channels=BRIGHTNESS), DDLCNClassifier(image_shape=(-1, 1), preset="paper")],
    expected_failed_checks=lambda _: WEIGHTS,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_constructor():
    """Exactly as in the design."""
    wanted = {"preset": "best", "channels": None, "images_per_class": "auto", "atoms_per_class": "auto"}
    wanted |= {"deeper_atoms": (64,), "deskew": "auto", "augmentation": "auto", "C": "auto", "backbone": None}
    wanted |= {"class_weight": None, "image_shape": None, "work_folder": None, "random_state": 0, "n_jobs": None}
    wanted |= {"verbose": False}
    parameters = inspect.signature(DDLCNClassifier).parameters
    assert [(name, parameter.default) for name, parameter in parameters.items()] == list(wanted.items())
    assert [*inspect.signature(DDLCNClassifier.fit).parameters] == ["self", "X", "y", "sample_weight"]


def test_grid_search_over_nested_params(digits):
    channels = list(presets.paper(atoms_per_class=2, deeper_atoms=(6,)).channels)
    grid = {"sift__coder__beta": [0.01, 1e4], "sift__descriptor__min_side": [40]}
    search = GridSearchCV(DDLCNClassifier(preset="paper", channels=channels), grid, cv=2).fit(*digits)
    assert search.best_estimator_.encoder_["sift"].coder.beta == search.best_params_["sift__coder__beta"] == 0.01
    assert search.best_score_ > 0.9
    assert channels[0].descriptor.min_side is None
    assert not [name for name in DDLCNClassifier().get_params() if "__" in name]
    with pytest.raises(ValueError, match="no channel 'sift' among those given as channels="):
        DDLCNClassifier().set_params(sift__coder__beta=0.2)


def test_pipeline_and_cross_validation(digits, tmp_path):
    assert cross_val_score(make_pipeline(FunctionTransformer(), quick_model()), *digits, cv=2).min() > 0.9
    paths = image_files(tmp_path, eight_bit(digits[0]))
    assert cross_val_score(quick_model(), paths, digits[1], cv=2).min() > 0.9


# ---------------------------------------------------------------------------------------- images and labels


def test_default_model(digits):
    images, labels = digits
    model = DDLCNClassifier(atoms_per_class=4).fit(images[::2], labels[::2])
    assert model.score(images[1::2], labels[1::2]) > 0.95
    assert model.n_train_ == 24
    assert set(model.timings_) == {"colour", "deskew", "weights", "dictionaries", "encoding", "augmentation", "svm"}


def test_images_of_any_kind(digits, tmp_path):
    """Paths, stacks and lists of arrays, grey or in colour, and rows of a matrix."""
    images, labels = eight_bit(digits[0]), digits[1]
    truth, colour = quick_model().fit(images, labels), np.repeat(images[..., None], 3, axis=3)
    assert isinstance(truth.transform(images), csr_array)
    scores = truth.decision_function(images)
    for same in (list(images), colour, list(colour), image_files(tmp_path, images), images[..., None]):
        assert_array_equal(truth.decision_function(same), scores)
        assert quick_model().fit(same, labels).score(images, labels) > 0.95
    rows = images.reshape(len(labels), -1)
    assert_array_equal(quick_model(image_shape=(8, 8)).fit(rows, labels).decision_function(rows), scores)


# ---------------------------------------------------------------------------------------- seeds and weights


def test_random_state(digits):
    def atoms(state):
        model = quick_model(random_state=state).fit(*digits)
        assert model.score(*digits) > 0.9
        return model.encoder_["sift"].dictionaries[0]

    state = np.random.RandomState(1)
    first, second = atoms(state), atoms(state)  # it moves on, as scikit-learn's do
    assert_array_equal(first, atoms(np.random.RandomState(1)))
    assert_array_equal(atoms(3), atoms(np.int64(3)))
    assert min(np.abs(first - other).max() for other in (second, atoms(None))) > 1e-3


def test_class_weight_equals_sample_weight(digits):
    images, labels = digits
    given = {0: 0.01, 1: 1.0, 2: 2.0, 3: 1.0}
    by_class = quick_model(class_weight=given).fit(images, labels)
    by_image = quick_model().fit(images, labels, sample_weight=[given[label] for label in labels])
    plain, balanced = (quick_model(class_weight=each).fit(images, labels) for each in (None, "balanced"))
    assert_array_equal(by_class.svm_.coef_, by_image.svm_.coef_)
    assert_array_equal(plain.svm_.coef_, balanced.svm_.coef_)  # as many images of each class
    assert by_class.decision_function(images)[:, 0].mean() < plain.decision_function(images)[:, 0].mean() - 0.05


# -------------------------------------------------------------------------------------------- interruptions


def state_of(model):
    """Each attribute, and that it is the same object."""
    return {name: id(value) for name, value in vars(model).items()}


def stop_at(stage, error):
    def listener(name, done, total):
        if name == stage:
            raise error

    return listen(listener)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("stage", ["Deskew", "Dictionaries", "Encoding", "Augmentation"])
def test_interrupted_fit_leaves_the_model_as_it_was(digits, stage, error):
    images, labels = np.pad(digits[0], ((0, 0), (3, 3), (3, 3))), digits[1]  # so that there is something to deskew
    model = quick_model(deskew="auto", augmentation="flip").fit(images, labels)
    before, scores = state_of(model), model.decision_function(images)
    with pytest.raises(error), stop_at(stage, error):
        model.fit(images[:20, :, ::-1], labels[:20])
    assert state_of(model) == before
    before = state_of(model.set_params(channels=counting_channels(fail_at=60)))  # by a descriptor
    with pytest.raises(KeyboardInterrupt):
        model.fit(images[::-1], labels)
    assert state_of(model) == before
    assert_array_equal(model.decision_function(images), scores)


def test_refused_fit_leaves_the_model_as_it_was(digits):
    """Also where the error comes with the last step, or the number of columns is another."""
    rows, labels = digits[0].reshape(48, -1), digits[1]
    model = quick_model(image_shape=(-1, 8)).fit(rows, labels)
    scores = model.decision_function(rows)
    for X, y, weights in (
        (rows[:, :32], labels[:-1], None),
        (rows[:, :30], labels, None),
        (rows[:, :32], labels, labels == 0),
    ):
        before = state_of(model)
        with pytest.raises(ValueError, match=r"inconsistent|does not fit|only one class"):
            model.fit(X, y, weights)
        assert state_of(model) == before
    assert_array_equal(model.decision_function(rows), scores)


def test_interrupted_extend_leaves_the_model_as_it_was(digits, tmp_path):
    images, labels = digits
    model = quick_model(work_folder=tmp_path / "work").fit(images[12:], labels[12:])
    before, scores = state_of(model), model.decision_function(images)
    for error in (KeyboardInterrupt, OSError):
        with pytest.raises(error), stop_at("Encoding", error):
            model.extend(images[:12], labels[:12])
        assert state_of(model) == before
    assert_array_equal(model.decision_function(images), scores)
    assert model.extend(images[:12], labels[:12]).n_train_ == 48


def test_unfitted(digits, fitted, tmp_path):
    images, labels = digits
    interrupted, half = quick_model(), quick_model()
    with pytest.raises(KeyboardInterrupt), stop_at("Encoding", KeyboardInterrupt):
        interrupted.fit(images, labels)
    half.encoder_ = fitted.encoder_
    calls = dict.fromkeys(("predict", "predict_proba", "predict_log_proba", "decision_function"), (images,))
    calls |= {"transform": (images,), "explain": (images[0],), "save": (tmp_path / "m",), "extend": (images, labels)}
    for model in (quick_model(), interrupted, half):
        for name, arguments in calls.items():
            with pytest.raises(NotFittedError):
                getattr(model, name)(*arguments)
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------------------------------- extend


def test_atoms_keep_their_class_after_extend(digits, tmp_path):
    """With a class that sorts first."""
    images, names, known = digits[0], np.array(["adder", "bee", "cat", "dog"])[digits[1]], digits[1] > 0
    model = quick_model(work_folder=tmp_path).fit(images[known], names[known])
    atoms, selection = model.encoder_["sift"].dictionaries[0], model.selection_
    for classes in (["bee", "cat", "dog"], ["adder", "bee", "cat", "dog"]):
        assert_array_equal(model.classes_, classes)
        assert_array_equal(model.classes_[model.encoder_["sift"].atom_classes], np.repeat(["bee", "cat", "dog"], 2))
        if len(classes) == 3:
            assert model.extend(images[~known], names[~known]) is model
    assert model.encoder_["sift"].dictionaries[0] is atoms
    assert model.selection_ is selection
    assert model.score(images, names) > 0.9


def test_extend_refusals(digits, tmp_path):
    with pytest.raises(DDLCNError, match="extend needs the work folder of the training: set work_folder= to it"):
        quick_model().fit(*digits).extend(*digits)
    model = quick_model(work_folder=tmp_path / "a").fit(*digits)
    with pytest.raises(DDLCNError, match="labels of <U3, but the model's are of int64"):
        model.extend(digits[0][:2], ["0", "cat"])
    with pytest.raises(DDLCNError, match="train again with this work folder"):
        model.set_params(work_folder=tmp_path / "b").extend(*digits)


# ---------------------------------------------------------------------------------------- parts of a user


class GreyMeans(Part):
    """The mean and the deviation of each quarter of an image."""

    n_features = 2

    def describe(self, image):
        grey = image.grey((16, 16))
        half = grey.shape[0] // 2
        quarters = [grey[:half, :half], grey[:half, half:], grey[half:, :half], grey[half:, half:]]
        values = np.array([[each.mean(), each.std()] for each in quarters], np.float32)
        centres = (np.array([[1, 1], [1, 3], [3, 1], [3, 3]]) * half / 2).astype(np.float32)
        return Descriptors(values, centres, grey.shape, np.full(4, half, np.int32))


def test_descriptor_of_a_user(digits, tmp_path):
    means = Channel("means", GreyMeans(), None, MeanGrid(2), weight="auto")
    sift, fixed = quick_channels("paper"), means.with_params(weight=1.0)
    model = quick_model(channels=[*sift, means], work_folder=tmp_path / "work").fit(*digits)
    assert "weight of means" in {row["setting"] for row in model.selection_}
    both = quick_model(channels=[*sift, fixed]).fit(*digits)
    assert [channel.name for channel in both.encoder_.channels] == ["sift", "means"]
    assert both.score(*digits) > 0.95
    evidence = both.explain(digits[0][0])
    assert evidence.bias + sum(c.total for c in evidence.channels) == pytest.approx(evidence.score, abs=1e-5)
    with pytest.raises(DDLCNError, match=r"can't save this model \(.*descriptor"):
        both.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    assert quick_model(channels=[fixed], deskew="auto").fit(*digits).score(*digits) > 0.5


# ---------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("change", "data", "words"),
    [
        ({}, lambda x, y: (x, y[:-1]), "48 images but 47 labels: give one label per image"),
        ({}, lambda x, y: (x, np.zeros_like(y)), "at least 2 classes"),
        ({}, lambda x, y: (x.reshape(len(x), -1), y), r"set image_shape=\(height, width\) if each row is one"),
        ({}, lambda x, y: ([], []), "no images"),
        ({}, lambda x, y: (x[0], y[:8]), r"list of images, as in \["),
        ({}, lambda x, y: (np.repeat(x[0, ..., None], 3, axis=2), y[:8]), r"list of images, as in \["),
        ({}, lambda x, y: (np.where(x > 15, np.nan, x), y), "NaN"),
        ({"image_shape": (3, 3)}, lambda x, y: (x.reshape(len(x), -1), y), "image_shape=.3, 3. does not fit"),
    ],
)
def test_mistakes_get_one_line(digits, change, data, words):
    with pytest.raises(DDLCNError, match=words) as error:
        DDLCNClassifier(**change).fit(*data(*digits))
    assert "\n" not in str(error.value)


def test_broken_file_is_named(digits, fitted, tmp_path):
    (tmp_path / "broken.png").write_bytes(b"no image")
    paths = image_files(tmp_path, eight_bit(digits[0][:2]))
    for call in (fitted.predict, lambda X: quick_model().fit(X, [0, 1, 1])):
        for name in ("broken.png", "gone.png"):
            with pytest.raises(ImageError, match=name):
                call([*paths, tmp_path / name])


HIDDEN = """
import sys, warnings
warnings.simplefilter("ignore")  # filelock warns if it has neither fcntl nor msvcrt
for name in ("fcntl", "resource", "pwd"):
    sys.modules[name] = None
import ddlcn, ddlcn_lab.report, ddlcn_lab.runner
from tests.helpers import quick_model, small_digits
images, labels = small_digits(4, 2)
model = quick_model(work_folder=sys.argv[1], n_jobs=2).fit(images, labels)
model.extend(images[:2], labels[:2]).save(sys.argv[2])
print(ddlcn.DDLCNClassifier.load(sys.argv[2]).score(images, labels), *(sys.modules[n] for n in ("fcntl", "pwd")))
"""


def test_without_posix_modules(tmp_path):
    assert run_python(HIDDEN, tmp_path / "work", tmp_path / "model").split() == ["1.0", "None", "None"]


# --------------------------------------------------------------------------------------- views, kinds of images


def test_views(fitted, tmp_path):
    line = "DDLCNClassifier fitted on 48 images of 4 classes (0, 1, 2, 3), channels sift, sift_grid"
    fitted.save(tmp_path / "m")
    assert repr(fitted) == repr(DDLCNClassifier.load(tmp_path / "m")) == line
    assert repr(quick_model(channels=None)).startswith("DDLCNClassifier(")
    shown = fitted._repr_mimebundle_()
    assert shown["text/plain"] == line
    assert "0 (12), 1 (12)" in shown["text/html"]
    assert "ddlcn-model" not in quick_model()._repr_mimebundle_()["text/html"]


def test_view_of_hostile_labels(digits):
    images, labels = digits
    model = quick_model().fit(images, np.array(["<script>", "b", "c", "d"])[labels])
    assert "<script>" not in model._repr_mimebundle_()["text/html"].split("</table>")[0]


def test_kinds_of_images(digits, tmp_path):
    """The same pictures give the same scores, and the same content the same model, whatever they are given as."""
    images, labels = eight_bit(digits[0]), digits[1]
    paths = image_files(tmp_path, images)
    contents = [path.read_bytes() for path in paths]
    pillow, files = [Image.fromarray(image) for image in images], [io.BytesIO(content) for content in contents]
    of_arrays, of_files = quick_model().fit(images, labels), quick_model().fit(paths, labels)
    scores = of_arrays.decision_function(images)
    for X in (paths, contents, files, pillow, ImageSet.of(images, labels)):
        assert_array_equal(of_arrays.decision_function(X), scores)
    for X, model in ((pillow, of_arrays), (ImageSet.of(images, labels), of_arrays), (files, of_files)):
        assert_same_model(quick_model().fit(X, labels), model)
    one = of_arrays.explain(contents[0])
    assert_array_equal(one.map(), of_arrays.explain(images[0]).map())
    one.plot(Figure().add_subplot())


def test_bytes_with_a_work_folder(digits, tmp_path):
    images, labels = eight_bit(digits[0]), digits[1]
    contents = [path.read_bytes() for path in image_files(tmp_path, images)]
    model = quick_model(work_folder=tmp_path / "work")
    scores = model.fit(contents, labels).decision_function(contents)
    assert_array_equal(model.fit(contents, labels).decision_function(contents), scores)
    others = contents[1:] + contents[:1]
    assert not np.array_equal(model.fit(others, labels).decision_function(contents), scores)


def test_record_of_training(digits, tmp_path):
    images, labels = digits
    model = quick_model(work_folder=tmp_path).fit(images[:24], labels[:24])
    assert model.training_record_["class_counts"] == {0: 12, 1: 12}
    assert set(model.training_record_) == {"created", "version", "class_counts"}
    model.training_record_["test"] = {"accuracy": 0.5, "n_images": 4}
    model.save(tmp_path / "m")
    loaded = DDLCNClassifier.load(tmp_path / "m").set_params(work_folder=tmp_path)
    assert loaded.training_record_ == model.training_record_
    loaded.extend(images[30:], labels[30:])
    assert loaded.training_record_["class_counts"] == {0: 12, 1: 12, 2: 6, 3: 12}
    assert "test" not in loaded.training_record_  # it was of another model
