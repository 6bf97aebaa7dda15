"""python -m tests.fuzz image|idx|manifest|model|entry|onnx [--minutes 10] [--seed 0] [--found DIR]

Fuzzes a reader: guided by coverage if atheris is installed, else by our mutations alone. A case that breaks a
rule ends it and is left in DIR. The process may not take more than 4 GB, and a case not more than 20 seconds.
"""

import argparse
import importlib
import json
import os
import pkgutil
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ddlcn import kernels

GIGABYTES = 4


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("kind", choices=("image", "idx", "manifest", "model", "entry", "onnx"))
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--found", type=Path, default=Path("fuzz-found"))
    args = parser.parse_args()
    args.found.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        try:
            import atheris
        except ModuleNotFoundError:
            _plain(args, Path(folder))
        else:
            _guided(atheris, args, Path(folder))


def _guided(atheris, args: argparse.Namespace, folder: Path) -> None:
    for module in pkgutil.iter_modules(kernels.__path__):  # first: numba can't compile them instrumented
        importlib.import_module(f"ddlcn.kernels.{module.name}")
    with atheris.instrument_imports(include=["ddlcn", "PIL"]):
        from tests.fuzz import mutate, targets
    corpus = folder / "corpus"
    corpus.mkdir()
    files = mutate.CORPUS[args.kind]()
    seeds = list(files.values())
    for name, content in files.items():
        (corpus / name).write_bytes(content)

    def mutator(data: bytes, size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.2:  # from the start again: what libFuzzer keeps is mostly damaged
            data = rng.choice(seeds)
        if rng.random() < 0.6:
            return mutate.mutate(args.kind, data, rng)[:size]
        return mutate.SEALED.get(args.kind, bytes)(atheris.Mutate(data, size))[:size]

    flags = [
        f"-max_total_time={60 * args.minutes:.0f}", f"-seed={args.seed + 1}", "-max_len=60000",
        "-timeout=120", f"-rss_limit_mb={GIGABYTES * 1024}", f"-artifact_prefix={args.found}/{args.kind}-",
        "-print_final_stats=1", "-verbosity=0", str(corpus),
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *flags], _reader(targets, args.kind, folder), custom_mutator=mutator)
    atheris.Fuzz()  # ends the process


def _plain(args: argparse.Namespace, folder: Path) -> None:
    from tests.fuzz import mutate, targets

    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + (GIGABYTES << 30), -1))
    rng, corpus, read = random.Random(args.seed), mutate.CORPUS[args.kind](), _reader(targets, args.kind, folder)
    end = time.monotonic() + 60 * args.minutes
    while time.monotonic() < end:
        data = mutate.mutate(args.kind, rng.choice(list(corpus.values())), rng)
        try:
            read(data)
        except BaseException:
            (args.found / args.kind).write_bytes(data)
            raise
    print(args.kind, json.dumps(targets.WORST), file=sys.stderr)


def _reader(targets, kind: str, folder: Path) -> Callable[[bytes], None]:
    """Reads a case, and tells what was seen every ten seconds."""
    told = time.monotonic()

    def read(data: bytes) -> None:
        nonlocal told
        targets.run(kind, folder, data)
        if time.monotonic() > told + 10:
            told = time.monotonic()
            print(kind, json.dumps(targets.WORST), file=sys.stderr, flush=True)

    return read


if __name__ == "__main__":
    main()
