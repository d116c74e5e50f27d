"""Checks of fitted models, on models that were fitted to data in which they should find something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from mercer import (
    SVC,
    KernelRidge,
    LogisticRegression,
    LogisticRegressionCV,
    NadarayaWatson,
    Nystroem,
    RidgeCV,
    compare,
)
from mercer.comparison.checks import check_assumptions

X, Y = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=(80, 2))
NUMBERS = {"task": "regression"}
SIDES = np.where(NOISE[:, 0] + 0.5 * RNG.normal(size=80) > 0, "right", "left")


def found_in(rows: Any, target: Any, model: Any, **options: Any) -> dict[str, str]:
    """Codes of what is found in a comparison with this model, and its sentences."""
    comparison = compare(rows, target, models={"model": model}, cv=2, **options)
    assert not comparison.entries[0].failed, comparison.entries[0].notes
    report = check_assumptions(comparison)
    assert not report.undone
    return {finding.code: finding.sentence for finding in report.findings}


def path(strengths: list[float]) -> Any:
    return LogisticRegressionCV(Cs=strengths, cv=3, l1_ratios=(0,), scoring="neg_log_loss", use_legacy_attributes=False)


def wave() -> Any:
    return np.sin(2 * NOISE[:, 0]) + 0.1 * RNG.normal(size=80)


Case = Callable[[], dict[str, str]]
CASES: dict[str, tuple[Case, Case]] = {
    "MRC301": (
        lambda: found_in(X, Y, LogisticRegression(C=1e6, max_iter=1)),
        lambda: found_in(X, Y, LogisticRegression()),
    ),
    "MRC302": (
        lambda: found_in(NOISE, SIDES, SVC(kernel="sigmoid", gamma=2.0, coef0=-3.0)),
        lambda: found_in(NOISE, SIDES, SVC(kernel="rbf")),
    ),
    # every row four times, and the copies know the answer: the best window has no width
    "MRC303": (
        lambda: found_in(
            np.repeat(NOISE[:20, :1], 4, axis=0), np.repeat(NOISE[:20, 1], 4), NadarayaWatson(), **NUMBERS
        ),
        lambda: found_in(NOISE[:, :1], wave(), NadarayaWatson(), **NUMBERS),
    ),
    "MRC304": (
        lambda: found_in(NOISE, SIDES, path([1e-6, 1e-5, 1e-4, 1e-3, 1e-2])),
        lambda: found_in(NOISE, SIDES, path([1e-6, 1e-3, 1.0, 1e3, 1e6])),
    ),
    "MRC307": (
        lambda: found_in(NOISE, wave(), KernelRidge(kernel="rbf", approximate="nystroem"), **NUMBERS),
        lambda: found_in(NOISE, wave(), KernelRidge(kernel="rbf"), **NUMBERS),
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_a_fitted_model_is_distinguished_from_one_without_the_problem(code: str) -> None:
    fires, silent = CASES[code]
    result = fires()
    assert result[code].startswith(("model ", "The kernel of model", "The bandwidth that model"))
    assert code not in silent()


def test_a_smoother_whose_neighbours_are_wrong_takes_the_widest_window() -> None:
    result = found_in(
        np.arange(80.0)[:, None], np.tile([-1.0, 1.0], 40) + 1e-6 * NOISE[:, 0], NadarayaWatson(), **NUMBERS
    )
    assert "is the widest of those it tried" in result["MRC303"]


def test_penalties_chosen_by_the_model() -> None:
    """RidgeCV stores its candidates, so that only the model is needed."""
    weak = found_in(NOISE, wave(), RidgeCV(alphas=(1e4, 1e5, 1e6)), **NUMBERS)
    assert "alpha = 10,000, the end of what it tried (10,000 to 1,000,000)" in weak["MRC304"]


def test_a_feature_map_before_a_model_does_not_make_the_model_approximate() -> None:
    frame = pd.DataFrame(NOISE, columns=["a", "b"])
    assert "MRC307" not in found_in(frame, SIDES, make_pipeline(Nystroem(n_components=10), LogisticRegression()))
