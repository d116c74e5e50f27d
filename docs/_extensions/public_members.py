"""Select the members on a page of the reference: those that mercer defines, not those of every estimator or tuple.

The common members of all families, kernels, … are listed once, on the page of their base.
"""

from __future__ import annotations

import inspect
from typing import Any

from sphinx.application import Sphinx

from mercer import _errors, errors
from mercer.density import Density, Rule, SmoothingKernel
from mercer.families import Family, Link, Penalty
from mercer.kernels import FeatureMap, Kernel

BASES = (Family, Link, Penalty, FeatureMap, Kernel, Density, Rule, SmoothingKernel)
PACKAGES = ("mercer.families", "mercer.kernels", "mercer.density")


def function_of(member: Any) -> Any:
    for inside in ("fget", "func", "__func__"):
        member = getattr(member, inside, None) or member
    return member


def skipped(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    if what != "class":
        return None
    function = function_of(member)
    home = getattr(function, "__module__", None) or ""
    said_by_base = home.startswith(PACKAGES) and not function.__doc__
    return True if inspect.isclass(member) or said_by_base or not home.startswith("mercer") else None


def base_of(thing: Any) -> str | None:
    if not inspect.isclass(thing) or thing in BASES:
        return None
    return next((base.__name__ for base in BASES if issubclass(thing, base)), None)


def on_docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if what == "class" and (base := base_of(thing)):
        lines += ["", f"Methods that are not listed here are those of `{base}`.", ""]


def on_bases(app: Sphinx, name: str, thing: Any, options: Any, bases: list[Any]) -> None:
    """Replace errors by their public names instead of those of the private module that defines them."""
    bases[:] = [
        f":py:exc:`~{errors.__name__}.{base.__name__}`" if base.__module__ == _errors.__name__ else base
        for base in bases
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-skip-member", skipped)
    app.connect("autodoc-process-bases", on_bases)
    app.connect("autodoc-process-docstring", on_docstring, priority=600)  # below the examples
    return {"parallel_read_safe": True, "parallel_write_safe": True}
