"""A small model, images for it, and servers."""

import io
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ddlcn import DDLCNClassifier
from tests.helpers import quick_model
from tests.report.conftest import bars, browser, coloured, without_atoms  # noqa: F401

pytest.importorskip("fastapi", reason="pip install 'ddlcn[serve]'")

CLASSES = ["level", "<b>bold</b>", "diagonal", "upright"]


def png(pixels: np.ndarray) -> bytes:
    """An image file."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="session")
def model() -> DDLCNClassifier:
    """Four classes of bars; one name is markup."""
    rng = np.random.default_rng(0)
    images = [bars(rng, angle, 40) for angle in range(4) for _ in range(6)]
    return DDLCNClassifier(atoms_per_class=4, deeper_atoms=(6,)).fit(images, np.repeat(CLASSES, 6))


@pytest.fixture(scope="session")
def calibrated() -> DDLCNClassifier:
    """Two classes of bars, with enough held-out images to tell unknown ones."""
    rng = np.random.default_rng(0)
    images = [bars(rng, angle, 40) for angle in (0, 3) for _ in range(36)]
    return quick_model().fit(images, np.repeat(["level", "upright"], 36))


@pytest.fixture(scope="session")
def image() -> bytes:
    """Horizontal bars, not square."""
    return png(bars(np.random.default_rng(1), 0, 48)[:40])


@pytest.fixture
def serve(model: DDLCNClassifier) -> Callable[..., Any]:
    """Make a client of an app in this process."""
    from starlette.testclient import TestClient

    from ddlcn.serve import create_app

    return lambda **options: TestClient(create_app(options.pop("model", model), **options), base_url="http://127.0.0.1")


@contextmanager
def running(app: Any, limits: Any = None) -> Iterator[tuple[str, int]]:
    """Serve an app over sockets, in a thread; gives its address."""
    from ddlcn.serve import Limits
    from ddlcn.serve.server import create_server

    server = create_server(app, limits or Limits())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield listener.getsockname()
        finally:  # a test that fails must not leave the process waiting
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def model_file(model: DDLCNClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served") / "bars.ddlcn"
    model.save(path)
    return path
