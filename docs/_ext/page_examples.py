"""Examples on pages are run: each `pycon` block of a page, in order, in one namespace per page."""

import doctest
import re
from pathlib import Path

from sphinx.errors import ExtensionError

_BLOCK = re.compile(r"^( *)```pycon\n(.*?)^\1```", re.M | re.S)


def run_page(path):
    """Run the examples of a Markdown page; returns how many failed, and how many there are."""
    text = Path(path).read_text("utf-8")
    blocks = (re.sub(rf"(?m)^{indent}", "", block) for indent, block in _BLOCK.findall(text))
    test = doctest.DocTestParser().get_doctest("\n\n".join(blocks), {}, str(path), str(path), 0)
    return doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)


def run_pages(app):
    """Run the examples of all pages; a failure stops the build."""
    for path in sorted(Path(app.srcdir).rglob("*.md")):
        if "_build" not in path.parts and run_page(path).failed:
            raise ExtensionError(f"examples of {path} fail")


def setup(app):
    """Run before pages are read."""
    app.connect("builder-inited", run_pages)
    return {"parallel_read_safe": True}
