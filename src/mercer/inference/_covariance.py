"""Covariance of the coefficients, from the model or robust (from the scatter of the rows).

    model     φ I⁻¹                          I = Xᵀ diag(h) X, the expected information
    robust    A⁻¹ (Σ s sᵀ) A⁻¹               s = the slope of the loss of a row (HC0–HC3) or of a cluster of rows

where A is the observed information. HC1 multiplies by n/(n − p); HC2 and HC3 divide each s sᵀ by (1 − leverage) and
its square (MacKinnon and White 1985; see `corrected_slopes` for classes); clusters multiply by
G/(G − 1) · (n − 1)/(n − p). A penalised fit has the posterior covariance φ (I + λ)⁻¹ instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer._errors import DataError, InferenceError, NonFiniteError
from mercer._threads import blas_for, ordered_stream, row_blocks
from mercer._typing import Array
from mercer.data.blocks import rows_per_block
from mercer.data.coding import code_array
from mercer.inference._fitted import FittedModel, squared_lengths
from mercer.optim.scaling import inverse_root

#: kinds of covariance
COVARIANCE_KINDS = ("model", "HC0", "HC1", "HC2", "HC3", "cluster")
#: power of 1/(1 − leverage) by which each residual is multiplied
LEVERAGE_POWER = {"HC2": 0.5, "HC3": 1.0}
#: leverage above which a row has no residual of its own
MOST_LEVERAGE = 1 - 1e-10
#: smallest pivot of the information, for parameters scaled to unit curvature, of an accurate inverse: below, the R
#: factor of the design is used, which keeps twice as many digits
ILL_CONDITIONED = 1e-6
#: eigenvalue of a scaled p × p information, divided by p, below which it is zero up to rounding
ZERO_INFORMATION = 1e-15
#: relative change of η below which it is rounding
PREDICTOR_ROUNDING = 1e-13
#: ratio of the part of a coefficient that is not determined to the rest, above which it counts as not determined
UNDETERMINED_RATIO = 1e-7
#: end of the error message if HC1 or clusters have no more observations than coefficients
CORRECTION_PURPOSE = "correct the robust errors of"


# The inverse of the information.


@dataclass(frozen=True, eq=False)
class Bread:
    """Inverse of the information of the free parameters, as `root` rootᵀ; `flat` spans its null space."""

    root: Array
    flat: Array

    @property
    def rank(self) -> int:
        return int(self.root.shape[1])

    @property
    def inverse(self) -> Array:
        return np.asarray(self.root @ self.root.T)


def compute_bread(fitted: FittedModel, *, observed: bool = False) -> Bread:
    """Return the inverse of the information at the estimate, including that of the prior."""
    information = fitted.information(observed=observed)
    scale = inverse_root(np.diagonal(information))
    with blas_for(len(scale)):
        root = _root(information * scale * scale[:, None])
        if root is not None:
            return Bread(scale[:, None] * root, np.zeros((len(scale), 0)))
        if fitted.rows.predictors == 1 and not observed:
            return _from_r_factor(_r_factor(fitted))
        values, vectors = np.linalg.eigh(information * scale * scale[:, None])
    return _split(np.sqrt(np.maximum(values, 0.0)), vectors, scale, np.sqrt(ZERO_INFORMATION * len(scale)))


def _root(information: Array) -> Array | None:
    """Return L⁻ᵀ of information = L Lᵀ; None if it is ill-conditioned."""
    try:
        factor = np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        return None
    if np.square(np.diagonal(factor)).min(initial=1.0) < ILL_CONDITIONED:
        return None
    return np.asarray(solve_triangular(factor, np.eye(len(factor)), lower=True).T)


def _r_factor(fitted: FittedModel) -> Array:
    """Return the R factor of √h X with √λ below it, block by block; the information is RᵀR, which is not formed."""
    design, y, eta, weight = fitted.observations.design, fitted.observations.y, fitted.eta, fitted.weight

    def compute_block(block: slice) -> Array:
        rows = design.rows(block).dense()
        h = weight[block] * fitted.rows.curvatures(y[block], eta[block])(0, 0)
        return np.asarray(np.linalg.qr(np.sqrt(h)[:, None] * rows, mode="r"))

    R = np.diag(np.sqrt(fitted.strengths.l2))
    for factor in ordered_stream(compute_block, design.dense_blocks()):
        R = np.asarray(np.linalg.qr(np.vstack([R, factor]), mode="r"))
    return R


def _from_r_factor(factor: Array) -> Bread:
    scale = inverse_root(np.square(factor).sum(axis=0))
    scaled = factor * scale
    values, vectors = np.linalg.svd(scaled)[1:]
    values = np.append(values, np.zeros(len(scale) - len(values)))
    least = ZERO_INFORMATION * len(scale)
    if values.min(initial=1.0) > least:
        triangle = np.linalg.qr(scaled, mode="r")
        return Bread(scale[:, None] * solve_triangular(triangle, np.eye(len(scale))), np.zeros((len(scale), 0)))
    return _split(values, vectors.T, scale, least)


def _split(values: Array, vectors: Array, scale: Array, least: float) -> Bread:
    """Return the inverse, given square roots of the eigenvalues of the scaled information."""
    kept = values > least
    return Bread(scale[:, None] * vectors[:, kept] / values[kept], scale[:, None] * vectors[:, ~kept])


# Slopes corrected by leverages.


def corrected_slopes(fitted: FittedModel, bread: Bread, power: float) -> Array:
    """Return ∂loss/∂η of each row times (1 − leverage)^−power, of shape (rows, predictors).

    With A = xᵀ I⁻¹ x of a row and its curvature h, the leverage is h A: a fit to the other rows would leave a residual
    1/(1 − h A) times as large. With a predictor for each class these are matrices, A_kl = x_kᵀ I⁻¹ x_l and the
    curvature W = diag(p) − p pᵀ, and the slopes are (1 − W A)⁻¹ e for HC3, (1 − W A)^(−½) e for HC2 (the predictors of
    one row are a cluster, Bell and McCaffrey 2002).

    A row of leverage 1, such as the only row of a level, is fitted exactly. Its slope is 0 up to rounding and the
    tolerance of the fit, which division by 1 − 1 would amplify; it is set to 0.
    """
    # a frequency w means w rows, each of which has the leverage of one row
    each = fitted.each if fitted.frequency else fitted.weight
    if fitted.rows.predictors > 1:
        return _corrected_slopes_of_classes(fitted, bread, power, each)
    h = each * fitted.rows.curvatures(fitted.observations.y, fitted.eta)(0, 0)
    leverage = h * squared_lengths(fitted.observations.design, fitted.free @ bread.root)
    rest = np.where(leverage <= MOST_LEVERAGE, 1 - leverage, np.inf)
    return np.asarray(fitted.slopes / (rest**power)[:, None])


def _corrected_slopes_of_classes(fitted: FittedModel, bread: Bread, power: float, each: Array) -> Array:
    k, design, slopes = fitted.rows.predictors, fitted.observations.design, fitted.slopes
    roots = (fitted.free @ bread.root).reshape(k, design.n_columns, bread.rank)

    def compute_block(block: slice) -> Array:
        rows, y, eta = design.rows(block), fitted.observations.y[block], fitted.eta[block]
        moves = np.stack([rows.matvec(root) for root in roots], axis=1)
        curvature = fitted.rows.curvatures(y, eta)
        W = np.stack([np.stack([curvature(a, b) for b in range(k)], axis=1) for a in range(k)], axis=1)
        return _corrected(each[block, None, None] * W, moves @ moves.swapaxes(1, 2), slopes[block], power)

    blocks = row_blocks(design.n_rows, rows_per_block(k * bread.rank))
    return np.concatenate([np.zeros((0, k)), *ordered_stream(compute_block, blocks)])


def _corrected(W: Array, A: Array, slopes: Array, power: float) -> Array:
    """Return (1 − W A)^−power e of each row.

    It is e + W A^½ g(M) A^½ e for M = A^½ W A^½ and g(z) = ((1 − z)^−power − 1) / z, without an inverse.
    """
    sizes, axes = np.linalg.eigh(A)
    root = (axes * np.sqrt(np.maximum(sizes, 0.0))[:, None, :]) @ axes.swapaxes(1, 2)
    leverages, turned = np.linalg.eigh(root @ W @ root)
    across = turned.swapaxes(1, 2) @ (root @ slopes[:, :, None])
    return np.asarray(slopes + (W @ (root @ (turned @ (_growth(leverages, power)[:, :, None] * across))))[:, :, 0])


def _growth(leverage: Array, power: float) -> Array:
    """Return g of leverages from 0 to 1; −1 above the largest leverage, which makes the slope 0."""
    z = np.clip(leverage, 0.0, MOST_LEVERAGE)
    growth = np.divide(np.expm1(-power * np.log1p(-z)), z, out=np.full_like(z, power), where=z > 0)
    return np.where(leverage <= MOST_LEVERAGE, growth, -1.0)


# The covariance.


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance of the user's coefficients; NaN for those that the data do not determine."""

    matrix: Array
    kind: str
    #: square root of the covariance of the parameters θ of the fit
    spread: Array
    dispersion: float
    #: degrees of freedom of Student's t; None for the normal, if the dispersion is known
    freedom: float | None
    #: effective number of parameters: the rank, or less with a prior
    effective: float
    #: whether the data determine each coefficient
    determined: Array
    #: inverse of the information
    bread: Bread
    #: upper bound of the distance of the coefficients from the optimum for these data, in standard errors
    distance: float


def compute_covariance(fitted: FittedModel, kind: str = "model", clusters: Any = None) -> Covariance:
    """Return the covariance of one of `COVARIANCE_KINDS`."""
    _check_kind(fitted, kind, clusters)
    bread = compute_bread(fitted)
    effective = _effective(fitted, bread)
    dispersion = dispersion_of(fitted, effective)
    freedom = None if fitted.rows.known_dispersion is not None else fitted.n - effective
    if kind == "model":
        spread = np.sqrt(dispersion) * bread.root
    elif kind == "cluster":
        spread, freedom = _clustered(fitted, bread, _cluster_codes(clusters, fitted), freedom)
    else:
        spread = _robust(fitted, bread, kind)
    determined = _determined(fitted, bread)
    spread = fitted.free @ spread
    of_user = fitted.to_user @ spread
    matrix = np.where(determined & determined[:, None], of_user @ of_user.T, np.nan)
    distance = _distance(fitted, bread, np.sqrt(np.diagonal(matrix)))
    return Covariance(matrix, kind, spread, dispersion, freedom, effective, determined, bread, distance)


def _distance(fitted: FittedModel, bread: Bread, errors: Array) -> float:
    """Return the length of the Newton step, as the largest move of a coefficient in standard errors."""
    root = fitted.free @ bread.root
    pull = root.T @ fitted.score_at(fitted.theta)
    if np.linalg.norm(pull) <= PREDICTOR_ROUNDING * np.linalg.norm(np.sqrt(fitted.weight)[:, None] * fitted.eta):
        return 0.0  # rounding of an exact fit
    step = fitted.to_user @ (root @ pull)
    known = errors > 0  # neither zero nor NaN
    return float(np.max(np.abs(step[known]) / errors[known], initial=0.0))


def dispersion_of(fitted: FittedModel, effective: float) -> float:
    """Return φ: known, or Pearson's χ² per degree of freedom."""
    if (known := fitted.rows.known_dispersion) is not None:
        return known
    freedom = _residual_freedom(fitted, effective, "estimate the dispersion of")
    return float(fitted.weight @ fitted.rows.pearson(fitted.observations.y, fitted.eta)) / freedom


def _residual_freedom(fitted: FittedModel, used: float, purpose: str) -> float:
    """Return the number of observations minus that of coefficients, or raise an error if none is left."""
    if fitted.n <= used:
        raise InferenceError(
            f"n = {fitted.n:g} leaves nothing to {purpose} {used:g} coefficients by; give more rows, or leave columns "
            "out."
        )
    return fitted.n - used


def _effective(fitted: FittedModel, bread: Bread) -> float:
    """Return the effective number of parameters, tr I (I + λ)⁻¹."""
    if not fitted.is_penalised:
        return float(bread.rank)
    prior = (fitted.free.T * fitted.strengths.l2) @ fitted.free
    return bread.rank - float(np.einsum("ij,ji->", prior, bread.inverse))


def _determined(fitted: FittedModel, bread: Bread) -> Array:
    """Return which coefficients have no part in the null space of the information."""
    lost = np.linalg.norm(fitted.to_user @ (fitted.free @ bread.flat), axis=1)
    kept = np.linalg.norm(fitted.to_user @ (fitted.free @ bread.root), axis=1)
    return np.asarray(lost <= UNDETERMINED_RATIO * np.where(kept > 0, kept, 1.0))


def _robust(fitted: FittedModel, bread: Bread, kind: str) -> Array:
    factor = fitted.weight * fitted.each if fitted.frequency else np.square(fitted.weight)
    slopes = corrected_slopes(fitted, bread, LEVERAGE_POWER[kind]) if kind in LEVERAGE_POWER else fitted.slopes
    correction = fitted.n / _residual_freedom(fitted, bread.rank, CORRECTION_PURPOSE) if kind == "HC1" else 1.0
    return _sandwich(fitted, bread, correction * fitted.scores_squared(factor, slopes))


def _sandwich(fitted: FittedModel, bread: Bread, meat: Array) -> Array:
    """Return a square root of A⁻¹ meat A⁻¹."""
    inverse = _observed_bread(fitted, bread).inverse
    scale = np.sqrt(np.diagonal(meat))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(meat / scale / scale[:, None])
    return np.asarray(inverse @ (scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))))


def _observed_bread(fitted: FittedModel, bread: Bread) -> Bread:
    """Return the inverse of the observed information, or of the expected one if the observed is not positive."""
    if fitted.rows.canonical:
        return bread
    observed = compute_bread(fitted, observed=True)
    return observed if observed.rank == bread.rank else bread


def _clustered(fitted: FittedModel, bread: Bread, codes: Array, freedom: float | None) -> tuple[Array, float | None]:
    n_clusters = _n_clusters(codes, fitted)
    meat = sum((np.outer(s, s) if s.ndim == 1 else s.T @ s for s in _cluster_sums(fitted, codes)), start=np.zeros(()))
    meat = fitted.free.T @ meat @ fitted.free
    correction = (
        n_clusters / (n_clusters - 1) * (fitted.n - 1) / _residual_freedom(fitted, bread.rank, CORRECTION_PURPOSE)
    )
    return _sandwich(fitted, bread, correction * meat), None if freedom is None else n_clusters - 1.0


def _cluster_sums(fitted: FittedModel, codes: Array) -> Iterator[Array]:
    """Yield sums of the slopes of the rows of each cluster, several clusters at a time.

    Rows are read in the order of their clusters, block by block; the last cluster of a block may continue in the next.
    """
    order = np.argsort(codes, kind="stable")
    slopes = fitted.weight[:, None] * fitted.rows.slopes(fitted.observations.y, fitted.eta)
    design = fitted.observations.design

    def compute_block(block: slice) -> tuple[Array, Array]:
        rows = order[block]
        starts = np.flatnonzero(np.diff(codes[rows], prepend=-1))
        scores = slopes[rows][:, :, None] * design.take(rows).dense()[:, None, :]
        return codes[rows][starts], np.add.reduceat(scores.reshape(len(rows), -1), starts, axis=0)

    last, pending = -1, np.zeros(len(fitted.theta))
    for clusters, sums in ordered_stream(compute_block, design.dense_blocks()):
        if clusters[0] == last:
            sums[0] += pending
        else:
            yield pending
        yield sums[:-1]
        last, pending = int(clusters[-1]), sums[-1]
    yield pending


def _n_clusters(codes: Array, fitted: FittedModel) -> int:
    """Return the number of clusters that have a row of positive weight."""
    return len(np.unique(codes[fitted.weight > 0]))


def _cluster_codes(clusters: Any, fitted: FittedModel) -> Array:
    """Return the codes of the clusters, from 0 upwards, for each row."""
    labels, n_rows = np.asarray(clusters), len(fitted.observations)
    if labels.shape != (n_rows,):
        raise DataError(f"clusters has the shape {labels.shape}, but X has {n_rows} rows; give one label for each row.")
    if labels.dtype.kind in "mM":
        labels = np.array([None if np.isnat(label) else str(label) for label in labels], dtype=object)
    codes = code_array(labels).codes
    if (missing := codes < 0).any():
        row = int(np.argmax(missing))
        raise NonFiniteError(f"clusters has no label for row {row}; drop the rows without one, or make them a cluster.")
    if _n_clusters(codes, fitted) < 2:
        raise InferenceError("all rows are in one cluster, which does not show how clusters differ; give two or more.")
    return codes


def _check_kind(fitted: FittedModel, kind: str, clusters: Any) -> None:
    if kind not in COVARIANCE_KINDS:
        raise InferenceError(f"there is no covariance {kind!r}; give one of {', '.join(COVARIANCE_KINDS)}.")
    if (kind == "cluster") != (clusters is not None):
        raise InferenceError('covariance="cluster" and `clusters`, the label of each row, belong together; give both.')
    if kind != "model" and fitted.is_penalised:
        raise InferenceError(
            f"covariance={kind!r} is of an unpenalised estimate; after an L2 penalty there is the posterior's, "
            'covariance="model".'
        )
