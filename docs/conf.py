"""Settings of the documentation's site; ``make docs`` builds it. Nothing on it needs a network."""

import sys
from importlib.util import find_spec
from pathlib import Path

from sphinx.util.fileutil import copy_asset_file

import pairscore

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "pairscore"
author = "the pairscore developers"
version = release = pairscore.__version__
language = "en-GB"
html_title = f"pairscore {version}"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
pygments_dark_style = "github-dark"
html_show_sourcelink = False
html_show_copyright = False
templates_path: list[str] = []

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "command_pages",
]
exclude_patterns = ["_build", "notebooks", "figures", "extensions"]
source_suffix = {".md": "markdown"}
default_role = "code"  # of docstrings: `split`

# -- Markdown as GitHub has it ---------------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

# -- docstrings ------------------------------------------------------------------------------------

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"  # types and shapes are in the docstrings
autoclass_content = "class"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # several names in one entry
python_maximum_signature_line_length = 88
add_module_names = False
python_use_unqualified_type_names = True

# -- mathematics, from a file of the site --------------------------------------------------------

MATHJAX = "tex-svg.js"  # formulas as drawings: no fonts to load
mathjax_path = f"mathjax/{MATHJAX}"
mathjax3_config = {"options": {"enableMenu": False}}


def copy_mathjax(app):
    """Put MathJax, as its package has it, among the files of the site."""
    if app.builder.format != "html":
        return
    package = find_spec("sphinx-mathjax-offline")
    (folder,) = package.submodule_search_locations
    source = Path(folder) / "static" / "mathjax" / MATHJAX
    target = Path(app.outdir) / "_static" / "mathjax"
    target.mkdir(parents=True, exist_ok=True)
    copy_asset_file(source, target)


def setup(app):
    """Called by Sphinx."""
    app.connect("builder-inited", copy_mathjax)
