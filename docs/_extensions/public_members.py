"""Which members a page of the reference shows: those that mercer wrote, not what every estimator or tuple has."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def home(member: Any) -> str:
    """The module that a method or property was written in."""
    inner = (
        getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", None) or member
    )
    return getattr(inner, "__module__", None) or ""


def skipped(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    return True if what == "class" and not home(member).startswith("mercer") else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-skip-member", skipped)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
