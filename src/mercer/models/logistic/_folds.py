"""Logistic regressions on the folds of a cross-validation, along a grid of penalties, and their scores."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, make_scorer
from sklearn.utils.validation import _check_method_params

from mercer._errors import NonFiniteError
from mercer._typing import Array
from mercer.models._folds import weight_in_fold
from mercer.models.logistic._path import Coefficients, LogisticPath, Point
from mercer.models.logistic.logistic_regression import LogisticRegression
from mercer.solvers.least_squares.fit import NOT_FINITE

#: axes are folds, l1_ratios and Cs
Points = list[list[list[Point]]]


@dataclass(frozen=True, eq=False)
class Grid:
    """Strengths and kinds of penalty: every C with every share of L1."""

    Cs: Array
    l1_ratios: Sequence[float]


@dataclass(frozen=True, eq=False)
class FoldFits:
    """What was fitted on each fold: axes are folds, l1_ratios and Cs."""

    points: Points
    scores: Array  # (folds, l1_ratios, Cs)

    def coefficients(self, *, intercept: bool) -> Array:
        """(folds, l1_ratios, Cs, classes, columns), the intercept last."""
        return np.array(
            [
                [[point.coefficients.joined(intercept=intercept) for point in path] for path in fold]
                for fold in self.points
            ]
        )

    def n_iter(self) -> Array:
        """(folds, l1_ratios, Cs)."""
        return np.array([[[point.n_iter for point in path] for path in fold] for fold in self.points], dtype=np.int32)

    def best(self) -> tuple[int, int]:
        """Positions among Cs and l1_ratios of the best mean score."""
        return _place_of_best(self.scores.sum(axis=0))

    def best_of_each(self) -> list[tuple[int, int]]:
        """The same for each fold by itself."""
        return [_place_of_best(scores) for scores in self.scores]


def _place_of_best(scores: Array) -> tuple[int, int]:
    """Positions among Cs and l1_ratios; of equal scores that with the first C."""
    at_C, at_ratio = np.unravel_index(np.argmax(scores.T), scores.T.shape)
    return int(at_C), int(at_ratio)


def fit_folds(path: LogisticPath, grid: Grid, trains: Sequence[Array]) -> Points:
    """Fit each fold along the grid, every C from the coefficients of the one before."""
    return [[_along(_of_fold(path, train), grid.Cs, ratio) for ratio in grid.l1_ratios] for train in trains]


def scored(points: Points, score: Callable[[int, Point], float]) -> FoldFits:
    """The fits with the score of each on the rows left out."""
    scores = [[[score(fold, point) for point in path] for path in of_fold] for fold, of_fold in enumerate(points)]
    return FoldFits(points, np.array(scores))


def _along(path: LogisticPath, Cs: Array, l1_ratio: float) -> list[Point]:
    points: list[Point] = []
    for C in Cs:
        points.append(finite(path.at(float(C), l1_ratio, points[-1].coefficients if points else None)))
    return points


def finite(point: Point) -> Point:
    """The fit, unless it is none; no other begins there."""
    if not np.isfinite(point.certificate.value):
        raise NonFiniteError(NOT_FINITE)
    return point


def _of_fold(path: LogisticPath, train: Array) -> LogisticPath:
    return path.weighted(weight_in_fold(train, len(path.observations), path.observations.weight))


def mean_coefficients(points: Sequence[Point]) -> Coefficients:
    """The mean over fits."""
    each = [point.coefficients for point in points]
    return Coefficients(np.mean([c.coef for c in each], axis=0), np.mean([c.intercept for c in each], axis=0))


@dataclass(frozen=True, eq=False)
class FoldScore:
    """The score of a fit on the rows that were left out."""

    X: Any
    y: Array
    tests: Sequence[Array]
    classes: Array
    scorer: Any  # None for the accuracy
    sample_weight: Array | None
    score_params: dict[str, Any]

    def __call__(self, fold: int, point: Point) -> float:
        test = self.tests[fold]
        model = LogisticRegression()
        model.classes_, model.n_features_in_ = self.classes, self.X.shape[1]
        model.coef_, model.intercept_ = point.coefficients
        X, y = self.X[test], self.y[test]
        if self.scorer is None:
            weight = None if self.sample_weight is None else self.sample_weight[test]
            return float(model.score(X, y, sample_weight=weight))
        params = _check_method_params(X=self.X, params=self.score_params, indices=test)
        return float(self.scorer(model, X, y, **params))


def scorer_for(scoring: Any, classes: Array) -> Any:
    """The scorer, told of all classes where it can be: a fold need not have them all."""
    scorer = get_scorer(scoring)
    known = inspect.signature(scorer._score_func).parameters if hasattr(scorer, "_score_func") else ()
    if "labels" not in known:
        return scorer
    positive = {"pos_label": classes[-1]} if len(classes) == 2 and "pos_label" in known else {}
    return make_scorer(
        scorer._score_func,
        greater_is_better=scorer._sign == 1,
        response_method=scorer._response_method,
        labels=classes,
        **positive,
        **getattr(scorer, "_kwargs", {}),
    )
