"""Verification of objects by the declarations beside their classes, and those of scikit-learn's conventions."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
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
    sequence,
    values,
)
from mercer.base import scikit_learn

#: what scikit-learn's conventions say of every fitted estimator
ESTIMATOR: dict[str, Check] = {
    "n_features_in_": length("d"),
    "feature_names_in_": values("d"),
    "classes_": either(values("k"), sequence(".", values("_k"))),
}


class Verifier:
    """Verifies objects one after the other, each after its parts, and keeps the lengths of their axes."""

    def __init__(self) -> None:
        self._sizes: dict[int, Mapping[str, int]] = {}

    def verify_state(self, cls: Any, state: Mapping[str, Any]) -> Sizes:
        """Verify the parts of an object that is to be made, and return the lengths of its axes."""
        return known_declaration(cls).verify(state, lambda part: self._sizes.get(id(part), {}))

    def verify_object(self, thing: Any, sizes: Sizes, *, made: bool = False) -> None:
        """Verify an object as a whole, of which other objects may be parts from now on; whether it was `made` just now.

        A frozen value that checks its fields when it is made does so when it is made of a file.
        """
        cls: Any = type(thing)
        try:
            if made and _validates_itself(cls):
                thing.__post_init__()
            if hasattr(cls, "_parameter_constraints"):
                thing._validate_params()
            if hasattr(cls, "__sklearn_tags__"):
                thing.__sklearn_tags__()  # asks the models within, which all methods rely on
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
    """Return the declaration of a class, with what scikit-learn's conventions say."""
    own = declaration_of(cls)
    common = ESTIMATOR if issubclass(cls, BaseEstimator) else {}
    foreign = scikit_learn.STORED.get(scikit_learn.public_path(cls), {})
    return Declaration({**common, **own.fields, **foreign}, own.consistent, own.regrow, own.unsafe)


def _validates_itself(cls: type) -> bool:
    """Whether objects of a class check their fields when they are made, of nothing but these."""
    post_init = getattr(cls, "__post_init__", None)
    return dataclasses.is_dataclass(cls) and post_init is not None and len(inspect.signature(post_init).parameters) == 1
