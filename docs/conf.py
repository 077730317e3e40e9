"""The site: Sphinx with the pydata theme, Markdown pages, an API reference and an executed gallery."""

from __future__ import annotations

import sys
from pathlib import Path

import zofw

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "zofw"
author = "The zofw developers"
copyright = "The zofw developers, MIT licence"
release = version = zofw.__version__

extensions = [
    "bars",
    "existing",
    "facts",
    "kernels",
    "pages",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["_build", "api/registered.md", "gallery/**/*.ipynb"]
suppress_warnings = ["config.cache"]
default_role = "code"
nitpicky = False

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

autosummary_generate = [
    "api/registered.md",
    *(
        f"api/{page.name}"
        for page in sorted((Path(__file__).parent / "api").glob("*.md"))
        if page.name != "registered.md"
    ),
]
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = False  # the settings of a run are in no signature of the source
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_signature": False,
    "capture_repr": (),
    "copyfile_regex": r"index\.rst",
}

html_theme = "pydata_sphinx_theme"
html_title = "zofw"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["enlarge.js"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "zofw"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": []}
