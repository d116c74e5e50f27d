"""The short paths of validation accept and return what scikit-learn's functions do."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import validate_data  # noqa: TID251

from mercer import LinearDiscriminantAnalysis, Ridge, RidgeCV
from mercer.base.validation import check_rows, validate_params
from tests.base._layouts import read_only

X = np.random.default_rng(0).normal(size=(4, 3))
WIDE_INDICES = sp.csr_array(X)
WIDE_INDICES.indices, WIDE_INDICES.indptr = WIDE_INDICES.indices.astype(np.int64), WIDE_INDICES.indptr.astype(np.int64)

ROWS: dict[str, Any] = {
    **{kind: (9 * X).astype(kind) for kind in ("f8", "f4", "f2", "g", "i8", "i1", "?", ">f8", "U8")},
    "objects": X.astype(object),
    "complex": X + 1j,
    "Fortran order": np.asfortranarray(X),
    "strided": np.tile(X, (1, 2))[:, ::2],
    "read-only": read_only(X.copy()),
    "matrix": np.asmatrix(X),
    "masked": np.ma.array(X, mask=X > 1),
    "one row": X[:1],
    "no row": X[:0],
    "no column": X[:, :0],
    "one dimension": X[0],
    "three dimensions": X[None],
    "NaN": np.where(X > 1, np.nan, X),
    "infinity": np.where(X > 1, np.inf, X),
    "CSR": sp.csr_array(X),
    "CSR matrix": sp.csr_matrix(X),
    "CSC": sp.csc_array(X),
    "64-bit indices": WIDE_INDICES,
    "sparse bool": sp.csr_array(X > 0),
    "sparse NaN": sp.csr_array(np.where(X > 1, np.nan, X)),
}
TARGETS: dict[str, Any] = {
    "floats": np.arange(4.0),
    "whole numbers": np.arange(4),
    "bool": np.arange(4) > 1,
    "text": np.array(list("abab")),
    "bytes": np.array([b"a", b"b", b"a", b"b"]),
    "NaN": np.array([0, 1, np.nan, 1]),
    "infinity": np.array([0, 1, np.inf, 1]),
    "complex": np.arange(4) + 1j,
    "a column": np.arange(4.0)[:, None],
    "two columns": np.ones((4, 2)),
    "no column": np.ones((4, 0)),
    "too few": np.arange(3.0),
    "strided": np.arange(8.0)[::2],
    "a number": np.array(1.0),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"dtype": np.float64},
    {"dtype": [np.float64, np.float32]},
    {"dtype": [np.float64, np.float32], "order": "C"},
    {"order": "F"},
    {"accept_sparse": False},
    {"accept_sparse": "csc"},
    {"accept_large_sparse": False},
    {"ensure_min_samples": 2},
    {"ensure_all_finite": True},
    {"copy": True},
]


def validate(function: Any, fitted: bool, *given: Any, **options: Any) -> tuple[Any, ...]:
    """Return the result of a validation, None after an error, the attributes that it sets, and its warnings."""
    estimator: Any = BaseEstimator()
    if fitted:
        estimator.n_features_in_ = 3
    with warnings.catch_warnings(record=True) as given_warnings:
        warnings.simplefilter("always")
        try:
            result = function(estimator, *given, **options)
        except (ValueError, TypeError):
            return None, {}, []
    return result, vars(estimator), [(each.category, str(each.message)) for each in given_warnings]


def assert_same(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs)
    if isinstance(ours, tuple):
        for mine, other in zip(ours, theirs, strict=True):
            assert_same(mine, other)
    elif ours is not None:
        assert ours.dtype == theirs.dtype
        if not sp.issparse(ours):
            assert ours.flags.c_contiguous == theirs.flags.c_contiguous
        dense = (each.toarray() if sp.issparse(each) else each for each in (ours, theirs))
        np.testing.assert_array_equal(*dense)


@pytest.mark.parametrize("form", [form for form in ROWS if form not in ("masked", "objects", "U8")])
def test_rows_are_validated_as_in_scikit_learn(form: str) -> None:
    for options, reset in product(OPTIONS, (True, False)):
        theirs = {"accept_sparse": "csr", "ensure_all_finite": False, **options}
        ours = validate(check_rows, not reset, ROWS[form], reset=reset, **options)
        expected = validate(validate_data, not reset, ROWS[form], reset=reset, **theirs)
        assert_same(ours[0], expected[0])
        if ours[0] is not None:
            assert ours[1:] == expected[1:]


@pytest.mark.parametrize("form", TARGETS)
def test_targets_are_validated_as_in_scikit_learn(form: str) -> None:
    for rows, options in product(("f8", "CSR"), ({}, {"multi_output": True})):
        theirs = {"accept_sparse": "csr", "ensure_all_finite": False, **options}
        ours = validate(check_rows, False, ROWS[rows], TARGETS[form], reset=True, **options)
        expected = validate(validate_data, False, ROWS[rows], TARGETS[form], reset=True, **theirs)
        assert_same(ours[0], expected[0])
        if ours[0] is not None:
            assert ours[1:] == expected[1:]


def test_names_of_columns_are_compared_in_every_path() -> None:
    estimator: Any = BaseEstimator()
    estimator.n_features_in_, estimator.feature_names_in_ = 3, np.array(list("abc"), dtype=object)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        check_rows(estimator, X, reset=False)
    check_rows(estimator, X, reset=True)
    assert not hasattr(estimator, "feature_names_in_")


def test_parameters_are_validated_whenever_they_differ_from_the_last_ones() -> None:
    model = Ridge()
    validate_params(model)
    for name, value in (("alpha", -1.0), ("fit_intercept", 1), ("solver", "none"), ("max_iter", 0)):
        with pytest.raises(InvalidParameterError, match=name):
            validate_params(Ridge(**{name: value}))
    model.alpha = -1.0
    with pytest.raises(InvalidParameterError, match="alpha"):
        validate_params(model)
    alphas = [1.0]
    cv = RidgeCV(alphas=alphas, cv=3)
    validate_params(cv)
    cv.alphas = "none"
    with pytest.raises(InvalidParameterError, match="alphas"):
        validate_params(cv)


def test_a_subclass_has_constraints_of_its_own() -> None:
    class Texts(Ridge):
        _parameter_constraints: ClassVar[dict[str, Any]] = {**Ridge._parameter_constraints, "alpha": [str]}

    validate_params(Ridge())
    with pytest.raises(InvalidParameterError, match="alpha"):
        validate_params(Texts())


def test_parameters_in_nested_containers_are_validated_each_time() -> None:
    for _ in range(2):
        validate_params(LinearDiscriminantAnalysis(priors=((np.ones(2),),)))
