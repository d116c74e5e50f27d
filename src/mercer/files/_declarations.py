"""Verification of objects by the declarations beside their classes, and those of scikit-learn's classes."""

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
    each_of,
    either,
    floats,
    is_declared,
    length,
    one_of,
    optional,
    part_of,
    real,
    sequence,
    values,
    whole,
)

#: what scikit-learn's conventions say of every fitted estimator
ESTIMATOR: dict[str, Check] = {
    "n_features_in_": length("d"),
    "feature_names_in_": values("d"),
    "classes_": either(values("k"), sequence(".", values("_k"))),
}
_STEPS = sequence(".", each_of(part_of(str), part_of()))
_PARTS = sequence(".", each_of(part_of(str), part_of(), part_of()))
_COLUMN = optional(floats("d"))
#: of the classes of scikit-learn that are stored, by name: what their methods rely on
FOREIGN: dict[str, dict[str, Check]] = {
    "ColumnTransformer": {"transformers": _PARTS, "transformers_": _PARTS},
    "DummyClassifier": {
        "n_outputs_": whole(1),
        "_strategy": one_of("most_frequent", "prior", "stratified", "uniform", "constant"),
    },
    "FeatureUnion": {"transformer_list": _STEPS},
    "MaxAbsScaler": {"scale_": _COLUMN, "max_abs_": _COLUMN},
    "MinMaxScaler": {"scale_": _COLUMN, "min_": _COLUMN, "data_min_": _COLUMN, "data_max_": _COLUMN},
    "OneHotEncoder": {"categories_": sequence("d", values("_c")), "_n_features_outs": sequence("d", whole(0))},
    "OrdinalEncoder": {"categories_": sequence("d", values("_c"))},
    "Pipeline": {"steps": _STEPS},
    "RobustScaler": {"center_": _COLUMN, "scale_": _COLUMN},
    "SimpleImputer": {"statistics_": values("d")},
    "StandardScaler": {
        "mean_": _COLUMN,
        "var_": _COLUMN,
        "scale_": _COLUMN,
        "n_samples_seen_": either(real(0), values("d")),
    },
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
    foreign = {} if is_declared(cls) else FOREIGN.get(cls.__name__, {})
    return Declaration({**common, **own.fields, **foreign}, own.consistent)


def may_be_stored(cls: type) -> bool:
    """Whether what its objects consist of is declared: by itself, or here for classes of scikit-learn."""
    return is_declared(cls) or cls.__module__.startswith("sklearn.")


def _validates_itself(cls: type) -> bool:
    """Whether objects of a class check their fields when they are made, of nothing but these."""
    post_init = getattr(cls, "__post_init__", None)
    return dataclasses.is_dataclass(cls) and post_init is not None and len(inspect.signature(post_init).parameters) == 1
