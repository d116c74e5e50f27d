"""Every measure equals scikit-learn's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import metrics as theirs

from mercer.application import metrics as ours
from mercer.application.metrics import CLASS_METRICS, COUNT_METRICS, NUMBER_METRICS, Outcome, Prediction

RNG = np.random.default_rng(0)


def classes(k: int, n: int = 60) -> tuple[Outcome, NDArray[Any], NDArray[Any]]:
    truth = np.append(np.arange(k), RNG.integers(k, size=n - k))
    proba = RNG.dirichlet(np.ones(k), size=n)
    return Outcome(truth, Prediction(proba.argmax(axis=1), np.log(proba))), truth, proba


@pytest.mark.parametrize("k", [2, 3, 5])
def test_measures_of_classes(k: int) -> None:
    outcome, truth, proba = classes(k)
    assert ours.log_loss(outcome) == pytest.approx(theirs.log_loss(truth, proba), rel=1e-12)
    assert ours.accuracy(outcome) == theirs.accuracy_score(truth, proba.argmax(axis=1))
    score = proba[:, 1] if k == 2 else proba
    assert ours.auc(outcome) == pytest.approx(theirs.roc_auc_score(truth, score, multi_class="ovr"), rel=1e-12)
    assert ours.brier(outcome) == pytest.approx(theirs.brier_score_loss(truth, score), rel=1e-12)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=30))
def test_ties_in_the_ranking_count_one_half(rows: list[tuple[bool, int]]) -> None:
    truth, score = np.array([row[0] for row in rows]).astype(int), np.array([row[1] for row in rows], dtype=float)
    outcome = Outcome(truth, Prediction(truth, scores=np.column_stack([-score, score])))
    if len(set(truth.tolist())) == 1:
        assert math.isnan(ours.auc(outcome))
    else:
        assert ours.auc(outcome) == pytest.approx(theirs.roc_auc_score(truth, score))


def test_measures_of_numbers() -> None:
    y, predicted = RNG.normal(size=40), RNG.normal(size=40)
    outcome = Outcome(y, Prediction(predicted), float(y.mean()))
    assert ours.rmse(outcome) == pytest.approx(theirs.root_mean_squared_error(y, predicted))
    assert ours.mae(outcome) == pytest.approx(theirs.mean_absolute_error(y, predicted))
    assert ours.r2(outcome) == pytest.approx(theirs.r2_score(y, predicted))


def test_measures_of_counts() -> None:
    y, predicted = RNG.poisson(2.0, size=40).astype(float), RNG.gamma(2.0, size=40)
    outcome = Outcome(y, Prediction(predicted), float(y.mean()))
    assert ours.poisson_deviance(outcome) == pytest.approx(theirs.mean_poisson_deviance(y, predicted))
    assert ours.explained_deviance(outcome) == pytest.approx(theirs.d2_tweedie_score(y, predicted, power=1))


@pytest.mark.parametrize("impossible", [-1.0, 0.0])
def test_an_impossible_forecast_of_a_count_has_infinite_deviance(impossible: float) -> None:
    outcome = Outcome(np.arange(1.0, 4.0), Prediction(np.array([1.0, impossible, 3.0])), 2.0)
    assert ours.poisson_deviance(outcome) == math.inf
    assert ours.explained_deviance(outcome) == -math.inf


def test_a_constant_target() -> None:
    same = np.ones(3)
    assert ours.r2(Outcome(same, Prediction(same), 1.0)) == 1
    assert ours.r2(Outcome(same, Prediction(same + 1), 1.0)) == -math.inf


def test_measures_of_probabilities_are_nan_without_them() -> None:
    outcome = Outcome(np.array([0, 1]), Prediction(np.array([0, 0])))
    assert ours.accuracy(outcome) == 0.5
    assert all(math.isnan(measure(outcome)) for measure in (ours.log_loss, ours.brier, ours.auc))


def test_a_better_score_is_a_larger_gain() -> None:
    for metric in (*CLASS_METRICS, *NUMBER_METRICS, *COUNT_METRICS):
        assert (metric.gain(1.0) > metric.gain(0.0)) == metric.larger_is_better
