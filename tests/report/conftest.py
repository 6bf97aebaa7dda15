"""A small model with its page, whose names do their worst, and a browser to open pages with."""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ddlcn import DDLCNClassifier, ImageSet, load_images
from ddlcn.evaluation import Evaluation, evaluate
from ddlcn.report import Point, write_report

HOSTILE = "<script>pwned=1<'script>\"&{{7*7}}$x_$"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
)


@dataclass(frozen=True)
class Case:
    """A model, what it was trained and tested on, and the page about it."""

    model: DDLCNClassifier
    train: ImageSet
    test: ImageSet
    evaluation: Evaluation
    page: Path


def bars(rng: np.random.Generator, angle: int, side: int = 32) -> np.ndarray:
    """Bars at one of four angles, with noise that makes mistakes likely."""
    y, x = np.mgrid[:side, :side] - side / 2
    wave = np.cos(x * np.cos(angle * np.pi / 4) + y * np.sin(angle * np.pi / 4) + 6 * rng.random())
    return np.clip(127 + 50 * wave + 60 * rng.normal(size=(side, side)), 0, 255).astype(np.uint8)


@pytest.fixture(scope="session")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Four classes in folders, with hostile names, one broken file and one image on both sides."""
    root, rng = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    for angle, name in enumerate(["plain", HOSTILE, "' onerror='pwned=1", "</style><b>bold"]):
        folder = root / name.replace("/", "∕")
        folder.mkdir()
        for i in range(12):
            pixels = bars(rng, angle) if rng.random() < 0.8 else bars(rng, 0)
            Image.fromarray(pixels).save(folder / f"{i} <img src=x onerror=pwned=1>.png")
    (root / "plain" / "broken <b>.png").write_bytes(b"no image")
    train, test = load_images(root).split(6)
    shutil.copy(train.images[0], test.images[0])
    model = DDLCNClassifier(atoms_per_class=4, deeper_atoms=(6, 3)).fit(train.images, train.labels)
    evaluation = evaluate(model, test.images, test.labels)
    page = write_report(
        tmp_path_factory.mktemp("report") / "new" / "folder",
        evaluation,
        model,
        test,
        train=train,
        command="ddlcn train '<script>pwned=1</script>'",
        learning_curve=[Point(2, 0.5, 0.4, 0.6), Point(6, 0.8, 0.7, 0.9)],
    )
    return Case(model, train, test, evaluation, page)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium, or a visible skip."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("no chromium with chromedriver here: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        window = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        yield window
        window.quit()
