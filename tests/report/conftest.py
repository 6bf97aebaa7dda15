"""A small model with its report, whose names are hostile, and a browser."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

from ddlcn import Channel, DDLCNClassifier, DenseSIFT, ImageSet, MeanGrid, load_images, presets
from ddlcn.evaluation import Evaluation, evaluate
from ddlcn.report import Point, write_report

HOSTILE = "<script>pwned=1<'script>\"&{{7*7}}$x_$"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
)


class Case(NamedTuple):
    """A model, what it was trained and tested on, and its report."""

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
    """Four classes in folders, with hostile names, one broken file and one duplicate of a training image."""
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
    channels = presets.best(atoms_per_class=4, deeper_atoms=(6, 3)).channels
    model = DDLCNClassifier(channels=[channel.with_params(weight=1.0) for channel in channels])
    model.fit(train.images, train.labels)
    evaluation = evaluate(model, test.images, test.labels)
    folder, command = tmp_path_factory.mktemp("report") / "new", "ddlcn train '<script>pwned=1</script>'"
    curve = [Point(2, 0.5, 0.4, 0.6), Point(6, 0.8, 0.7, 0.9)]
    page = write_report(folder, evaluation, model, test, train=train, command=command, learning_curve=curve)
    return Case(model, train, test, evaluation, page)


def small_model(n_classes: int, deeper: tuple[int, ...], **more: Any) -> tuple[DDLCNClassifier, np.ndarray]:
    """A model of bars in each direction, and its training images, or rows of a matrix with `image_shape`."""
    rng = np.random.default_rng(0)
    images = np.array([bars(rng, c) for c in range(n_classes) for _ in range(4)])
    images = images.reshape(len(images), -1) if "image_shape" in more else images
    model = DDLCNClassifier("paper", atoms_per_class=3, deeper_atoms=deeper, **more)
    return model.fit(images, np.repeat(np.arange(n_classes), 4)), images


@pytest.fixture(scope="session")
def without_atoms() -> tuple[DDLCNClassifier, np.ndarray]:
    """A model whose only channel has no dictionaries, and its training images."""
    return small_model(2, (), channels=[Channel("grid", DenseSIFT(), None, MeanGrid(4))])


@pytest.fixture(scope="session", params=[None, "efficientnet-lite0"])
def coloured(request: pytest.FixtureRequest) -> tuple[DDLCNClassifier, list[np.ndarray]]:
    """A model of red, green and blue squares on dark noise, with a frozen network or none, and its training images."""
    if request.param:
        pytest.importorskip("onnxruntime", reason="needs the extra backbone")
    rng, images = np.random.default_rng(0), []
    for number in range(9):
        image = rng.integers(0, 60, (36, 48, 3))
        image[8:28, 8:32, number // 3] += 150
        images.append(image.astype(np.uint8))
    channels = presets.best(backbone=request.param, atoms_per_class=3, deeper_atoms=(4,)).channels
    channels = [channel.with_params(weight=1.0) for channel in channels]
    model = DDLCNClassifier(channels=channels, deskew=False, augmentation="none", C=1.0)
    return model.fit(images, np.repeat(["red", "green", "blue"], 3)), images


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


def open_page(browser: Any, address: str, width: int = 1280, scheme: str = "light") -> Any:
    """Open a page on a screen of a width and a colour scheme, with an empty console."""
    browser.get("about:blank")
    wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}  # clicks don't wait for scrolling
    features = [{"name": name, "value": value} for name, value in wanted.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get_log("browser")
    browser.get(address)
    return browser


def check_layout(page: Any, width: int, scheme: str) -> None:
    """Nothing is wider than the screen, and the background is of the scheme."""
    from selenium.webdriver.support.ui import WebDriverWait

    fits = f"return document.documentElement.scrollWidth <= {width}"
    WebDriverWait(page, 5, 0.05).until(lambda _: page.execute_script(fits))  # the first layout may be wider
    background = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 20, 25)"}[scheme]
