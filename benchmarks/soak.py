"""A long life in one process: varied calls without pause, and what must neither grow nor change.

python benchmarks/soak.py --minutes 60 --out soak.jsonl

Every answer is compared with the first one to the same question. Memory, open files and threads are read
after every few calls; those of the last quarter must be those of the first quarter after the warm-up.
Reads /proc, so Linux only. Exit code 1 if something grew or changed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import shutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from ddlcn import (
    Channel,
    DDLCNClassifier,
    DDLCNError,
    DenseSIFT,
    ImageSet,
    LLCCoder,
    SpatialPyramid,
    load_images,
    presets,
)
from ddlcn.evaluation import evaluate
from ddlcn.report import write_report

WARM_UP = 0.2  # of the time
EVERY = 20  # calls between samples
MAY_GROW = 0.05  # of memory
SUFFIXES = (".png", ".jpg", ".bmp", ".gif", ".tif", ".webp", ".ppm")


def small(**changes: Any) -> list[Channel]:
    """The paper's channel with two atoms per class, and changes."""
    (sift,) = presets.paper(images_per_class=2, atoms_per_class=2, deeper_atoms=(8, 4)).channels
    return [sift.with_params(**changes)]


class Sample(NamedTuple):
    """What the process holds at a moment."""

    seconds: float
    calls: int
    memory_mb: float
    files: int
    threads: int


class World:
    """Images, models and questions; a question is a method's name and the number of a variant."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        digits = load_digits()
        self.images, self.labels = digits.images, digits.target
        self.data = folder / "data"
        for row in range(70):
            place = self.data / f"digit {self.labels[row]}"
            place.mkdir(parents=True, exist_ok=True)
            pixels = Image.fromarray((self.images[row] * 15.9).astype(np.uint8))
            side = 24 + row % 5 * 9
            pixels.resize((side, side + row % 3)).save(place / f"{row}{SUFFIXES[row % len(SUFFIXES)]}")
        self.files = [str(path) for path in sorted(self.data.rglob("*.*"))]
        self.broken = self._broken()
        self.model = DDLCNClassifier(atoms_per_class=4).fit(self.images[:200], self.labels[:200])
        self.model.save(folder / "digits.ddlcn")
        odd = [int(Path(path).parent.name[-1]) % 2 == 1 for path in self.files]
        self.second = DDLCNClassifier(channels=small(coder=LLCCoder(5))).fit(self.files, odd)

    def _broken(self) -> list[Callable[[], Any]]:
        """Calls that must be refused."""
        bad = self.folder / "bad"
        bad.mkdir()
        whole = Path(self.files[0]).read_bytes()
        contents = {
            "empty.png": b"",
            "text.png": b"no image",
            "bomb.pgm": b"P5 1000000 1000000 255\n",
            "list.csv": b"path,label\nnowhere.png\n",
            "train-images-idx3-ubyte": b"\0\0\x08\3" + b"\xff" * 12,
            "train-labels-idx1-ubyte": b"\0\0\x08\1\0\0\0\1\0",
            "pickle.ddlcn": b"\x80\x04\x95",
        }
        contents |= {f"cut{at}.png": whole[: len(whole) * at // 4] for at in (1, 2, 3)}
        for name, content in contents.items():
            (bad / name).write_bytes(content)
        images = [path for path in sorted(bad.iterdir()) if path.suffix in (".png", ".pgm")]
        return [
            *(lambda path=path: self.model.predict([path]) for path in images),
            lambda: self.model.predict(["nowhere.png"]),
            lambda: self.model.predict([np.full((9, 9), np.nan)]),
            lambda: self.model.predict([np.zeros((2, 2, 2))]),
            lambda: self.model.predict([]),
            lambda: self.model.explain(np.eye(20), label="no such class"),
            lambda: load_images(bad / "list.csv"),
            lambda: load_images(bad),
            lambda: DDLCNClassifier.load(bad / "pickle.ddlcn"),
            lambda: DDLCNClassifier.load(bad / "nowhere.ddlcn"),
            lambda: DDLCNClassifier(preset="none").fit(self.images[:20], self.labels[:20]),
            lambda: DDLCNClassifier().fit(self.images[:20], np.zeros(20)),
            lambda: self.model.save(bad / "no" / "folder"),
        ]

    def some(self, variant: int) -> list[Any]:
        """A few images, as arrays of any size and type or as files."""
        rng = np.random.default_rng(variant)
        rows = rng.integers(200, len(self.images), 1 + variant % 7)
        kind = variant % 4
        if kind == 0:
            return [self.images[row] for row in rows]
        if kind == 1:
            return [self.files[row % len(self.files)] for row in rows]
        if kind == 2:
            side = int(rng.integers(8, 90))
            return [np.kron(self.images[row], np.ones((side // 8, side // 8 + 1))) for row in rows]
        return [np.repeat(self.images[row][..., None], 3, axis=2) for row in rows]

    def predict(self, variant: int) -> Any:
        return self.model.predict(self.some(variant)), self.second.predict(self.some(variant))

    def predict_proba(self, variant: int) -> Any:
        self.model.n_jobs = 1 + variant % 2
        return self.model.predict_proba(self.some(variant) * (1 + variant % 9))

    def together(self, variant: int) -> Any:
        """From many threads at once, the answers that come one by one."""
        questions = [self.some(variant + i) for i in range(8)]
        with ThreadPoolExecutor(8) as pool:
            at_once = list(pool.map(self.model.predict_proba, questions))
        for question, answer in zip(questions, at_once, strict=True):
            np.testing.assert_array_equal(self.model.predict_proba(question), answer)
        return at_once

    def explain(self, variant: int) -> Any:
        why = self.model.explain(self.some(variant)[0])
        np.testing.assert_allclose(why.bias + sum(each.total for each in why.channels), why.score, atol=1e-5)
        return why.map()

    def fit(self, variant: int) -> Any:
        settings: dict[str, Any] = (
            {"channels": small(coder=LLCCoder(5), dictionary__deeper_atoms=())},
            {"preset": "paper", "atoms_per_class": 2, "deeper_atoms": (6, 3), "random_state": 3},
            {"channels": small(descriptor=DenseSIFT(patch_size=(12, 16), min_side=32)), "n_jobs": 2},
            {"channels": small(pooling=SpatialPyramid((1, 2), minima=True)), "C": 2.0},
        )[variant % 4]
        if variant % 2:
            model = DDLCNClassifier(**settings).fit(self.images[:60], self.labels[:60])
        else:
            found = load_images(self.data)
            model = DDLCNClassifier(**settings).fit(found.images, found.target)
        return model.svm_.coef_, model.svm_.intercept_

    def save_and_load(self, variant: int) -> Any:
        path = self.folder / f"again{variant % 3}.ddlcn"
        (self.second if variant % 2 else self.model).save(path)
        return DDLCNClassifier.load(path).predict_proba(self.some(variant))

    def load_data(self, variant: int) -> Any:
        train, test = load_images(self.data, n_jobs=1 + variant % 2).split(3, seed=variant)
        return train.images, test.images

    def refuse(self, variant: int) -> Any:
        try:
            self.broken[variant % len(self.broken)]()
        except DDLCNError as error:
            return str(error)
        raise AssertionError(f"bad input {variant % len(self.broken)} was not refused")

    def report(self, variant: int) -> Any:
        test = ImageSet.of(self.images[200:230], self.labels[200:230])
        found = evaluate(self.model, test.images, test.labels)
        write_report(self.folder / "report", found, self.model, test)
        return found.probabilities


OFTEN = {  # how often of 100
    "predict": 30, "predict_proba": 20, "together": 5, "explain": 15, "fit": 4, "save_and_load": 8,
    "load_data": 5, "refuse": 12, "report": 1,
}  # fmt: skip


def digest(answer: Any) -> str:
    """The same for the same answer, bit for bit."""
    if isinstance(answer, np.ndarray):
        return sha256(f"{answer.dtype}{answer.shape}".encode() + answer.tobytes()).hexdigest()
    if isinstance(answer, tuple | list):
        return sha256("".join(map(digest, answer)).encode()).hexdigest()
    return sha256(repr(answer).encode()).hexdigest()


def sample(start: float, calls: int) -> Sample:
    """What the process holds now, garbage aside."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    memory = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    files, threads = len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
    return Sample(round(monotonic() - start, 1), calls, round(memory, 1), files, threads)


def soak(seconds: float, seed: int = 0, variants: int = 24, tell: Callable[[Sample], Any] = id) -> dict:
    """Call for so long; return counts, samples, and whatever grew or changed."""
    folder = Path(tempfile.mkdtemp())
    try:
        world, rng = World(folder), random.Random(seed)
        first: dict[tuple[str, int], str] = {}
        counts: Counter[str] = Counter()
        changed: list[str] = []
        for name in OFTEN:  # each once, so that what is loaded on first use is loaded
            getattr(world, name)(0)
        start, samples = monotonic(), []
        while (now := monotonic() - start) < seconds or len(samples) < 8:
            names = rng.choices(list(OFTEN), list(OFTEN.values()), k=EVERY)
            for name in names:
                variant = rng.randrange(variants)
                found = digest(getattr(world, name)(variant))
                if first.setdefault((name, variant), found) != found:
                    changed.append(f"{name} {variant}")
            counts.update(names)
            samples.append(sample(start, counts.total()))
            tell(samples[-1])
        assert threading.active_count() == 1, threading.enumerate()
        return {"seconds": round(now), "calls": counts.total(), **judge(samples, changed)} | {
            "by_kind": dict(counts),
            "questions": len(first),
        }
    finally:
        shutil.rmtree(folder)


def judge(samples: list[Sample], changed: list[str], may_grow: float = MAY_GROW) -> dict[str, Any]:
    """Compare the last quarter with the first after the warm-up, by medians.

    >>> steady = [Sample(i, 20 * i, 300 + i % 3, 9, 4) for i in range(50)]
    >>> leaky = [Sample(i, 20 * i, 300 + i, 9 + i, 4) for i in range(50)]
    >>> judge(steady, [])["faults"], judge(leaky, ["predict 3"])["faults"]
    ([], ['memory', 'files', 'answers'])
    """
    warm = samples[int(WARM_UP * len(samples)) :]
    quarter = max(1, len(warm) // 4)
    ends = [[float(np.median(column)) for column in zip(*part, strict=True)][2:]
            for part in (warm[:quarter], warm[-quarter:])]  # fmt: skip
    (memory, files, threads), (memory_end, files_end, threads_end) = ends
    grew = {
        "memory": memory_end > memory * (1 + may_grow),
        "files": files_end > files,
        "threads": threads_end > threads,
        "answers": bool(changed),
    }
    return {
        "faults": [name for name, bad in grew.items() if bad],
        "memory_mb": (memory, memory_end),
        "files": (int(files), int(files_end)),
        "threads": (int(threads), int(threads_end)),
        "changed": changed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=os.devnull, help="a line of JSON for each sample")
    args = parser.parse_args()
    with open(args.out, "w") as out:
        result = soak(
            60 * args.minutes,
            args.seed,
            tell=lambda found: print(json.dumps(found._asdict()), file=out, flush=True),
        )
    print(json.dumps(result, indent=2))
    sys.exit(bool(result["faults"]))


if __name__ == "__main__":
    main()
