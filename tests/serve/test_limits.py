"""What is beyond a limit is refused, with a remedy."""

from ddlcn.serve import Limits


def test_remedies(serve, image):
    client = serve(limits=Limits(body_bytes=100_000, images=3, pixels=4000))
    for path, files, status, reason in (
        ("predict", [("images", image)] * 4, 422, "4 images; send at most 3 at once"),
        ("predict", {"images": bytes(100_001)}, 413, "send fewer or smaller"),
        ("predict", {"image": image}, 422, "images: Field required"),
        ("explain", {"image": image}, 404, "class='nobody': choose from "),
    ):
        answer = client.post(f"/api/{path}", files=files, data={"class": "nobody"})
        assert answer.status_code == status
        assert reason in answer.json()["detail"]


def test_pixels_of_a_request(serve, image):
    client = serve(limits=Limits(pixels=3000))  # each image has 1920
    found = client.post("/api/predict", files=[("images", image)] * 3).json()["predictions"]
    assert [each.get("error", "")[-27:] for each in found] == ["", "", "; send fewer images at once"]


def test_size_of_bodies(serve, image):
    head = b'--x\r\ncontent-disposition: form-data; name="images"; filename="a"\r\n\r\n'
    kind = {"content-type": "multipart/form-data; boundary=x"}
    for limits, status in ((Limits(body_bytes=50_000), 413), (Limits(held_bytes=50_000), 503)):
        client = serve(limits=limits)
        for _ in range(2):  # what a refused upload held is free again
            answer = client.post("/api/predict", content=iter([head, *[bytes(1000)] * 100]), headers=kind)
            assert answer.status_code == status
            assert client.post("/api/predict", files={"images": image}).status_code == 200
