"""Predictions and explanations of uploads."""

import io
from base64 import b64decode
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier
from tests.report.conftest import bars
from tests.serve.conftest import CLASSES, png


def test_same_predictions_as_the_model(serve, model, image, tmp_path):
    images = {"a.png": image, "b.png": png(np.eye(60, 30, dtype=np.uint8) * 255)}
    answer = serve().post("/api/predict", files=[("images", item) for item in images.items()])
    assert answer.status_code == 200
    for (name, content), found in zip(images.items(), answer.json()["predictions"], strict=True):
        (tmp_path / name).write_bytes(content)
        [expected] = model.predict_proba([tmp_path / name])
        assert (found["name"], found["label"]) == (name, model.classes_[expected.argmax()])
        shares = {each["label"]: each["probability"] for each in found["classes"]}
        assert shares == pytest.approx(dict(zip(model.classes_, expected, strict=True)))
        assert list(shares.values()) == sorted(shares.values(), reverse=True)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_large_photograph(serve, model, image, tmp_path, kind):
    """The server shrinks it as the model does."""
    Image.open(io.BytesIO(image)).convert("RGB").resize((2998, 2249)).save(tmp_path / "large", kind)
    answer = serve().post("/api/predict", files={"images": (tmp_path / "large").read_bytes()}).json()
    found = {each["label"]: each["probability"] for each in answer["predictions"][0]["classes"]}
    assert [found[label] for label in model.classes_] == model.predict_proba([tmp_path / "large"])[0].tolist()


def test_unknown_images(serve, calibrated, tmp_path):
    client, blank = serve(model=calibrated), png(np.zeros((40, 40), np.uint8))
    files = {"bars.png": png(bars(np.random.default_rng(2), 0, 40)), "blank.png": blank}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    answer = client.post("/api/predict", files=[("images", item) for item in files.items()]).json()["predictions"]
    novelty = calibrated.novelty([tmp_path / name for name in files])
    assert [each["novelty"] for each in answer] == pytest.approx(novelty)
    assert [each["unknown"] for each in answer] == [False, True]
    assert answer[0]["reason"] is None
    assert answer[1]["reason"].startswith("unlike the training images: channel ")
    explained = client.post("/api/explain", files={"image": ("blank.png", blank)}).json()
    assert {name: explained[name] for name in answer[1]} == answer[1]
    found = client.get("/api/model").json()
    assert found["conformal"]["n_images"] == len(calibrated.calibration_.own)
    assert found["false_alarms"] == 0.05


def test_calibration_on_few_images(serve, model, calibrated, image):
    """Novelty, but no answer to whether the image is unknown; without calibration, neither; 9 images are enough."""
    found = serve().post("/api/predict", files={"images": image}).json()["predictions"][0]
    assert 0 <= found["novelty"] <= 1
    assert (found["unknown"], found["reason"]) == (None, None)
    bare = copy(model)
    bare.calibration_ = None
    client = serve(model=bare)
    found = client.post("/api/predict", files={"images": image}).json()["predictions"][0]
    assert [found[name] for name in ("novelty", "unknown", "reason")] == [None] * 3
    assert [client.get("/api/model").json()[name] for name in ("conformal", "false_alarms")] == [None, None]
    few = copy(calibrated)
    for n_images, false_alarms in ((8, None), (9, 0.1)):
        few.calibration_ = replace(calibrated.calibration_, own=calibrated.calibration_.own[:n_images])
        assert serve(model=few).get("/api/model").json()["false_alarms"] == false_alarms
    files = {"images": png(np.zeros((40, 40), np.uint8))}
    assert serve(model=few).post("/api/predict", files=files).json()["predictions"][0]["unknown"]


@pytest.mark.parametrize("label", [None, *CLASSES])
def test_evidence_sums_to_the_score(serve, image, label):
    form = {"numbers": "true"} | ({} if label is None else {"class": label})
    found = serve().post("/api/explain", files={"image": image}, data=form).json()
    assert found["explained"] == (label or found["label"])
    values = np.array(found["values"])
    assert values.shape == tuple(found["shape"])
    assert values.sum() + found["bias"] == pytest.approx(found["score"], abs=1e-5)
    assert sum(each["total"] for each in found["channels"]) == pytest.approx(values.sum(), abs=1e-5)
    assert found["largest"] == np.abs(values).max()
    kind, encoded = found["map"].split(",")
    assert kind == "data:image/png;base64"
    picture = Image.open(io.BytesIO(b64decode(encoded)))
    assert (picture.mode, picture.size) == ("RGBA", values.shape[::-1])
    for atom in found["atoms"]:
        for patch in atom["patches"]:
            assert 0 <= patch["left"] <= patch["left"] + patch["width"] <= 1 + 1e-6
            assert 0 <= patch["top"] <= patch["top"] + patch["height"] <= 1 + 1e-6


def test_model_of_rows(serve, tmp_path):
    digits = load_digits()
    rows, labels = digits.data[:200], digits.target[:200]  # values up to 16, image_shape, numbers for labels
    model = DDLCNClassifier(atoms_per_class=3, image_shape=(8, 8)).fit(rows, labels)
    Image.fromarray((digits.images[300] * 15.9).astype(np.uint8)).save(tmp_path / "digit.png")
    answer = serve(model=model).post("/api/explain", files={"image": (tmp_path / "digit.png").read_bytes()})
    expected = model.set_params(image_shape=None).predict_proba([tmp_path / "digit.png"])[0]
    assert answer.json()["label"] == str(expected.argmax())
    assert answer.json()["probability"] == pytest.approx(expected.max())


def test_deskewed_image(serve, image):
    rng, images = np.random.default_rng(0), []
    for label in range(8):
        images.append(np.pad(rng.integers(0, 256, (12, 6 + 8 * (label % 2)), np.uint8), 10))
    model = DDLCNClassifier("paper", atoms_per_class=2, deskew=True).fit(images, ["narrow", "wide"] * 4)
    found = serve(model=model).post("/api/explain", files={"image": png(images[0])}).json()
    picture = np.asarray(Image.open(io.BytesIO(b64decode(found["image"].split(",")[1]))))
    assert found["deskewed"]
    assert picture / 255 == pytest.approx(model.encoder_.working_image(images[0], tuple(found["shape"])), abs=0.15)


def test_no_dictionaries(serve, without_atoms, image):
    client = serve(model=without_atoms[0])
    assert client.get("/api/model").json()["atoms"] == {}
    assert client.post("/api/explain", files={"image": image}).json()["atoms"] == []
    assert client.get("/api/atoms").status_code == 404


def test_invalid_unicode(serve, image):
    images = [np.eye(32), np.eye(32)[::-1]] * 3
    model = DDLCNClassifier(atoms_per_class=2).fit(images, np.array(["caf\udce9", "tea"] * 3))
    found = serve(model=model).post("/api/predict", files={"images": image}).json()["predictions"][0]
    assert {each["label"] for each in found["classes"]} == {"caf\\udce9", "tea"}


def test_colour_and_network(serve, coloured, tmp_path):
    model, images = coloured
    client, content = serve(model=model), png(images[0])
    (tmp_path / "red.png").write_bytes(content)
    [expected] = model.predict_proba([tmp_path / "red.png"])
    found = client.post("/api/explain", files={"image": content}, data={"numbers": "true"}).json()
    assert (found["label"], found["probability"]) == ("red", pytest.approx(expected.max()))
    assert np.sum(found["values"]) + found["bias"] == pytest.approx(found["score"], abs=1e-5)
    picture = np.asarray(Image.open(io.BytesIO(b64decode(found["image"].split(",")[1]))))
    assert picture[..., 0].mean() > 2 * picture[..., 1].mean()
    for atom in found["atoms"]:
        assert bool(atom["strokes"]) == (atom["channel"] == "sift")
        assert bool(atom["picture"]) == (atom["channel"] != "sift")
    names = list(client.get("/api/model").json()["atoms"])
    for name in names:
        atoms = client.get(f"/api/atoms?channel={name}&layer=2").json()
        assert (atoms["channel"], atoms["total"]) == (name, 4)
        drawn = [bool(each["strokes"] or each["picture"]) for each in atoms["atoms"]]
        assert drawn == [name != "backbone"] * 4
    assert client.get("/api/atoms").json()["channel"] == "sift"
    refused = client.get("/api/atoms?channel=sift_grid")
    assert (refused.status_code, refused.json()["detail"]) == (
        404,
        f"channel='sift_grid': choose from {', '.join(names)}",
    )


def test_bad_image_in_a_batch(serve, image):
    files = [("images", (name, content)) for name, content in (("a", image), ("b", b"nonsense"), ("c", image))]
    answer = serve().post("/api/predict", files=files)
    first, bad, last = answer.json()["predictions"]
    assert answer.status_code == 200
    assert first | {"name": "c"} == last
    assert set(bad) == {"name", "error"}
    assert bad["error"].startswith("'b' is no image of a known kind; ")


def test_photographs_of_phones(serve, model, tmp_path):
    """Three of 12 million pixels and one of 48 million, with the same predictions as at full size."""
    wide = Image.fromarray(np.tile(np.array([40, 200], np.uint8).repeat(4), (48, 8))).convert("RGB")
    paths = [tmp_path / f"{i}.jpg" for i in range(4)]
    for path, size in zip(paths, [(4000, 3000)] * 3 + [(6000, 8000)], strict=True):
        wide.resize(size, Image.Resampling.BICUBIC).save(path)
    files = [("images", path.read_bytes()) for path in paths]
    found = serve().post("/api/predict", files=files).json()["predictions"]
    expected = model.predict_proba(paths)
    assert [each["label"] for each in found] == model.classes_[expected.argmax(axis=1)].tolist()
    assert [each["probability"] for each in found] == pytest.approx(expected.max(axis=1), abs=0.02)
    assert serve().post("/api/explain", files={"image": files[3][1]}).status_code == 200


def test_grey_with_16_bits(serve, model, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 65536, (40, 48)).astype(np.uint16)
    Image.fromarray(pixels).save(tmp_path / "deep.png")
    found = serve().post("/api/predict", files={"images": (tmp_path / "deep.png").read_bytes()}).json()
    assert found["predictions"][0]["probability"] == pytest.approx(model.predict_proba([tmp_path / "deep.png"]).max())
