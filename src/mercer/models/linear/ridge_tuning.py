"""Choosing the penalty of ridge regression by errors that are known in closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DataError
from mercer._typing import Array
from mercer.solvers.least_squares.direct import Rows
from mercer.solvers.least_squares.leave_one_out import Errors, Spectrum, TallSpectrum, candidates, decompose, least
from mercer.solvers.least_squares.streamed_rows import StreamedRows
from mercer.stats.normal_equations import NormalEquations

#: scores the predictions of all rows for all targets: one number, or one for each target
Score = Callable[[Array], Any]


class Choice(NamedTuple):
    """The best penalty, one for all targets or one for each, its score, and all that were tried."""

    alpha: Array  # (targets,)
    score: Any
    alphas: Array  # (penalties,)
    scores: Array  # (penalties,) or (penalties, targets): the higher the better
    sums: NormalEquations | None = None  # the statistic of the rows, if it was needed
    stored: Array | None = None  # (rows, targets, penalties): squared errors, or predictions where they were scored


def tuned(rows: Rows, method: str, *, intercept: bool) -> Choice:
    """By the "loo" or "gcv" error over a range of penalties that the data suggest."""
    refuse_single_row(rows)
    spectrum = decompose(rows, intercept=intercept)
    alphas = candidates(spectrum)
    each = spectrum.generalised(alphas) if method == "gcv" else squared_errors(spectrum, rows, alphas)
    errors = each.mean(axis=1)
    best = least(spectrum, alphas, errors)
    return Choice(np.broadcast_to(alphas[best], (rows.targets,)), -errors[best], alphas, -errors, spectrum.sums)


def cross_validated(
    rows: Rows, alphas: Array, *, intercept: bool, stable: bool, score: Score | None, per_target: bool, store: bool
) -> Choice:
    """By leaving out each row in turn, scored by the squared error if not by `score`."""
    refuse_single_row(rows)
    spectrum = decompose(rows, intercept=intercept, stable=stable, smallest=float(alphas.min()))
    stored = _stored(spectrum, rows, alphas, predictions=score is not None) if store or score is not None else None
    if score is not None:
        assert stored is not None
        scores = np.array([score(stored[:, :, position]) for position in range(len(alphas))])
    else:
        errors = squared_errors(spectrum, rows, alphas) if stored is None else stored.mean(axis=0).T
        scores = -errors if per_target else -errors.mean(axis=1)
    return chosen(alphas, scores, rows.targets)._replace(sums=spectrum.sums, stored=stored)


def _stored(spectrum: Spectrum, rows: Rows, alphas: Array, *, predictions: bool) -> Array:
    """Of every row, left out: the prediction, or the weighted squared error."""
    values = np.empty((len(rows), rows.targets, len(alphas)))

    def keep(errors: Errors) -> None:
        values[errors.rows] = errors.values

    for _ in spectrum.errors(alphas, keep):
        pass
    if predictions:
        return np.asarray(rows.Y[:, :, None] - values)
    if rows.weight is None:
        return values**2
    values[rows.weight == 0] = 0.0  # they may be infinite
    return np.asarray(rows.weight[:, None, None] * values**2)


def squared_errors(spectrum: Spectrum, rows: Rows, alphas: Array) -> Array:
    """Weighted mean squares of the errors of rows left out: (penalties, targets)."""
    if isinstance(rows, StreamedRows):
        assert isinstance(spectrum, TallSpectrum)
        total = rows.added(partial(_summed_in_chunk, replace(spectrum, rows=rows.kind, sums=None), alphas))
    else:
        total = _summed(spectrum, rows, alphas)
    return total.T / len(rows)


def _summed_in_chunk(spectrum: TallSpectrum, alphas: Array, rows: Rows) -> Array:
    return _summed(replace(spectrum, rows=rows), rows, alphas)


def _summed(spectrum: Spectrum, rows: Rows, alphas: Array) -> Array:
    """Weighted sums of the squares: (targets, penalties)."""

    def squares(errors: Errors) -> Array:
        weight = None if rows.weight is None else rows.weight[errors.rows]
        if weight is not None:
            errors.values[weight == 0] = 0.0  # they may be infinite
        square = np.square(errors.values, out=errors.values)
        return square.sum(axis=0) if weight is None else np.tensordot(weight, square, axes=1)

    total: Array = sum(spectrum.errors(alphas, squares), np.zeros((rows.targets, len(alphas))))
    return total


def chosen(alphas: Array, scores: Array, targets: int) -> Choice:
    """The first of the best; NaN counts as the worst score of all."""
    scores = np.where(np.isnan(scores), -np.inf, scores)
    best = np.argmax(scores, axis=0)
    score = np.take_along_axis(scores, np.asarray(best)[None], axis=0)[0]
    return Choice(np.broadcast_to(alphas[best], (targets,)), score, alphas, scores)


def refuse_single_row(rows: Rows) -> None:
    if len(rows) < 2:
        raise DataError(
            f"Found array with {len(rows)} sample(s) while a minimum of 2 is required to leave one out: n_samples = 1. "
            "Give more rows, or a fixed alpha."
        )
