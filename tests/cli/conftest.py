"""A few small striped images per class, a model of them, and ways to run commands."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

from ddlcn.cli import main

LABELS = ("[red]", "level", "upright")
QUICK = "--preset paper --images-per-class 2 --atoms-per-class 2 --deeper-atoms 4 --neighbors 3,2 --jobs 1"
# as `python -m ddlcn`, but Ctrl-C works even where the parent ignores it, as scripts do for background jobs
PROGRAM = """import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from ddlcn.cli import main
main(sys.argv[1:])
"""


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def line(self) -> str:
        """The one line of an error."""
        assert (self.code, self.out) == (2, ""), self
        assert self.err.startswith("ddlcn: ")
        assert self.err.count("\n") == 1
        return self.err


Run = Callable[..., Ran]


def write_images(folder: Path, n: int = 6, labels: tuple[str, ...] = LABELS) -> Path:
    """Write n images per label, each with stripes in the label's own direction."""
    y, x = np.mgrid[:24, :24]
    for angle, label in enumerate(labels):
        (folder / label).mkdir(parents=True)
        for seed in range(n):
            noise = np.random.default_rng([angle, seed]).normal(0, 10, x.shape)
            wave = np.sin((x * np.cos(angle) + y * np.sin(angle)) / 1.5 + seed)
            pixels = (127 + 100 * wave + noise).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / label / f"{seed}.png")
    return folder


def words(*args: object) -> list[str]:
    """The words of a command line; `"-t 4"` is two."""
    return " ".join(map(str, args)).split()


def start(*args: object, **options: Any) -> subprocess.Popen[str]:
    """Run a command in a process of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *words(*args)], text=True, **pipes)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process."""

    def run(*args: object) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main(words(*args))
        return Ran(end.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_images(tmp_path / "data")


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    data = write_images(folder / "data")
    with pytest.raises(SystemExit) as end:
        main(words("train", data, "-o", folder / "stripes.ddlcn", QUICK))
    assert not end.value.code
    return folder / "stripes.ddlcn"
