"""Names in model files: classes that declare their fields, enumerations, types and constants, and nothing else.

The name of a class is its tag (`mercer._tags`), which does not depend on its module. Nothing is imported for a name
that is not declared.
"""

from __future__ import annotations

import importlib
from enum import Enum
from typing import Any

from mercer import _tags as tags
from mercer._errors import ModelFileError
from mercer.base import scikit_learn

#: types that are values: those of `dtype=`, and the kinds of sparse matrices
TYPES: dict[str, str] = {
    "builtins": "bool int float complex str object",
    "numpy": "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 "
    "str_ object_",
    "scipy.sparse": "csr_array csr_matrix csc_array csc_matrix",
}
_TYPE_NAMES = frozenset(f"{module}.{name}" for module, found in TYPES.items() for name in found.split())
#: public modules of types that are defined in private ones
_PUBLIC = {"scipy.sparse._csr": "scipy.sparse", "scipy.sparse._csc": "scipy.sparse"}


def class_named(name: Any) -> type:
    """Return the class with this name, or raise an error, without any import, if it declares no fields."""
    cls = _class(name)
    return _raise_not_allowed("class", name) if cls is None or issubclass(cls, Enum) else cls


def enum_named(name: Any) -> type[Enum]:
    """Return the enumeration with this name."""
    cls = _class(name)
    return cls if cls is not None and issubclass(cls, Enum) else _raise_not_allowed("enum", name)


def constant_named(name: Any) -> Any:
    """Return the constant with this name."""
    constant = tags.constant_of(name) if isinstance(name, str) else None
    return _raise_not_allowed("constant", name) if constant is None else constant


def type_named(name: Any) -> type:
    """Return the type of Python, NumPy or SciPy with this name."""
    if not isinstance(name, str) or name not in _TYPE_NAMES:
        _raise_not_allowed("type", name)
    module, _, attribute = name.rpartition(".")
    cls: type = getattr(importlib.import_module(module), attribute)
    return cls


def name_of_class(cls: type) -> str | None:
    """Return the name of a class or an enumeration in files; None if the class itself declares no fields."""
    if (tag := tags.tag_of(cls)) is not None:
        return tag
    if cls.__module__.partition(".")[0] != "sklearn":
        return None
    path = scikit_learn.public_path(cls)
    return path if path in scikit_learn.STORED_FIELDS else None


def name_of_type(thing: type) -> str | None:
    """Return the name of a type that is a value; None for other types."""
    name = f"{_PUBLIC.get(thing.__module__, thing.__module__)}.{thing.__qualname__}"
    name = {"numpy.bool": "numpy.bool_"}.get(name, name)
    return name if name in _TYPE_NAMES else None


def shown(name: Any) -> str:
    """Return a name for a message, truncated if it is long."""
    text = repr(name)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _class(name: Any) -> type | None:
    if not isinstance(name, str):
        return None
    cls = tags.class_of(name)
    return scikit_learn.class_at(name) if cls is None else cls


def _raise_not_allowed(kind: str, name: Any) -> Any:
    raise ModelFileError(
        f"The file names {shown(name)}, which is not a {kind} allowed in model files: it was tampered with, written by "
        "a newer mercer, or with a class of another package that is not imported here. Nothing was loaded."
    )
