"""HTML pages in one style that need no other file: the report, and that of benchmarks.

Templates extend `base.html`. All text from users is escaped, and the security policy of a page allows its own script
only.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ddlcn.report.pixels import data_uri
from ddlcn.report.strokes import svg_paths


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
