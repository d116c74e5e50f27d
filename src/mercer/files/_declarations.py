"""Verification of objects in model files against the declarations of their classes with `stored`.

Estimators are also verified by scikit-learn's conventions, and classes of scikit-learn by `base.scikit_learn`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sklearn.base import BaseEstimator

from mercer._stored import (
    Check,
    ContradictionError,
    Declaration,
    Sizes,
    declaration_of,
    either,
    length,
    mapping,
    one_of,
    optional,
    part_of,
    sequence,
    values,
)
from mercer.base import scikit_learn
from mercer.files._rules import KeyBudget, SlowKeysError

#: attributes of every fitted estimator, by scikit-learn's conventions
ESTIMATOR: dict[str, Check] = {
    "n_features_in_": length("d"),
    "feature_names_in_": values("d"),
    "classes_": either(values("k"), sequence(".", values("_k"))),
    "_sklearn_output_config": mapping(part_of(str), optional(one_of("default", "pandas", "polars"))),
}
#: maximum columns of an estimator without a part of that size: names for more would take minutes and all memory
MAX_BARE_COLUMNS = 1 << 24


class Verifier:
    """Verification of the objects of a file one by one, the parts of an object before the object itself.

    The lengths of the axes of verified objects are kept, because declarations compare them with those of parts.
    """

    def __init__(self, keys: KeyBudget | None = None) -> None:
        self._sizes: dict[int, Mapping[str, int]] = {}
        self._keys = keys or KeyBudget()

    def verify_state(self, cls: Any, state: Mapping[str, Any]) -> Sizes:
        """Verify the parts of an object before it is built, and return the lengths of its axes."""
        declared = known_declaration(cls)
        sizes = declared.verify(state, self._sizes_of, self._verify_keys)
        if issubclass(cls, BaseEstimator) and sizes.get("d", 0) > MAX_BARE_COLUMNS:
            others = {name: part for name, part in state.items() if name != "n_features_in_"}
            if "d" not in declared.verify(others, self._sizes_of):
                raise ContradictionError("is larger than all other parts", "n_features_in_")
        return sizes

    def _verify_keys(self, values: Sequence[Any]) -> None:
        """Verify that methods can use these values, such as labels, as keys of a dict or members of a set."""
        try:
            self._keys.check(values)
        except SlowKeysError as error:
            raise ContradictionError(f"is too slow: {error}") from None

    def _sizes_of(self, part: Any) -> Mapping[str, int]:
        return self._sizes.get(id(part), {})

    def verify_object(self, thing: Any, sizes: Sizes, *, made: bool = False) -> None:
        """Verify an object as a whole, and keep the lengths of its axes for the objects that it is a part of.

        An object that was `made` from a file is also verified by its `__post_init__` and by the constructor's rules
        for steps.
        """
        cls: Any = type(thing)
        try:
            if made and _validates_itself(cls):
                thing.__post_init__()
            if hasattr(cls, "_parameter_constraints"):
                thing._validate_params()
            if hasattr(cls, "__sklearn_tags__"):
                thing.__sklearn_tags__()  # includes the tags of inner models, on which all methods rely
            if made and hasattr(cls, "_validate_steps"):
                thing._validate_steps()
            consistent = all(check(thing) for check in known_declaration(cls).consistent)
        except (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError) as error:
            raise ContradictionError("contradicts itself") from error
        if not consistent:
            raise ContradictionError("contradicts itself")
        self._sizes[id(thing)] = sizes


@cache
def known_declaration(cls: Any) -> Declaration:
    """Return the declaration of a class, with the fields of scikit-learn's conventions."""
    own = declaration_of(cls)
    common = ESTIMATOR if issubclass(cls, BaseEstimator) else {}
    foreign = scikit_learn.STORED_FIELDS.get(scikit_learn.public_path(cls), {})
    return Declaration({**common, **own.fields, **foreign}, own.consistent, own.regrow, own.unsafe)


def _validates_itself(cls: type) -> bool:
    """Return whether a class has a `__post_init__` that checks the fields and takes no other arguments."""
    post_init = getattr(cls, "__post_init__", None)
    return dataclasses.is_dataclass(cls) and post_init is not None and len(inspect.signature(post_init).parameters) == 1
