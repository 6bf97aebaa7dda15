"""How good a model of some images would be: `cross-validate`."""

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

from ddlcn.cli import options
from ddlcn.cli.app import command, load_data
from ddlcn.cli.channels import build_model
from ddlcn.cli.results import show_skipped, show_test, source_facts, tested_facts
from ddlcn.cli.terminal import console, show_json
from ddlcn.cli.work import work_folder
from ddlcn.execution.progress import listen, progress_bars


@command("ddlcn cross-validate parts/ --folds 5", name="cross-validate")
def cross_validate(
    data: Annotated[Path, options.DATA],
    folds: Annotated[int, options.FOLDS] = 5,
    part: Annotated[options.Part, options.PART] = options.Part.train,
    preset: Annotated[options.Preset, options.PRESET] = options.Preset.best,
    channels: Annotated[Any, options.CHANNELS] = None,
    backbone: Annotated[str | None, options.BACKBONE] = None,
    atoms_per_class: Annotated[Any, options.ATOMS_PER_CLASS] = "auto",
    deskew: Annotated[options.Deskew, options.DESKEW] = options.Deskew.auto,
    augmentation: Annotated[options.Augmentation, options.AUGMENTATION] = options.Augmentation.auto,
    C: Annotated[Any, options.C] = "auto",
    class_weight: Annotated[options.ClassWeight, options.CLASS_WEIGHT] = options.ClassWeight.none,
    work: Annotated[str | None, options.WORK_OF_FOLDS] = None,
    seed: Annotated[Any, options.SEED] = "0",
    jobs: Annotated[int | None, options.JOBS] = None,
    quiet: Annotated[bool, options.QUIET] = False,
    strict: Annotated[bool, options.STRICT] = False,
    as_json: Annotated[bool, options.JSON] = False,
) -> None:
    """Measure how accurate a model of these images would be, by k-fold cross-validation. Writes no model."""
    start, n_jobs = perf_counter(), jobs or -1
    settings = {"deskew": deskew, "augmentation": augmentation, "C": C, "class_weight": class_weight}
    model = build_model(preset, channels, backbone, seed, n_jobs, **settings, atoms_per_class=atoms_per_class)
    with progress_bars(not quiet) as tell, listen(tell), work_folder(work) as model.work_folder:
        found = load_data(data, part, strict, n_jobs, tell, min_per_class=2)
        from ddlcn import evaluation

        tested = evaluation.cross_validate(model, found.images, found.labels, folds, seed)
    result = {
        **tested_facts(tested),
        "n_folds": folds,
        "fold_accuracies": tested.fold_accuracies,
        "classes": tested.classes.tolist(),
        "seconds": perf_counter() - start,
        **source_facts(found),
    }
    if as_json:
        return show_json(result)
    show_skipped(console(stderr=True), result["skipped"])
    out, shares = console(), " ".join(f"{share:.1%}" for share in tested.fold_accuracies)
    how = f"{folds}-fold cross-validation: each of {len(found):,} images tested once, by a model of the other folds"
    show_test(out, result, f"{how}\naccuracy of each fold: {shares}")
    return out.print(f"total {result['seconds']:.1f} s; no model was written", style="dim")
