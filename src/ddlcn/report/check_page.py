"""The page of `ddlcn check`: findings about labelled images, in one HTML file."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ddlcn.checks import DataCheck
from ddlcn.images import ImageSet, read_colour, value_range
from ddlcn.report.checks import check_section
from ddlcn.report.examples import image_name, skipped_files
from ddlcn.report.html import make_page, write_page
from ddlcn.report.pixels import data_uri

_SMALL = 112  # pixels


def write_check(
    directory: str | os.PathLike[str],
    check: DataCheck,
    *,
    command: str = "",
    stages: Mapping[str, float] = MappingProxyType({}),
) -> Path:
    """Write `index.html` with the findings into a folder, which is made if needed.

    Parameters
    ----------
    directory : path
    check : DataCheck
    command : str
        The command line.
    stages : mapping
        Seconds of stages, by name.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    DDLCNError
        If the folder can't be made or has an `index.html` that is no report.
    """
    page = make_page(directory)
    facts = {
        "checks": check_section(check, partial(_picture, value_range(check.images.images))),
        "skipped": skipped_files(check.images),
        "passed_over": check.images.passed_over,
        "source": Path(check.images.source).name,
        "command": command,
        "stages": stages,
        "n_images": len(check.images),
        "n_classes": len(check.images.target_names),
        "n_found": int(np.any(list(check.flags.values()), axis=0).sum()),
    }
    return write_page(page, "check_page.html", facts)


def _picture(levels: tuple[float, float], images: ImageSet, i: int) -> dict[str, str]:
    pixels = read_colour(images.images[i], value_range=levels)
    return {"uri": data_uri(pixels, _SMALL), "name": image_name(images, i)}
