"""How far the coefficients may be off: their covariance from the model, or from how the rows themselves scatter.

    model     φ I⁻¹                          I = Xᵀ diag(h) X, the expected information
    robust    A⁻¹ (Σ s sᵀ) A⁻¹               s = the slope of the loss of a row (HC0–HC3) or of a cluster of rows

where A is the observed information. HC1 multiplies by n/(n − p); HC2 and HC3 divide each s sᵀ by (1 − leverage) and
its square (MacKinnon and White 1985; `leverage` says what that is for classes); clusters multiply by
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

# The inverse of the information, by a root of it that keeps its digits.

#: an information with a smaller pivot, parameters scaled to unit curvature, has lost too many digits to rounding for
#: its inverse: the R factor of the design keeps twice as many
ILL_CONDITIONED = 1e-6
#: an eigenvalue of a scaled p × p information below p times this, or its root of a scaled design, is zero to rounding
FLAT = 1e-15


@dataclass(frozen=True, eq=False)
class Bread:
    """`root` rootᵀ is the inverse of the information of the free parameters; `flat` spans what it says nothing of."""

    root: Array
    flat: Array

    @property
    def rank(self) -> int:
        return int(self.root.shape[1])

    @property
    def inverse(self) -> Array:
        return np.asarray(self.root @ self.root.T)


def bread_of(fitted: FittedModel, *, observed: bool = False) -> Bread:
    """The inverse information at the estimate, the prior's part in it."""
    information = fitted.information(observed=observed)
    scale = inverse_root(np.diagonal(information))
    with blas_for(len(scale)):
        root = _root(information * scale * scale[:, None])
        if root is not None:
            return Bread(scale[:, None] * root, np.zeros((len(scale), 0)))
        if fitted.rows.predictors == 1 and not observed:
            return _from_r_factor(_r_factor(fitted))
        values, vectors = np.linalg.eigh(information * scale * scale[:, None])
    return _split(np.sqrt(np.maximum(values, 0.0)), vectors, scale, np.sqrt(FLAT * len(scale)))


def _root(information: Array) -> Array | None:
    """L⁻ᵀ of L Lᵀ; None where that would lose digits."""
    try:
        factor = np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        return None
    if np.square(np.diagonal(factor)).min(initial=1.0) < ILL_CONDITIONED:
        return None
    return np.asarray(solve_triangular(factor, np.eye(len(factor)), lower=True).T)


def _r_factor(fitted: FittedModel) -> Array:
    """R of √h X with √λ below it, block by block: the information is RᵀR, but never formed."""
    design, y, eta, weight = fitted.observations.design, fitted.observations.y, fitted.eta, fitted.weight

    def of_block(block: slice) -> Array:
        rows = design.rows(block).dense()
        h = weight[block] * fitted.rows.curvatures(y[block], eta[block])(0, 0)
        return np.asarray(np.linalg.qr(np.sqrt(h)[:, None] * rows, mode="r"))

    R = np.diag(np.sqrt(fitted.strengths.l2))
    for factor in ordered_stream(of_block, design.dense_blocks()):
        R = np.asarray(np.linalg.qr(np.vstack([R, factor]), mode="r"))
    return R


def _from_r_factor(factor: Array) -> Bread:
    scale = inverse_root(np.square(factor).sum(axis=0))
    scaled = factor * scale
    values, vectors = np.linalg.svd(scaled)[1:]
    values = np.append(values, np.zeros(len(scale) - len(values)))
    least = FLAT * len(scale)
    if values.min(initial=1.0) > least:
        triangle = np.linalg.qr(scaled, mode="r")
        return Bread(scale[:, None] * solve_triangular(triangle, np.eye(len(scale))), np.zeros((len(scale), 0)))
    return _split(values, vectors.T, scale, least)


def _split(values: Array, vectors: Array, scale: Array, least: float) -> Bread:
    """From square roots of the eigenvalues of a scaled information."""
    kept = values > least
    return Bread(scale[:, None] * vectors[:, kept] / values[kept], scale[:, None] * vectors[:, ~kept])


# How much each row has to say in its own fit, and slopes with that taken off.
#
# With A = xᵀ I⁻¹ x of a row and h its curvature, h A is its leverage: a fit to the other rows would have left a
# residual 1/(1 − h A) times as large. A row with a predictor for each class has matrices in their place, A_kl = x_kᵀ
# I⁻¹ x_l and the curvature W = diag(p) − p pᵀ, and slopes (1 − W A)⁻¹ e for HC3, (1 − W A)^(−½) e for HC2 (the cluster
# of one row's predictors, Bell and McCaffrey 2002).
#
# A row of leverage 1 (the only one of its level, say) goes through its own response: its slope is 0 but for rounding
# and the tolerance of the fit, which 1/(1 − 1) would blow up. It counts as 0.

#: the largest leverage that leaves a row a residual of its own
MOST_LEVERAGE = 1 - 1e-10


def corrected_slopes(fitted: FittedModel, bread: Bread, power: float) -> Array:
    """∂loss/∂η of each row times (1 − leverage)^−power, of shape (rows, predictors)."""
    # a frequency is so many rows, each of which has the leverage of one
    each = fitted.each if fitted.frequency else fitted.weight
    if fitted.rows.predictors > 1:
        return _of_classes(fitted, bread, power, each)
    h = each * fitted.rows.curvatures(fitted.observations.y, fitted.eta)(0, 0)
    leverage = h * squared_lengths(fitted.observations.design, fitted.free @ bread.root)
    return np.asarray(fitted.slopes / (_left(leverage) ** power)[:, None])


def _left(leverage: Array) -> Array:
    """1 − leverage; infinity, by which nothing is left of a slope, where there is no residual."""
    return np.where(leverage <= MOST_LEVERAGE, 1 - leverage, np.inf)


def _of_classes(fitted: FittedModel, bread: Bread, power: float, each: Array) -> Array:
    k, design, slopes = fitted.rows.predictors, fitted.observations.design, fitted.slopes
    roots = (fitted.free @ bread.root).reshape(k, design.n_columns, bread.rank)

    def of_block(block: slice) -> Array:
        rows, y, eta = design.rows(block), fitted.observations.y[block], fitted.eta[block]
        moves = np.stack([rows.times(root) for root in roots], axis=1)
        curvature = fitted.rows.curvatures(y, eta)
        W = np.stack([np.stack([curvature(a, b) for b in range(k)], axis=1) for a in range(k)], axis=1)
        return _corrected(each[block, None, None] * W, moves @ moves.swapaxes(1, 2), slopes[block], power)

    blocks = row_blocks(design.n_rows, rows_per_block(k * bread.rank))
    return np.concatenate([np.zeros((0, k)), *ordered_stream(of_block, blocks)])


def _corrected(W: Array, A: Array, slopes: Array, power: float) -> Array:
    """(1 − W A)^−power e of each row.

    That is e + W A^½ g(M) A^½ e for M = A^½ W A^½ and g(z) = ((1 − z)^−power − 1) / z: nothing is inverted.
    """
    sizes, axes = np.linalg.eigh(A)
    root = (axes * np.sqrt(np.maximum(sizes, 0.0))[:, None, :]) @ axes.swapaxes(1, 2)
    leverages, turned = np.linalg.eigh(root @ W @ root)
    across = turned.swapaxes(1, 2) @ (root @ slopes[:, :, None])
    return np.asarray(slopes + (W @ (root @ (turned @ (_growth(leverages, power)[:, :, None] * across))))[:, :, 0])


def _growth(leverage: Array, power: float) -> Array:
    """g of leverages from 0 to 1; −1, by which nothing is left of a slope, where there is no residual."""
    z = np.clip(leverage, 0.0, MOST_LEVERAGE)
    growth = np.divide(np.expm1(-power * np.log1p(-z)), z, out=np.full_like(z, power), where=z > 0)
    return np.where(leverage <= MOST_LEVERAGE, growth, -1.0)


KINDS = ("model", "HC0", "HC1", "HC2", "HC3", "cluster")
#: the power of 1/(1 − leverage) that each residual is multiplied by
LEVERAGE_POWER = {"HC2": 0.5, "HC3": 1.0}
#: what HC1 and clusters need more observations than coefficients for
CORRECT = "correct the robust errors of"
#: a move of η by less than this portion is rounding
ROUNDING = 1e-13
#: a coefficient whose determined part is smaller than this is not determined
DETERMINED = 1e-7


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance of the coefficients as the user has them; NaN for those that the data do not determine."""

    matrix: Array
    kind: str
    #: of the parameters θ of the fit: a square root of their covariance
    spread: Array
    dispersion: float
    #: degrees of freedom of Student's t; None where the dispersion is known and the normal serves
    freedom: float | None
    #: parameters that the data determine: the rank, or less where a prior helps
    effective: float
    determined: Array
    #: what the information says of the free parameters, and of which directions it says nothing
    bread: Bread
    #: how far the coefficients are from the optimum for these data, at most, in standard errors
    distance: float


def covariance_of(fitted: FittedModel, kind: str = "model", clusters: Any = None) -> Covariance:
    """The covariance of one kind."""
    _refuse_unfit(fitted, kind, clusters)
    bread = bread_of(fitted)
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
    """By a Newton step."""
    root = fitted.free @ bread.root
    pull = root.T @ fitted.score_at(fitted.theta)
    if np.linalg.norm(pull) <= ROUNDING * np.linalg.norm(np.sqrt(fitted.weight)[:, None] * fitted.eta):
        return 0.0  # what rounding leaves of an exact fit
    step = fitted.to_user @ (root @ pull)
    known = errors > 0  # neither zero nor unknown
    return float(np.max(np.abs(step[known]) / errors[known], initial=0.0))


def dispersion_of(fitted: FittedModel, effective: float) -> float:
    """φ: known, or Pearson's χ² per degree of freedom."""
    if (known := fitted.rows.known_dispersion) is not None:
        return known
    left = _left_over(fitted, effective, "estimate the dispersion of")
    return float(fitted.weight @ fitted.rows.pearson(fitted.observations.y, fitted.eta)) / left


def _left_over(fitted: FittedModel, used: float, wanted: str) -> float:
    """Observations less coefficients, for what needs some."""
    if fitted.n <= used:
        raise InferenceError(
            f"n = {fitted.n:g} leaves nothing to {wanted} {used:g} coefficients by; give more rows, or leave columns "
            "out."
        )
    return fitted.n - used


def _effective(fitted: FittedModel, bread: Bread) -> float:
    """tr I (I + λ)⁻¹: how many parameters are estimated."""
    if not fitted.penalised:
        return float(bread.rank)
    prior = (fitted.free.T * fitted.strengths.l2) @ fitted.free
    return bread.rank - float(np.einsum("ij,ji->", prior, bread.inverse))


def _determined(fitted: FittedModel, bread: Bread) -> Array:
    """Which coefficients have no part in what the information says nothing of."""
    lost = np.linalg.norm(fitted.to_user @ (fitted.free @ bread.flat), axis=1)
    kept = np.linalg.norm(fitted.to_user @ (fitted.free @ bread.root), axis=1)
    return np.asarray(lost <= DETERMINED * np.where(kept > 0, kept, 1.0))


def _robust(fitted: FittedModel, bread: Bread, kind: str) -> Array:
    factor = fitted.weight * fitted.each if fitted.frequency else np.square(fitted.weight)
    slopes = corrected_slopes(fitted, bread, LEVERAGE_POWER[kind]) if kind in LEVERAGE_POWER else fitted.slopes
    correction = fitted.n / _left_over(fitted, bread.rank, CORRECT) if kind == "HC1" else 1.0
    return _sandwich(fitted, bread, correction * fitted.scores_squared(factor, slopes))


def _sandwich(fitted: FittedModel, bread: Bread, meat: Array) -> Array:
    """A square root of A⁻¹ meat A⁻¹."""
    inverse = _observed(fitted, bread).inverse
    scale = np.sqrt(np.diagonal(meat))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(meat / scale / scale[:, None])
    return np.asarray(inverse @ (scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))))


def _observed(fitted: FittedModel, bread: Bread) -> Bread:
    """By the observed information; by the expected one where that is not even positive."""
    if fitted.rows.canonical:
        return bread
    observed = bread_of(fitted, observed=True)
    return observed if observed.rank == bread.rank else bread


def _clustered(fitted: FittedModel, bread: Bread, codes: Array, freedom: float | None) -> tuple[Array, float | None]:
    n_clusters = _n_clusters(codes, fitted)
    meat = sum((np.outer(s, s) if s.ndim == 1 else s.T @ s for s in _cluster_sums(fitted, codes)), start=np.zeros(()))
    meat = fitted.free.T @ meat @ fitted.free
    correction = n_clusters / (n_clusters - 1) * (fitted.n - 1) / _left_over(fitted, bread.rank, CORRECT)
    return _sandwich(fitted, bread, correction * meat), None if freedom is None else n_clusters - 1.0


def _cluster_sums(fitted: FittedModel, codes: Array) -> Iterator[Array]:
    """Sums of the slopes of the rows of each cluster, some clusters at a time.

    Rows are read in the order of their clusters, a block at a time; the last cluster of a block may go on in the next.
    """
    order = np.argsort(codes, kind="stable")
    slopes = fitted.weight[:, None] * fitted.rows.slopes(fitted.observations.y, fitted.eta)
    design = fitted.observations.design

    def of_block(block: slice) -> tuple[Array, Array]:
        rows = order[block]
        starts = np.flatnonzero(np.diff(codes[rows], prepend=-1))
        scores = slopes[rows][:, :, None] * design.take(rows).dense()[:, None, :]
        return codes[rows][starts], np.add.reduceat(scores.reshape(len(rows), -1), starts, axis=0)

    last, pending = -1, np.zeros(len(fitted.theta))
    for clusters, sums in ordered_stream(of_block, design.dense_blocks()):
        if clusters[0] == last:
            sums[0] += pending
        else:
            yield pending
        yield sums[:-1]
        last, pending = int(clusters[-1]), sums[-1]
    yield pending


def _n_clusters(codes: Array, fitted: FittedModel) -> int:
    """How many there are; one whose rows all have the weight 0 does not count."""
    return len(np.unique(codes[fitted.weight > 0]))


def _cluster_codes(clusters: Any, fitted: FittedModel) -> Array:
    """A number from 0 upwards for each row."""
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
        raise InferenceError(
            "all rows are in one cluster, which tells nothing of how clusters differ; give two or more."
        )
    return codes


def _refuse_unfit(fitted: FittedModel, kind: str, clusters: Any) -> None:
    if kind not in KINDS:
        raise InferenceError(f"there is no covariance {kind!r}; give one of {', '.join(KINDS)}.")
    if (kind == "cluster") != (clusters is not None):
        raise InferenceError('covariance="cluster" and `clusters`, the label of each row, belong together; give both.')
    if kind != "model" and fitted.penalised:
        raise InferenceError(
            f"covariance={kind!r} is of an unpenalised estimate; after an L2 penalty there is the posterior's, "
            'covariance="model".'
        )
