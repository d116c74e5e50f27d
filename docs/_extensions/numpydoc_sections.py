"""Convert sections of numpydoc docstrings to reST: a heading for each, and lists of `name : type` as definitions.

Sphinx's own reader of them makes fields, which drop the underscore at the end of `classes_` and take words of a type,
such as n_features, for names of code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from sphinx.application import Sphinx

#: sections that list names with types; all others are text
LISTS = {"Parameters", "Attributes", "Returns", "Yields", "Raises"}
NAMES = re.compile(r"\*{0,2}\w+(?:, \*{0,2}\w+)*")

#: attributes of fitted models in a type: "shape (n_features_in_,)"
FITTED = re.compile(r"(?<![\w`])(\w+_)(?![\w`])")


def sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield titles and the lines below them; lines before the first title have the title ''."""
    heads = [row for row, (title, rule) in enumerate(pairwise(lines)) if title and re.fullmatch("-{3,}", rule)]
    yield "", lines[: heads[0] if heads else None]
    for head, end in zip(heads, [*heads[1:], None], strict=False):
        yield lines[head], lines[head + 2 : end]


def term(line: str) -> str:
    """Return `name : type` with the name, or names, as code."""
    name, colon, kind = line.partition(" : ")
    if not NAMES.fullmatch(name):
        return line
    names = ", ".join(f"``{one}``" for one in name.split(", "))
    return names + colon + FITTED.sub(r"``\1``", kind)


def as_definitions(lines: list[str]) -> list[str]:
    """Convert lines at the margin to terms; terms without a definition get an empty one, so that lists continue."""
    shown = []
    for line, following in pairwise([*lines, ""]):
        at_margin = bool(line) and not line[0].isspace()
        shown.append(term(line) if at_margin else line)
        if at_margin and not following.startswith(" "):
            shown.append("    \\ ")
    return shown


def on_docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    shown = []
    for title, body in sections(list(lines)):
        shown += [f".. rubric:: {title}", ""] if title else []
        shown += as_definitions(body) if title in LISTS else body
        shown += [""]
    lines[:] = shown


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", on_docstring)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
