"""Laws that hold for every method. Methods whose extra is missing are skipped."""

import numpy as np
import pytest

from ddlcn.errors import DDLCNError
from ddlcn_lab.methods.registry import METHODS, get_method

SMALL = {
    **{name: {"codebookfeatures__n_atoms": 40} for name in ("scspm", "lscspm", "kc", "llc-1024")},
    "m-hmp": {"multipathfeatures__atoms": 24, "multipathfeatures__small_atoms": 12},
    "convolutional-clustering": {"clusteredfilters__n_filters": (12, 12)},
    "fisher": {"fishervectors__n_components": 8, "fishervectors__n_dimensions": 16},
    "local-nbnn": {"n_lists": 8, "probes": 4},
    "spm": {"pyramidhistograms__n_atoms": 40},
    "dcn": {"deepcoding__n_first": 8, "deepcoding__n_second": 8},
    "mnist-recipe": {"min_images": 30},
}


def fit(name, images, y, n_jobs):
    model = get_method(name).make(5, 5, 0, n_jobs).set_params(**SMALL.get(name, {}))
    try:
        return model.fit(list(images), y)
    except DDLCNError as error:
        if "pip install" in str(error) or "no weights" in str(error):
            pytest.skip(str(error))
        raise


def outputs(model, images):
    """Scores where the method has them, else labels."""
    return model.decision_function(images) if hasattr(model, "decision_function") else model.predict(images)


@pytest.fixture(scope="module", params=METHODS)
def fitted(request, pictures):
    images, y, *_ = pictures
    before = images.copy(), y.copy()
    state = np.random.get_state()[1].copy()
    model = fit(request.param, images, y, n_jobs=1)
    return request.param, model, before, np.array_equal(state, np.random.get_state()[1])


def test_better_than_chance(fitted, pictures):
    assert np.mean(fitted[1].predict(list(pictures[2])) == pictures[3]) > 0.7


def test_batch_equals_single(fitted, pictures):
    model, others = fitted[1], list(pictures[2][:8])
    np.testing.assert_array_equal(model.predict(others), [model.predict([each])[0] for each in others])
    single = np.concatenate([outputs(model, [each]) for each in others])
    np.testing.assert_allclose(outputs(model, others), single, rtol=1e-4, atol=1e-5)


def test_any_n_jobs_and_same_seed(fitted, pictures):
    name, model, _, state_unchanged = fitted
    images, y, others, _ = pictures
    np.testing.assert_array_equal(outputs(fit(name, images, y, 2), list(others)), outputs(model, list(others)))
    assert state_unchanged  # NumPy's global one


def test_inputs_unchanged(fitted, pictures):
    others = pictures[2].copy()
    fitted[1].predict(list(others))
    np.testing.assert_array_equal(others, pictures[2])
    for before, after in zip(fitted[2], pictures[:2], strict=True):
        np.testing.assert_array_equal(before, after)
