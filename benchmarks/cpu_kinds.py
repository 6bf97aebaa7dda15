"""How far scores move between kinds of CPU, and whether labels change.

python -m benchmarks.cpu_kinds

OpenBLAS, numba and NumPy choose their instructions by the CPU, so sums are rounded differently. Here they are made to
choose those of other CPUs. "same model": a model trained on this CPU predicts on the other kind. "trained there": the
other kind trains as well. The first run compiles the kernels for each kind.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.data import task
from ddlcn import DDLCNClassifier

BEFORE_AVX512 = "X86_V4 AVX512_ICL AVX512_SPR"
HASWELL = "+sse4.2,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,+popcnt"
# kind: OPENBLAS_CORETYPE, NUMBA_CPU_NAME, NUMBA_CPU_FEATURES, NPY_DISABLE_CPU_FEATURES
KINDS = {
    "SkylakeX (AVX-512)": ("SkylakeX", "skylake-avx512", f"{HASWELL},+avx512f,+avx512dq,+avx512bw,+avx512vl", ""),
    "Haswell (AVX2)": ("Haswell", "haswell", HASWELL, BEFORE_AVX512),
    "Zen (AVX2)": ("Zen", "znver1", HASWELL, BEFORE_AVX512),
    "Sandy Bridge (AVX)": ("Sandybridge", "sandybridge", "+sse4.2,+avx,+popcnt", f"X86_V3 {BEFORE_AVX512}"),
    "Nehalem (SSE4.2)": ("Nehalem", "nehalem", "+sse4.2,+popcnt", f"X86_V3 {BEFORE_AVX512}"),
}
VARIABLES = ("OPENBLAS_CORETYPE", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NPY_DISABLE_CPU_FEATURES")
# title and preset
DATA = {"digits": ("digits, half/half", "best"), "yaleb": ("Extended Yale B, half/half", "paper")}


def images(data: str) -> tuple[list[np.ndarray], np.ndarray, list[np.ndarray], np.ndarray]:
    """Training images and labels, test images and labels."""
    if data == "yaleb":
        train, test = task("yaleb")
        return train.images, train.target, test.images, test.target
    digits = load_digits()
    pixels, half = list(digits.images / 16), len(digits.target) // 2
    return pixels[:half], digits.target[:half], pixels[half:], digits.target[half:]


def measure(data: str, folder: Path, name: str) -> None:
    """Train and predict on this kind of CPU; write scores of this model and of the reference model."""
    train, labels, test, truth = images(data)
    own = DDLCNClassifier(DATA[data][1]).fit(train, labels)
    if name == "reference":
        own.save(folder / data)
    found = {}
    for model, classifier in (("same model", DDLCNClassifier.load(folder / data)), ("trained there", own)):
        scores = classifier.decision_function(test)
        right = own.classes_[scores.argmax(axis=1)] == truth
        found |= {model: scores, f"{model} p": classifier.svm_.probabilities(scores), f"{model} right": right}
    np.savez(folder / f"{data}-{name}.npz", **found)


def rows(folder: str, data: str, kind: str) -> Iterator[str]:
    """Compare a kind of CPU with this one."""
    title, preset = DATA[data]
    here, there = (np.load(Path(folder) / f"{data}-{name}.npz") for name in ("reference", kind))
    for model in ("same model", "trained there"):
        moved, p = (np.abs(there[key] - here[key]).max() for key in (model, f"{model} p"))
        changed = there[model].argmax(axis=1) != here[model].argmax(axis=1)
        accuracy = there[f"{model} right"].mean()
        figures = f"{moved:.1e} | {p:.1e} | {changed.sum()} of {len(changed):,} | {accuracy:.2%}"
        yield f"| {title}, preset `{preset}` | {kind} | {model} | {figures} |"


def main() -> None:
    """Print a table in Markdown: a row per data set, kind of CPU and model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", nargs=3, metavar=("DATA", "FOLDER", "KIND"), help=argparse.SUPPRESS)
    if wanted := parser.parse_args().measure:
        return measure(wanted[0], Path(wanted[1]), wanted[2])
    print("| images | kind of CPU | model | scores move by | probabilities by | labels that change | accuracy |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for data in DATA:
            for kind, values in {"reference": (), **KINDS}.items():
                environment = os.environ | dict(zip(VARIABLES, values, strict=False))
                command = [sys.executable, "-m", "benchmarks.cpu_kinds", "--measure", data, folder, kind]
                subprocess.run(command, env=environment, check=True)
                if values:
                    print(*rows(folder, data, kind), sep="\n", flush=True)
    return None


if __name__ == "__main__":
    main()
