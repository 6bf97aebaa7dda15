"""The gallery of examples: its order, its pictures, and links to it."""

import re
import shutil
from pathlib import Path

from sphinx_gallery.scrapers import figure_rst

ORDER = (
    "plot_digits",
    "plot_own_folder",
    "plot_colour_photographs",
    "plot_look_inside",
    "plot_faces",
    "plot_compare_methods",
)


def reading_order(name):
    """The place of an example; a new one comes last."""
    name = Path(name).stem
    return ORDER.index(name) if name in ORDER else len(ORDER)


def pictures(block, variables, conf):
    """The pictures that an example has just written beside itself become those of its page."""
    written = sorted(Path(variables["src_file"]).parent.glob("*.png"), key=lambda file: file.stat().st_mtime)
    places = [next(variables["image_path_iterator"]) for _ in written]
    for file, place in zip(written, places, strict=True):
        shutil.move(file, place)
    return figure_rst(places, conf["src_dir"])


def link_gallery(app, page, content):
    """Links to scripts, which a code host can follow, lead to their pages in the gallery here."""
    content[0] = re.sub(r"\((?:\.\./)+examples/(plot_\w+)\.py\)", r"(/gallery/\1.rst)", content[0])


def setup(app):
    """Register the rule for links."""
    app.connect("source-read", link_gallery)
    return {"parallel_read_safe": True}
