"""Log densities of normal classes, and Bayes' rule, for chunks of rows; scores are float64, whatever the rows are.

Parameters are small arrays in main memory, which are moved to the rows. Where `_jit` has the same loop for arrays it
has the same name.
"""

from __future__ import annotations

from typing import Any

from mercer._gpu import like


def gaussian_columns(X: Any, mean: Any, inverse_deviation: Any, constant: Any) -> Any:
    """constant[c] − ½ Σ_j ((x_j − mean[c, j]) · inverse_deviation[c, j])²; NaN spoils its row."""
    mean, inverse_deviation, constant = _beside(X, mean, inverse_deviation, constant)
    out = mean.new_empty((len(X), len(mean)))
    for c in range(len(mean)):
        out[:, c] = _squared_lengths((X - mean[c]).mul_(inverse_deviation[c]))
    return out.mul_(-0.5).add_(constant)


def observed_gaussian_columns(X: Any, mean: Any, inverse_deviation: Any, constants: Any) -> Any:
    """Like `gaussian_columns` with missing values integrated out; `constants` is per class and column."""
    mean, inverse_deviation, constants = _beside(X, mean, inverse_deviation, constants)
    out, missing = mean.new_empty((len(X), len(mean))), X.isnan()
    for c in range(len(mean)):
        z = (X - mean[c]).mul_(inverse_deviation[c])
        out[:, c] = (constants[c] - 0.5 * z.square_()).masked_fill_(missing, 0.0).sum(dim=1)
    return out


def linear_scores(X: Any, centre: Any, weights: Any, intercept: Any) -> Any:
    """intercept[c] + Σ_j (x_j − centre[j]) · weights[j, c]."""
    centre, weights, intercept = _beside(X, centre, weights, intercept)
    return ((X - centre) @ weights).add_(intercept)


def quadratic_scores(X: Any, centre: Any, whitening: Any, shift: Any, constant: Any) -> Any:
    """constant[c] − ½ ‖(x − centre) @ whitening[c] − shift[c]‖²."""
    centre, whitening, shift, constant = _beside(X, centre, whitening, -shift, constant)
    away = X - centre
    out = away.new_empty((len(X), len(whitening)))
    for c in range(len(whitening)):
        out[:, c] = _squared_lengths(shift[c].addmm(away, whitening[c]))
    return out.mul_(-0.5).add_(constant)


def largest_of_row(scores: Any) -> Any:
    """Index of the first largest entry of each row."""
    import torch

    places = torch.arange(scores.shape[1], device=scores.device)
    return places.where(scores == scores.amax(dim=1, keepdim=True), len(places)).amin(dim=1)


def with_row_for_impossible(scores: Any, row: Any) -> Any:
    """`row` in the place of rows that are −inf throughout."""
    impossible = scores.isneginf().all(dim=1, keepdim=True)
    return like(row, scores).where(impossible, scores)


def _squared_lengths(rows: Any) -> Any:
    """Σ_j z_j²; of a norm rows are read once, and nothing of their size is written."""
    return rows.norm(dim=1).square_()


def _beside(X: Any, *parameters: Any) -> tuple[Any, ...]:
    import torch

    return tuple(like(values, X, dtype=torch.float64) for values in parameters)
