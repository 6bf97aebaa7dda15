"""Sample responses in the API's description."""

import pytest

from ddlcn.serve import answers, samples


@pytest.mark.parametrize(
    ("kind", "sample"),
    [
        (answers.Predictions, samples.PREDICTIONS),
        (answers.Explanation, samples.EXPLANATION),
        (answers.Atoms, samples.ATOMS),
        (answers.Model, samples.MODEL),
        (answers.Health, samples.HEALTH),
    ],
)
def test_samples_are_valid(kind, sample):
    """And complete: they have every field."""
    assert kind.model_validate(sample).model_dump(mode="json") == sample


def test_samples_add_up():
    found = samples.EXPLANATION
    assert found["bias"] + sum(each["total"] for each in found["channels"]) == pytest.approx(found["score"])
    assert sum(each["probability"] for each in found["classes"]) == pytest.approx(1)


def test_every_route_has_a_sample(serve):
    client = serve()
    docs = client.get("/docs").text
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        for route in methods.values():
            assert route["responses"]["200"]["content"]["application/json"]["example"]
        assert f"Sample response of {path}" in docs
    assert "&#39;two.png&#39; is damaged" in docs
    live = client.get("/api/model").json()
    assert live.keys() == samples.MODEL.keys()
    assert live["channels"][0].keys() >= samples.MODEL["channels"][0].keys()
