"""What the gallery of examples shows, and in which order."""

import shutil
from pathlib import Path

from sphinx_gallery.scrapers import figure_rst

ORDER = ("plot_digits", "plot_own_folder", "plot_look_inside", "plot_faces", "plot_compare_methods")


def reading_order(name):
    """The place of an example; a new one comes last."""
    name = Path(name).stem
    return ORDER.index(name) if name in ORDER else len(ORDER)


def pictures(block, variables, conf):
    """The pictures that an example has just written beside itself become those of its page."""
    written = sorted(Path(variables["src_file"]).parent.glob("*.png"), key=lambda file: file.stat().st_mtime)
    homes = [next(variables["image_path_iterator"]) for _ in written]
    for file, home in zip(written, homes, strict=True):
        shutil.move(file, home)
    return figure_rst(homes, conf["src_dir"])
