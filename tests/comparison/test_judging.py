"""How often models are better than the baseline beyond chance: rarely for noise, often for related columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LassoCV, LinearRegression, LogisticRegression, PoissonRegressor, RidgeCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR

from mercer.comparison import Comparison, compare
from mercer.comparison._paired import SIGNIFICANCE_LEVEL, adjust_jointly, difference_of, holm, overlap_of
from mercer.comparison._score_tests import baseline_differences

MODELS: dict[str, dict[str, Any]] = {
    "regression": {"ols": LinearRegression(), "ridge": RidgeCV(np.logspace(-2, 4, 13)), "guess": DummyRegressor()},
    "classification": {
        "weak": LogisticRegression(C=0.01),
        "lr": LogisticRegression(),
        "nb": GaussianNB(),
        "guess": DummyClassifier(),
    },
    "counts": {"poisson": PoissonRegressor(alpha=0.1), "ridge": RidgeCV(), "guess": DummyRegressor()},
}


#: a field as varied as that of `compare` for numbers
FIELD: dict[str, Any] = {
    "ols": LinearRegression(),
    "ridge": RidgeCV(np.logspace(-2, 4, 13)),
    "lasso": LassoCV(cv=3),
    "kernel": KernelRidge(1.0, kernel="rbf"),
    "narrow": KernelRidge(0.1, kernel="rbf", gamma=1.0),
    "neighbours": KNeighborsRegressor(10),
    "svr": SVR(),
    "guess": DummyRegressor(),
}


def sampled(
    task: str, rows: int, columns: int, effect: float, seed: int, models: dict[str, Any] | None = None
) -> Comparison:
    """Targets that depend on the first column by so much; counts are overdispersed, numbers have heavy tails."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    score = effect * X[:, 0]
    if task == "regression":
        y = score + rng.standard_t(4, size=rows)
    elif task == "classification":
        y = (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(int)
    else:
        y = rng.poisson(1.5 * np.exp(score) * rng.gamma(0.7, 1 / 0.7, size=rows))
    return compare(X, y, models=models or MODELS[task], task=task)


def beaten(found: Comparison) -> tuple[bool, bool]:
    """Return whether a model beats guessing beyond chance, by `compare` and by a t-test of the splits."""
    guess, metric, overlap = found.entry("guess"), found.task.metric, overlap_of(found.splits)
    models = [entry for entry in found.done if entry is not guess]
    judged = baseline_differences(models, guess, metric, overlap).values()
    gains = [metric.gain(entry.scores[metric.name]) for entry in (*models, guess)]
    splits = [difference_of(gain, gains[-1], overlap) for gain in gains[:-1]]
    return (
        any(each.mean > 0 and each.adjusted < SIGNIFICANCE_LEVEL for each in judged),
        any(each.mean > 0 and each.p < SIGNIFICANCE_LEVEL for each in splits),
    )


@pytest.mark.slow
@pytest.mark.parametrize("task", MODELS)
@pytest.mark.parametrize(("rows", "columns"), [(50, 2), (150, 10), (500, 4)])
def test_few_models_are_called_better_on_noise(task: str, rows: int, columns: int) -> None:
    """At most 6 %: of 100 samples, 13 would be three standard errors more."""
    called = [beaten(sampled(task, rows, columns, 0.0, seed))[0] for seed in range(100)]
    assert sum(called) <= 13


@pytest.mark.parametrize("task", MODELS)
def test_most_models_are_called_better_on_signal(task: str) -> None:
    """Half of the samples at least, where tests of five splits find half as many."""
    effect = {"regression": 0.65, "classification": 1.0, "counts": 0.8}[task]
    called = np.array([beaten(sampled(task, 60, 3, effect, seed)) for seed in range(30)])
    judged, splits = called.sum(axis=0)
    assert judged >= 15
    assert judged >= splits + 6


def test_p_values_of_correlated_tests_are_adjusted_by_their_joint_distribution() -> None:
    """Copies of a test cost nothing, and independent ones as much as 1 − (1 − p)^m."""
    parts = np.random.default_rng(0).normal(size=(4, 200))
    copies = adjust_jointly([0.03, 0.03, 0.03], [parts[0]] * 3)
    assert copies == pytest.approx([0.03] * 3, abs=0.005)
    independent = adjust_jointly([0.02, 0.9, 0.9, 0.9], list(np.linalg.qr(parts.T)[0].T))
    assert independent[0] == pytest.approx(1 - 0.98**4, abs=0.01)
    stepped = adjust_jointly([0.01, 0.02, 0.9, 0.9], list(parts))
    assert stepped[1] == pytest.approx(1 - 0.98**3, abs=0.01)
    assert all(one <= other for one, other in zip(stepped, holm([0.01, 0.02, 0.9, 0.9]), strict=True))


def test_without_parts_p_values_are_adjusted_by_holm() -> None:
    p_values = [0.04, 0.01, np.nan, 0.03, 1e-9]
    np.testing.assert_allclose(adjust_jointly(p_values, [None] * 5), holm(p_values))
    parts = np.random.default_rng(0).normal(size=(2, 50))
    assert adjust_jointly([0.04], [parts[0]]) == [0.04]
    assert adjust_jointly([1e-12, 0.5], list(parts))[0] == pytest.approx(2e-12)  # below the resolution of the draws
    constant = adjust_jointly([0.02, 0.5], [parts[0], np.zeros(50)])
    np.testing.assert_allclose(constant, holm([0.02, 0.5]), atol=0.005)
    assert adjust_jointly([], []) == []


def claims(found: Comparison) -> tuple[bool, bool, bool]:
    """Whether a model is better than the baseline: by one test each, by Holm, and by the joint distribution."""
    guess, metric, overlap = found.entry("guess"), found.task.metric, overlap_of(found.splits)
    models = [entry for entry in found.done if entry is not guess]
    tests = list(baseline_differences(models, guess, metric, overlap).values())
    single = [each.p if each.mean > 0 else 1.0 for each in tests]
    joint = [each.adjusted if each.mean > 0 else 1.0 for each in tests]
    return min(single) < SIGNIFICANCE_LEVEL, min(holm(single)) < SIGNIFICANCE_LEVEL, min(joint) < SIGNIFICANCE_LEVEL


@pytest.mark.parametrize("seed", range(8))
def test_the_verdict_and_the_table_of_differences_agree_on_the_baseline(seed: int) -> None:
    """With an effect that some of the models find, by one test each."""
    found = sampled("regression", 60, 4, 0.35, seed, FIELD)
    rows = {row[0]: row for row in found.differences().rows}
    verdict = found.verdict()
    assert verdict.top is not None
    if found.done[0] is not verdict.top:
        assert verdict.best is None
    elif rows["guess"][-1] == "no":
        assert verdict.best is not verdict.top
    else:
        assert verdict.best is not None


@pytest.mark.slow
def test_few_fields_of_seven_models_have_one_that_beats_the_baseline_on_noise() -> None:
    """About 5 % of 200 samples: 19 would be three standard errors more. One test for each model finds twice as many."""
    found = np.array([claims(sampled("regression", 60, 4, 0.0, seed, FIELD)) for seed in range(200)])
    single, by_holm, joint = found.sum(axis=0)
    assert joint <= 14
    assert by_holm <= joint <= single / 2


@pytest.mark.slow
def test_the_joint_correction_costs_less_power_than_that_of_holm() -> None:
    found = np.array([claims(sampled("regression", 60, 4, 0.5, seed, FIELD)) for seed in range(60)])
    single, by_holm, joint = found.sum(axis=0)
    assert by_holm + 5 <= joint <= single
