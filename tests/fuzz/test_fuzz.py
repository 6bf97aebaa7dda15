"""A fixed corpus of hostile files, and a short seeded fuzz; `python -m tests.fuzz` is the long one."""

import random
from pathlib import Path

import pytest

from tests.fuzz import mutate, seeds
from tests.fuzz.targets import run

if not Path("/proc/self/clear_refs").exists():
    pytest.skip("memory is read from /proc", allow_module_level=True)

BAD_PAIRS = mutate.packed_pairs(seeds.bad_idx_pairs())


@pytest.mark.parametrize("kind", mutate.CORPUS)
def test_good_files_are_read(tmp_path, kind):
    for name, content in mutate.CORPUS[kind]().items():
        assert run(kind, tmp_path, content) is None, name


@pytest.mark.parametrize("name", seeds.bad_images())
def test_hostile_images(tmp_path, name):
    assert run("image", tmp_path, seeds.bad_images()[name])


@pytest.mark.parametrize("name", BAD_PAIRS)
def test_hostile_idx(tmp_path, name):
    assert run("idx", tmp_path, BAD_PAIRS[name])


@pytest.mark.parametrize("name", seeds.bad_manifests())
def test_hostile_manifests(tmp_path, name):
    assert run("manifest", tmp_path, seeds.bad_manifests()[name])


def test_hostile_models(tmp_path):
    """In one test, for the models are trained when asked for."""
    for name, content in seeds.bad_models().items():
        assert run("model", tmp_path, content), name


@pytest.mark.parametrize(("kind", "cases"), [("image", 250), ("idx", 400), ("manifest", 400), ("model", 250)])
def test_chance(tmp_path, kind, cases):
    rng, corpus = random.Random(7), list(mutate.CORPUS[kind]().values())
    lines = [run(kind, tmp_path, mutate.mutate(kind, rng.choice(corpus), rng)) for _ in range(cases)]
    assert 0.05 < sum(line is None for line in lines) / cases < 0.95  # neither all noise nor all unharmed


def test_a_fault_would_be_noticed(tmp_path, monkeypatch):
    from tests.fuzz import targets

    monkeypatch.setitem(targets.TARGETS, "image", lambda folder, data: {}["missing"])
    with pytest.raises(KeyError):
        run("image", tmp_path, b"")
    monkeypatch.setattr(targets, "MEGABYTES", 90)
    monkeypatch.setitem(targets.TARGETS, "image", lambda folder, data: b"x" * (300 << 20))
    with pytest.raises(AssertionError, match="MB"):
        run("image", tmp_path, b"")
