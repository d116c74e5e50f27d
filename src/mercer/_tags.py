"""Stable names of the classes and constants in model files, and an index of them over the sources of mercer.

`mercer._stored.stored` registers a class under its tag, `constant` a singleton. A class of mercer whose module is not
imported yet is found in an index of mercer's own source files; no other module is ever imported for a tag. A class of
another package is found only after the user's program has imported it.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from mercer._errors import DataError

T = TypeVar("T")
#: the name under which a class keeps its tag
TAG = "__tag__"
PACKAGE = __name__.partition(".")[0]
_CLASSES: dict[str, type] = {}
_CONSTANTS: dict[str, Any] = {}
#: the decorators of a class with their arguments, or a constant that is registered
_DEFINITION = re.compile(
    r'^@(?P<decorators>(?:stored|traits)\(.*?)^class (?P<name>\w+)|^\w+ = constant\("(?P<constant>\w+)"',
    re.DOTALL | re.MULTILINE,
)
_GIVEN_TAG = re.compile(r'\btag=(?:"(\w+)"|None)')


class Definition(NamedTuple):
    """A class or a constant as a source file of mercer defines it."""

    name: str
    module: str
    #: the text of the decorators of a class; empty for a constant
    decorators: str

    @property
    def tag(self) -> str | None:
        """The tag in model files; None if objects of the class are not stored."""
        if self.decorators and "stored(" not in self.decorators:
            return None
        given = _GIVEN_TAG.search(self.decorators)
        return given[1] if given else self.name


@cache
def definitions() -> tuple[Definition, ...]:
    """Return the declarations with `stored`, `constant` and `mercer.base.traits` in the source files of mercer."""
    root = Path(__file__).parent
    definitions: list[Definition] = []
    for file in sorted(root.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "\n@stored(" in text or "\n@traits(" in text or "= constant(" in text:
            module = ".".join((PACKAGE, *file.relative_to(root).with_suffix("").parts))
            definitions += [
                Definition(match["name"] or match["constant"], module, match["decorators"] or "")
                for match in _DEFINITION.finditer(text)
            ]
    return tuple(definitions)


@cache
def indexed_modules() -> dict[str, str]:
    """Return the module of mercer that defines each tag, from its source files."""
    return {each.tag: each.module for each in definitions() if each.tag is not None}


def register(cls: type, tag: str = "") -> None:
    """Register a class under its tag, by default its name; tags of other packages begin with the package's name."""
    package = cls.__module__.partition(".")[0]
    tag = tag or cls.__name__
    tag = tag if package == PACKAGE else f"{package}.{tag}"
    other = _CLASSES.get(tag)
    if other is not None and (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
        raise DataError(
            f"Two classes have the tag {tag!r} in model files, {other!r} and {cls!r}. Give one of them another tag."
        )
    setattr(cls, TAG, tag)
    _CLASSES[tag] = cls


def constant(tag: str, value: T) -> T:
    """Register a singleton, and return it."""
    _CONSTANTS[tag] = value
    return value


def tag_of(cls: type) -> str | None:
    """Return the tag of a class; None if the class itself is not registered, whatever its bases are."""
    tag = vars(cls).get(TAG)
    return tag if tag is not None and _CLASSES.get(tag) is cls else None


def constant_tag(value: Any) -> str | None:
    """Return the tag of a registered constant; None for other values."""
    return next((tag for tag, one in _CONSTANTS.items() if one is value), None)


def class_of(tag: str) -> type | None:
    """Return the class with a tag, or None; only modules of mercer are imported to find it."""
    _import_definition(tag, _CLASSES)
    return _CLASSES.get(tag)


def constant_of(tag: str) -> Any:
    """Return the constant with a tag, or None."""
    _import_definition(tag, _CONSTANTS)
    return _CONSTANTS.get(tag)


def _import_definition(tag: str, registered: dict[str, Any]) -> None:
    if tag not in registered and tag in indexed_modules():
        importlib.import_module(indexed_modules()[tag])
