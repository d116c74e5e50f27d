"""Outliers by density: uniform p-values of usual rows, and a valid bound on false discoveries."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    DensityOutliers,
    GaussianDiscriminant,
    HistogramDensity,
    KernelBayes,
    KernelDensity,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NaiveBayes,
)
from mercer._errors import BandwidthError, CalibrationWarning, DataError, NoDensityError, NonFiniteError
from mercer.decision import benjamini_hochberg, conformal_p_values
from mercer.density import Parzen

RNG = np.random.default_rng(0)
USUAL = RNG.normal(size=(300, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
LABELS = (USUAL[:, 0] > 0).astype(int)


def batch(rng: np.random.Generator, usual: int, strange: int) -> np.ndarray:
    """Return usual rows of two clusters, followed by outliers on a circle around them."""
    humps = rng.normal(size=(usual, 2)) + rng.choice([-4.0, 4.0], (usual, 1))
    angle = rng.uniform(0, 2 * np.pi, strange)
    return np.concatenate([humps, 9 * np.column_stack([np.cos(angle), np.sin(angle)])])


# What is promised.


def test_p_values_of_usual_rows_are_uniform():
    """One new row for each fit, so that the p-values are independent."""
    p = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        model = DensityOutliers(KernelDensity(bandwidth=0.7), fdr=0.2, random_state=seed).fit(
            rng.gamma(2.0, size=(30, 1))
        )
        p.append(model.p_values(rng.gamma(2.0, size=(1, 1)), ties="random")[0])
    assert stats.kstest(p, "uniform").pvalue > 0.05


@pytest.mark.parametrize("density", [KernelDensity(bandwidth=0.7), HistogramDensity(bins=4)], ids=["few ties", "many"])
def test_p_values_of_usual_rows_are_uniform_with_tied_scores(density):
    """Many whole numbers have the same density."""
    p, safe = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        model = DensityOutliers(density, fdr=0.5, random_state=rng).fit(rng.poisson(4.0, (40, 1)))
        new = rng.poisson(4.0, (1, 1))
        p.append(model.p_values(new, ties="random")[0])
        safe.append(model.p_values(new)[0])
    assert stats.kstest(p, "uniform").pvalue > 0.05
    assert stats.kstest(safe, "uniform").pvalue < 0.05  # too large, as they have to be
    for t in (0.1, 0.3, 0.5):
        assert np.mean(np.array(safe) <= t) <= t + 2 * np.sqrt(t * (1 - t) / 150)


def test_false_discoveries_are_bounded_and_outliers_found():
    shares, found = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model = DensityOutliers(fdr=0.1, random_state=seed).fit(batch(rng, 400, 0))
        flagged = model.predict(batch(rng, 180, 20)) < 0
        shares.append(flagged[:180].sum() / max(1, flagged.sum()))
        found.append(flagged[180:].mean())
    assert np.mean(shares) <= 0.1  # 0.9 · fdr is expected
    assert np.mean(shares) > 0.04
    assert np.mean(found) > 0.9


@pytest.mark.filterwarnings("ignore::mercer._errors.CalibrationWarning")
def test_most_batches_of_usual_rows_have_no_flags():
    """Without outliers every discovery is false, and at most the share `fdr` of batches has one."""
    rng = np.random.default_rng(1)
    alarms = []
    for seed in range(120):
        model = DensityOutliers(KernelDensity(bandwidth=0.5), fdr=0.1, random_state=seed)
        alarms.append((model.fit(rng.normal(size=(60, 1))).predict(rng.normal(size=(15, 1))) < 0).any())
    assert np.mean(alarms) <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / 120)


@pytest.mark.filterwarnings("ignore::mercer._errors.CalibrationWarning")
def test_outliers_among_the_training_rows_make_flags_conservative():
    rng = np.random.default_rng(2)
    new = rng.normal(size=(200, 2))
    clean = DensityOutliers(random_state=0).fit(USUAL)
    spoilt = DensityOutliers(random_state=0).fit(np.concatenate([USUAL, rng.uniform(8, 9, (20, 2)) * [1, -1]]))
    assert (spoilt.predict(new) < 0).sum() <= (clean.predict(new) < 0).sum()
    low = clean.p_values(new) < 0.2
    assert spoilt.p_values(new)[low].mean() > clean.p_values(new)[low].mean()


# How it hangs together.


def test_predict_applies_the_rule_of_benjamini_and_hochberg_to_the_batch():
    model = DensityOutliers(random_state=0).fit(USUAL)
    new = np.concatenate([RNG.normal(size=(40, 2)), RNG.normal(6, 1, (10, 2))])
    p = model.p_values(new)
    np.testing.assert_array_equal(p, conformal_p_values(model.score_samples(new), model.calibration_scores_))
    np.testing.assert_array_equal(model.predict(new) < 0, benjamini_hochberg(p, 0.05))


@pytest.mark.parametrize("method", ["split-conformal", "leave-one-out"])
def test_decision_function_judges_each_row_alone(method):
    model = DensityOutliers(method=method, random_state=0).fit(USUAL)
    new = RNG.normal(0, 2, (60, 2))
    decision = model.decision_function(new)
    np.testing.assert_allclose(decision, model.score_samples(new) - model.offset_)
    np.testing.assert_array_equal(decision < 0, model.p_values(new) <= 0.05)
    alone = np.array([model.predict(row[None])[0] for row in new])
    np.testing.assert_array_equal(decision < 0, alone < 0)
    assert set(np.flatnonzero(model.predict(new) < 0)) <= set(np.flatnonzero(decision < 0))


def test_the_same_seed_gives_the_same_split():
    one, two, other = (DensityOutliers(random_state=seed).fit(USUAL) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.calibration_scores_, two.calibration_scores_)
    assert not np.array_equal(one.calibration_scores_, other.calibration_scores_)
    assert len(DensityOutliers(calibration=0.2, random_state=3).fit(USUAL).calibration_scores_) == 60


def test_leave_one_out_densities_agree_with_brute_force():
    density = KernelDensity(bandwidth=0.5)
    model = DensityOutliers(density, method="leave-one-out").fit(USUAL[:40])
    expected = [clone(density).fit(np.delete(USUAL[:40], i, axis=0)).log_density(USUAL[[i]])[0] for i in range(40)]
    np.testing.assert_allclose(model.calibration_scores_, expected, rtol=1e-9)
    ranking = model.ranking()
    np.testing.assert_array_equal(ranking.rows, np.argsort(expected))
    np.testing.assert_array_equal(ranking.p_values, np.arange(1, 41) / 40)


@pytest.mark.parametrize("method", ["split-conformal", "leave-one-out"])
def test_training_rows_are_ranked_by_densities_fitted_without_them(method):
    rows = np.concatenate([USUAL, [[9.0, -9.0], [-8.0, 8.0]]])
    model = DensityOutliers(method=method, random_state=0)
    flagged = model.fit_predict(rows) < 0
    ranking = model.ranking()
    assert set(ranking.rows[:2]) == {300, 301}
    assert flagged[[300, 301]].all()
    assert sorted(ranking.rows) == list(range(302))
    np.testing.assert_array_equal(np.sort(ranking.scores), ranking.scores)
    assert flagged.mean() <= 0.05 + 1 / 302
    if method == "split-conformal":
        learnt, held = model._parts
        mirrored = KernelDensity(bandwidth="scott-scaled").fit(rows[held.rows])
        scores = ranking.scores[np.argsort(ranking.rows)]
        np.testing.assert_allclose(scores[learnt.rows], mirrored.log_density(rows[learnt.rows]))


# Any density is accepted.

FRAME = pd.DataFrame(USUAL, columns=["a", "b"]).assign(c=np.where(LABELS, "u", "v"))
STRANGE = pd.DataFrame({"a": [9.0], "b": [-9.0], "c": ["u"]})


@pytest.mark.parametrize(
    ("density", "columns", "labels"),
    [
        (KernelDensity(bandwidth="silverman-scaled", kernel="epanechnikov"), ["a", "b"], None),
        (HistogramDensity(), ["a"], None),
        (GaussianDiscriminant(), ["a", "b"], LABELS),
        (LinearDiscriminantAnalysis(), ["a", "b"], LABELS),
        (KernelBayes(), ["a", "b"], LABELS),
        (NaiveBayes(), ["a", "b", "c"], LABELS),
        (NaiveBayes({"a": Parzen()}), ["a", "b", "c"], np.zeros(300)),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.filterwarnings("ignore::mercer._errors.CalibrationWarning")
def test_every_density_of_mercer_becomes_a_detector(density, columns, labels):
    model = DensityOutliers(density, random_state=0).fit(FRAME[columns], labels)
    assert model.predict(STRANGE[columns]) == [-1]
    assert (model.predict(FRAME[columns]) < 0).mean() < 0.05
    assert model.certificate_.holds
    assert "split-conformal" in str(model.plan_)
    assert not hasattr(density, "n_features_in_")  # it is a copy that was fitted
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.p_values(FRAME[columns]), model.p_values(FRAME[columns]))


def test_containers_do_not_matter():
    expected = DensityOutliers(random_state=0).fit(USUAL).p_values(USUAL)
    for make in (
        pd.DataFrame,
        lambda X: pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
        lambda X: pa.record_batch({"a": X[:, 0], "b": X[:, 1]}),
        lambda X: duckdb.arrow(pa.table({"a": X[:, 0], "b": X[:, 1]})),
        np.asfortranarray,
        np.ndarray.tolist,
    ):
        X = make(USUAL)
        np.testing.assert_allclose(DensityOutliers(random_state=0).fit(X).p_values(X), expected)
    counts = sparse.csr_array(RNG.poisson(2.0, (100, 5)))
    model = DensityOutliers(MultinomialNB(), random_state=0).fit(counts, np.arange(100) % 2)
    assert roc_auc_score(np.arange(101) < 100, model.score_samples(sparse.vstack([counts, counts[:1] * 9]))) == 1.0


@pytest.mark.parametrize(
    ("density", "labels"),
    [
        (NaiveBayes(), LABELS),
        (GaussianDiscriminant(), LABELS),
        (KernelDensity(bandwidth="scott-scaled", missing="integrate"), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_gaps_are_left_to_the_density(density, labels):
    """Rows with missing values are ranked by their known values."""
    gaps = FRAME[["a", "b"]].mask(RNG.random((300, 2)) < 0.2)
    gaps.iloc[0] = [0.0, np.nan]
    model = DensityOutliers(density, random_state=0).fit(gaps, labels)
    new = pd.DataFrame({"a": [np.nan, 9.0, 0.0], "b": [0.0, np.nan, np.nan]})
    np.testing.assert_array_equal(model.predict(new), [1, -1, 1])
    assert len(model.ranking().rows) == 300
    with pytest.raises(NonFiniteError, match="NaN"):
        DensityOutliers(KernelDensity(bandwidth="scott-scaled"), random_state=0).fit(gaps)


def test_rows_of_density_zero_are_still_ranked():
    density = KernelDensity(kernel="tophat", bandwidth=0.2)
    with pytest.warns(
        CalibrationWarning, match=r"density is also 0 at \d+ of the calibration rows.* use a smoother density"
    ):
        model = DensityOutliers(density, random_state=0).fit(USUAL)
    assert np.isinf(model.calibration_scores_).any()
    assert np.isfinite(model.p_values([[50.0, 50.0]])).all()
    assert not np.isnan(model.decision_function([[50.0, 50.0], [0.0, 0.0]])).any()


# What is rejected.


def test_a_model_without_density_is_named():
    with pytest.raises(NoDensityError, match="LogisticRegression has no `log_density`"):
        DensityOutliers(LogisticRegression()).fit(USUAL, LABELS)
    with pytest.raises(NoDensityError, match="GaussianDiscriminant has no `leave_one_out_log_density`"):
        DensityOutliers(GaussianDiscriminant(), method="leave-one-out").fit(USUAL, LABELS)


def test_too_few_rows_to_flag_any_warn_with_the_number_needed():
    with pytest.warns(
        CalibrationWarning,
        match=r"with 10 calibration rows.*0\.0909.*above fdr=0\.05\. Use 19 calibration rows or more",
    ):
        model = DensityOutliers(random_state=0).fit(USUAL[:20])
    assert model.offset_ == -np.inf
    assert (model.predict([[1e3, 1e3]]) == 1).all()
    assert (model.decision_function([[1e3, 1e3]]) > 0).all()
    DensityOutliers(random_state=0).fit(USUAL[:38])  # 19 rows held out are enough


def test_a_batch_too_large_to_flag_any_warns_with_the_number_needed():
    """Flagging 3 of 200 rows at a level of 0.05 requires p-values of 0.00075, and thus 1,333 held-out rows."""
    model = DensityOutliers(random_state=0).fit(USUAL)
    new = np.concatenate([USUAL[np.argsort(model.score_samples(USUAL))[-197:]], [[9.0, 9.0], [8.0, -8.0], [-9.0, 9.0]]])
    with pytest.warns(
        CalibrationWarning,
        match=r"3 of 200 have the smallest p-value that 150 .*0\.00662.*0\.00075\. Use 1,333 calibration rows or more",
    ):
        assert (model.predict(new) == 1).all()
    enough = DensityOutliers(calibration=1333 / 1400, random_state=0).fit(np.resize(USUAL, (1400, 2)))
    assert len(enough.calibration_scores_) == 1333
    np.testing.assert_array_equal(np.flatnonzero(enough.predict(new) < 0), [197, 198, 199])
    model.predict(new[:3])  # usual rows, and no word


def test_invalid_input_is_named():
    with pytest.raises(DataError, match="n_samples=1"):
        DensityOutliers().fit(USUAL[:1])
    with pytest.raises(NonFiniteError, match="NaN"):
        DensityOutliers().fit(np.where(np.arange(300)[:, None] == 5, np.nan, USUAL))
    with pytest.raises(DataError, match=r"requires y\. Pass the class of every row.* zeros"):
        DensityOutliers(NaiveBayes()).fit(USUAL)
    for row in (5, 6, 7, 8):  # whichever part it is in
        with pytest.raises(NonFiniteError, match=f"'x0' is inf in row {row}"):
            DensityOutliers(random_state=0).fit(np.where(np.arange(300)[:, None] == row, np.inf, USUAL))
    with pytest.raises(BandwidthError, match=r"1 point.*1 of the 300 rows: calibration=0\.999 holds out the others"):
        DensityOutliers(calibration=0.999).fit(USUAL)
    with pytest.raises(DataError, match="inconsistent numbers"):
        DensityOutliers(NaiveBayes()).fit(USUAL, LABELS[:7])
    for wrong in ({"fdr": 0.0}, {"fdr": 1.0}, {"calibration": 1.0}, {"method": "jackknife"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            DensityOutliers(**wrong).fit(USUAL)


def test_ties_are_conservative_or_randomized():
    model = DensityOutliers(random_state=0).fit(USUAL)
    assert (model.p_values(USUAL, ties="random") <= model.p_values(USUAL)).all()
    with pytest.raises(ValueError, match="'broken'"):
        model.p_values(USUAL, ties="broken")


def test_a_failed_fit_leaves_the_old_model():
    model = DensityOutliers(random_state=0).fit(USUAL)
    before = model.p_values(USUAL)
    with pytest.raises(DataError):
        model.fit(np.ones((30, 2)))
    np.testing.assert_array_equal(model.p_values(USUAL), before)


@pytest.mark.usefixtures("pyplot")
@pytest.mark.parametrize("method", ["split-conformal", "leave-one-out"])
@pytest.mark.parametrize("strange", [0, 1, 12])
def test_rows_drawn_below_the_line_are_those_flagged_by_predict(method, strange):
    model = DensityOutliers(method=method, random_state=0).fit(USUAL)
    new = np.concatenate([USUAL[:20] * 2, RNG.uniform(6, 9, (strange, 2))])
    ax = model.plot(new)
    lines = [each.get_ydata()[0] for each in ax.lines if each.get_linestyle() == "--"]
    line = lines[0] if lines else -np.inf
    with warnings.catch_warnings(action="ignore", category=CalibrationWarning):
        np.testing.assert_array_equal(model.score_samples(new) < line, model.predict(new) < 0)
    assert ax.get_ylabel() == "log density"
    assert model.plot().get_ylabel() == "log density"


# scikit-learn's conventions.

QUOTA = "wants some of any rows to be flagged; where all are alike, a bound on false discoveries flags none"
UNSEEN = "wants rows of the fit judged as new ones; fit_predict scores each by a density that has not seen it"
IMPOSSIBLE = {
    "split-conformal": {"check_outliers_train": QUOTA, "check_outliers_fit_predict": UNSEEN},
    "leave-one-out": {"check_outliers_fit_predict": UNSEEN},
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [DensityOutliers(), DensityOutliers(method="leave-one-out")],
    expected_failed_checks=lambda estimator: IMPOSSIBLE[estimator.method],
)
def test_follows_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
