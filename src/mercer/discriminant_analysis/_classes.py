"""Normal class-conditional densities: `GaussianClasses` with full covariances, `IndependentClasses` with diagonal ones.

Full covariances are arranged so that rows are scored by products of BLAS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._errors import SingularCovarianceError
from mercer._gpu import is_tensor, like, namespace, to_numpy
from mercer._gpu import scores as tensor_loops
from mercer._jit.product import put_product
from mercer._stored import flags, floats, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.base import score_loops
from mercer.base.gaussian_scores import GaussianScores
from mercer.base.linear_form import LinearPiece
from mercer.base.validation import check_spread
from mercer.discriminant_analysis._covariance import AnyShrinkage, FixedShrinkage, Structure, singular_class
from mercer.families import MultivariateGaussian, MultivariateGaussianParameters
from mercer.families.gaussian import LOG_2PI, GaussianParameters
from mercer.families.multivariate import cholesky
from mercer.optim.em import EMLabels
from mercer.stats import ColumnMoments, ScatterMoments
from mercer.stats.base import as_block, divide
from mercer.stats.patterns import group_rows_by_pattern

#: bytes of one tile of rows, or of its products: of the order of an L2 cache
PRODUCT_TILE_BYTES = 1 << 20
#: linear scores up to which a loop over rows is faster than a copy of the rows and a product of BLAS
MAX_SCORES_BY_LOOP = 4
#: standard deviations between zero and the centre of rows up to which they need no centring, which saves three digits
LARGEST_CENTRE_ALONG_AXES = 1e3
#: ratio of variances along shared axes of two covariances up to which the axes are accurate
SAFE_RATIO = 1e6


@stored(centre=floats("d"), weights=floats("ds"), intercept=floats("s"))
@dataclass(frozen=True)
class LinearScores:
    """Scores (x − centre) · weights + intercept; differences from the centre keep digits of columns far from zero."""

    centre: Array  # (columns,)
    weights: Array  # (columns, scores)
    intercept: Array  # (scores,)

    @classmethod
    def of(cls, centre: Array, away: Array, whitening: Array) -> Self:
        """Return the part of log N(x; c + u, Σ) that differs between classes: (x − c)ᵀΣ⁻¹u − ½uᵀΣ⁻¹u, c the centre.

        Σ⁻¹ = W Wᵀ is given by its factor: for columns of 1e-155 the product would overflow, but not the weights.
        """
        whitened = away @ whitening
        return cls(centre, whitening @ whitened.T, -0.5 * np.einsum("kr,kr->k", whitened, whitened))

    @classmethod
    def along(cls, directions: Array, centre: Array) -> Self:
        """Return the coordinates of x − centre along the columns of `directions`."""
        return cls(centre, directions, np.zeros(directions.shape[1]))

    def __call__(self, block: Array, *, most_by_loop: int = MAX_SCORES_BY_LOOP) -> Array:
        """Return the scores of rows: up to `most_by_loop` of them by a compiled loop, more by BLAS."""
        if is_tensor(block):
            return tensor_loops.linear_scores(block, self.centre, self.weights, self.intercept)  # type: ignore[no-any-return]
        if len(self.intercept) <= most_by_loop:
            scores: Array = score_loops.linear_scores(
                block, self.centre, np.ascontiguousarray(self.weights.T), self.intercept
            )
            return scores

        def finish(product: Array, out: Array) -> None:
            np.add(product, self.intercept, out=out)

        return multiply_by_tiles(block, self.centre, self.weights, len(self.intercept), finish)


@stored(directions=floats("dr"), inverse_deviation=floats("kr"))
class SharedAxes(NamedTuple):
    """Directions in which classes vary independently, and 1/deviation of each class along them."""

    directions: Array  # (columns, columns)
    inverse_deviation: Array  # (classes, columns)


@stored(centre=floats("d"), away=floats("kd"), covariance=floats("k? d d"), has_rows=flags("k"))
@dataclass(frozen=True)
class GaussianClasses:
    """N(mean, covariance) for each class, with one covariance for each or a single one for all.

    Means are stored as `centre + away`, a point amid the classes and small differences from it, which keep digits of
    columns far from zero.
    """

    centre: Array  # (columns,)
    away: Array  # (classes, columns)
    covariance: Array  # (classes or 1, columns, columns)
    has_rows: Array  # (classes,): whether a class has rows; one without rows has density 0
    words: EMLabels
    #: scores of complete rows where the covariance is shared, if they do not follow from its inverse
    discriminants: LinearScores | None = None

    @classmethod
    def of(cls, moments: ScatterMoments, share: Array, covariance: Array, words: EMLabels) -> Self:
        """Return classes with the means of `moments`, whose average weighted by `share` is the centre."""
        centre = share @ moments.mean
        has_rows = moments.weight > 0
        with np.errstate(over="ignore", invalid="ignore"):
            away = np.where(has_rows[:, None], (moments.pilot - centre) + moments.offset, 0.0)
        check_spread(np.abs(away).max(axis=0), words.columns)
        return cls(centre, away, covariance, has_rows, words)

    @property
    def mean(self) -> Array:
        return np.asarray(self.centre + self.away)

    @property
    def shared(self) -> bool:
        """True if all classes share the covariance, so that scores are linear: terms quadratic in x are the same."""
        return len(self.covariance) == 1

    @cached_property
    def whitening(self) -> Array:
        """W with Σ⁻¹ = W Wᵀ, so that (x − μ) W is standard normal; zero for a class without rows."""
        result = np.zeros_like(self.covariance)
        which = np.arange(1) if self.shared else np.flatnonzero(self.has_rows)
        try:
            factors = cholesky(self.covariance[which])
        except SingularCovarianceError:
            raise self._singular_class(which) from None
        result[which] = np.swapaxes(np.linalg.inv(factors), 1, 2)
        return result

    def _singular_class(self, which: Array) -> Exception:
        """Return the error for the first of some covariances that is singular."""
        for c in which:
            try:
                cholesky(self.covariance[c])
            except SingularCovarianceError:
                break
        owner = self.words.owner if self.shared else self.words.groups[c]
        return singular_class(self.covariance[c], owner, self.words.columns)

    @cached_property
    def precision(self) -> Array:
        return np.asarray(self.whitening @ np.swapaxes(self.whitening, 1, 2))

    @cached_property
    def log_determinant(self) -> Array:
        """log|Σ|; 0 for a class without rows."""
        diagonal = np.einsum("kii->ki", self.whitening)
        return np.asarray(-2 * np.log(np.where(diagonal > 0, diagonal, 1.0)).sum(axis=1))

    @cached_property
    def linear(self) -> LinearScores:
        """The scores of complete rows where the covariance is shared."""
        return self.discriminants or LinearScores.of(self.centre, self.away, self.whitening[0])

    def score(self, X: Any) -> Array:
        """Return log p(x|y), missing values integrated out; where the covariance is shared, without `base`."""
        block = as_block(X)
        return self.complete_scores(self.linear(block) if self.shared else self._quadratic(block), block)

    def complete_scores(self, scores: Array, block: Array) -> Array:
        """Replace the scores of rows with gaps, where those of complete rows are NaN, and of classes without rows."""
        if (gaps := namespace(scores).isnan(scores).any(axis=1)).any():
            scores[gaps] = like(self._marginal(to_numpy(block[gaps])), scores)
        scores[:, ~self.has_rows] = -np.inf
        return scores

    def base(self, X: Any) -> Array:
        """Return the part of log p(x|y) that is common to all classes and left out by `score`; 0 for rows with gaps."""
        block = as_block(X)
        if not self.shared:
            return np.zeros(len(block))
        shift, xp = np.zeros((1, block.shape[1])), namespace(block)
        common = self._squares_about(shift, block)[:, 0]
        return xp.where(xp.isnan(common), 0.0, common)  # type: ignore[no-any-return]

    def _quadratic(self, block: Array) -> Array:
        if self.shared_axes is not None and not is_tensor(block):
            return self._along_shared_axes(block, self.shared_axes)
        return self._squares_about(np.einsum("kj,kjr->kr", self.away, self.whitening), block)

    @cached_property
    def shared_axes(self) -> SharedAxes | None:
        """For two classes, axes along which both covariances are diagonal, so that one product is enough; else None."""
        if len(self.covariance) != 2 or not self.has_rows.all():
            return None
        first = self.whitening[0]
        variance, rotation = np.linalg.eigh(first.T @ self.covariance[1] @ first)
        if not variance[0] * SAFE_RATIO > variance[-1]:
            return None
        return SharedAxes(first @ rotation, np.stack([np.ones_like(variance), 1 / np.sqrt(variance)]))

    def _along_shared_axes(self, block: Array, axes: SharedAxes) -> Array:
        centre, shift = self.centre, self.away @ axes.directions
        if block.dtype == float and np.abs(origin := centre @ axes.directions).max() < LARGEST_CENTRE_ALONG_AXES:
            centre, shift = np.zeros(0), shift + origin
        constant = self._constants(shift.shape[1])

        def finish(product: Array, out: Array) -> None:
            out[:] = score_loops.gaussian_columns(product, shift, axes.inverse_deviation, constant)

        return multiply_by_tiles(block, centre, axes.directions, len(shift), finish)

    def _constants(self, d: int) -> Array:
        return np.asarray(-0.5 * (d * LOG_2PI + self.log_determinant))

    def _squares_about(self, shift: Array, block: Array) -> Array:
        """Return −½‖(x − centre) W − shift‖² plus the constants of the densities, for every W."""
        constant = self._constants(shift.shape[1])
        if is_tensor(block):
            return tensor_loops.quadratic_scores(block, self.centre, self.whitening, shift, constant)  # type: ignore[no-any-return]

        def finish(product: Array, out: Array) -> None:
            score_loops.quadratic_scores(product, shift, constant, out)

        return multiply_by_tiles(block, self.centre, np.concatenate(self.whitening, axis=1), len(shift), finish)

    def _marginal(self, rows: Array) -> Array:
        covariance = self.covariance if self.shared else self.covariance[self.has_rows]
        parameters = MultivariateGaussianParameters(self.away[self.has_rows], covariance)
        scores = np.empty((len(rows), len(self.away)))
        try:
            scores[:, self.has_rows] = MultivariateGaussian().log_density((rows - self.centre)[:, None, :], parameters)
        except SingularCovarianceError:
            _ = self.whitening  # raises an error that names class and columns
            raise
        return scores

    def impute(self, rows: Array, posterior: Array) -> Array:
        """Replace missing values by their expectations given the rest of the row, for a shared covariance."""
        mean, covariance = posterior @ self.mean, self.covariance[0]
        result = np.where(np.isnan(rows), mean, rows)
        for known, members in group_rows_by_pattern(~np.isnan(rows)):
            regression = np.linalg.lstsq(covariance[np.ix_(known, known)], covariance[np.ix_(known, ~known)])[0]
            result[np.ix_(members, ~known)] += (rows - mean)[np.ix_(members, known)] @ regression
        return result

    def sample(self, codes: Array, rng: np.random.Generator) -> Array:
        """Draw one row for each class code, also from a singular covariance, which has no density."""
        rows = rng.standard_normal((len(codes), len(self.centre)))
        for c, covariance in enumerate(self.covariance):
            drawn = slice(None) if self.shared else codes == c
            rows[drawn] = rows[drawn] @ _root(covariance)
        return np.asarray(self.mean[codes] + rows)

    def linear_piece(self) -> LinearPiece:
        """Return the features and weights of complete rows in the linear form."""
        names = self.words.columns
        if self.shared:
            return LinearPiece.of_centred_columns(names, self.centre, self.linear.weights.T, self.linear.intercept)
        return LinearPiece.of_covariances(names, self.centre, self.away, self.precision, self.log_determinant)


def multiply_by_tiles(
    block: Array, centre: Array, factor: Array, width: int, finish: Callable[[Array, Array], None]
) -> Array:
    """Call `finish((X − centre) @ factor, out)` for tiles of rows, and return out: (rows, width).

    An empty centre means 0; rows are then not copied.
    """
    n, d = block.shape
    factor = np.ascontiguousarray(factor)
    rows = max(64, min(n, PRODUCT_TILE_BYTES // (8 * max(factor.shape))))
    tile, product, out = np.empty((rows, d)), np.empty((rows, factor.shape[1])), np.empty((n, width))
    for part in row_blocks(n, rows):
        size = part.stop - part.start
        if centre.size:
            score_loops.centre_rows(block, part.start, part.stop, centre, tile)
        centred = tile[:size] if centre.size else block[part]
        put_product(np.ascontiguousarray(centred), factor, product[:size])
        finish(product[:size], out[part])
    return out


def _root(covariance: Array) -> Array:
    """Return a matrix R with RᵀR = Σ."""
    eigenvalues, vectors = np.linalg.eigh(covariance)
    return np.asarray(np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T)


@stored(mean=floats("kd"), variance=floats("k? d?"), has_rows=flags("k"), observed=flags("d"), gaps=flags("d"))
@dataclass(frozen=True)
class IndependentClasses:
    """N(mean, variance) for each class and column; `variance` broadcasts against (classes, columns)."""

    mean: Array
    variance: Array
    has_rows: Array  # (classes,): whether a class has rows; one without rows has density 0
    observed: Array  # (columns,): whether a column has values; one without values adds 0 to scores
    gaps: Array  # (columns,): whether a value was missing
    words: EMLabels

    @classmethod
    def of(
        cls, moments: ColumnMoments, rows: Array, structure: Structure, shrinkage: AnyShrinkage | None, words: EMLabels
    ) -> Self:
        """Return the maximum likelihood fit, missing values integrated out, from moments of classes of `rows` rows.

        A class without values of a column gets the parameters of all classes together.
        """
        together = moments.pool()
        observed = together.rows[0] > 0
        classes, columns = structure.shared, structure.shape == "spherical"
        variance = _variance(moments, classes=classes, columns=columns)
        variance = np.where(np.isnan(variance), _variance(together, classes=False, columns=columns), variance)
        result = cls(
            np.where(moments.rows > 0, moments.mean, together.mean),
            _shrink_variances(variance, observed, shrinkage),
            rows > 0,
            observed,
            together.rows[0] < rows.sum(),
            words,
        )
        result._check_variance()
        return result

    def _check_variance(self) -> None:
        """Raise an error that names class and columns if a variance is zero."""
        variance = np.broadcast_to(np.where(self.observed, self.variance, 1.0), self.mean.shape)
        flat = self.has_rows & (variance <= 0).any(axis=1)
        if flat.any():
            owner = self.words.owner if len(self.variance) == 1 else self.words.groups[int(np.argmax(flat))]
            raise singular_class(variance[np.argmax(flat)], owner, self.words.columns)

    @cached_property
    def _scores(self) -> GaussianScores:
        variance = np.broadcast_to(np.where(self.has_rows[:, None], self.variance, 1.0), self.mean.shape)
        return GaussianScores.of(GaussianParameters(self.mean, variance), self.observed)

    def score(self, X: Any) -> Array:
        """Return log p(x|y), missing values integrated out."""
        scores = self._scores(X)
        scores[:, ~self.has_rows] = -np.inf
        return scores

    def base(self, X: Any) -> Array:
        """Return zeros, because `score` is the whole log density."""
        return np.zeros(X.shape[0])

    def sample(self, codes: Array, rng: np.random.Generator) -> Array:
        """Draw one row for each class code; NaN in columns without values."""
        deviation = np.sqrt(np.broadcast_to(np.where(self.observed, self.variance, np.nan), self.mean.shape))
        return np.asarray(self.mean[codes] + deviation[codes] * rng.standard_normal((len(codes), self.mean.shape[1])))

    def linear_piece(self) -> LinearPiece:
        """Return the features and weights of rows in the linear form."""
        if len(self.variance) == 1:
            return LinearPiece.of_shared_variance(self.words.columns, self._scores)
        return LinearPiece.of_gaussian(self.words.columns, self._scores, gaps=self.gaps)


def _variance(moments: ColumnMoments, *, classes: bool, columns: bool) -> Array:
    """Return variances pooled over the classes, the columns, or both; NaN without observed values."""
    axes = tuple(axis for axis, pool in enumerate((classes, columns)) if pool)
    scatter, weight = (a.sum(axis=axes, keepdims=True) for a in (moments.scatter, moments.weight))
    return np.where(weight > 0, divide(scatter, weight), np.nan)


def _shrink_variances(variance: Array, observed: Array, shrinkage: AnyShrinkage | None) -> Array:
    """Shrink variances towards their mean; only a fixed shrinkage does so, the others act on correlations, here 0."""
    if not isinstance(shrinkage, FixedShrinkage) or variance.shape[1] == 1:
        return variance
    average = variance[:, observed].mean(axis=1, keepdims=True)
    return np.asarray((1 - shrinkage.amount) * variance + shrinkage.amount * average)
