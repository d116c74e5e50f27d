"""Errors of naive Bayes, by type: columns, values, and models that cannot be merged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer import NaiveBayes
from mercer._errors import (
    ColumnMismatchError,
    ColumnTypeError,
    DataError,
    DegenerateDataError,
    MergeError,
    NonFiniteError,
    SupportError,
)
from mercer.families import Histogram, MultivariateGaussian, Poisson
from tests.naive_bayes._visits import FRAMES, assert_same, frame, visits


def test_a_family_for_an_absent_column_is_rejected():
    table, y = frame()
    with pytest.raises(ColumnMismatchError, match=r"'call'.*mean 'calls'"):
        NaiveBayes({"call": Poisson()}).fit(table, y)
    with pytest.raises(ColumnMismatchError, match="column 5"):
        NaiveBayes({5: Poisson()}).fit(table, y)


@pytest.mark.parametrize("library", FRAMES)
def test_renamed_and_absent_columns_are_rejected(library):
    columns, y = visits()
    model = NaiveBayes().fit(FRAMES[library](columns), y)
    renamed = {("year" if name == "age" else name): values for name, values in columns.items()}
    with pytest.raises(ColumnMismatchError, match=r"feature names should match(.|\n)*year(.|\n)*age"):
        model.predict(FRAMES[library](renamed))
    with pytest.raises(ColumnMismatchError, match="age"):
        model.predict(FRAMES[library]({name: values for name, values in columns.items() if name != "age"}))


@pytest.mark.parametrize(
    ("family", "value", "error", "remedy"),
    [
        ("poisson", -3.0, SupportError, "counts 0, 1, 2"),
        ("poisson", 2.5, SupportError, "another family"),
        ("gamma", 0.0, SupportError, "numbers above 0"),
        ("lognormal", -1.0, SupportError, "numbers above 0"),
        ("bernoulli", 2.0, SupportError, "0 and 1"),
        ("negative_binomial", -1.0, SupportError, "counts"),
        ("beta", 1.0, SupportError, "above 0 and below 1"),
        ("gaussian", np.inf, NonFiniteError, "NaN if it is unknown"),
        ("histogram", np.inf, NonFiniteError, "NaN if it is unknown"),
        ("exponential", -np.inf, NonFiniteError, "NaN if it is unknown"),
    ],
)
def test_a_value_outside_the_support_is_named(rng, family, value, error, remedy):
    good = (
        rng.random(20) if family == "beta" else rng.integers(2, size=20) if family == "bernoulli" else 1 + np.arange(20)
    )
    table = pd.DataFrame({"fine": rng.normal(size=20), "odd": good.astype(float)})
    bad = table.copy()
    bad.loc[13, "odd"] = value
    y = np.arange(20) % 2
    with pytest.raises(error, match=rf"'odd' is {value} in row 13.*{remedy}"):
        NaiveBayes({"odd": family}).fit(bad, y)
    model = NaiveBayes({"odd": family}).fit(table, y)
    with pytest.raises(error, match=r"'odd' is .* in row 13"):
        model.predict(bad)


def test_negative_counts_are_rejected():
    words = sp.csr_matrix(np.array([[1.0, 2.0], [0.0, -1.0]]))
    with pytest.raises(SupportError, match=r"'x1' is -1.0 in row 1"):
        NaiveBayes().fit(words, [0, 1])
    with pytest.raises(SupportError, match="row 1"):
        NaiveBayes("multinomial").fit(words.toarray(), [0, 1])
    with pytest.raises(NonFiniteError, match="x1"):
        NaiveBayes("multinomial").fit(np.array([[1.0, np.nan], [0.0, 1.0]]), [0, 1])


def test_text_where_numbers_are_needed_is_named():
    table, y = frame()
    with pytest.raises(ColumnTypeError, match=r"'town' holds text.*Categorical"):
        NaiveBayes({"town": Poisson()}).fit(table, y)
    model = NaiveBayes().fit(table, y)
    with pytest.raises(ColumnTypeError, match="'age'"):
        model.predict(table.assign(age="old"))


def test_a_constant_column_has_no_gamma_fit():
    X = np.column_stack([np.arange(1.0, 9.0), np.full(8, 2.0)])
    with pytest.raises(DegenerateDataError, match="column 'x1'"):
        NaiveBayes("gamma").fit(X, np.arange(8) % 2)
    # constant within one class only: it borrows the spread of all classes, as little as var_smoothing says
    X[:, 1] = [1, 2, 1, 2, 1, 2, 1, 3]
    model = NaiveBayes("gamma").fit(X, np.arange(8) % 2)
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.raises(DegenerateDataError, match="'x1'"):
        NaiveBayes("gamma", var_smoothing=0.0).fit(X, np.arange(8) % 2)
    with pytest.raises(DegenerateDataError, match=r"'x1' is constant in one class.*var_smoothing"):
        NaiveBayes(var_smoothing=0.0).fit(X, np.arange(8) % 2)


def test_models_of_different_families_do_not_merge():
    table, y = frame()
    model, other = NaiveBayes().fit(table, y), NaiveBayes({"calls": Poisson()}).fit(table, y)
    with pytest.raises(MergeError, match=r"column 'calls' differently: here by Gaussian.*there by Poisson"):
        model.merge(other)
    assert_same(model, NaiveBayes().fit(table, y), table)
    one, two = (NaiveBayes({pair: MultivariateGaussian()}) for pair in (("age", "calls"), ("age", "dose")))
    with pytest.raises(MergeError, match=r"'calls'"):
        one.fit(table, y).merge(two.fit(table, y))


def test_histograms_merge_if_their_edges_are_given():
    table, y = frame()
    halves = [(table[rows], y[rows]) for rows in (slice(0, 150), slice(150, 300))]
    placed = [NaiveBayes({"dose": Histogram(bins=4)}).fit(*half) for half in halves]
    with pytest.raises(MergeError, match=r"'dose'.*Histogram.*Histogram.*edges as `bins`"):
        placed[0].merge(placed[1])
    given = [NaiveBayes({"dose": Histogram(bins=(0.0, 1.0, 4.0, 9.0))}).fit(*half) for half in halves]
    assert_same(
        given[0].merge(given[1]), NaiveBayes({"dose": Histogram(bins=(0.0, 1.0, 4.0, 9.0))}).fit(table, y), table
    )


def test_text_and_numbers_are_not_mixed_as_labels():
    table, y = frame()
    model = NaiveBayes().fit(table, np.arange(len(y)) % 2)
    with pytest.raises(DataError, match=r"y holds 'a'.*such as 0"):
        model.partial_fit(table, y)
    np.testing.assert_array_equal(model.classes_, [0, 1])


def test_a_failed_fit_leaves_the_old_model():
    table, y = frame()
    model = NaiveBayes({"calls": Poisson()}).fit(table, y)
    before = model.predict_joint_log_proba(table)
    with pytest.raises(SupportError):
        model.fit(table.assign(calls=-1), y)
    with pytest.raises(ColumnMismatchError):
        model.set_params(families={"cals": Poisson()}).fit(table, y)
    np.testing.assert_array_equal(model.predict_joint_log_proba(table), before)


def test_a_column_whose_variance_overflows_between_classes_is_named():
    largest = np.finfo(float).max
    with pytest.raises(DegenerateDataError, match="column 'x0' is so wide that its variance is too large for float64"):
        NaiveBayes().fit([[largest], [-largest]], [0, 1])
