"""Laws that every classifier learnt from statistics obeys, and those of every one that is a likelihood."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import mercer
from mercer._errors import DataError, EmptyDataError, MergeError, PriorError, UnseenRowsError
from tests.base._layouts import read_only
from tests.naive_bayes._cases import ALL_CASES, CASES, Case

every_model = pytest.mark.parametrize("case", ALL_CASES, ids=str)
every_likelihood = pytest.mark.parametrize("case", CASES, ids=str)


def fitted_numbers(model: Any) -> dict[str, np.ndarray]:
    """Every public fitted attribute that is made of numbers, by name."""
    public = {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")}
    arrays = {
        f"{name}[{i}]": np.asarray(array)
        for name, value in public.items()
        for i, array in enumerate(value if isinstance(value, list) else [value])
    }
    return {name: array for name, array in arrays.items() if array.dtype.kind in "iuf"}


def assert_same(ours: Any, theirs: Any, X: Any, rtol: float = 1e-9) -> None:
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    expected = fitted_numbers(theirs)
    assert fitted_numbers(ours).keys() == expected.keys()
    for name, value in fitted_numbers(ours).items():
        scale = np.abs(expected[name])[np.isfinite(expected[name])].max(initial=1e-300)
        np.testing.assert_allclose(value, expected[name], rtol=rtol, atol=rtol * scale, err_msg=name)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-8)


def halves(case: Case) -> tuple[Any, Any, Any, Any]:
    """Two shards that hold every class."""
    first = np.arange(len(case.y)) % 3 > 0
    return case.X[first], case.y[first], case.X[~first], case.y[~first]


# The order and the batches of rows do not matter.


@every_model
def test_partial_fits_agree_with_one_fit(case):
    model = case.make()
    for start in range(0, len(case.y), 50):
        rows = slice(start, start + 50)
        model.partial_fit(case.X[rows], case.y[rows], classes=np.unique(case.y))
    assert_same(model, case.make().fit(case.X, case.y), case.X)


@every_model
def test_merged_shards_agree_with_one_fit(case):
    X1, y1, X2, y2 = halves(case)
    first, second = case.make().fit(X1, y1), case.make().fit(X2, y2)
    assert first.merge(second) is first
    assert_same(first, case.make().fit(case.X, case.y), case.X)
    assert_same(second, case.make().fit(X2, y2), case.X, rtol=0)


@every_model
def test_forgetting_undoes_learning(case):
    X1, y1, X2, y2 = halves(case)
    model = case.make().fit(case.X, case.y)
    assert model.forget(X2, y2) is model
    assert_same(model, case.make().fit(X1, y1), X1)


@every_model
def test_forgetting_undoes_learning_with_weights(case, rng):
    X1, y1, X2, y2 = halves(case)
    w1, w2 = rng.random(len(y1)), rng.random(len(y2))
    model = case.make().fit(X1, y1, sample_weight=w1)
    model.partial_fit(X2, y2, sample_weight=w2).forget(X2, y2, sample_weight=w2)
    assert_same(model, case.make().fit(X1, y1, sample_weight=w1), X1)


@every_model
def test_forgetting_a_class_drops_it(case):
    gone = case.y == case.y[0]
    model = case.make().fit(case.X, case.y).forget(case.X[gone], case.y[gone])
    assert_same(model, case.make().fit(case.X[~gone], case.y[~gone]), case.X[~gone])


@every_model
def test_the_order_of_rows_does_not_matter(case, rng):
    order = rng.permutation(len(case.y))
    assert_same(case.make().fit(case.X[order], case.y[order]), case.make().fit(case.X, case.y), case.X)


@every_model
def test_weights_are_equivalent_to_repetitions(case, rng):
    times = rng.integers(4, size=len(case.y))
    repeated = case.make().fit(np.repeat(case.X, times, axis=0), np.repeat(case.y, times))
    weighted = case.make().fit(case.X, case.y, sample_weight=times)
    assert_same(weighted, repeated, case.X)


@every_model
def test_a_row_of_weight_zero_has_no_effect(case):
    X, y = np.concatenate([case.X, case.X[:5]]), np.concatenate([case.y, case.y[5:10]])
    weighted = case.make().fit(X, y, sample_weight=np.arange(len(y)) < len(case.y))
    plain = case.make().fit(case.X, case.y)
    np.testing.assert_array_equal(weighted.statistic_.rows, plain.statistic_.rows)
    np.testing.assert_allclose(weighted.predict_proba(case.X), plain.predict_proba(case.X), rtol=1e-6, atol=1e-9)


@every_model
def test_a_class_without_weight_stays_when_others_are_forgotten(case):
    weight = (case.y != case.y[0]).astype(float)
    model = case.make().fit(case.X, case.y, sample_weight=weight)
    rows = np.flatnonzero(weight)[:3]
    model.forget(case.X[rows], case.y[rows], sample_weight=weight[rows])
    np.testing.assert_array_equal(model.classes_, np.unique(case.y))


@every_model
def test_one_thread_and_two_give_identical_results(case):
    if case.model == "KernelBayes":
        pytest.skip("compares every row with all others: test_kernel_bayes.py asks it of fewer rows")
    X, y = np.tile(case.X, (1200, 1)), np.tile(case.y, 1200)
    models = []
    for threads in (1, 2):
        with mercer.engine(threads=threads):
            model = case.make().fit(np.asfortranarray(X), y)
            assert model.plan_.blocks > 1
            models.append((fitted_numbers(model), model.predict_proba(X)))
    (one, p1), (two, p2) = models
    for name in one:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)
    np.testing.assert_array_equal(p1, p2)


# Nor does their container.


CONTAINERS = {
    "Fortran order": np.asfortranarray,
    "every second row of another": lambda X: np.repeat(X, 2, axis=0)[::2],
    "backwards": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "read-only": read_only,
    "float32": lambda X: X.astype(np.float32),
    "big-endian": lambda X: X.astype(">f8"),
    "lists": lambda X: X.tolist(),
    "pandas": pd.DataFrame,
    "pandas, nullable": lambda X: pd.DataFrame(X).convert_dtypes(convert_integer=False),
    "polars": lambda X: pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])]),
}


@every_model
@pytest.mark.parametrize("container", CONTAINERS)
def test_the_container_does_not_matter(case, container):
    X = case.X.astype(np.float32).astype(float)
    held = CONTAINERS[container](X)
    model, plain = case.make().fit(held, case.y), case.make().fit(X, case.y)
    np.testing.assert_allclose(model.predict_proba(held), plain.predict_proba(X), rtol=1e-9, atol=1e-12)
    for name, value in fitted_numbers(model).items():
        np.testing.assert_allclose(value, fitted_numbers(plain)[name], rtol=1e-6 if container == "float32" else 1e-11)


@every_model
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.coo_array])
def test_sparse_matrices_agree_with_dense_ones(case, kind):
    if not case.make().__sklearn_tags__().input_tags.sparse:
        pytest.skip("does not take sparse matrices")
    if case.model == "NaiveBayes":
        pytest.skip("takes a sparse matrix for counts of words")
    X = np.where(case.X > 1, case.X, 0.0)
    model, plain = case.make().fit(kind(X), case.y), case.make().fit(X, case.y)
    assert_same(model, plain, X)
    np.testing.assert_allclose(model.predict_log_proba(kind(X)), plain.predict_log_proba(X), rtol=1e-8, atol=1e-9)


@every_model
@pytest.mark.parametrize("labels", [["no", "yes", "maybe"], [2.0, 5.0, 9.0], [-3, 100_000_000, 4], [b"a", b"c", b"b"]])
def test_labels_may_be_of_any_sortable_type(case, labels):
    y = np.array(labels)[np.unique(case.y, return_inverse=True)[1]]
    model = case.make().fit(case.X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.predict(case.X).dtype == y.dtype
    assert set(model.predict(case.X)) <= set(labels)


# Errors.


@every_model
@pytest.mark.parametrize(
    "break_it",
    [
        pytest.param(lambda X, y: (np.full_like(X, np.inf), y), id="infinity"),
        pytest.param(lambda X, y: (X, y[:-1]), id="lengths differ"),
        pytest.param(lambda X, y: (X[:0], y[:0]), id="no rows"),
        pytest.param(lambda X, y: (X[:, :0], y), id="no columns"),
        pytest.param(lambda X, y: (X.astype(str), y), id="text"),
        pytest.param(lambda X, y: (X, np.linspace(0, 1, len(y))), id="not classes"),
        pytest.param(lambda X, y: (X, None), id="no labels"),
    ],
)
def test_a_failed_fit_leaves_the_model_unchanged(case, break_it, request):
    if case.model == "NaiveBayes" and "text" in request.node.name:
        pytest.skip("takes text for categories")
    model = case.make().fit(case.X, case.y)
    before = dict(vars(model))
    for learn in (model.fit, model.partial_fit, model.forget):
        with pytest.raises((ValueError, TypeError)):
            learn(*break_it(case.X, case.y))
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is before[name] for name in before)


@every_model
def test_a_failed_first_fit_leaves_an_unfitted_model(case):
    model = case.make()
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full_like(case.X, np.inf), case.y)
    assert not [name for name in vars(model) if name.endswith("_")]


@every_model
def test_a_failed_merge_leaves_both_models_unchanged(case):
    model = case.make().fit(case.X, case.y)
    before = dict(vars(model))
    with pytest.raises(MergeError, match="different columns"):
        model.merge(case.make().fit(case.X[:, :-1], case.y))
    with pytest.raises(MergeError, match="different classes"):
        model.merge(case.make().fit(case.X, np.where(case.y == case.y[0], "other", "another")))
    with pytest.raises(MergeError, match="cannot merge a str"):
        model.merge("model.bin")
    with pytest.raises(NotFittedError):
        model.merge(case.make())
    assert all(vars(model)[name] is before[name] for name in before)


@every_model
def test_rows_that_were_not_learnt_cannot_be_forgotten(case):
    model = case.make().fit(case.X, case.y)
    with pytest.raises(UnseenRowsError):
        model.forget(np.tile(case.X, (2, 1)), np.tile(case.y, 2))
    with pytest.raises(EmptyDataError, match="new, unfitted model"):
        model.forget(case.X, case.y)


@every_model
def test_negative_weights_are_rejected_by_row(case):
    model = case.make().fit(case.X, case.y)
    with pytest.raises(DataError, match=r"Negative values.*`sample_weight`.*Row 3 has the weight -0\.5"):
        model.partial_fit(case.X, case.y, sample_weight=np.where(np.arange(len(case.y)) == 3, -0.5, 1.0))


@every_model
def test_columns_have_names(case):
    frame = pd.DataFrame(case.X, columns=[f"c{j}" for j in range(case.X.shape[1])])
    model = case.make().fit(frame, case.y)
    np.testing.assert_array_equal(model.feature_names_in_, frame.columns)
    with pytest.raises(ValueError, match="c0"):
        model.predict(frame.rename(columns={"c0": "other"}))
    spoilt = frame.astype(float)
    spoilt.loc[3, "c1"] = np.inf
    with pytest.raises(DataError, match=r"'c1' is inf in row 3"):
        model.fit(spoilt, case.y)


@every_model
def test_the_row_in_an_error_is_counted_over_all_blocks(case):
    model = case.make().fit(case.X, case.y)
    X = np.tile(case.X, (800, 1))
    X[150_000, 1] = np.inf
    with pytest.raises(DataError, match="row 150000"):
        model.predict(X)


# Attributes of a fitted model.


@every_model
def test_a_fit_has_a_certificate_and_a_plan(case):
    model = case.make().fit(case.X, case.y)
    assert model.certificate_.holds
    assert model.plan_.exact
    assert model.plan_.blocks == 1


@every_model
def test_models_can_be_pickled_and_cloned(case):
    model = case.make().fit(case.X, case.y)
    assert_same(pickle.loads(pickle.dumps(model)), model, case.X, rtol=0)
    assert not hasattr(clone(model), "classes_")
    assert type(model).__name__ in model._repr_html_()


@every_model
def test_posteriors_are_probabilities(case):
    model = case.make().fit(case.X, case.y)
    proba, log_proba = model.predict_proba(case.X), model.predict_log_proba(case.X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_proba), proba, rtol=1e-9, atol=1e-300)
    np.testing.assert_array_equal(model.predict(case.X), model.classes_[proba.argmax(axis=1)])


# Methods of models with a likelihood.


@every_likelihood
def test_the_density_is_the_sum_of_the_joint_over_the_classes(case):
    model = case.make().fit(case.X, case.y)
    joint = model.predict_joint_log_proba(case.X)
    expected = logsumexp(joint, axis=1)
    if "Multinomial" in case.name:  # whose coefficient the joint leaves out, as scikit-learn does
        expected = expected + model._log_base((case.X,))
    np.testing.assert_allclose(model.log_density(case.X), expected, rtol=1e-10)


@every_likelihood
def test_the_posterior_is_the_joint_over_its_sum(case):
    model = case.make().fit(case.X, case.y)
    joint = model.predict_joint_log_proba(case.X)
    expected = joint - logsumexp(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(case.X), expected, rtol=1e-9, atol=1e-11)


@every_likelihood
def test_new_priors_need_no_refit(case):
    model = case.make().fit(case.X, case.y)
    k = len(model.classes_)
    before = model.predict_proba(case.X)
    priors = np.arange(1.0, k + 1) / np.arange(1, k + 1).sum()
    changed = model.with_priors(priors)
    odds = before * priors / np.exp(model._log_prior())
    np.testing.assert_allclose(changed.predict_proba(case.X), odds / odds.sum(axis=1, keepdims=True), rtol=1e-8)
    np.testing.assert_array_equal(model.predict_proba(case.X), before)
    named = model.with_priors(dict(zip(model.classes_.tolist(), priors, strict=True)))
    np.testing.assert_array_equal(named.predict_proba(case.X), changed.predict_proba(case.X))


@every_likelihood
def test_new_priors_must_be_probabilities(case):
    model = case.make().fit(case.X, case.y)
    k = len(model.classes_)
    for priors, message in (
        (np.full(k + 1, 1 / (k + 1)), "Number of priors"),
        (np.full(k, 1.0), "sum of the priors"),
        (np.append(np.full(k - 1, 2 / (k - 1)), -1.0), "non-negative"),
        (np.full(k, np.nan), "one of them is NaN"),
        (["half"] * k, "must be numbers, one for each of the classes"),
    ):
        with pytest.raises(PriorError, match=message):
            model.with_priors(priors)
    with pytest.raises(PriorError, match="'misspelt'"):
        model.with_priors({"misspelt": 1.0})


@every_likelihood
def test_samples_are_fixed_by_the_random_state(case):
    model = case.make().fit(case.X, case.y)
    (X1, y1), (X2, y2) = model.sample(20, random_state=3), model.sample(20, np.random.default_rng(3))
    assert X1.shape == (20, case.X.shape[1])
    np.testing.assert_array_equal(np.asarray(X1), np.asarray(X2))
    np.testing.assert_array_equal(y1, y2)
    model.sample(2, random_state=np.random.RandomState(0))
    model.sample()
    assert len(model.sample(0)[1]) == 0
    for n_samples in (-1, 1.5, "ten"):
        with pytest.raises(DataError, match="n_samples is a number of rows"):
            model.sample(n_samples)


@every_likelihood
def test_a_fit_to_samples_recovers_the_model(case):
    if case.smooths:
        pytest.skip("smooths what it is shown: test_kernel_bayes.py compares moments of its draws")
    model = case.make().fit(case.X, case.y)
    X, y = model.sample(40_000, random_state=11)
    again = case.make().fit(X, y)
    np.testing.assert_array_equal(again.classes_, model.classes_)
    np.testing.assert_allclose(np.exp(again._log_prior()), np.exp(model._log_prior()), atol=0.02)
    np.testing.assert_allclose(again.log_density(case.X), model.log_density(case.X), atol=0.5)
    np.testing.assert_allclose(again.predict_proba(case.X), model.predict_proba(case.X), atol=0.1)
