"""HTML pages in one style that need no other file: the report, the page of `ddlcn check`, and that of benchmarks.

Templates extend `base.html`. All text from users is escaped, and the security policy of a page allows its own script
only.
"""

import os
import platform
import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ddlcn.errors import DDLCNError
from ddlcn.persistence.atomic import write_atomically
from ddlcn.report.pixels import data_uri
from ddlcn.report.strokes import svg_paths

GENERATOR = "ddlcn report"


def render(template: str, facts: Mapping[str, Any], *, generator: str, package: str = "ddlcn.report") -> str:
    """Return a page.

    Parameters
    ----------
    template : str
        Name of a template of the package, or of the report.
    facts : mapping
        What the template shows.
    generator : str
        What made the page, as in `ddlcn report`.
    package : str

    Returns
    -------
    str
    """
    own = PackageLoader("ddlcn.report", ".")
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), own]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "strokes": svg_paths,
        "thumbnail": partial(data_uri, side=48),
        "percent": lambda share: "–" if share is None else f"{100 * share:.1f}\N{NO-BREAK SPACE}%",
        "breakable": lambda text: Markup("<wbr>").join(re.split("(?<=[/(])", str(text))),
    }
    style, script = (own.get_source(environment, name)[0] for name in ("page.css", "page.js"))
    digest = b64encode(sha256(script.encode()).digest()).decode()
    around = {"style": Markup(style), "script": Markup(script), "script_digest": digest, "generator": generator}
    return environment.get_template(template).render(facts, **around)


def report_page(directory: str | os.PathLike[str]) -> Path:
    """Return the page that a report is written to, unless it is someone else's."""
    page = Path(directory, "index.html")
    if page.is_file() and f'content="{GENERATOR}"'.encode() not in page.read_bytes()[:1000]:
        raise DDLCNError(f"{str(page)!r} is no report of ddlcn; name another folder, or remove the file")
    return page


def make_page(directory: str | os.PathLike[str]) -> Path:
    """Make the folder of a report, and return its page; raise if it can't be made or the page is someone else's."""
    page = report_page(directory)
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DDLCNError(f"can't make {str(directory)!r} ({error.strerror}): choose another folder") from None
    return page


def write_page(page: Path, template: str, facts: Mapping[str, Any]) -> Path:
    """Write a page with facts, and where, when and by what it is written; return its path."""
    origin = {
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "versions": {"Python": platform.python_version()}
        | {name: version(name) for name in ("ddlcn", "numpy", "numba", "scikit-learn")},
        "written": datetime.now().astimezone(),
    }
    text = render(template, {**facts, **origin}, generator=GENERATOR)
    write_atomically(page, text.encode("utf-8", "replace"))  # file names may be no Unicode
    return page
