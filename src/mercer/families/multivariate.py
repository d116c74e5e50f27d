"""The multivariate normal distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from scipy.linalg import solve_triangular

from mercer._errors import SingularCovarianceError
from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.families.base import Family, Prior, SufficientStatistic, moments_with_prior
from mercer.families.gaussian import LOG_2PI
from mercer.families.links import IDENTITY, Link

# Cholesky factors of covariance matrices, and the columns that make one singular.

#: eigenvalues of a d × d correlation matrix below d times this are zero up to rounding
ZERO_EIGENVALUE = 4 * float(np.finfo(float).eps)

#: pivots below this multiple of a zero eigenvalue have the eigenvalues computed, as the pivot alone does not decide
DOUBTFUL_PIVOT = 1e4

#: columns whose coefficients in all null vectors are smaller than this do not take part in a dependence
NEGLIGIBLE_COEFFICIENT = 1e-6


def collinear_columns(covariance: Array) -> tuple[int, ...]:
    """Indices of the columns that take part in a linear dependence; a constant column always does.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 0.0], [4.0, 8.0, 3.0]])
    >>> collinear_columns(np.cov(x.T))
    (0, 1)
    """
    covariance = np.asarray(covariance, dtype=float)
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))  # rounding may leave a variance below 0
    constant = ~(scale > 0)
    unit = np.where(constant, 1.0, scale)
    correlation = covariance / unit[:, None] / unit
    correlation[constant] = correlation[:, constant] = 0.0
    eigenvalues, vectors = np.linalg.eigh(correlation)
    null_vectors = vectors[:, eigenvalues <= len(scale) * ZERO_EIGENVALUE]
    return tuple(np.flatnonzero(np.linalg.norm(null_vectors, axis=1) > NEGLIGIBLE_COEFFICIENT).tolist())


def singular_covariance(covariance: Array, names: Sequence[str] | None = None) -> SingularCovarianceError:
    """Build the error for a covariance matrix without an inverse; it lists columns by name, or else by index."""
    columns = collinear_columns(covariance)
    listed = ", ".join(str(j) if names is None else repr(names[j]) for j in columns[:10])
    more = ", …" if len(columns) > 10 else ""
    what = f"columns {listed}{more} are collinear or constant" if columns else "its columns are nearly collinear"
    return SingularCovarianceError(
        f"the covariance matrix is singular: {what}. Leave columns out, or use shrinkage or a prior."
    )


def cholesky(covariance: Array, names: Sequence[str] | None = None) -> Array:
    """Lower Cholesky factors of covariance matrices (last two axes); an error names the collinear columns.

    Columns are scaled to unit variance first, so that the test of singularity does not depend on units. It is made by
    eigenvalues, as the last pivot of a singular matrix is amplified rounding, which depends on the order of the rows.
    """
    covariance = np.asarray(covariance, dtype=float)
    variance = np.diagonal(covariance, axis1=-2, axis2=-1)
    scale = np.sqrt(np.maximum(variance, 0.0))  # rounding may leave a variance below 0
    if not (scale > 0).all():
        raise singular_covariance(_first(covariance, ~(scale > 0).all(axis=-1)), names)
    correlation = covariance / scale[..., :, None] / scale[..., None, :]
    try:
        factor = np.linalg.cholesky(correlation)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(correlation)[..., 0]
        raise singular_covariance(_first(covariance, smallest == smallest.min()), names) from None
    zero = factor.shape[-1] * ZERO_EIGENVALUE
    pivots = np.square(np.diagonal(factor, axis1=-2, axis2=-1))
    if (pivots <= DOUBTFUL_PIVOT * zero).any() and (singular := np.linalg.eigvalsh(correlation)[..., 0] <= zero).any():
        raise singular_covariance(_first(covariance, singular), names)
    return np.asarray(scale[..., :, None] * factor)


def _first(covariances: Array, which: Array) -> Array:
    return np.asarray(covariances.reshape(-1, *covariances.shape[-2:])[np.flatnonzero(which)[0]])


# Patterns of missing entries.


def distinct_patterns(mask: Array) -> tuple[Array, Array]:
    """Distinct rows of a boolean matrix, and the index of each row among them.

    Rows are compared as bits, 64 columns per integer, for any number of columns.

    Examples
    --------
    >>> patterns, which = distinct_patterns(np.array([[False, True], [False, False], [False, True]]))
    >>> patterns[which].tolist()
    [[False, True], [False, False], [False, True]]
    >>> len(patterns)
    2
    """
    bits = np.packbits(mask, axis=1)
    packed = np.zeros((len(bits), 8 * max(1, -(-bits.shape[1] // 8))), dtype=np.uint8)
    packed[:, : bits.shape[1]] = bits
    first, *others = packed.view(np.uint64).T
    _, rows, codes = np.unique(first, return_index=True, return_inverse=True)
    for word in others:
        words, of_word = np.unique(word, return_inverse=True)
        _, rows, codes = np.unique(codes * len(words) + of_word, return_index=True, return_inverse=True)
    return np.asarray(mask[rows]), codes


# Normal densities of rows with missing entries: one Cholesky factor per pattern of missingness and parameter set.


def marginal_log_density(x: Array, mean: Array, covariance: Array) -> Array:
    """log N(x; μ, Σ) of the entries of x that are not NaN; leading axes of all three broadcast."""
    d = x.shape[-1]
    leading = np.broadcast_shapes(mean.shape[:-1], covariance.shape[:-2])
    means = np.broadcast_to(mean, (*leading, d)).reshape(-1, d)
    covariances = np.broadcast_to(covariance, (*leading, d, d)).reshape(-1, d, d)
    patterns, pattern = _patterns(np.isnan(x))
    # pattern and parameters of each entry of the result, as one number
    kind = len(means) * pattern + np.arange(len(means)).reshape(leading)
    rows = np.broadcast_to(x, (*kind.shape, d)).reshape(-1, d)
    result = np.zeros(len(rows))
    order = np.argsort(kind.ravel(), kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(kind.ravel()[order])) + 1):
        if not group.size:
            continue
        p, k = divmod(int(kind.flat[group[0]]), len(means))
        present = np.flatnonzero(~patterns[p])
        if present.size:
            difference = rows[np.ix_(group, present)] - means[k, present]
            result[group] = _log_density(difference, covariances[k][np.ix_(present, present)])
    return result.reshape(kind.shape)


def _patterns(missing: Array) -> tuple[Array, Array]:
    """Distinct patterns of missing entries on the last axis, and the index of each row's pattern."""
    *shape, d = missing.shape
    if not missing.any():
        return np.zeros((1, d), dtype=bool), np.zeros(shape, dtype=np.int64)
    patterns, which = distinct_patterns(missing.reshape(-1, d))
    return patterns, which.reshape(shape)


def _log_density(difference: Array, covariance: Array) -> Array:
    """log N(x − μ; 0, Σ) of complete rows."""
    factor = cholesky(covariance)
    z = solve_triangular(factor, difference.T, lower=True, check_finite=False)
    log_root = np.log(np.diagonal(factor)).sum()
    return np.asarray(-0.5 * (np.square(z).sum(axis=0) + difference.shape[1] * LOG_2PI) - log_root)


@stored(mean=floats("kd"), covariance=floats("kdd"))
class MultivariateGaussianParameters(NamedTuple):
    """Mean μ (…, d) and covariance Σ (…, d, d).

    Examples
    --------
    >>> from mercer.families import MultivariateGaussian, MultivariateGaussianParameters
    >>> joint = MultivariateGaussianParameters(mean=np.zeros(2), covariance=np.diag([1.0, 4.0]))
    >>> MultivariateGaussian().sample(joint, 10_000, np.random.default_rng(0)).std(axis=0).round(1)
    array([1., 2.])
    """

    mean: Array
    covariance: Array


class ScatterStatistic(SufficientStatistic, Protocol):
    """Weight (k,), mean (k, d) and centred second moments (k, d, d)."""

    @property
    def covariance(self) -> Array: ...


def _outer(a: Array, b: Array) -> Array:
    return np.asarray(a[..., :, None] * b[..., None, :])


def _flat(matrices: Array) -> Array:
    return matrices.reshape(*matrices.shape[:-2], -1)


def _halves(values: Array) -> tuple[Array, Array]:
    """Split a last axis of length d + d² into a vector (d) and a matrix (d × d)."""
    d = (isqrt(1 + 4 * values.shape[-1]) - 1) // 2
    return values[..., :d], values[..., d:].reshape(*values.shape[:-1], d, d)


@stored()
@dataclass(frozen=True)
class MultivariateGaussian(Family):
    """p(x) = exp(−½(x−μ)ᵀΣ⁻¹(x−μ)) / √|2πΣ|;  T = (x, xxᵀ),  η = (Σ⁻¹μ, −½Σ⁻¹).

    NaN entries of a row are integrated out exactly: the other entries have their marginal density. A singular Σ has no
    density; the error names the collinear columns.

    Examples
    --------
    >>> from mercer.families import MultivariateGaussian, MultivariateGaussianParameters
    >>> joint = MultivariateGaussianParameters(np.zeros(2), np.array([[1.0, 0.8], [0.8, 1.0]]))
    >>> MultivariateGaussian().log_density([[1.0, 1.0], [1.0, -1.0]], joint).round(3)
    array([-1.883, -6.327])
    """

    name: ClassVar[str] = "multivariate_gaussian"
    parameters_type: ClassVar[type[MultivariateGaussianParameters]] = MultivariateGaussianParameters
    statistic: ClassVar[str] = "scatter"
    support: ClassVar[str] = "rows of finite numbers"
    vector: ClassVar[bool] = True

    @property
    def link(self) -> Link:
        return IDENTITY

    def sufficient(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        return np.concatenate([x, _flat(_outer(x, x))], axis=-1)

    def log_base(self, x: Array) -> Array:
        return np.where(self.outside(x), -np.inf, -0.5 * LOG_2PI * np.shape(x)[-1])

    def log_partition(self, eta: Array) -> Array:
        linear, quadratic = _halves(eta)
        factor = np.linalg.cholesky(-quadratic - np.swapaxes(quadratic, -1, -2))
        z = np.linalg.solve(factor, linear[..., None])[..., 0]
        log_root = np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)
        return np.asarray(0.5 * np.square(z).sum(axis=-1) - log_root)

    def natural(self, parameters: MultivariateGaussianParameters) -> Array:
        root = np.linalg.inv(cholesky(parameters.covariance))
        precision = np.swapaxes(root, -1, -2) @ root
        linear = np.asarray(precision @ np.asarray(parameters.mean)[..., None])[..., 0]
        return np.concatenate([linear, _flat(np.broadcast_to(-0.5 * precision, (*linear.shape, linear.shape[-1])))], -1)

    def from_natural(self, eta: Array) -> MultivariateGaussianParameters:
        linear, quadratic = _halves(eta)
        covariance = np.linalg.inv(-quadratic - np.swapaxes(quadratic, -1, -2))
        return MultivariateGaussianParameters(np.asarray(covariance @ linear[..., None])[..., 0], covariance)

    def expected(self, parameters: MultivariateGaussianParameters) -> Array:
        mean = np.asarray(parameters.mean, dtype=float)
        return np.concatenate([mean, _flat(_outer(mean, mean) + parameters.covariance)], axis=-1)

    def from_mean(self, mean: Array) -> MultivariateGaussianParameters:
        first, second = _halves(mean)
        return MultivariateGaussianParameters(first, second - _outer(first, first))

    def log_density_inside(self, x: Array, parameters: MultivariateGaussianParameters) -> Array:
        mean, covariance = (np.asarray(field, dtype=float) for field in parameters)
        return marginal_log_density(x, mean, covariance)

    def fit(self, statistic: ScatterStatistic, prior: Prior | None = None) -> MultivariateGaussianParameters:
        """Mean and covariance of the data and of a prior's imagined observations."""
        moments = moments_with_prior(statistic, statistic.covariance, prior, lambda away: _outer(away, away))
        return MultivariateGaussianParameters(*moments)

    def sample(self, parameters: MultivariateGaussianParameters, n: int, rng: np.random.Generator) -> Array:
        factor = cholesky(parameters.covariance)
        shape = np.broadcast_shapes(np.shape(parameters.mean), factor.shape[:-1])
        noise = rng.standard_normal((n, *shape))
        return np.asarray(parameters.mean + np.asarray(factor @ noise[..., None])[..., 0])

    def outside(self, x: Array) -> Array:
        return np.asarray(np.isinf(x).any(axis=-1))
