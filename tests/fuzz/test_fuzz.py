"""A fixed corpus of hostile files, and a short seeded fuzz; `python -m tests.fuzz` is the long one."""

import random
from pathlib import Path

import pytest

from tests.fuzz import entries, mutate, networks, seeds
from tests.fuzz.targets import run

if not Path("/proc/self/clear_refs").exists():
    pytest.skip("memory is read from /proc", allow_module_level=True)

HOSTILE = {
    "image": seeds.bad_images, "idx": seeds.bad_idx, "manifest": seeds.bad_manifests, "model": seeds.bad_models,
    "entry": entries.bad, "onnx": networks.bad,
}  # fmt: skip


@pytest.mark.parametrize("kind", mutate.CORPUS)
def test_good_and_hostile_files(tmp_path, kind):
    for name, content in mutate.CORPUS[kind]().items():
        assert run(kind, tmp_path, content) is None, name
    for name, content in HOSTILE[kind]().items():
        assert run(kind, tmp_path, content), name


@pytest.mark.parametrize(
    ("kind", "cases"), [("image", 250), ("idx", 400), ("manifest", 400), ("model", 250), ("entry", 250), ("onnx", 250)]
)
def test_chance(tmp_path, kind, cases):
    rng, corpus = random.Random(7), list(mutate.CORPUS[kind]().values())
    lines = [run(kind, tmp_path, mutate.mutate(kind, rng.choice(corpus), rng)) for _ in range(cases)]
    assert 0.05 < sum(line is None for line in lines) / cases < 0.95  # neither all noise nor all unharmed
