"""Answers are as the OpenAPI description says, whatever is sent."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.serve.conftest import running

schemathesis = pytest.importorskip("schemathesis")


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_openapi(model, image, mode):
    from ddlcn.serve import create_app

    real = {"image": image, "images": [image]}  # the description can't say what an image is
    with running(create_app(model)) as (host, port):
        schema = schemathesis.openapi.from_url(f"http://{host}:{port}/openapi.json")
        if mode.is_positive:
            schema.hook("map_body")(lambda context, body: {n: real.get(n, value) for n, value in body.items()})
        operations = [found.ok() for found in schema.get_all_operations()]
        assert len(operations) == 5
        for operation in operations:

            @given(case=operation.as_strategy(generation_mode=mode))
            @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), database=None)
            def agrees(case):
                case.call_and_validate()

            if mode.is_positive or operation.query or operation.body:  # else nothing can be wrong
                agrees()
