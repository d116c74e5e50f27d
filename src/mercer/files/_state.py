"""The parts of an object and their possible names, by the same rules for saving and loading."""

from __future__ import annotations

import dataclasses
import inspect
from functools import cache, cached_property
from typing import Any

from sklearn.base import BaseEstimator

from mercer._tags import tag_of
from mercer.base import scikit_learn
from mercer.files._declarations import known_declaration

#: scikit-learn's attribute for metadata routing, which refers back to its estimator
REQUESTS = "_metadata_request"
#: attributes that scikit-learn gives to estimators of any package
CONVENTIONAL = (REQUESTS, "_sklearn_output_config", "_sklearn_version")


def state_of(thing: Any) -> dict[str, Any]:
    """Return the parts of an object by name, without cached properties."""
    cls: Any = type(thing)
    if is_record(cls):
        return dict(zip(cls._fields, thing, strict=True))
    if dataclasses.is_dataclass(cls) and _own(cls, "__reduce__"):  # a value that defines its arguments
        names = (field.name for field in dataclasses.fields(cls) if field.init)
        return dict(zip(names, thing.__reduce__()[1], strict=True))
    state: dict[str, Any] = dict(thing.__getstate__() or {})
    if _own(cls, "__getstate__"):
        return state
    return {name: value for name, value in state.items() if name not in cached_names(cls)}


def is_record(cls: type) -> bool:
    """Return whether a class is a named tuple."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def may_have(cls: type, name: Any) -> bool:
    """Return whether an object of this class may have a part of that name.

    An estimator may have its parameters, the fields that its class declares and those of scikit-learn's conventions,
    but no methods or properties. Another object may have its fields. Classes of scikit-learn, whose attributes are not
    all declared, may have any that are not methods or properties.
    """
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
        return False
    if is_record(cls):
        return name in cls._fields  # type: ignore[attr-defined]
    if name in cached_names(cls):
        return _own(cls, "__getstate__")
    if dataclasses.is_dataclass(cls) and not issubclass(cls, BaseEstimator):
        return name in _field_names(cls)
    if not isinstance(inspect.getattr_static(cls, name, None), bool | None):
        return False
    return tag_of(cls) is None or not issubclass(cls, BaseEstimator) or name in _attributes(cls)


@cache
def _attributes(cls: Any) -> frozenset[str]:
    """Return the names of the parameters and the declared attributes of an estimator."""
    declared = known_declaration(cls)
    return frozenset({*cls._get_param_names(), *declared.fields, *declared.regrow, *CONVENTIONAL})


def completed(cls: type, state: dict[str, Any]) -> dict[str, Any]:
    """Return the parts, with defaults for parameters that are newer than the file."""
    return {**{name: value for name, value in _defaults(cls).items() if name not in state}, **state}


def lacking(cls: Any, names: set[str]) -> set[str]:
    """Return the required parts of an object of this class that are not among the names."""
    if is_record(cls):
        return set(cls._fields) - names
    if issubclass(cls, BaseEstimator):
        return set(cls._get_param_names()) - names
    if (path := scikit_learn.public_path(cls)) in scikit_learn.STORED_FIELDS:  # a splitter
        return set(scikit_learn.STORED_FIELDS[path]) - names
    if dataclasses.is_dataclass(cls):
        return _field_names(cls) - names
    return set(known_declaration(cls).fields) - cached_names(cls) - names


def _defaults(cls: Any) -> dict[str, Any]:
    if is_record(cls):
        return dict(cls._field_defaults)
    if issubclass(cls, BaseEstimator):
        given = inspect.signature(cls).parameters.values()
        return {each.name: each.default for each in given if each.default is not inspect.Parameter.empty}
    if dataclasses.is_dataclass(cls):
        fields = dataclasses.fields(cls)
        return {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    return {}


@cache
def cached_names(cls: Any) -> frozenset[str]:
    """Return the names of cached properties."""
    return frozenset(
        name for base in cls.__mro__ for name, value in vars(base).items() if isinstance(value, cached_property)
    )


def _field_names(cls: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(cls)}


def _own(cls: Any, method: str) -> bool:
    """Return whether the class defines the method, rather than `object` or `BaseEstimator`."""
    return next(base for base in cls.__mro__ if method in vars(base)) not in (object, BaseEstimator)
