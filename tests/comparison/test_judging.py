"""Rate at which models are called better than guessing: low on noise, high if columns are related to the target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, RidgeCV
from sklearn.naive_bayes import GaussianNB

from mercer.comparison import Comparison, compare
from mercer.comparison._paired import SIGNIFICANCE_LEVEL, difference_of, overlap_of
from mercer.comparison._score_tests import score_difference

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


def sampled(task: str, rows: int, columns: int, effect: float, seed: int) -> Comparison:
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
    return compare(X, y, models=MODELS[task], task=task)


def beaten(found: Comparison) -> tuple[bool, bool]:
    """Return whether a model beats guessing beyond chance, by `compare` and by a t-test of the splits."""
    guess, metric, overlap = found.entry("guess"), found.task.metric, overlap_of(found.splits)
    models = [entry for entry in found.done if entry is not guess]
    judged = [score_difference(entry, guess, metric, overlap) for entry in models]
    gains = [metric.gain(entry.scores[metric.name]) for entry in (*models, guess)]
    splits = [difference_of(gain, gains[-1], overlap) for gain in gains[:-1]]
    return tuple(any(each.mean > 0 and each.p < SIGNIFICANCE_LEVEL for each in tests) for tests in (judged, splits))  # type: ignore[return-value]


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
