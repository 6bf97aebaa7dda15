"""Pictures of evidence and of atoms: `explain`, `atoms`."""

from pathlib import Path
from typing import Annotated

import typer

import ddlcn
from ddlcn.cli import options
from ddlcn.cli.app import app, load_model
from ddlcn.cli.terminal import console, printable, show_json
from ddlcn.errors import DDLCNError
from ddlcn.execution.progress import listen, progress_bars


@app.command()
def explain(
    model: Annotated[Path, options.MODEL],
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="The image to explain.")],
    output: Annotated[Path, options.OUTPUT],
    label: Annotated[
        str | None,
        typer.Option("--class", metavar="NAME", help="Explain this class.", show_default="the predicted one"),
    ] = None,
    as_json: Annotated[bool, options.JSON] = False,
) -> None:
    """Draw which patches of an image are evidence for its class, and which against it."""
    classifier = load_model(model)
    from ddlcn.report.explanation import draw_explanation, explain_both, sum_text
    from ddlcn.report.pixels import save_figure

    names = {str(each): each for each in classifier.classes_.tolist()}  # classes may be numbers, but options are text
    if label is not None and label not in names:
        known = ", ".join([*names][:10])
        raise DDLCNError(f"--class {label!r}: choose from {known}{', …' if len(names) > 10 else ''}")
    wanted = None if label is None else names[label]
    both = explain_both(classifier, image, wanted)
    save_figure(draw_explanation(classifier, image, wanted), output)
    if as_json:
        classes = [
            {
                "label": evidence.label,
                "probability": probability,
                "score": evidence.score,
                "bias": evidence.bias,
                "channels": {channel.name: channel.total for channel in evidence.channels},
            }
            for evidence, probability in both
        ]
        return show_json({"image": str(image), "classes": classes, "picture": str(output)})
    for evidence, probability in both:
        console().print(f"{printable(evidence.label)}  {probability:.1%}  {sum_text(evidence, 4)}")
    return console().print(f"Wrote {printable(output)}")


@app.command()
def atoms(
    model: Annotated[Path, options.MODEL],
    output: Annotated[Path, options.OUTPUT],
    data: Annotated[
        Path | None, typer.Option(metavar="DATA", help="Training images: show their patches nearest to each atom.")
    ] = None,
    most: Annotated[
        int, typer.Option(min=2, max=1000, metavar="N", help="Atoms of the first layer to draw, at most.")
    ] = 48,
    jobs: Annotated[int | None, options.JOBS] = None,
    as_json: Annotated[bool, options.JSON] = False,
) -> None:
    """Draw the atoms that a model has learnt."""
    classifier = load_model(model, jobs or -1)
    from ddlcn.report.atoms import atom_channels, atom_class, draw_atoms, heaviest
    from ddlcn.report.pixels import save_figure

    with progress_bars() as tell, listen(tell):
        images = None if data is None else ddlcn.load_images(data, min_classes=1, n_jobs=classifier.n_jobs).images
        save_figure(draw_atoms(classifier, images, most), output)
    if as_json:
        channels = [
            {
                "name": channel.name,
                "n_atoms": [len(atoms) for atoms in channel.dictionaries],
                "largest_weights": [
                    {"atom": atom, "label": atom_class(classifier, channel, atom).item()}
                    for atom in heaviest(classifier, channel, most).tolist()
                ],
            }
            for channel in atom_channels(classifier)
        ]
        return show_json({"channels": channels, "picture": str(output)})
    return console().print(f"Wrote {printable(output)}")
