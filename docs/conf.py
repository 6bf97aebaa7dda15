"""The documentation site: sphinx-build -W -b html docs docs/_build/html"""

import os
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("DDLCN_DATA", str(HERE.parents[1] / "shared" / "data"))  # faces, if they are there

project, author, release = "ddlcn", "The ddlcn developers", metadata.version("ddlcn")
copyright = "The ddlcn developers, BSD 3-Clause licence"
extensions = [
    "page_examples",
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "gallery",
    "reference",
]
exclude_patterns = ["_build", "**/sg_execution_times.rst", "sg_execution_times.rst"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
default_role = "py:obj"  # `name` in a docstring links to what it names
highlight_language = "text"
smartquotes_action = "qe"  # -- starts an option, and is no dash
copybutton_exclude = ".linenos, .gp, .go"

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "NDArray": "NDArray"}
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 110
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"ddlcn {release}"
html_static_path, html_css_files = ["_static"], ["site.css"]
html_copy_source = html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#a3162a", "color-brand-content": "#a3162a"},
    "dark_css_variables": {"color-brand-primary": "#f4a08c", "color-brand-content": "#f4a08c"},
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "gallery.reading_order",
    "image_scrapers": ("gallery.pictures",),
    "capture_repr": (),
    "abort_on_example_error": True,
    "thumbnail_size": (480, 320),
    "notebook_extensions": set(),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,  # times of this machine are no benchmark
}
