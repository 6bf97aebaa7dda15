"""The routes, and what they refuse."""

import re

import pytest

from ddlcn.description import describe


def test_model_and_health(serve, model):
    client = serve(name="bars")
    assert client.get("/healthz").json() == {"status": "ok"}
    found = client.get("/api/model").json()
    assert found["name"] == "bars"
    assert found.items() >= describe(model).items()  # as `ddlcn info --json`
    assert found["atoms"] == {"sift": [16, 6]}


def test_atoms(serve):
    client = serve()
    numbers = []
    for start in range(0, 16, 5):
        page = client.get("/api/atoms", params={"start": start, "count": 5}).json()
        assert page["total"] == 16
        numbers += [atom["atom"] for atom in page["atoms"]]
    assert sorted(numbers) == list(range(16))
    of_class = client.get("/api/atoms", params={"class": "upright"}).json()["atoms"]
    assert [atom["learnt_from"] for atom in of_class] == ["upright"] * 4
    deeper = client.get("/api/atoms", params={"layer": 2}).json()
    assert deeper["total"] == 6
    assert all(1 <= len(atom["used_by"]) <= 4 for atom in deeper["atoms"])
    assert "has 2" in client.get("/api/atoms", params={"layer": 3}).json()["detail"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"/etc/passwd", "is no image of a known kind"),
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\nnonsense", "is damaged or unreadable"),
        (b"P5 50000 50000 255\n", "decompression bomb"),
    ],
)
@pytest.mark.parametrize("path", ["/api/predict", "/api/explain"])
def test_no_image(serve, path, content, reason):
    field = "images" if path.endswith("predict") else "image"
    answer = serve().post(path, files={field: ("../odd <name>.png", content)})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("'../odd <name>.png' ")
    assert reason in answer.json()["detail"]


def test_paths_are_not_read(serve, tmp_path, image):
    (tmp_path / "real.png").write_bytes(image)
    answer = serve().post("/api/explain", data={"image": str(tmp_path / "real.png")})
    assert answer.status_code == 422
    for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/page.html", "/api.py"):
        assert serve().get(path).status_code == 404


def test_docs(serve):
    client = serve(name="<script>pwned=1</script>")
    docs = client.get("/docs").text
    for path in client.get("/openapi.json").json()["paths"]:
        assert path in docs
    for page in (docs, client.get("/").text, client.get("/page.js").text):
        assert "<script>pwned" not in page
        assert not re.search(r"""(src|href|from)\s*[=(]?\s*["'](https?:)?//""", page)
    assert "`" not in docs  # it is no Markdown
    assert "curl -F images=@one.jpg -F images=@two.png http://127.0.0.1/api/predict" in docs
    for schema in client.get("/openapi.json").json()["components"]["schemas"].values():
        assert schema["title"].startswith("Body_") or schema["description"]
