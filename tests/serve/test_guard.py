"""Who may send requests."""

import pytest


def test_other_hosts_and_sites(serve):
    client = serve()
    for host in ("localhost", "127.0.0.1:8000", "[::1]:8000"):
        assert client.get("/api/model", headers={"host": host}).status_code == 200
    for host in ("evil.example", "127.0.0.1.evil.example:8000", "192.168.0.7", "", "[", "localhost@evil"):
        assert client.get("/api/model", headers={"host": host}).status_code == 403
    other = {"origin": "http://evil.example"}
    assert client.post("/api/predict", headers=other).status_code == 403
    assert "access-control-allow-origin" not in client.get("/healthz", headers=other).headers
    for broken in ("http://[", "http://[::1", "null", ""):
        assert client.get("/api/model", headers={"origin": broken}).status_code == 403
    for site in ("cross-site", "same-site"):  # another port of this machine is the same site
        assert client.post("/api/predict", headers={"sec-fetch-site": site}).status_code == 403
        assert client.get("/", headers={"sec-fetch-site": site}).status_code == 200  # a link
    for site in ("same-origin", "none"):
        assert client.post("/api/predict", headers={"sec-fetch-site": site}).status_code == 422
    own = {"host": "localhost:80", "origin": "http://localhost:80"}
    assert client.get("/api/model", headers=own).status_code == 200


def test_token(serve):
    client = serve(token="open-sesame")
    host = {"host": "box.example:8000"}
    for wrong in ({}, {"authorization": "Bearer nope"}, {"authorization": "open-sesame"}):
        answer = client.get("/api/model", headers=host | wrong)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    right = host | {"authorization": "Bearer open-sesame"}
    assert client.get("/api/model", headers=right).status_code == 200
    assert client.get("/", headers=host).status_code == 200  # the page itself holds nothing


@pytest.mark.parametrize("path", ["/", "/page.js", "/docs", "/openapi.json", "/api/model", "/nowhere"])
def test_security_headers(serve, path):
    headers = serve().get(path).headers
    assert "script-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
