"""Races between classifiers of one interface: fitting, and predicting from a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.harness import Contender, Race, Results

Array = NDArray[Any]
SEEN_BY_PARITY = 10_000  # rows on which the fitted models' probabilities are compared


class Labelled(NamedTuple):
    X: Array
    y: Array


class Rival(NamedTuple):
    make: Callable[[], Any]
    reach: float | None


def correlated_classes(rows: int, *, columns: int, classes: int = 2) -> Labelled:
    """Gaussian classes with correlated columns and unequal spreads, close enough for probabilities between 0 and 1."""
    rng = np.random.default_rng(0)
    mixing = np.eye(columns) + 0.3 * rng.standard_normal((columns, columns)) / np.sqrt(columns)
    centres = 0.2 * rng.standard_normal((classes, columns))
    spread = np.linspace(0.9, 1.1, classes)
    y = rng.integers(classes, size=rows)
    X = rng.standard_normal((rows, columns)) @ mixing
    X *= spread[y, None]
    X += centres[y]
    return Labelled(X, y)


def fit_race(ours: Callable[[], Any], rivals: Mapping[str, Rival], *, attributes: tuple[str, ...]) -> Race:
    """Fit from nothing; the named attributes and the probabilities of some rows must agree."""

    def prepare(make: Callable[[], Any]) -> Callable[[Labelled], Callable[[], Any]]:
        return lambda data: lambda: make().fit(data.X, data.y)

    def results(model: Any, data: Labelled) -> Results:
        probabilities = {"predict_proba": model.predict_proba(data.X[:SEEN_BY_PARITY])}
        return {name: np.asarray(getattr(model, name)) for name in attributes} | probabilities

    return _race("fit", prepare, ours, rivals, results)


def predict_race(ours: Callable[[], Any], rivals: Mapping[str, Rival]) -> Race:
    """`predict_proba` of all rows by a model fitted beforehand."""

    def prepare(make: Callable[[], Any]) -> Callable[[Labelled], Callable[[], Any]]:
        def fitted(data: Labelled) -> Callable[[], Any]:
            model = make().fit(data.X, data.y)
            return lambda: model.predict_proba(data.X)

        return fitted

    return _race("predict_proba", prepare, ours, rivals, lambda probabilities, data: {"predict_proba": probabilities})


def _race(
    task: str,
    prepare: Callable[[Callable[[], Any]], Callable[[Labelled], Callable[[], Any]]],
    ours: Callable[[], Any],
    rivals: Mapping[str, Rival],
    results: Callable[[Any, Labelled], Results],
) -> Race:
    contenders = tuple(Contender(name, prepare(rival.make), rival.reach) for name, rival in rivals.items())
    return Race(task, Contender("mercer", prepare(ours)), contenders, results)
