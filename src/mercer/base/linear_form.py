"""The linear form of a generative classifier: a softmax of a function that is linear in features of x.

These are the equivalences of the lectures. `linear_form` assembles a `LinearForm` from the `LinearPiece`s of a model,
one for each factor p(x_S|y). A feature map turns a block of data into a matrix of sufficient statistics.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from mercer._errors import NoLinearFormError, NonFiniteError
from mercer._stored import reals, stored
from mercer._typing import Array
from mercer.base.gaussian_scores import GaussianScores
from mercer.base.validation import is_sparse
from mercer.families import Bernoulli, Family, Histogram, Parameters
from mercer.stats import ColumnMoments, PatternMoments
from mercer.stats.base import as_block


def require_complete(block: Any) -> Any:
    """Return the block; raise if a value is missing."""
    _check_missing(np.isnan(block.data if is_sparse(block) else block))
    return block


@stored()
@dataclass(frozen=True)
class ColumnStatistics:
    """The map to T(x) of columns of a scalar family."""

    family: Family

    def __call__(self, block: Any) -> Array:
        T = self.family.sufficient(block)
        return T.reshape(len(T), -1)


@stored()
@dataclass(frozen=True)
class RowStatistics:
    """The map to T(x) of rows of a family of vectors."""

    family: Family

    def __call__(self, block: Any) -> Array:
        return self.family.sufficient(require_complete(block))


@stored()
@dataclass(frozen=True)
class CentredColumns:
    """The map to x − about."""

    about: Array

    def __call__(self, block: Any) -> Array:
        return np.asarray(require_complete(as_block(block)) - self.about)


@stored()
@dataclass(frozen=True)
class CentredSquares:
    """The map to x − about and (x − about)² of every column; the centre keeps the digits of columns far from zero."""

    about: Array

    def __call__(self, block: Any) -> Array:
        x = block - self.about
        return np.stack([x, np.square(x)], axis=-1).reshape(len(x), -1)


@stored()
@dataclass(frozen=True)
class CentredMonomials:
    """The map to all monomials of degree 1 and 2 of x − about."""

    about: Array

    def __call__(self, block: Any) -> Array:
        x = require_complete(as_block(block)) - self.about
        i, j = np.triu_indices(x.shape[1])
        return np.hstack([x, x[:, i] * x[:, j]])


@stored()
@dataclass(frozen=True)
class Indicators:
    """The map to one column for each of the codes 0 … levels−1; any other code gives a row of zeros."""

    codes: Callable[[Any], Array]
    levels: int

    def __call__(self, block: Any) -> Array:
        return np.asarray(self.codes(block)[:, None] == np.arange(self.levels), dtype=float)


@stored()
@dataclass(frozen=True)
class ColumnSelection:
    """The map to features of some columns of a block."""

    features: Callable[[Any], Any]
    columns: Array

    def __call__(self, block: Any) -> Any:
        return self.features(block[:, self.columns])


@stored()
@dataclass(frozen=True)
class ObservedColumns:
    """The map to features of some columns, 0 for missing values, and indicators of these for the columns in `gaps`."""

    features: Callable[[Array], Array]
    columns: Array
    gaps: Array

    def __call__(self, block: Any) -> Array:
        x = as_block(block)[:, self.columns].astype(float)
        missing = np.isnan(x)
        _check_missing(missing[:, ~self.gaps])
        features = self.features(x)
        per_column = features.shape[1] // max(1, x.shape[1])
        observed = np.where(np.repeat(missing, per_column, axis=1), 0.0, features)
        return np.hstack([observed, missing[:, self.gaps].astype(float)])


def _check_missing(missing: Array) -> None:
    if missing.any():
        raise NonFiniteError(
            "the linear form has no term for this missing value: none was missing in its column when the model was "
            "fitted, or several columns are described together. Use predict_log_proba, which integrates it out."
        )


#: terms up to this size may cancel and leave ten correct decimals of a score
LARGEST_OFFSET = 1e5


@dataclass(frozen=True)
class LinearPiece:
    """The contribution of one factor p(x_S|y) to the scores: features(block) @ coef.T + intercept.

    `features(block)` is (rows, features), `coef` (classes, features) and `intercept` (classes,).

    Softmax is invariant to terms that all classes have in common. Base measures are left out for that reason, and some
    weights are relative to the average over the classes, which keeps the digits that large common terms would cost.
    """

    features: Callable[[Any], Any]
    coef: Array
    intercept: Array
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not np.isfinite(self.coef).all():
            name = self.names[int(np.argwhere(~np.isfinite(self.coef))[0, 1])]
            raise NoLinearFormError(
                f"feature {name!r} has an infinite weight, because its probability is 0 in some class; "
                "fit the model with a smoothing (alpha) above 0."
            )

    def for_columns(self, columns: Array) -> Self:
        """Return the piece for a block with more columns, of which these are the ones of the piece."""
        return replace(self, features=ColumnSelection(self.features, columns))

    @classmethod
    def of_columns(cls, names: Sequence[str], coef: Array, intercept: Array) -> Self:
        """Return the piece whose features are the columns themselves."""
        return cls(require_complete, coef, intercept, tuple(names))

    @classmethod
    def of_centred_columns(cls, names: Sequence[str], about: Array, coef: Array, intercept: Array) -> Self:
        """Return coef · (x − about) + intercept, as a function of x itself unless that would cost digits."""
        offset = coef * about
        if np.abs(offset).sum(axis=1).max() > LARGEST_OFFSET:
            return cls(CentredColumns(about), coef, intercept, tuple(_centred(names, about)))
        return cls.of_columns(names, coef, intercept - offset.sum(axis=1))

    @classmethod
    def of_levels(cls, codes: Callable[[Any], Array], names: Sequence[str], log_probability: Array) -> Self:
        """Return the piece of indicators of levels, coded by `codes` as 0 … K−1; any other code adds 0."""
        return cls(Indicators(codes, len(names)), log_probability, np.zeros(len(log_probability)), tuple(names))

    @classmethod
    def of_family(
        cls, family: Family, names: Sequence[str], parameters: Parameters, *, informative: Array, gaps: Array
    ) -> Self:
        """Return the piece of T(x) of the `informative` columns, of which those in `gaps` may be missing."""
        used = np.flatnonzero(informative)
        eta = family.natural(type(parameters)(*(values[:, used] for values in parameters)))
        labels = [label for j in used.tolist() for label in _component_names(family, names[j], eta.shape[-1])]
        features = ObservedColumns(ColumnStatistics(family), used, gaps[used])
        return cls._of_observed(features, names, labels, _relative(eta), -family.log_partition(eta))

    @classmethod
    def of_gaussian(cls, names: Sequence[str], scores: GaussianScores, *, gaps: Array) -> Self:
        """Return the piece of x − m and (x − m)² of independent normal columns, m the mean of the classes' means."""
        mean, precision = np.nan_to_num(scores.mean), np.square(scores.inverse_deviation)
        about = mean.mean(axis=0)
        coef = np.stack([precision * (mean - about), -0.5 * precision], axis=-1)
        constants = scores.constants - 0.5 * precision * np.square(mean - about)
        labels = [label for name in _centred(names, about) for label in (name, f"{name}²")]
        features = ObservedColumns(CentredSquares(about), np.arange(len(names)), gaps)
        return cls._of_observed(features, names, labels, _relative(coef), constants)

    @classmethod
    def _of_observed(
        cls, features: ObservedColumns, names: Sequence[str], labels: list[str], coef: Array, constants: Array
    ) -> Self:
        """Return the piece for `coef` (classes, columns, features of a column) and `constants` (classes, columns).

        The intercept is the sum of the constants; the indicator of a missing value subtracts that of its column.
        """
        gaps = features.gaps
        labels = labels + [f"{names[j]} is missing" for j in features.columns[gaps]]
        weights = np.hstack([coef.reshape(len(coef), -1), -constants[:, gaps]])
        return cls(features, weights, constants.sum(axis=1), tuple(labels))

    @classmethod
    def of_shared_variance(cls, names: Sequence[str], scores: GaussianScores) -> Self:
        """Return the piece of normal columns with one variance in all classes (lecture 2: (μ₁ − μ₀)/σ²)."""
        mean = np.nan_to_num(scores.mean)
        about = mean.mean(axis=0)
        coef = np.square(scores.inverse_deviation) * (mean - about)
        intercept = (scores.constants - 0.5 * coef * (mean - about)).sum(axis=1)
        return cls.of_centred_columns(names, about, coef, intercept)

    @classmethod
    def of_rows(cls, family: Family, names: Sequence[str], parameters: Parameters) -> Self:
        """Return the piece of T(x) of rows, with one component for each column."""
        eta = family.natural(parameters)
        labels = tuple(f"T({name})" for name in names)
        return cls(RowStatistics(family), _relative(eta), -family.log_partition(eta), labels)

    @classmethod
    def of_covariances(
        cls, names: Sequence[str], about: Array, away: Array, precision: Array, log_determinant: Array
    ) -> Self:
        """Return the piece of the monomials of degree 1 and 2 of x − about, for N(about + away, Σ), one Σ per class."""
        linear = np.einsum("kij,kj->ki", precision, away)
        i, j = np.triu_indices(len(about))
        quadratic = np.where(i == j, -0.5, -1.0) * precision[:, i, j]
        centred = _centred(names, about)
        products = [f"{centred[a]}²" if a == b else f"{centred[a]}{centred[b]}" for a, b in zip(i, j, strict=True)]
        intercept = -0.5 * (np.einsum("ki,ki->k", linear, away) + log_determinant)
        coef = _relative(np.hstack([linear, quadratic]))
        return cls(CentredMonomials(about), coef, intercept, (*centred, *products))


def _relative(weights: Array) -> Array:
    """Subtract from weights their average over the classes."""
    with np.errstate(invalid="ignore"):  # `LinearPiece` raises for an infinite weight
        return np.asarray(weights - weights.mean(axis=0))


def _centred(names: Sequence[str], about: Array) -> list[str]:
    return [f"({name} − {centre:.6g})" for name, centre in zip(names, about, strict=True)]


def _component_names(family: Family, name: str, order: int) -> list[str]:
    """Return the names of the components of T of a column."""
    if isinstance(family, Histogram):
        return [f"{name} from {low:g} to {high:g}" for low, high in itertools.pairwise(family.edges.tolist())]
    return [name] if order == 1 else [f"T{component + 1}({name})" for component in range(order)]


# Scales of sufficient statistics, by which a penalty treats them alike.

#: families whose T is 0 or 1
INDICATOR_FAMILIES = (Bernoulli, Histogram)
#: relative step of η for derivatives of the mean of T
ETA_STEP = 1e-4


def statistic_scale(model: Any) -> Array:
    """Return the standard deviation of each statistic of a fitted model over all classes, or 1 if it has no units."""
    _, pieces = model._linear_pieces()
    statistics = statistics_of_pieces(model, pieces)
    return np.concatenate([_scale(piece, part) for piece, part in zip(pieces, statistics, strict=True)])


def statistics_of_pieces(model: Any, pieces: tuple[LinearPiece, ...]) -> tuple[Any, ...]:
    """Return the part of the model's statistic for each of its pieces; other parts come after these."""
    parts: tuple[Any, ...] = model.statistic_.parts
    return parts[: len(pieces)]


def _scale(piece: LinearPiece, statistic: Any) -> Array:
    match piece.features, statistic:
        case ObservedColumns(CentredSquares(), columns, gaps), ColumnMoments():
            spread = _positive(np.sqrt(statistic.pool().variance[0][columns]))
            return _with_gaps(np.column_stack([spread, spread**2]), gaps)
        case ObservedColumns(ColumnStatistics(family), columns, gaps), _ if not isinstance(family, INDICATOR_FAMILIES):
            return _with_gaps(_positive(_deviations(family, statistic)[columns]), gaps)
        case ColumnSelection(CentredMonomials(), columns), PatternMoments(complete=True):
            spread = _positive(np.sqrt(np.diagonal(statistic.pool().full.covariance[0])))[columns]
            i, j = np.triu_indices(len(spread))
            return np.append(spread, spread[i] * spread[j])
    return np.ones(len(piece.names))


def _with_gaps(scale: Array, gaps: Array) -> Array:
    return np.append(scale.ravel(), np.ones(int(gaps.sum())))


def _positive(scale: Array) -> Array:
    return np.where((scale > 0) & np.isfinite(scale), scale, 1.0)


def _deviations(family: Family, statistic: Any) -> Array:
    """Return the standard deviations of T, (columns, components), of the family fitted to all classes together."""
    together = statistic.pool()
    if isinstance(together, ColumnMoments):  # T is z and z² of a normal z, which is log x for a log-normal x
        mean, variance = together.mean[0], together.variance[0]
        return np.asarray(np.sqrt(np.column_stack([variance, 4 * mean**2 * variance + 2 * variance**2])))
    eta = family.natural(family.fit(together))[0]
    return np.asarray(np.sqrt(np.column_stack([_variance(family, eta, each) for each in range(eta.shape[1])])))


def _variance(family: Family, eta: Array, component: int) -> Array:
    """Return ∂²A/∂η² by differences of ∇A; the step is relative to η, which may have units (for counts it may be 0)."""
    step = np.zeros_like(eta)
    size = np.abs(eta[:, component])
    step[:, component] = ETA_STEP * (np.maximum(size, 1.0) if family.discrete else size)
    change = family.mean(eta + step) - family.mean(eta - step)
    return np.asarray(change[:, component] / (2 * step[:, component]))


def expected_statistic(family: Family, statistic: Any) -> Array:
    """Return the mean of T over all classes together, (columns, components)."""
    return np.asarray(family.expected(family.fit(statistic.pool()))[0])


@runtime_checkable
class HasLinearForm(Protocol):
    """A model whose scores are the sum of an intercept and of a `LinearPiece` for each of its blocks of data."""

    def _linear_pieces(self) -> tuple[Array, tuple[LinearPiece, ...]]: ...

    def _check_X(self, X: Any, y: Any = None, *, reset: bool) -> Any: ...

    def _block(self, X: Any, rows: slice) -> tuple[Any, ...]: ...


@stored()
@dataclass(frozen=True)
class StatisticMap:
    """The map from X, in any container that the model takes, to the features in which it is linear."""

    model: HasLinearForm
    pieces: tuple[LinearPiece, ...]

    def __call__(self, X: Any) -> Any:
        X = self.model._check_X(X, reset=False)
        blocks = self.model._block(X, slice(0, X.shape[0]))
        features = [piece.features(block) for piece, block in zip(self.pieces, blocks, strict=True)]
        if len(features) == 1:
            return features[0]
        return sp.hstack(features, format="csr") if any(map(sp.issparse, features)) else np.hstack(features)


@stored(coef=reals(), intercept=reals())
@dataclass(frozen=True)
class LinearForm:
    """The form log p(y|x) = log softmax(feature_map(X) @ coef.T + intercept).

    Attributes
    ----------
    feature_map : callable
        Maps rows to the features in which the classifier is linear.
    coef : ndarray of shape (n_classes, n_features)
        Weights of the features.
    intercept : ndarray of shape (n_classes,)
        Constant terms.
    names : tuple of str
        Names of the features.
    """

    feature_map: StatisticMap
    coef: Array
    intercept: Array
    names: tuple[str, ...]

    def predict_log_proba(self, X: Any) -> Array:
        """Return log p(y|x), equal to that of the model."""
        return np.asarray(log_softmax(np.asarray(self.feature_map(X) @ self.coef.T) + self.intercept, axis=1))


def linear_form(model: Any) -> LinearForm:
    """Return the weights with which a fitted generative classifier is a softmax of a linear function.

    Multinomial, Bernoulli and categorical naive Bayes, Gaussian naive Bayes with shared variances and linear
    discriminant analysis are linear in x (or in the indicators of its levels); Gaussian naive Bayes with variances of
    its own and quadratic discriminant analysis in monomials of degree 2; a mixed naive Bayes in the sufficient
    statistics T(x) of its columns.

    Parameters
    ----------
    model : object
        A fitted generative classifier.

    Returns
    -------
    form : LinearForm
        The feature map, `coef` of shape (n_classes, n_features), `intercept` of shape (n_classes,), and the names of
        the features. Columns of Gaussians with squares are centred inside the feature map, so that no digits are lost
        far from zero.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianNB, linear_form
    >>> X, y = np.array([[0.0], [2.0], [4.0], [6.0]]), [0, 0, 1, 1]
    >>> form = linear_form(GaussianNB(shared_variance=True, var_smoothing=0).fit(X, y))
    >>> float(form.coef[1, 0] - form.coef[0, 0])  # (μ₁ − μ₀) / σ²
    4.0
    """
    if not isinstance(model, HasLinearForm):
        raise NoLinearFormError(
            f"{type(model).__name__} has no linear form; naive Bayes models and Gaussian discriminants have one."
        )
    check_is_fitted(model)
    intercept, pieces = model._linear_pieces()
    return LinearForm(
        StatisticMap(model, pieces),
        np.hstack([piece.coef for piece in pieces]),
        intercept + sum(piece.intercept for piece in pieces),
        tuple(name for piece in pieces for name in piece.names),
    )
