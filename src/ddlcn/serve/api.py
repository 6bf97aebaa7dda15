"""The routes: the page, the API and its description."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib import resources
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, FastAPI, File, Form, Query, Request, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from jinja2 import Environment, PackageLoader
from starlette.routing import Route

from ddlcn import __version__
from ddlcn.blas import one_blas_thread
from ddlcn.classifier import DDLCNClassifier
from ddlcn.errors import DDLCNError
from ddlcn.serve import answers, samples
from ddlcn.serve.guard import Guard, refusal
from ddlcn.serve.limits import Limits
from ddlcn.serve.predictor import NotFound, Predictor, Upload
from ddlcn.serve.workers import Workers

_REASONS = {
    400: "the body can't be parsed, or has two lengths",
    401: "a token is needed",
    403: "the request comes from another site",
    404: "the model has no such class, channel or layer",
    408: "the body came too slowly",
    413: "the body is too large",
    422: "an image or a parameter can't be used",
    503: "too many requests at once (try again after Retry-After seconds), or the server stops",
}
_STATIC = {  # package, name and type of each file of the page
    "/": ("ddlcn.serve", "page.html", "text/html"),
    "/page.css": ("ddlcn.serve", "page.css", "text/css"),
    "/report.css": ("ddlcn.report", "page.css", "text/css"),
    "/page.js": ("ddlcn.serve", "page.js", "text/javascript"),
}
_as_text = partial(json.dumps, indent=2, ensure_ascii=False)
_TEMPLATES = Environment(loader=PackageLoader("ddlcn.serve", "."), autoescape=True, trim_blocks=True)


class Service(NamedTuple):
    """What the routes use."""

    predictor: Predictor
    workers: Workers


def _service(request: Request) -> Service:
    return request.app.state.service


TheService = Annotated[Service, Depends(_service)]
api = APIRouter(responses={status: {"model": answers.Problem, "description": why} for status, why in _REASONS.items()})


def _sample(response: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {"application/json": {"example": response}}}}


@api.post("/api/predict", responses=_sample(samples.PREDICTIONS))
async def predict(
    service: TheService, images: Annotated[list[UploadFile], File(min_length=1, description="one image or several")]
) -> answers.Predictions:
    """Classify images: the most likely class of each, calibrated probabilities of all classes, and whether the image is
    unlike the training images.

    An image that can't be used has an error in its place; if there is no other, the status is 422.
    """
    most = service.predictor.limits.images
    if len(images) > most:
        raise DDLCNError(f"{len(images)} images; send at most {most} at once")
    return await service.workers.run(service.predictor.predict, [await _read(image) for image in images])


@api.post("/api/explain", responses=_sample(samples.EXPLANATION))
async def explain(
    service: TheService,
    image: Annotated[UploadFile, File(description="the image")],
    label: Annotated[
        str | None, Form(alias="class", description="the class to explain; by default the most likely")
    ] = None,
    numbers: Annotated[bool, Form(description="also give the evidence of each pixel as a number")] = False,
) -> answers.Explanation:
    """Say where in an image a class's score comes from, exactly: bias and evidence add up to the score."""
    return await service.workers.run(service.predictor.explain, await _read(image), label or None, numbers)


@api.get("/api/atoms", responses=_sample(samples.ATOMS))
async def atoms(
    service: TheService,
    channel: Annotated[str | None, Query(description="whose atoms; by default the first channel that has any")] = None,
    layer: Annotated[int, Query(ge=1, description="which dictionary, 1 the first")] = 1,
    start: Annotated[int, Query(ge=0, description="how many to skip")] = 0,
    count: Annotated[int, Query(ge=1, le=200, description="how many to show")] = 48,
    label: Annotated[
        str | None, Query(alias="class", description="only atoms learnt from this class (layer 1)")
    ] = None,
) -> answers.Atoms:
    """Show what a dictionary has learnt, the atoms with the largest weights first."""
    return await service.workers.run(service.predictor.atoms, channel, layer, start, count, label or None)


@api.get("/api/model", responses=_sample(samples.MODEL))
async def model(service: TheService) -> answers.Model:
    """Describe the model: its classes and channels, and the limits of a request."""
    return service.predictor.describe()


@api.get("/healthz", responses=_sample(samples.HEALTH))
async def healthz() -> answers.Health:
    """Say that the server is running."""
    return answers.Health(status="ok")


def create_app(
    model: DDLCNClassifier,
    *,
    name: str = "model",
    token: str | None = None,
    threads: int = 2,
    limits: Limits = Limits(),
) -> FastAPI:
    """Return the ASGI app that serves a fitted model.

    Parameters
    ----------
    model : DDLCNClassifier
    name : str
        Shown on the page.
    token : str, optional
        Clients must send it.
    threads : int
    limits : Limits

    Returns
    -------
    FastAPI
    """
    predictor, workers = Predictor(model, name, limits), Workers(threads, limits.waiting)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        with one_blas_thread():
            predictor.warm_up()
            yield

    app = FastAPI(
        title=f"ddlcn serve: {name}",
        version=__version__,
        description="Classifies images, and explains predictions.",
        docs_url=None,  # FastAPI's own pages load scripts from the network; ours is /docs
        redoc_url=None,
        lifespan=life,
    )
    app.state.service = Service(predictor, workers)
    app.include_router(api)
    for path, (package, file, kind) in _STATIC.items():
        content = resources.files(package).joinpath(file).read_bytes()
        app.router.routes.append(Route(path, Response(content, media_type=kind), methods=["GET"]))
    app.add_api_route("/docs", _docs, include_in_schema=False)
    app.add_middleware(Guard, token=token, limits=limits, workers=workers)

    @app.exception_handler(DDLCNError)
    async def on_mistake(request: Request, error: Exception) -> JSONResponse:
        return refusal(404 if isinstance(error, NotFound) else 422, str(error))

    @app.exception_handler(RequestValidationError)
    async def on_bad_request(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        return refusal(422, f"{first['loc'][-1]}: {first['msg']}")

    return app


async def _read(image: UploadFile) -> Upload:
    return image.filename or "image", await image.read()


async def _docs(request: Request) -> Response:
    page = _TEMPLATES.get_template("docs.html")
    return HTMLResponse(page.render(request.app.openapi(), address=str(request.base_url), as_text=_as_text))
