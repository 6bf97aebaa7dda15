"""See what a model sees: `explain`, `atoms`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddlcn.cli import options
from ddlcn.cli.app import app, load_model
from ddlcn.cli.terminal import console, printable, progress, show_json
from ddlcn.errors import DDLCNError
from ddlcn.progress import listen

if TYPE_CHECKING:
    from ddlcn import DDLCNClassifier


@app.command()
def explain(
    model: options.Model,
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="The image to explain.")],
    output: options.Output,
    label: Annotated[
        str | None,
        typer.Option("--class", metavar="NAME", help="Explain this class.", show_default="the predicted one"),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Draw which patches of an image speak for its class, and which against it."""
    judge = load_model(model)
    from ddlcn.report.explanation import draw_explanation, explain_both
    from ddlcn.report.pixels import save_figure

    wanted = None if label is None else _class(judge, label)
    evidences, probabilities = explain_both(judge, image, wanted)
    save_figure(draw_explanation(judge, image, wanted), output)
    classes = [
        {"label": evidence.label, "probability": p, "score": evidence.score, "bias": evidence.bias}
        for evidence, p in zip(evidences, probabilities, strict=True)
    ]
    if as_json:
        return show_json({"image": str(image), "classes": classes, "picture": str(output)})
    for each in classes:
        patches = each["score"] - each["bias"]
        total = f"score {each['score']:+.4f} = patches {patches:+.4f}, bias {each['bias']:+.4f}"
        console().print(f"{printable(each['label'])}  {each['probability']:.1%}  {total}")
    return console().print(f"Wrote {printable(output)}")


@app.command()
def atoms(
    model: options.Model,
    output: options.Output,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DATA", help="Training images, to show the patches nearest to each atom."),
    ] = None,
    most: Annotated[int, typer.Option(min=2, max=1000, metavar="N", help="First-layer atoms to draw.")] = 48,
    jobs: options.Jobs = None,
) -> None:
    """Draw the atoms that a model has learnt."""
    judge = load_model(model, jobs or -1)
    from ddlcn import load_images
    from ddlcn.report.atoms import draw_atoms
    from ddlcn.report.pixels import save_figure

    with progress() as tell, listen(tell):
        images = None if data is None else load_images(data, min_classes=1, n_jobs=judge.n_jobs).images
        save_figure(draw_atoms(judge, images, most), output)
    console().print(f"Wrote {printable(output)}")


def _class(model: "DDLCNClassifier", name: str) -> Any:
    """The class of that name; names from a command line are text, classes may be numbers."""
    for label in model.classes_.tolist():
        if str(label) == name:
            return label
    known = ", ".join(map(str, model.classes_[:10]))
    raise DDLCNError(f"--class {name!r}: the model knows {known}{', …' if len(model.classes_) > 10 else ''}")
