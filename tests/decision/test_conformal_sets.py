"""Conformal sets: coverage within binomial bounds, exact ranks, and the stated guarantee."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.naive_bayes import GaussianNB as ScikitNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    ConformalClassifier,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LinearSVC,
    MultinomialNB,
    NaiveBayes,
    Ridge,
)
from mercer._errors import CalibrationWarning, DataError, ScoresOnlyError
from mercer.decision import conformal_p_values
from mercer.decision._conformal import exact_level, exact_rank, least_coverage, rank_classes

MEANS = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])


def draw(n: int, rng: np.random.Generator):
    y = rng.choice(3, p=[0.5, 0.3, 0.2], size=n)
    return MEANS[y] + rng.normal(size=(n, 2)), y


RNG = np.random.default_rng(0)
X, CODES = draw(300, RNG)
Y = np.array(["a", "b", "c"])[CODES]


def covered(sets: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return sets[np.arange(len(codes)), codes]


# What is promised.


@pytest.mark.parametrize("method", ["score", "adaptive"])
@pytest.mark.parametrize("by_class", [False, True])
def test_the_nominal_share_of_left_out_rows_is_covered(method, by_class):
    """By exchangeability, each row of a set is equally likely to be the new one."""
    fitted = ScikitNB().fit(X[100:], CODES[100:])
    rows, codes, hits = X[:61], CODES[:61], np.zeros(61, bool)
    for new in range(61):
        model = ConformalClassifier(fitted, coverage=0.8, method=method, by_class=by_class, cv="prefit")
        model.fit(np.delete(rows, new, axis=0), np.delete(codes, new))
        hits[new] = covered(model.predict_set(rows[[new]]), codes[[new]])[0]
    for group in (codes == k for k in range(3)) if by_class else [codes >= 0]:
        assert hits[group].sum() >= 0.8 * group.sum()
    assert hits.sum() < 61


@pytest.mark.parametrize(("cv", "method"), [("split", "adaptive"), (4, "score")])
def test_sets_have_the_nominal_coverage(cv, method):
    """Each fit has one new row, so that hits are independent."""
    hits = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows, labels = draw(81, rng)
        model = ConformalClassifier(
            ScikitNB(), coverage=0.8, method=method, cv=cv, calibration=0.5, random_state=seed
        ).fit(rows, labels)
        new, truth = draw(1, rng)
        hits.append(covered(model.predict_set(new), truth)[0])
    assert sum(hits) >= binom.ppf(0.001, 40, 0.8)


def test_each_class_is_covered_with_by_class():
    rates = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows, labels = draw(200, rng)
        new, truth = draw(200, rng)
        for by_class in (False, True):
            model = ConformalClassifier(
                ScikitNB(), coverage=0.7, by_class=by_class, calibration=0.5, random_state=seed
            ).fit(rows, labels)
            hit = covered(model.predict_set(new), truth)
            rates.append([hit[truth == k].mean() for k in range(3)])
    overall, each = np.mean(rates[::2], axis=0), np.mean(rates[1::2], axis=0)
    assert overall.min() < 0.66  # the rarest class pays for the others
    assert (each > 0.68).all()


def test_the_guarantee_is_given_as_text_and_as_a_number():
    model = ConformalClassifier(GaussianNB(), coverage=0.9, random_state=0).fit(X, Y)
    assert model.guaranteed_coverage_ == 0.9
    assert "at least 0.9" in model.guarantee_
    folds = ConformalClassifier(GaussianNB(), coverage=0.9, cv=5, random_state=0).fit(X, Y)
    assert 0.8 - np.sqrt(2 / 300) <= folds.guaranteed_coverage_ < 0.8
    assert "300 rows, held out in 5 parts" in folds.guarantee_
    for each in (model, folds):
        assert "on average" in each.guarantee_
        assert "exchangeable" in each.guarantee_
    jackknife = ConformalClassifier(GaussianNB(), coverage=0.9, cv=LeaveOneOut()).fit(X[:40], Y[:40])
    assert jackknife.guaranteed_coverage_ == pytest.approx(0.8)
    each = ConformalClassifier(GaussianNB(), by_class=True, random_state=0, coverage=0.6).fit(X, Y)
    assert "of each class" in each.guarantee_


def test_the_guarantee_for_folds_is_that_of_the_theorem():
    """Theorem 4 of Barber and others needs folds of one size for the second of its two losses, 0 for the jackknife."""
    assert least_coverage(0.9, np.array([57])) == 0.9
    assert least_coverage(0.9, np.ones(57)) == pytest.approx(0.8)
    assert least_coverage(0.9, np.full(5, 20)) == pytest.approx(0.8 - 8 / 105)
    assert least_coverage(0.9, np.full(50, 2)) == pytest.approx(0.8 - 0.5 / 51)
    assert least_coverage(0.9, np.array([3] + [2] * 49)) == max(0.0, 0.8 - 98 / 151)
    assert least_coverage(0.6, np.full(5, 20)) == pytest.approx(0.2 - 8 / 105)


def test_the_guarantee_by_class_is_that_of_the_rarest_class():
    model = ConformalClassifier(GaussianNB(), coverage=0.8, by_class=True, cv=5, random_state=0).fit(X, Y)
    sizes = np.array([np.bincount(codes, minlength=3) for codes in model.calibration_codes_])
    assert model.guaranteed_coverage_ == min(least_coverage(0.8, column) for column in sizes.T)
    assert model.guaranteed_coverage_ <= 0.6 - 8 / (sizes.sum(axis=0).min() + 5) + 1e-12


# Exact numbers.


@pytest.mark.parametrize(
    ("n", "coverage", "rank"),
    [(9, 0.9, 9), (10, 0.9, 10), (99, 0.95, 95), (19, 0.95, 19), (18, 0.95, 19), (29, 0.7, 21)],
)
def test_the_rank_is_exact(n, coverage, rank):
    """⌈(n + 1) coverage⌉, also where (n + 1) · coverage is a whole number that binary fractions miss."""
    assert exact_rank(n, coverage) == rank
    assert exact_level(n, coverage) == max(0, n + 1 - rank) / (n + 1)


def test_sets_contain_the_classes_with_large_p_values():
    model = ConformalClassifier(GaussianNB(), coverage=0.8, random_state=0).fit(X, Y)
    p = model.p_values(X)
    n = len(model.calibration_scores_[0])
    assert n == 75
    by_hand = conformal_p_values(model.predict_proba(X), model.calibration_scores_[0])
    np.testing.assert_array_equal(p, by_hand)
    rank = exact_rank(n, 0.8)  # of strangeness 1 − p(y|x)
    cut = np.sort(1 - model.calibration_scores_[0])[rank - 1]
    np.testing.assert_array_equal(model.predict_set(X), 1 - model.predict_proba(X) <= cut)


@given(p=arrays(float, (4, 5), elements=st.integers(0, 4).map(float)))
def test_ranks_agree_with_brute_force(p):
    ahead, number = rank_classes(p)
    for row in range(4):
        for k in range(5):
            before = p[row][p[row] > p[row, k]]
            assert number[row, k] == len(before)
            assert ahead[row, k] == before.sum()


def test_adaptive_sets_are_never_empty_and_a_penalty_makes_them_smaller():
    rng = np.random.default_rng(1)
    y = rng.integers(8, size=1200)
    rows = rng.normal(size=(1200, 3)) + 0.5 * rng.normal(size=(8, 3))[y]
    plain = ConformalClassifier(GaussianNB(), method="adaptive", random_state=0).fit(rows, y)
    assert plain.predict_set(rows).any(axis=1).all()
    assert plain.predict_set(rows)[np.arange(1200), plain.predict_proba(rows).argmax(axis=1)].all()
    sizes = plain.predict_set(rows).sum(axis=1)
    penalised = ConformalClassifier(GaussianNB(), method="adaptive", penalty=1.0, free_classes=2, random_state=0)
    regular = penalised.fit(rows, y).predict_set(rows).sum(axis=1)
    assert regular.std() < sizes.std()


def test_folds_compare_each_row_with_its_own_model():
    cv = KFold(3)
    model = ConformalClassifier(GaussianNB(), coverage=0.8, cv=cv).fit(X, Y)
    below = np.zeros((5, 3))
    for train, test in cv.split(X):
        fold = GaussianNB().fit(X[train], Y[train])
        own = fold.predict_proba(X[test])[np.arange(len(test)), CODES[test]]
        below += (own[:, None, None] <= fold.predict_proba(X[:5])).sum(axis=0)
    np.testing.assert_allclose(model.p_values(X[:5]), (1 + below) / 301)
    np.testing.assert_array_equal(model.predict(X), GaussianNB().fit(X, Y).predict(X))


def test_a_fitted_model_is_used_as_it_is():
    fitted = LinearDiscriminantAnalysis().fit(X[:100], Y[:100])
    model = ConformalClassifier(fitted, cv="prefit").fit(X[100:], Y[100:])
    assert model.model_ is fitted
    assert len(model.calibration_scores_[0]) == 200
    with pytest.raises(NotFittedError, match="not fitted"):
        ConformalClassifier(LinearDiscriminantAnalysis(), cv="prefit").fit(X, Y)


# Few rows.


def test_too_few_rows_give_all_classes_with_a_warning():
    with pytest.warns(CalibrationWarning, match=r"10 held-out rows.*every set has all classes. Hold out 19 or more"):
        model = ConformalClassifier(GaussianNB(), coverage=0.95, random_state=0, calibration=0.25).fit(X[:40], Y[:40])
    assert model.predict_set(X).all()
    rare = np.where(np.arange(300) < 3, "rare", Y)
    with pytest.warns(CalibrationWarning, match="class with too few"):
        each = ConformalClassifier(GaussianNB(), by_class=True, cv=3, random_state=0).fit(X, rare)
    column = each.classes_.tolist().index("rare")
    assert each.predict_set(X)[:, column].all()
    assert not each.predict_set(X).all()


def test_a_class_absent_from_a_part_has_a_column():
    labels = np.where(np.arange(300) == 0, "once", Y)
    fitted = GaussianNB().fit(X[1:150], labels[1:150])
    model = ConformalClassifier(fitted, cv="prefit").fit(X, labels)
    assert model.classes_.tolist() == ["a", "b", "c", "once"]
    assert model.predict_set(X).shape == (300, 4)
    np.testing.assert_array_equal(model.predict_proba(X)[:, 3], 0.0)


# Whatever the model takes.


def test_containers_of_all_kinds_are_accepted():
    frame = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "w": Y}).assign(gap=np.where(X[:, 0] > 1, np.nan, X[:, 1]))
    expected = ConformalClassifier(NaiveBayes(), random_state=0).fit(frame, Y).predict_set(frame)
    polars = ConformalClassifier(NaiveBayes(), random_state=0).fit(pl.DataFrame(frame), Y)
    np.testing.assert_array_equal(polars.predict_set(pl.DataFrame(frame)), expected)
    texts = [f"word{label} common" for label in Y]
    pipeline = ConformalClassifier(make_pipeline(CountVectorizer(), MultinomialNB()), random_state=0)
    assert covered(pipeline.fit(texts, Y).predict_set(texts), CODES).all()
    single = ConformalClassifier(GaussianNB(), random_state=0).fit(X.astype(np.float32), Y)
    assert single.predict_set(X.astype(np.float32)).dtype == bool
    one = ConformalClassifier(GaussianNB(), random_state=0).fit(X, np.zeros(300))
    np.testing.assert_array_equal(one.predict_set(X), np.ones((300, 1), bool))


def test_invalid_input_is_named():
    with pytest.raises(ScoresOnlyError, match="LinearSVC"):
        ConformalClassifier(LinearSVC()).fit(X, Y)
    with pytest.raises(DataError, match="n_samples=1"):
        ConformalClassifier(GaussianNB()).fit(X[:1], Y[:1])
    with pytest.raises(DataError, match="n_samples=0"):
        ConformalClassifier(GaussianNB()).fit(X[:0], Y[:0])
    with pytest.raises(DataError, match="no folds"):
        ConformalClassifier(GaussianNB(), cv=[]).fit(X, Y)
    with pytest.raises(ScoresOnlyError, match="Ridge predicts numbers"):
        ConformalClassifier(Ridge()).fit(X, CODES)
    with pytest.raises(DataError, match="cv=500"):
        ConformalClassifier(GaussianNB(), cv=500).fit(X, Y)
    with pytest.raises(DataError, match="more than once"):
        ConformalClassifier(GaussianNB(), cv=[(np.arange(200), np.arange(200, 300))] * 2).fit(X, Y)
    for wrong in ({"coverage": 1.0}, {"coverage": 0.0}, {"method": "best"}, {"cv": "jackknife"}, {"penalty": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ConformalClassifier(GaussianNB(), **wrong).fit(X, Y)


def test_a_failed_fit_leaves_the_old_model():
    model = ConformalClassifier(GaussianNB(), random_state=0).fit(X, Y)
    before = model.predict_set(X)
    with pytest.raises(DataError):
        model.fit(np.where(X > 1, np.inf, X), Y)
    np.testing.assert_array_equal(model.predict_set(X), before)


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks([ConformalClassifier(GaussianNB()), ConformalClassifier(GaussianNB(), cv=2)])
def test_follows_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
