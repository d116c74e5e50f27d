"""Comparisons of two matrices, and of two outcomes of a call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np


def assert_same_matrix(ours: Any, theirs: Any, *, digits: float = 0.0) -> None:
    """The same class, type, shape and entries, stored zeros too; in a row, in the order of the columns.

    scikit-learn leaves the entries of a row in the order in which terms were first seen, and sums their squares in it.
    """
    assert type(ours) is type(theirs)
    assert ours.dtype == theirs.dtype
    assert ours.dtype.char == theirs.dtype.char
    assert ours.shape == theirs.shape
    assert ours.has_canonical_format
    theirs = theirs.copy()
    theirs.has_sorted_indices = False
    theirs.sort_indices()
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    assert ours.indices.dtype == theirs.indices.dtype
    assert ours.indptr.dtype == theirs.indptr.dtype
    if digits:
        np.testing.assert_allclose(ours.data, theirs.data, rtol=digits)
    else:
        np.testing.assert_array_equal(ours.data, theirs.data)


def outcome(call: Callable[[], Any]) -> tuple[Any, Exception | None, list[str]]:
    """Return the result or the exception of a call, and its warnings."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            returned, raised = call(), None
        except Exception as failure:
            returned, raised = None, failure
    return returned, raised, sorted(str(one.message) for one in given)


def assert_same_outcome(ours: Callable[[], Any], theirs: Callable[[], Any], *, digits: float = 0.0) -> bool:
    """The same matrix and the same warnings; or the same exception, whose sentence comes first. Whether it was that."""
    X, rejection, warned = outcome(theirs)
    our_X, our_rejection, our_warned = outcome(ours)
    if rejection is not None:
        assert isinstance(our_rejection, type(rejection)), (rejection, our_rejection)
        assert str(our_rejection).startswith(str(rejection).rstrip(".")), (str(rejection), str(our_rejection))
        return True
    if our_rejection is not None:
        raise our_rejection
    assert our_warned == warned
    assert_same_matrix(our_X, X, digits=digits)
    return False
