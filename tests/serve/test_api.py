"""The API answers what the model answers, and says no to everything else with a reason."""

import io
import re
import struct
import threading
import zlib
from base64 import b64decode

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier
from tests.serve.conftest import CLASSES, png


def test_predictions_are_the_models(serve, model, image, tmp_path):
    (tmp_path / "a.png").write_bytes(image)
    other = png(np.eye(60, 30, dtype=np.uint8) * 255)
    (tmp_path / "b.png").write_bytes(other)
    answer = serve().post("/api/predict", files=[("images", ("a.png", image)), ("images", ("b.png", other))])
    assert answer.status_code == 200
    expected = model.predict_proba([tmp_path / "a.png", tmp_path / "b.png"])
    for name, found, probabilities in zip(
        ("a.png", "b.png"), answer.json()["predictions"], expected, strict=True
    ):
        assert found["name"] == name
        assert found["label"] == model.classes_[probabilities.argmax()]
        assert {each["label"]: each["probability"] for each in found["classes"]} == pytest.approx(
            dict(zip(model.classes_, probabilities, strict=True))
        )
        shares = [each["probability"] for each in found["classes"]]
        assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("label", [None, *CLASSES])
def test_evidence_adds_up_to_the_score(serve, image, label):
    form = {"numbers": "true"} | ({} if label is None else {"class": label})
    found = serve().post("/api/explain", files={"image": image}, data=form).json()
    assert found["explained"] == (label or found["label"])
    values = np.array(found["values"])
    assert values.shape == tuple(found["shape"])
    assert values.sum() + found["bias"] == pytest.approx(found["score"], abs=1e-5)
    assert found["largest"] == np.abs(values).max()
    kind, encoded = found["map"].split(",")
    assert kind == "data:image/png;base64"
    picture = Image.open(io.BytesIO(b64decode(encoded)))
    assert (picture.mode, picture.size) == ("RGBA", values.shape[::-1])
    for atom in found["atoms"]:
        for patch in atom["patches"]:
            assert 0 <= patch["left"] <= patch["left"] + patch["width"] <= 1 + 1e-6
            assert 0 <= patch["top"] <= patch["top"] + patch["height"] <= 1 + 1e-6


def test_a_model_of_arrays_judges_files_as_predict_does(serve, tmp_path):
    digits = load_digits()
    rows, labels = digits.data[:200], digits.target[:200]  # values up to 16, image_shape, numbers for labels
    model = DDLCNClassifier(atoms_per_class=3, image_shape=(8, 8)).fit(rows, labels)
    Image.fromarray((digits.images[300] * 15.9).astype(np.uint8)).save(tmp_path / "digit.png")
    answer = serve(model=model).post("/api/explain", files={"image": (tmp_path / "digit.png").read_bytes()})
    expected = model.set_params(image_shape=None).predict_proba([tmp_path / "digit.png"])[0]
    assert answer.json()["label"] == str(expected.argmax())
    assert answer.json()["probability"] == pytest.approx(expected.max())


def test_model_and_health(serve, model):
    client = serve(name="bars")
    assert client.get("/healthz").json() == {"status": "ok"}
    told = client.get("/api/model").json()
    assert (told["name"], told["classes"]) == ("bars", model.classes_.tolist())
    assert [layer["atoms"] for layer in told["layers"]] == [16, 6]


def test_atoms_come_in_pages(serve):
    client = serve()
    numbers = []
    for start in range(0, 16, 5):
        page = client.get("/api/atoms", params={"start": start, "count": 5}).json()
        assert page["total"] == 16
        numbers += [atom["atom"] for atom in page["atoms"]]
    assert sorted(numbers) == list(range(16))
    of_class = client.get("/api/atoms", params={"class": "upright"}).json()["atoms"]
    assert [atom["learnt_on"] for atom in of_class] == ["upright"] * 4
    deeper = client.get("/api/atoms", params={"layer": 2}).json()
    assert deeper["total"] == 6
    assert all(len(atom["shared_by"]) == 4 for atom in deeper["atoms"])
    assert "has 2" in client.get("/api/atoms", params={"layer": 3}).json()["detail"]


def bomb(side: int) -> bytes:
    """A small PNG that claims to be huge."""
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(1 << 20))), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"/etc/passwd", "is no image of a known kind"),
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\nnonsense", "is damaged or unreadable"),
        (bomb(50_000), "decompression bomb"),
        (bomb(5_000), "damaged or unreadable"),
    ],
)
@pytest.mark.parametrize("path", ["/api/predict", "/api/explain"])
def test_what_is_no_image_is_refused(serve, path, content, reason):
    field = "images" if path.endswith("predict") else "image"
    answer = serve().post(path, files={field: ("../odd <name>.png", content)})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("'../odd <name>.png' ")
    assert reason in answer.json()["detail"]


def test_no_path_is_ever_read(serve, tmp_path, image):
    (tmp_path / "real.png").write_bytes(image)
    answer = serve().post("/api/explain", data={"image": str(tmp_path / "real.png")})
    assert answer.status_code == 422
    for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/page.html", "/api.py"):
        assert serve().get(path).status_code == 404


def test_every_limit_says_what_to_do(serve, image):
    from ddlcn.serve import Limits

    client = serve(limits=Limits(body_bytes=100_000, images=3, pixels=4000))
    answer = client.post("/api/predict", files=[("images", image)] * 4)
    assert (answer.status_code, answer.json()["detail"]) == (422, "4 images; send at most 3 at once")
    answer = client.post("/api/predict", files=[("images", image)] * 3)
    assert answer.status_code == 422
    assert "send fewer images at once" in answer.json()["detail"]
    answer = client.post("/api/predict", files={"images": bytes(100_001)})
    assert answer.status_code == 413
    assert "send fewer or smaller" in answer.json()["detail"]
    answer = client.post("/api/predict", files={"image": image})
    assert (answer.status_code, answer.json()["detail"]) == (422, "images: Field required")
    answer = client.post("/api/explain", files={"image": image}, data={"class": "nobody"})
    assert (answer.status_code, answer.json()["detail"][:33]) == (404, "class='nobody': the model knows <")


def test_bodies_are_counted_as_they_come(serve, image):
    from ddlcn.serve import Limits

    head = b'--x\r\ncontent-disposition: form-data; name="images"; filename="a"\r\n\r\n'
    kind = {"content-type": "multipart/form-data; boundary=x"}
    for limits, status in ((Limits(body_bytes=50_000), 413), (Limits(held_bytes=50_000), 503)):
        client = serve(limits=limits)
        for _ in range(2):  # what a refused upload held is free again
            answer = client.post("/api/predict", content=iter([head, *[bytes(1000)] * 100]), headers=kind)
            assert answer.status_code == status
            assert client.post("/api/predict", files={"images": image}).status_code == 200


def test_a_full_queue_answers_503_at_once(serve, image):
    from ddlcn.serve import Limits

    client = serve(threads=1, limits=Limits(waiting=0))
    service = client.app.state.service
    begun, go_on = threading.Event(), threading.Event()
    predict = service.judge.predict

    def slow(uploads):
        begun.set()
        assert go_on.wait(20)
        return predict(uploads)

    service.judge.predict = slow
    answers = []

    def ask() -> None:
        answers.append(client.post("/api/predict", files={"images": image}).status_code)

    with client:
        first = threading.Thread(target=ask)
        first.start()
        assert begun.wait(20)
        refused = [client.post("/api/predict", files={"images": image}), client.get("/api/atoms")]
        go_on.set()
        first.join()
        for answer in refused:
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        ask()
    assert answers == [200, 200]


def test_only_this_machine_under_its_own_name_may_ask(serve):
    client = serve()
    for host in ("localhost", "127.0.0.1:8000", "[::1]:8000"):
        assert client.get("/api/model", headers={"host": host}).status_code == 200
    for host in ("evil.example", "127.0.0.1.evil.example:8000", "192.168.0.7", "", "[", "localhost@evil"):
        assert client.get("/api/model", headers={"host": host}).status_code == 403
    other = {"origin": "http://evil.example"}
    assert client.post("/api/predict", headers=other).status_code == 403
    assert "access-control-allow-origin" not in client.get("/healthz", headers=other).headers
    own = {"host": "localhost:80", "origin": "http://localhost:80"}
    assert client.get("/api/model", headers=own).status_code == 200


def test_a_token_opens_the_api_under_any_name(serve):
    client = serve(token="open-sesame")
    host = {"host": "box.example:8000"}
    for wrong in ({}, {"authorization": "Bearer nope"}, {"authorization": "open-sesame"}):
        answer = client.get("/api/model", headers=host | wrong)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    right = host | {"authorization": "Bearer open-sesame"}
    assert client.get("/api/model", headers=right).status_code == 200
    assert client.get("/", headers=host).status_code == 200  # the page itself holds nothing


@pytest.mark.parametrize("path", ["/", "/page.js", "/docs", "/openapi.json", "/api/model", "/nowhere"])
def test_every_answer_is_locked_down(serve, path):
    headers = serve().get(path).headers
    assert "script-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_docs_tell_of_every_route_and_load_nothing_from_elsewhere(serve):
    client = serve(name="<script>pwned=1</script>")
    docs = client.get("/docs").text
    for path in client.get("/openapi.json").json()["paths"]:
        assert path in docs
    for page in (docs, client.get("/").text, client.get("/page.js").text):
        assert "<script>pwned" not in page
        assert not re.search(r"""(src|href|from)\s*[=(]?\s*["'](https?:)?//""", page)
    assert "curl -F images=@one.jpg -F images=@two.png http://127.0.0.1/api/predict" in docs  # as asked for
    for schema in client.get("/openapi.json").json()["components"]["schemas"].values():
        assert schema["title"].startswith("Body_") or schema["description"]


def test_names_that_are_no_unicode(serve, image):
    images = [np.eye(32), np.eye(32)[::-1]] * 3
    model = DDLCNClassifier(atoms_per_class=2).fit(images, np.array(["caf\udce9", "tea"] * 3))
    found = serve(model=model).post("/api/predict", files={"images": image}).json()["predictions"][0]
    assert {each["label"] for each in found["classes"]} == {"caf\\udce9", "tea"}
