"""Link public names in code, such as `GaussianNB` or `families.Poisson()`, to their pages of the reference."""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

import mercer

PACKAGES = tuple(name for name in mercer.__all__ if inspect.ismodule(getattr(mercer, name)))
#: page of the result objects, which users do not import
RESULTS = Path(__file__).parents[1] / "reference" / "results.rst"
#: a name, with the call that may follow it
NAME = re.compile(r"(?:mercer\.)?(?P<name>\w+(?:\.\w+)?)(?:\(.*\))?")


@cache
def targets() -> dict[str, str]:
    """Return the full names in the reference of all names that pages may contain."""
    found = {name: f"mercer.{name}" for name in mercer.__all__ if name not in PACKAGES}
    for package in PACKAGES:
        module = importlib.import_module(f"mercer.{package}")
        # an object with two names has its page under the short one
        found |= {f"{package}.{name}": found.get(name, f"mercer.{package}.{name}") for name in module.__all__}
        # a name of two packages is ambiguous, and a word like `open` need not be a name at all
        found |= {
            name: f"mercer.{package}.{name}"
            for name in module.__all__
            if name not in found and inspect.isclass(getattr(module, name)) and unambiguous(name)
        }
    results = re.findall(r"^.. autoclass:: (\S+)$", RESULTS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name.rpartition(".")[2]: name for name in results} | found


def unambiguous(name: str) -> bool:
    return sum(name in importlib.import_module(f"mercer.{package}").__all__ for package in PACKAGES) == 1


def on_tree(app: Sphinx, document: nodes.document) -> None:
    for literal in list(document.findall(nodes.literal)):
        match = NAME.fullmatch(literal.astext())
        target = targets().get(match["name"]) if match else None
        if target is None or inside_of(literal, nodes.reference, nodes.title, addnodes.pending_xref):
            continue
        if app.env.docname.endswith(f"/{target}"):
            continue  # a page does not link to itself
        link = addnodes.pending_xref(
            "", refdomain="py", reftype="obj", reftarget=target, refdoc=app.env.docname, refexplicit=True, refwarn=True
        )
        literal.replace_self(link)
        link += literal


def inside_of(node: nodes.Node, *kinds: type[nodes.Node]) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", on_tree)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
