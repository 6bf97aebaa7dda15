"""The readers under fuzz: whatever the bytes, a good answer or one clear line, in little time and memory."""

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np

from ddlcn import DDLCNClassifier, DDLCNError, load_images
from ddlcn.images import check_image, decode_file, read_grey
from tests.fuzz import entries, networks, seeds

PIXELS = 4_000_000  # of an image, so that the time goes into kinds of files and not into large ones
SECONDS, MEGABYTES = 20.0, 1024.0  # of the processor and of memory that a case may take
WORST = {"seconds": 0.0, "megabytes": 0.0, "answered": 0, "refused": 0}  # so far
SMALL = np.linspace(0, 1, 400, dtype=np.float32).reshape(20, 20) ** 2


def image(path: Path, data: bytes) -> None:
    path = path / "fuzz.img"
    path.write_bytes(data)
    check_image(path)
    try:
        with open(path, "rb") as file:
            grey = decode_file(file, max_pixels=PIXELS)
    except DDLCNError as error:
        raise DDLCNError(f"{str(path)!r} {error}") from None
    assert grey.ndim == 2
    assert grey.dtype == np.float32
    assert 0 <= grey.min() <= grey.max() <= 1
    np.testing.assert_array_equal(read_grey(path), grey)


def idx(path: Path, data: bytes) -> None:
    flags, cut = data[:1], 5 + int.from_bytes(data[1:5], "big")
    packing = flags[0] if flags else 0
    for old in path.glob("fuzz*"):
        old.unlink()
    for bit, what, content in ((1, "images-idx3", data[5:cut]), (2, "labels-idx1", data[cut:])):
        packed = gzip.compress(content, 1) if packing & bit else content
        zipped = ".gz" if packing & bit or packing & 4 or content[:2] == b"\x1f\x8b" else ""
        (path / f"fuzz-{what}-ubyte{zipped}").write_bytes(packed)
    found = load_images(next(path.glob("fuzz-images*")), min_classes=1)
    assert len(found.images) == len(found.target) > 0
    assert found.images.dtype == np.uint8


def manifest(path: Path, data: bytes) -> None:
    for name in ("a.png", "b.png"):
        if not (path / name).exists():
            (path / name).write_bytes(seeds.images()["rgb.png"])
    (path / "fuzz.csv").write_bytes(data)
    found = load_images(path / "fuzz.csv", min_classes=1)
    assert len(found.paths) == len(found.target) > 0
    assert {Path(name).name for name in found.paths} <= {"a.png", "b.png"}


def model(path: Path, data: bytes) -> None:
    (path / "fuzz.ddlcn").write_bytes(data)
    with networks.cache_folder(path, networks.good()["first"]):
        found = DDLCNClassifier.load(path / "fuzz.ddlcn")
        found.set_params(image_shape=None)
        try:
            answers = found.predict_proba([SMALL])
        except DDLCNError as error:  # such as patches larger than memory allows
            raise DDLCNError(f"fuzz.ddlcn: {error}") from None
    assert answers.shape == (1, len(found.classes_))
    assert np.isfinite(answers).all()
    assert abs(answers.sum() - 1) < 1e-6
    found.get_params()


TARGETS: dict[str, Callable[[Path, bytes], None]] = {
    "image": image, "idx": idx, "manifest": manifest, "model": model, "entry": entries.read,
    "onnx": networks.read,
}  # fmt: skip


def run(kind: str, folder: Path, data: bytes) -> str | None:
    """Read one case; return the line that it was refused with, or None. Anything else is a finding."""
    start, before, line = process_time(), _memory("VmRSS", anew=True), None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TARGETS[kind](folder, data)
    except DDLCNError as error:
        line = str(error)
        assert "fuzz" in line, f"no name: {line}"
        assert line.isprintable(), f"not one printable line: {line!r}"
        assert len(line) < 6000, f"long: {line}"
        assert any(sign in line for sign in ";:"), f"no remedy: {line}"
    seconds, megabytes = process_time() - start, _memory("VmHWM") - before
    WORST["seconds"] = max(WORST["seconds"], round(seconds, 2))
    WORST["megabytes"] = max(WORST["megabytes"], round(megabytes, 1))
    WORST["refused" if line else "answered"] += 1
    assert seconds < SECONDS, f"took {seconds:.0f} s"
    assert megabytes < MEGABYTES, f"took {megabytes:.0f} MB"
    return line


def _memory(what: str, anew: bool = False) -> float:
    """Megabytes that the process holds (VmRSS), or the most since counting began anew (VmHWM)."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) / 1024
