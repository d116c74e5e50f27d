"""Lecture 2, "robustness to changing loss function": LDA and logistic regression need no refit, LMS does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from mercer import Calibrated, Decision, LinearDiscriminantAnalysis, LinearThreshold, LogisticRegression
from mercer._errors import ScoresOnlyError

#: a healthy patient called ill costs 1, an ill one called healthy 20
COSTS = np.array([[0.0, 1.0], [20.0, 0.0]])
PRIORS = [0.95, 0.05]


def patients(n: int, ill: float, rng: np.random.Generator):
    y = (rng.random(n) < ill).astype(int)
    return rng.normal(size=(n, 2)) + 1.6 * y[:, None] * [1.0, 0.5], y


RNG = np.random.default_rng(0)
X, Y = patients(3000, 0.5, RNG)
NEW, TRUTH = patients(20_000, 0.5, RNG)
RARE, RARE_TRUTH = patients(20_000, 0.05, RNG)


def paid(called: np.ndarray, truth: np.ndarray) -> float:
    return float(COSTS[truth, called].mean())


def least_cost(ill: float) -> float:
    """Return the least cost for known distributions: the best cut along the direction in which the classes differ."""
    distance = 1.6 * np.hypot(1.0, 0.5)
    cuts = np.linspace(-6, 6, 5001)
    return float(((1 - ill) * norm.sf(cuts) + ill * 20 * norm.cdf(cuts - distance)).min())


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), LogisticRegression(C=np.inf)], ids=["LDA", "logistic"])
def test_probabilities_follow_other_costs_and_priors_without_a_refit(model):
    fitted = model.fit(X, Y)
    decision = Decision(fitted, costs=COSTS, trained_priors=[0.5, 0.5])
    assert paid(decision.predict(NEW), TRUTH) < 1.03 * least_cost(0.5)
    assert paid(fitted.predict(NEW), TRUTH) > 2.5 * least_cost(0.5)
    assert paid(decision.set_params(priors=PRIORS).predict(RARE), RARE_TRUTH) < 1.05 * least_cost(0.05)
    found = decision.set_params(priors=None).estimate_priors(RARE)
    assert found.priors[1] == pytest.approx(0.05, abs=0.01)
    assert found.shifted


def test_lms_must_be_refitted():
    """The boundary of LMS is that of the old loss; rows weighted by costs give another, for this loss alone."""
    fitted = LinearThreshold(rule="lms").fit(X, Y)
    with pytest.raises(ScoresOnlyError, match="fitted again"):
        Decision(fitted, costs=COSTS).predict(NEW)
    assert paid(fitted.predict(NEW), TRUTH) > 2.5 * least_cost(0.5)
    again = LinearThreshold(rule="lms").fit(X, Y, sample_weight=np.where(Y == 1, 20.0, 1.0))
    assert paid(again.predict(NEW), TRUTH) < paid(fitted.predict(NEW), TRUTH) / 2
    calibrated = Decision(Calibrated(LinearThreshold(rule="lms")).fit(X, Y), costs=COSTS)
    assert paid(calibrated.predict(NEW), TRUTH) < 1.05 * least_cost(0.5)
