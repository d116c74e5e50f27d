"""Render the navigation tree once for each folder instead of once for each page, which took half of a build.

Links within it are relative, so that it is the same for all pages of a folder, but for the way to the page itself.
"""

from __future__ import annotations

from typing import Any

from bs4 import BeautifulSoup
from sphinx.application import Sphinx

CURRENT = "current"
#: of the build that runs in this process
TREES: dict[str, str] = {}


def without_way(html: str, own: str) -> str:
    """Return the tree without a current page: its link, '#', is written out, and nothing is marked."""
    tree = BeautifulSoup(html, "html.parser")
    for marked in tree.select(f".{CURRENT}"):
        marked["class"] = [name for name in marked["class"] if name != CURRENT]
    for link in tree.select('a[href="#"]'):
        link["href"] = own
    return str(tree)


def with_way(html: str, own: str) -> str:
    """Return the tree with the entry of the page, and those above it, marked."""
    tree = BeautifulSoup(html, "html.parser")
    link = tree.find("a", href=own)
    if link is not None:
        link["href"] = "#"
        for entry in [link, *link.find_parents(["li", "ul"])]:
            entry["class"] = [*entry.get("class", []), CURRENT]
    return str(tree)


def on_page(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    made = context.get("toctree")
    if made is None:
        return
    folder, _, name = pagename.rpartition("/")
    own = f"{name}.html"

    def toctree(**options: Any) -> str:
        if folder not in TREES:
            TREES[folder] = without_way(made(**options), own)
        return with_way(TREES[folder], own)

    context["toctree"] = toctree


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", on_page, priority=400)  # before the theme renders the tree
    return {"parallel_read_safe": True, "parallel_write_safe": True}
