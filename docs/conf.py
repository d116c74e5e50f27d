"""Configuration of the documentation site. `make docs` builds it offline; every warning is an error."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
os.environ.setdefault("NUMBA_CACHE_DIR", str(HERE.parent / ".cache" / "numba"))  # as in the tests
os.environ["MPLBACKEND"] = "Agg"

import mercer  # noqa: E402 - after the folder of compiled loops is set

project = "mercer"
author = "The mercer contributors"
copyright = author
version = release = mercer.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "numpydoc_sections",
    "page_links",
    "public_members",
    "public_names",
    "shared_sidebar",
    "stale_pages",
]
templates_path = ["_templates"]
exclude_patterns = [
    "_*",
    "pictures",
    "tutorials",  # sphinx-gallery turns these two into pages of generated/
    "gallery",
    "**/sg_execution_times.rst",
]
smartquotes = False  # quotation marks around a word are often those of a string
default_role = "literal"  # docstrings have code between single backticks, as Markdown does
maximum_signature_line_length = 90

html_theme = "furo"
html_title = f"mercer {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["mercer.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_update_mathjax = False

autosummary_generate = True
autosummary_generate_overwrite = True
autodoc_typehints = "none"  # types of parameters are described in docstrings
autodoc_member_order = "groupwise"
autodoc_default_options = {"members": True, "inherited-members": True}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

_galleries = [name for name in ("tutorials", "gallery") if (HERE / name).is_dir()]
sphinx_gallery_conf = {
    "examples_dirs": _galleries,
    "gallery_dirs": [f"generated/{name}" for name in _galleries],
    "filename_pattern": r"\.py$",  # every script runs
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "doc_module": ("mercer",),
    "backreferences_dir": "generated/backreferences",
    "download_all_examples": False,
    "notebook_extensions": set(),
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
}
