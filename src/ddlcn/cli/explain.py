"""Pictures of evidence and of atoms: `explain`, `atoms`."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

import ddlcn
from ddlcn.cli import options
from ddlcn.cli.app import command, load_model
from ddlcn.cli.terminal import console, printable, show_json, wrapped
from ddlcn.errors import DDLCNError, ImageError, listed
from ddlcn.execution.progress import listen, progress_bars


@command(
    "ddlcn explain parts.ddlcn odd.jpg -o why.png",
    "ddlcn explain parts.ddlcn odd.jpg -o why-not.png --class washer",
    "ddlcn explain parts.ddlcn new/*.jpg -o explanations/",
)
def explain(
    model: Annotated[Path, options.MODEL],
    images: Annotated[list[str], typer.Argument(metavar="IMAGES", help="Files and folders of images to explain.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|DIR",
            help="Picture to write; for several images, a folder that gets NAME-evidence.png of each.",
        ),
    ],
    label: Annotated[
        str | None,
        typer.Option("--class", metavar="NAME", help="Explain this class.", show_default="the predicted one"),
    ] = None,
    quiet: Annotated[bool, options.QUIET] = False,
    as_json: Annotated[bool, options.JSON] = False,
) -> None:
    """Draw which patches of images are evidence for their class, and which against it."""
    several = len(images) > 1 or Path(images[0]).is_dir() or output.is_dir()
    (options.folder if several else options.writable)(output)  # now, not after long work
    classifier = load_model(model, quiet=quiet)
    names = {str(each): each for each in classifier.classes_.tolist()}  # classes may be numbers, but options are text
    if label is not None and label not in names:
        raise DDLCNError(f"--class {label!r}: choose from {listed(names)}")
    wanted = None if label is None else names[label]
    if not several:
        found = _explained(classifier, images[0], wanted, output)
        return show_json(found) if as_json else _show(found)
    paths, _ = ddlcn.find_images(images)
    explained, broken = list[dict[str, Any]](), list[str]()
    output.mkdir(parents=True, exist_ok=True)
    with progress_bars(not quiet) as tell:
        tell("Explaining", 0, len(paths))
        for done, (path, picture) in enumerate(zip(paths, _pictures(paths, output), strict=True), start=1):
            try:
                explained.append(_explained(classifier, path, wanted, picture))
            except ImageError as error:
                broken.append(str(error))
            tell("Explaining", done, len(paths))
    if not explained:
        raise ImageError(f"no image could be read; {listed(broken, 3)}")
    if broken:
        note = f"{len(broken)} of {len(paths)} images can't be read: {listed(broken, 3)}"
        console(stderr=True).print(printable(note), style="yellow")
    if as_json:
        return show_json({"n_images": len(paths), "explanations": explained, "unreadable": broken})
    for found in explained:
        first = found["classes"][0]
        line = f"{printable(first['label'])}  {first['probability']:.1%}  {printable(found['picture'])}"
        console().print(line)
    return None


def _pictures(paths: list[str], folder: Path) -> list[Path]:
    """A picture for each image; images of the same name get numbers."""
    seen, found = Counter[str](), []
    for path in paths:
        stem = Path(path).stem
        seen[stem.casefold()] += 1
        number = f" ({seen[stem.casefold()]})" if seen[stem.casefold()] > 1 else ""
        found.append(folder / f"{stem}{number}-evidence.png")
    return found


def _explained(classifier: "ddlcn.DDLCNClassifier", image: str, label: Any, picture: Path) -> dict[str, Any]:
    """Draw an explanation, and return what it says."""
    from ddlcn.report.explanation import draw_explanation, explain_both
    from ddlcn.report.pixels import save_figure

    both = explain_both(classifier, image, label)
    save_figure(draw_explanation(classifier, image, label, both), picture)
    classes = [
        {
            "label": evidence.label,
            "probability": probability,
            "score": evidence.score,
            "bias": evidence.bias,
            "channels": {channel.name: channel.total for channel in evidence.channels},
            "sum": evidence.as_sum(4),
        }
        for evidence, probability in both
    ]
    return {"image": image, "classes": classes, "picture": str(picture)}


def _show(found: dict[str, Any]) -> None:
    out = console()
    for each in found["classes"]:
        out.print(wrapped(out, f"{printable(each['label'])}  {each['probability']:.1%}  {each['sum']}"))
    out.print(f"Wrote {printable(found['picture'])}")


@command(
    "ddlcn atoms parts.ddlcn -o atoms.png",
    "ddlcn atoms parts.ddlcn -o atoms.png --data parts/",
)
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
    quiet: Annotated[bool, options.QUIET] = False,
    as_json: Annotated[bool, options.JSON] = False,
) -> None:
    """Draw the atoms that a model has learnt."""
    classifier = load_model(model, jobs or -1, quiet)
    from ddlcn.report.atoms import atom_channels, atom_class, draw_atoms, heaviest
    from ddlcn.report.pixels import save_figure

    with progress_bars(not quiet) as tell, listen(tell):
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
