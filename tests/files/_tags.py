"""All classes that a model file may name, of mercer and of scikit-learn."""

from __future__ import annotations

from enum import Enum

from mercer._tags import class_of, indexed_modules
from mercer.base.scikit_learn import STORED_FIELDS, class_at


def classes_by_tag() -> dict[str, type]:
    """Import the module of every tag, and return the classes without enumerations."""
    found = {tag: class_of(tag) for tag in indexed_modules()} | {path: class_at(path) for path in STORED_FIELDS}
    return {tag: cls for tag, cls in found.items() if cls is not None and not issubclass(cls, Enum)}
