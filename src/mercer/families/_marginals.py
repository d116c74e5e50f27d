"""Normal densities of rows with missing entries: one Cholesky factor per pattern of missingness and parameter set."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from mercer._typing import Array
from mercer.families.collinear import cholesky
from mercer.families.gaussian import LOG_2PI
from mercer.families.missing_patterns import distinct_patterns


def marginal_log_density(x: Array, mean: Array, covariance: Array) -> Array:
    """log N(x; μ, Σ) of the entries of x that are not NaN; leading axes of all three broadcast."""
    d = x.shape[-1]
    leading = np.broadcast_shapes(mean.shape[:-1], covariance.shape[:-2])
    means = np.broadcast_to(mean, (*leading, d)).reshape(-1, d)
    covariances = np.broadcast_to(covariance, (*leading, d, d)).reshape(-1, d, d)
    patterns, pattern = _patterns(np.isnan(x))
    # which pattern and which parameters, as one number for each entry of the result
    kind = len(means) * pattern + np.arange(len(means)).reshape(leading)
    rows = np.broadcast_to(x, (*kind.shape, d)).reshape(-1, d)
    result = np.zeros(len(rows))
    for group in _equal(kind.ravel()):
        p, k = divmod(int(kind.flat[group[0]]), len(means))
        seen = np.flatnonzero(~patterns[p])
        if seen.size:
            difference = rows[np.ix_(group, seen)] - means[k, seen]
            result[group] = _log_density(difference, covariances[k][np.ix_(seen, seen)])
    return result.reshape(kind.shape)


def _patterns(missing: Array) -> tuple[Array, Array]:
    """The distinct patterns of missing entries on the last axis, and which of them each row has."""
    *shape, d = missing.shape
    if not missing.any():
        return np.zeros((1, d), dtype=bool), np.zeros(shape, dtype=np.int64)
    patterns, which = distinct_patterns(missing.reshape(-1, d))
    return patterns, which.reshape(shape)


def _equal(kind: Array) -> list[Array]:
    """Positions of equal entries, together."""
    order = np.argsort(kind, kind="stable")
    return [part for part in np.split(order, np.flatnonzero(np.diff(kind[order])) + 1) if part.size]


def _log_density(difference: Array, covariance: Array) -> Array:
    factor = cholesky(covariance)
    z = solve_triangular(factor, difference.T, lower=True, check_finite=False)
    log_root = np.log(np.diagonal(factor)).sum()
    return np.asarray(-0.5 * (np.square(z).sum(axis=0) + difference.shape[1] * LOG_2PI) - log_root)
