"""CategoricalNB: categories that appear later, disappear, are missing or unseen."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.naive_bayes import CategoricalNB as Reference

from mercer._errors import NonFiniteError, SupportError, TooLargeError, UnseenCategoryError
from mercer.naive_bayes import CategoricalNB


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(2, size=120)
    return np.column_stack([rng.integers(k, size=120) for k in (2, 3, 7)]), y


@pytest.mark.parametrize("min_categories", [None, 4, [2, 5, 9]])
def test_categories_are_counted_and_declared_as_in_scikit_learn(data, min_categories):
    X, y = data
    ours, theirs = (model(min_categories=min_categories).fit(X, y) for model in (CategoricalNB, Reference))
    np.testing.assert_array_equal(ours.n_categories_, theirs.n_categories_)
    for a, b in zip(ours.category_count_, theirs.category_count_, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_fractions_are_cut_off_as_in_scikit_learn(data, rng):
    X, y = data
    broken = X + rng.random(X.shape) * 0.99
    np.testing.assert_array_equal(
        CategoricalNB().fit(broken, y).predict_proba(broken), CategoricalNB().fit(X, y).predict_proba(X)
    )
    np.testing.assert_allclose(
        CategoricalNB().fit(broken, y).predict_proba(broken),
        Reference().fit(broken, y).predict_proba(broken),
        rtol=1e-12,
    )


@pytest.mark.parametrize(
    ("min_categories", "message"),
    [
        ([3, 2], r"^'min_categories' should have shape \(3,\)"),
        ([0.5, 1.5, 2.5], "^'min_categories' should have integral"),
    ],
)
def test_invalid_numbers_of_categories_are_rejected_with_the_message_of_scikit_learn(data, min_categories, message):
    with pytest.raises(ValueError, match=message):
        CategoricalNB(min_categories=min_categories).fit(*data)


def test_categories_of_all_batches_count(data):
    """scikit-learn's n_categories_ are those of the last batch alone."""
    X, y = data
    order = np.argsort(-X[:, 2])
    X, y = X[order], y[order]
    model = CategoricalNB().partial_fit(X[:60], y[:60], classes=[0, 1]).partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(model.n_categories_, [2, 3, 7])


def test_missing_categories_are_integrated_out(data, rng):
    X, y = data
    holes = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    model = CategoricalNB(alpha=0.5).fit(holes, y)
    joint = np.tile(model.class_log_prior_, (len(y), 1))
    for j, k in enumerate((2, 3, 7)):
        counts = np.array([[np.sum(holes[y == c, j] == level) for level in range(k)] for c in (0, 1)])
        np.testing.assert_array_equal(model.category_count_[j], counts)
        table = np.log((counts + 0.5) / (counts + 0.5).sum(axis=1, keepdims=True))
        observed = ~np.isnan(holes[:, j])
        joint[observed] += table[:, holes[observed, j].astype(int)].T
    np.testing.assert_allclose(model.predict_joint_log_proba(holes), joint, rtol=1e-12)


def test_a_column_that_is_never_observed_has_no_effect_until_it_is_needed(data):
    X, y = data
    wider = np.column_stack([X, np.full(len(X), np.nan)])
    model = CategoricalNB().fit(wider, y)
    np.testing.assert_allclose(model.predict_proba(wider), CategoricalNB().fit(X, y).predict_proba(X), rtol=1e-13)
    assert model.n_categories_[3] == 0
    assert np.isnan(model.sample(5, random_state=0)[0][:, 3]).all()
    with pytest.raises(UnseenCategoryError, match="'x3'"):
        model.predict(np.column_stack([X, np.zeros(len(X))]))


def test_an_unknown_category_is_an_index_error_as_in_scikit_learn(data):
    X, y = data
    for model in (CategoricalNB().fit(X, y), Reference().fit(X, y)):
        with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 with size 3"):
            model.predict([[0, 3, 0]])
    with pytest.raises(UnseenCategoryError, match=r"'x1'.*min_categories"):
        CategoricalNB().fit(X, y).predict([[0, 3, 0]])


def test_negative_and_infinite_codes_are_rejected_by_name(data):
    X, y = data
    model = CategoricalNB().fit(X, y)
    with pytest.raises(
        SupportError, match=r"^Negative values in data passed to CategoricalNB \(input X\)\. Column 'x1' is -1"
    ):
        model.predict([[0, -1, 0]])
    with pytest.raises(SupportError, match=r"Column 'x0' is -0\.5"):
        model.predict([[-0.5, 1, 0]])
    with pytest.raises(NonFiniteError, match=r"^Input X contains infinity.*'x2'"):
        model.fit([[0, 0, np.inf], [1, 1, 1]], [0, 1])
    with pytest.raises(TypeError, match=r"^Sparse data was passed"):
        model.fit(sp.csr_matrix(X), y)


def test_forgetting_drops_categories_and_classes_that_vanish(data):
    X, y = data
    late, labels = np.array([[1, 2, 11], [0, 5, 3]]), [1, 9]
    model = CategoricalNB().fit(np.vstack([X, late]), np.append(y, labels))
    np.testing.assert_array_equal(model.n_categories_, [2, 6, 12])
    model.forget(late, labels)
    before = CategoricalNB().fit(X, y)
    np.testing.assert_array_equal(model.n_categories_, before.n_categories_)
    np.testing.assert_array_equal(model.classes_, before.classes_)
    for a, b in zip(model.feature_log_prob_, before.feature_log_prob_, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_fit_to_samples_recovers_the_model(data):
    model = CategoricalNB().fit(*data)
    again = CategoricalNB().fit(*model.sample(30_000, random_state=5))
    for a, b in zip(model.feature_log_prob_, again.feature_log_prob_, strict=True):
        np.testing.assert_allclose(np.exp(a), np.exp(b), atol=0.02)


def test_a_category_of_rows_without_weight_counts_as_in_scikit_learn(data):
    X, y = data
    late, weight = np.array([[1, 2, 9], [0, 4, 3]]), np.append(np.ones(len(y)), [0, 0])
    ours, theirs = (
        model().fit(np.vstack([X, late]), np.append(y, [0, 1]), sample_weight=weight)
        for model in (CategoricalNB, Reference)
    )
    np.testing.assert_array_equal(ours.n_categories_, theirs.n_categories_)
    np.testing.assert_allclose(ours.predict_log_proba(late), theirs.predict_log_proba(late), rtol=1e-12)
    # a batch without weights, and weights without zeros, are counted in
    ours.partial_fit(X, y).partial_fit(X, y, sample_weight=np.full(len(y), 2.0))
    np.testing.assert_array_equal(ours.n_categories_, theirs.n_categories_)
    np.testing.assert_array_equal(
        ours.forget(np.vstack([X[:1], late]), np.append(y[:1], [0, 1]), [1, 0, 0]).n_categories_, [2, 3, 7]
    )


@pytest.mark.parametrize("code", [1e8, 3e9, 2**40])
def test_identifiers_are_rejected_as_codes(data, code):
    """Identifiers would not fit into the codes, nor their counts into memory."""
    X, y = data
    model = CategoricalNB().fit(X, y)
    wrong = np.array([[0, 1, 2], [1, code, 0]])
    for call in (lambda: CategoricalNB().fit(wrong, [0, 1]), lambda: model.predict(wrong)):
        with pytest.raises(
            UnseenCategoryError, match=rf"^index {code:.0f} is out of bounds.*'x1'.*row 1.*OrdinalEncoder"
        ):
            call()


def test_few_categories_with_long_gaps_are_counted_without_those_between(data):
    X, y = data
    far = X + np.array([0, 5000, 0]) * (X > 0)
    ours, theirs = CategoricalNB().fit(far, y), Reference().fit(far, y)
    assert len(ours.statistic_.parts[1].levels) == len(np.unique(X[:, 1]))
    np.testing.assert_array_equal(ours.n_categories_, theirs.n_categories_)
    np.testing.assert_allclose(ours.predict_proba(far), theirs.predict_proba(far), rtol=1e-10)
    gaps = far.astype(float)
    gaps[0, 1] = np.nan
    assert CategoricalNB().fit(gaps, y).category_count_[1].sum() == len(X) - 1


def test_tables_beyond_memory_are_rejected(data, monkeypatch):
    monkeypatch.setattr("mercer._memory.available_bytes", lambda: 1 << 20)
    X, y = data
    with pytest.raises(TooLargeError, match=r"categories needs .* without gaps"):
        CategoricalNB(min_categories=1 << 20).fit(X, y)
