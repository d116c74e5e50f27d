"""Races between classifiers that are closed forms: fitting, and predicting from a fitted model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench import fits
from bench.fits import Entrant
from bench.harness import Race, Results
from bench.rows import Responses

SEEN_BY_PARITY = 10_000  # rows on which the fitted models' probabilities are compared


def correlated_classes(rows: int, *, columns: int, classes: int = 2) -> Responses:
    """Gaussian classes with correlated columns and unequal spreads, close enough for probabilities between 0 and 1."""
    rng = np.random.default_rng(0)
    mixing = np.eye(columns) + 0.3 * rng.standard_normal((columns, columns)) / np.sqrt(columns)
    centres = 0.2 * rng.standard_normal((classes, columns))
    spread = np.linspace(0.9, 1.1, classes)
    y = rng.integers(classes, size=rows)
    X = rng.standard_normal((rows, columns)) @ mixing
    X *= spread[y, None]
    X += centres[y]
    return Responses(X, y)


def fit_race(ours: Entrant, rivals: Mapping[str, Entrant], *, attributes: tuple[str, ...]) -> Race:
    """Fit from nothing; the named attributes and the probabilities of some rows must agree."""

    def results(model: Any, data: Responses) -> Results:
        probabilities = {"predict_proba": model.predict_proba(data.X[:SEEN_BY_PARITY])}
        return {name: np.asarray(getattr(model, name)) for name in attributes} | probabilities

    return fits.fit_race(ours, rivals, results)


def predict_race(ours: Entrant, rivals: Mapping[str, Entrant]) -> Race:
    """`predict_proba` of all rows by a model fitted beforehand."""
    return fits.asked_race(
        ours,
        rivals,
        lambda model, data: model.predict_proba(data.X),
        lambda probabilities, data: {"predict_proba": probabilities},
        task="predict_proba",
    )
