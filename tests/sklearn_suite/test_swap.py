"""Tests of the loader: it replaces the requested names, and its list of exclusions cannot become stale."""

from __future__ import annotations

import pytest
from sklearn.naive_bayes import GaussianNB

from tests.sklearn_suite._swap import load_swapped

MODULE = "sklearn.tests.test_naive_bayes"


def test_the_tests_use_the_replacement():
    class Impostor(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            raise NotImplementedError

    with pytest.raises(NotImplementedError):
        load_swapped(MODULE, {"GaussianNB": Impostor})["test_gnb_prior_large_bias"]()
    load_swapped(MODULE, {"GaussianNB": GaussianNB})["test_gnb_prior_large_bias"]()


def test_an_exclusion_that_excludes_nothing_is_an_error():
    present, gone = "test_mnnb", "test_gone"
    assert present not in load_swapped(MODULE, {}, exclude={present: "to see it go"})
    with pytest.raises(LookupError, match=gone):
        load_swapped(MODULE, {}, exclude={gone: "was there once"})


def test_a_replacement_of_something_not_imported_is_an_error():
    with pytest.raises(LookupError, match="NoSuchNB"):
        load_swapped(MODULE, {"NoSuchNB": GaussianNB})
