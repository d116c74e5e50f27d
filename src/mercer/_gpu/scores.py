"""Log densities of normal classes, and Bayes' rule, for chunks of rows; scores are float64 for rows of any dtype.

Parameters are small arrays in main memory, which are copied to the device. The compiled loops for arrays have the
same names.
"""

from __future__ import annotations

from typing import Any

from mercer._gpu import like


def gaussian_columns(X: Any, mean: Any, inverse_deviation: Any, constant: Any) -> Any:
    """constant[c] − ½ Σ_j ((x_j − mean[c, j]) · inverse_deviation[c, j])²; NaN in rows with a NaN."""
    mean, inverse_deviation, constant = _on_device_of(X, mean, inverse_deviation, constant)
    out = mean.new_empty((len(X), len(mean)))
    for c in range(len(mean)):
        out[:, c] = _squared_lengths((X - mean[c]).mul_(inverse_deviation[c]))
    return out.mul_(-0.5).add_(constant)


def observed_gaussian_columns(X: Any, mean: Any, inverse_deviation: Any, constants: Any) -> Any:
    """Like `gaussian_columns` with missing values integrated out; `constants` is per class and column."""
    mean, inverse_deviation, constants = _on_device_of(X, mean, inverse_deviation, constants)
    out, missing = mean.new_empty((len(X), len(mean))), X.isnan()
    for c in range(len(mean)):
        z = (X - mean[c]).mul_(inverse_deviation[c])
        out[:, c] = (constants[c] - 0.5 * z.square_()).masked_fill_(missing, 0.0).sum(dim=1)
    return out


def linear_scores(X: Any, centre: Any, weights: Any, intercept: Any) -> Any:
    """intercept[c] + Σ_j (x_j − centre[j]) · weights[j, c]."""
    centre, weights, intercept = _on_device_of(X, centre, weights, intercept)
    return ((X - centre) @ weights).add_(intercept)


def quadratic_scores(X: Any, centre: Any, whitening: Any, shift: Any, constant: Any) -> Any:
    """constant[c] − ½ ‖(x − centre) @ whitening[c] − shift[c]‖²."""
    centre, whitening, shift, constant = _on_device_of(X, centre, whitening, -shift, constant)
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
    """Replace rows of which all scores are −inf by `row`."""
    impossible = scores.isneginf().all(dim=1, keepdim=True)
    return like(row, scores).where(impossible, scores)


def _squared_lengths(rows: Any) -> Any:
    """Σ_j z_j², by the norm, which reads the rows once and needs no memory of their size."""
    return rows.norm(dim=1).square_()


def _on_device_of(X: Any, *parameters: Any) -> tuple[Any, ...]:
    """Copy parameters to the device of X, in float64."""
    import torch

    return tuple(like(values, X, dtype=torch.float64) for values in parameters)
