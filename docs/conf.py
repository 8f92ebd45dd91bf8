"""Settings of Sphinx for the site, which `make docs` builds; `site_pages.py` writes the pages that come from data.

Nothing here asks the network: no intersphinx, nothing loaded from elsewhere, examples on data of installed packages.
"""

import dataclasses
import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpydoc.xref  # noqa: E402
import site_pages  # noqa: E402

import densdiff  # noqa: E402

project = "densdiff"
author = "The densdiff developers"
copyright = author
version = release = densdiff.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "examples", "generated/gallery/*.py", "gallery"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "attrs_inline", "attrs_block"]
myst_heading_anchors = 4

# The members of a class are listed on its page by numpydoc; pages of their own would say each of them twice.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
# Of the types in a docstring our own are links; numpydoc's own list leads to other libraries' pages.
numpydoc.xref.DEFAULT_LINKS.clear()
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {name: f"densdiff.{name}" for name in densdiff.__all__ if name[0].isupper()}
numpydoc_class_members_toctree = False
# Types in docstrings are words for people ("array of shape (k, d)"), and other libraries' pages are not asked for.
nitpick_ignore_regex = [(r"py:.*", r"(?!densdiff).*")]

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "write_computation_times": False,  # a page that would load scripts
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1000,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib", "figure_scraper.last_figure"),
    "ignore_repr_types": r"matplotlib",
    "first_notebook_cell": "%matplotlib inline",
    "capture_repr": ("_repr_html_", "__repr__"),
    "reference_url": {"densdiff": None},
    "doc_module": ("densdiff",),
    "backreferences_dir": "generated/backreferences",
    "plot_gallery": "True",
    "copyfile_regex": "",
}
warnings.filterwarnings("ignore", message=".*Agg.*cannot show the figure.*")

html_theme = "pydata_sphinx_theme"
html_title = "densdiff"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo_dark.svg", "alt_text": "densdiff"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}


def lead_into_the_site(app, name, source):
    """Links of a page to files of the repository outside docs, as links to the pages that stand for them."""
    for path, page in site_pages.OUTSIDE.items():
        up = "../" * name.count("/")
        source[0] = source[0].replace(f"](../{up}{path}", f"]({up}generated/{page}")


def drop_prompts_of_the_doctests(app, name, source):
    """The blank line that ends an example for doctest, which a reader need not see."""
    source[0] = re.sub(r"\n\n```\n", "\n```\n", source[0])


def hide_constructor_of_results(app, what, name, obj, options, signature, returns):
    """Nobody makes a result by hand: its page is about its fields."""
    return ("", None) if dataclasses.is_dataclass(obj) and what == "class" else None


def skip_what_scikit_learn_adds(app, what, name, obj, skip, options):
    """Methods for the routing of metadata, which are described in scikit-learn's words and for its readers."""
    return True if (getattr(obj, "__module__", None) or "").startswith("sklearn") else None


def setup(app):
    site_pages.write_all(HERE / "generated")
    app.connect("autodoc-process-signature", hide_constructor_of_results)
    app.connect("autodoc-skip-member", skip_what_scikit_learn_adds)
    app.connect("source-read", lead_into_the_site)
    app.connect("source-read", drop_prompts_of_the_doctests)
