"""The large tasks, files to accuracy on two cores: seconds and the peak of memory of a process of its own."""

from __future__ import annotations

from benchmarks.data import task
from benchmarks.measure import Row, in_new_process, spell, timed
from ddlcn import DDLCNClassifier
from ddlcn_lab.machine import peak_memory_mb


def rows_of(name: str, what: str, minutes: int, gigabytes: int, **setting: int | None) -> list[Row]:
    """Rows of a task by both presets."""
    found, taken = [], []
    for preset in ("best", "paper"):
        (accuracy, stages), seconds, peak = in_new_process(measured, name, preset, setting)
        taken.append((seconds, peak))
        title, ours = f"{what}, preset {preset!r}", f"{spell(seconds)} ({stages}), {100 * accuracy:.2f} %"
        found += [
            Row(title, ours, "–", seconds / 60, f"≤ {minutes} min"),
            Row(f"{title}: memory", f"{peak / 1024:.2f} GB", "–", peak / 1024, f"≤ {gigabytes} GB"),
        ]
    return [*found, *cost(what, *taken)]


def cost(what: str, best: tuple[float, float], paper: tuple[float, float]) -> list[Row]:
    """What preset `best` costs, in times of `paper`: seconds, and the peak of memory in megabytes."""
    title = f"{what}, preset 'best' / 'paper'"
    sizes = (f"{peak / 1024:.2f} GB" for _, peak in (best, paper))
    return [
        Row(title, spell(best[0]), spell(paper[0]), best[0] / paper[0], "≤ 4 ×"),
        Row(f"{title}: memory", *sizes, best[1] / paper[1], ""),
    ]


def measured(name: str, preset: str, setting: dict) -> tuple[tuple[float, str], float, float]:
    return *timed(lambda: _accuracy(name, preset, **setting)), peak_memory_mb()


def _accuracy(
    name: str, preset: str, p: int, t: int | None, n_classes: int | None, n_images: int | None
) -> tuple[float, str]:
    train, test = task(name, t, n_classes, n_images)
    model = DDLCNClassifier(images_per_class=p, atoms_per_class=p, preset=preset, n_jobs=2)
    model.fit(train.images, train.target)
    stages = ", ".join(f"{stage} {seconds:.0f}" for stage, seconds in model.timings_.items())
    return float(model.score(test.images, test.target)), stages
