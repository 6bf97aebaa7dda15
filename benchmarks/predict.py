"""Answers of a loaded model of 570 atoms: one image of 192 × 168 pixels, and many on two cores."""

from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.data import face_model, task
from benchmarks.measure import Row, race, spell
from ddlcn import DDLCNClassifier


def rows(quick: bool) -> list[Row]:
    """Image files in, labels out, by both presets."""
    images = task("yaleb")[1].images[: 128 if quick else 640]
    found = []
    for preset, most, least in (("paper", 5, 300), ("best", 6, 320)):
        with TemporaryDirectory() as folder:
            model = DDLCNClassifier.load(face_model(folder, preset))
        (one,) = race(lambda: model.predict(images[:1]), repeats=100, clock=perf_counter)  # noqa: B023
        model.set_params(n_jobs=2)
        (all_of_them,) = race(lambda: model.predict(images), repeats=3, clock=perf_counter)  # noqa: B023
        rate = len(images) / all_of_them
        many = f"predict {len(images)} faces, preset {preset!r}, two cores"
        found += [
            Row(f"predict one face, preset {preset!r}", spell(one), "–", 1000 * one, f"≤ {most} ms"),
            Row(many, spell(all_of_them), "–", rate, f"≥ {least} images/s"),
        ]
    return found
