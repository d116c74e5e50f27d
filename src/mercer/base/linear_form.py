"""The lectures' equivalences: a generative classifier is a softmax of a function that is linear in features of x."""

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

# Feature maps of linear forms: a block of data -> a matrix of sufficient statistics.


def complete(block: Any) -> Any:
    """The block itself, if nothing is missing in it."""
    _refuse(np.isnan(block.data if is_sparse(block) else block))
    return block


@stored()
@dataclass(frozen=True)
class ColumnStatistics:
    """T(x) of columns that a scalar family describes."""

    family: Family

    def __call__(self, block: Any) -> Array:
        T = self.family.sufficient(block)
        return T.reshape(len(T), -1)


@stored()
@dataclass(frozen=True)
class RowStatistics:
    """T(x) of rows that a family of vectors describes."""

    family: Family

    def __call__(self, block: Any) -> Array:
        return self.family.sufficient(complete(block))


@stored()
@dataclass(frozen=True)
class CentredColumns:
    """x − about."""

    about: Array

    def __call__(self, block: Any) -> Array:
        return np.asarray(complete(as_block(block)) - self.about)


@stored()
@dataclass(frozen=True)
class CentredSquares:
    """x − about and (x − about)² of every column: without the centre, columns far from zero would lose their digits."""

    about: Array

    def __call__(self, block: Any) -> Array:
        x = block - self.about
        return np.stack([x, np.square(x)], axis=-1).reshape(len(x), -1)


@stored()
@dataclass(frozen=True)
class CentredMonomials:
    """All monomials of degree 1 and 2 of x − about."""

    about: Array

    def __call__(self, block: Any) -> Array:
        x = complete(as_block(block)) - self.about
        i, j = np.triu_indices(x.shape[1])
        return np.hstack([x, x[:, i] * x[:, j]])


@stored()
@dataclass(frozen=True)
class Indicators:
    """One column for each of the codes 0 … levels−1; a row of zeros for any other."""

    codes: Callable[[Any], Array]
    levels: int

    def __call__(self, block: Any) -> Array:
        return np.asarray(self.codes(block)[:, None] == np.arange(self.levels), dtype=float)


@stored()
@dataclass(frozen=True)
class Among:
    """Features of some columns of a block."""

    features: Callable[[Any], Any]
    columns: Array

    def __call__(self, block: Any) -> Any:
        return self.features(block[:, self.columns])


@stored()
@dataclass(frozen=True)
class ObservedColumns:
    """Features of some columns, 0 where these are missing, and an indicator of that for the columns in `gaps`."""

    features: Callable[[Array], Array]
    columns: Array
    gaps: Array

    def __call__(self, block: Any) -> Array:
        x = as_block(block)[:, self.columns].astype(float)
        missing = np.isnan(x)
        _refuse(missing[:, ~self.gaps])
        features = self.features(x)
        per_column = features.shape[1] // max(1, x.shape[1])
        seen = np.where(np.repeat(missing, per_column, axis=1), 0.0, features)
        return np.hstack([seen, missing[:, self.gaps].astype(float)])


def _refuse(missing: Array) -> None:
    if missing.any():
        raise NonFiniteError(
            "the linear form has no term for this missing value: none was missing in its column when the model was "
            "fitted, or several columns are described together. Use predict_log_proba, which integrates it out."
        )


# What one factor p(x_S|y) adds to a linear form: features of its columns, and their weights in each class.
#
# Softmax does not see what all classes have in common. Base measures are left out for that reason, and some weights are
# relative to the classes' average, which keeps the digits that large common terms would cost.

#: terms up to this size may cancel without spoiling the tenth decimal of a score
LARGEST_OFFSET = 1e5


@dataclass(frozen=True)
class LinearPiece:
    """`features(block)` (rows, features), with weights `coef` (classes, features) and `intercept` (classes,)."""

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

    def among(self, columns: Array) -> Self:
        """The same piece for a block that has other columns besides these, which say nothing."""
        return replace(self, features=Among(self.features, columns))

    @classmethod
    def of_columns(cls, names: Sequence[str], coef: Array, intercept: Array) -> Self:
        """The columns themselves are the features."""
        return cls(complete, coef, intercept, tuple(names))

    @classmethod
    def of_centred_columns(cls, names: Sequence[str], about: Array, coef: Array, intercept: Array) -> Self:
        """coef · (x − about) + intercept: a function of the columns themselves, unless that would cost digits."""
        offset = coef * about
        if np.abs(offset).sum(axis=1).max() > LARGEST_OFFSET:
            return cls(CentredColumns(about), coef, intercept, tuple(_centred(names, about)))
        return cls.of_columns(names, coef, intercept - offset.sum(axis=1))

    @classmethod
    def of_levels(cls, codes: Callable[[Any], Array], names: Sequence[str], log_probability: Array) -> Self:
        """Indicators of levels, coded by `codes` as 0 … K−1; any other code says nothing."""
        return cls(Indicators(codes, len(names)), log_probability, np.zeros(len(log_probability)), tuple(names))

    @classmethod
    def of_family(
        cls, family: Family, names: Sequence[str], parameters: Parameters, *, informative: Array, gaps: Array
    ) -> Self:
        """T(x) of the `informative` columns, of which those in `gaps` may be missing."""
        said = np.flatnonzero(informative)
        eta = family.natural(type(parameters)(*(values[:, said] for values in parameters)))
        labels = [label for j in said.tolist() for label in _component_names(family, names[j], eta.shape[-1])]
        features = ObservedColumns(ColumnStatistics(family), said, gaps[said])
        return cls._of_observed(features, names, labels, _relative(eta), -family.log_partition(eta))

    @classmethod
    def of_gaussian(cls, names: Sequence[str], scores: GaussianScores, *, gaps: Array) -> Self:
        """x − m and (x − m)² of independent normal columns, m halfway between the classes."""
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
        """From `coef` (classes, columns, features of a column) and `constants` (classes, columns).

        The constants make up the intercept; the indicator of a missing column takes its constant back.
        """
        gaps = features.gaps
        labels = labels + [f"{names[j]} is missing" for j in features.columns[gaps]]
        weights = np.hstack([coef.reshape(len(coef), -1), -constants[:, gaps]])
        return cls(features, weights, constants.sum(axis=1), tuple(labels))

    @classmethod
    def of_shared_variance(cls, names: Sequence[str], scores: GaussianScores) -> Self:
        """The columns themselves, for normal columns with one variance in all classes (lecture 2: (μ₁ − μ₀)/σ²)."""
        mean = np.nan_to_num(scores.mean)
        about = mean.mean(axis=0)
        coef = np.square(scores.inverse_deviation) * (mean - about)
        intercept = (scores.constants - 0.5 * coef * (mean - about)).sum(axis=1)
        return cls.of_centred_columns(names, about, coef, intercept)

    @classmethod
    def of_rows(cls, family: Family, names: Sequence[str], parameters: Parameters) -> Self:
        """T(x) of rows, with one component for each column."""
        eta = family.natural(parameters)
        labels = tuple(f"T({name})" for name in names)
        return cls(RowStatistics(family), _relative(eta), -family.log_partition(eta), labels)

    @classmethod
    def of_covariances(
        cls, names: Sequence[str], about: Array, away: Array, precision: Array, log_determinant: Array
    ) -> Self:
        """All monomials of degree 1 and 2 of x − about, for N(about + away, Σ) with a Σ of its own in each class."""
        linear = np.einsum("kij,kj->ki", precision, away)
        i, j = np.triu_indices(len(about))
        quadratic = np.where(i == j, -0.5, -1.0) * precision[:, i, j]
        centred = _centred(names, about)
        products = [f"{centred[a]}²" if a == b else f"{centred[a]}{centred[b]}" for a, b in zip(i, j, strict=True)]
        intercept = -0.5 * (np.einsum("ki,ki->k", linear, away) + log_determinant)
        coef = _relative(np.hstack([linear, quadratic]))
        return cls(CentredMonomials(about), coef, intercept, (*centred, *products))


def _relative(weights: Array) -> Array:
    """Weights less their average over the classes."""
    with np.errstate(invalid="ignore"):  # an infinite weight is refused by the piece, by name
        return np.asarray(weights - weights.mean(axis=0))


def _centred(names: Sequence[str], about: Array) -> list[str]:
    return [f"({name} − {centre:.6g})" for name, centre in zip(names, about, strict=True)]


def _component_names(family: Family, name: str, order: int) -> list[str]:
    """Names of the components of T of a column."""
    if isinstance(family, Histogram):
        return [f"{name} from {low:g} to {high:g}" for low, high in itertools.pairwise(family.edges.tolist())]
    return [name] if order == 1 else [f"T{component + 1}({name})" for component in range(order)]


# In which units sufficient statistics are: what to divide them by, so that a penalty treats them alike.

#: families whose T says 0 or 1
INDICATORS = (Bernoulli, Histogram)
#: of η, for derivatives of the mean of T
STEP = 1e-4


def statistic_scale(model: Any) -> Array:
    """What each statistic of a fitted model is divided by: its standard deviation over all classes, or 1 if it has no
    units."""
    _, pieces = model._linear_pieces()
    return np.concatenate([_scale(piece, part) for piece, part in zip(pieces, parts_of(model, pieces), strict=True)])


def parts_of(model: Any, pieces: tuple[LinearPiece, ...]) -> tuple[Any, ...]:
    """What the model has counted for each of its pieces; what it has counted besides comes after these."""
    parts: tuple[Any, ...] = model.statistic_.parts
    return parts[: len(pieces)]


def _scale(piece: LinearPiece, statistic: Any) -> Array:
    match piece.features, statistic:
        case ObservedColumns(CentredSquares(), columns, gaps), ColumnMoments():
            spread = _positive(np.sqrt(statistic.pooled().variance[0][columns]))
            return _with_gaps(np.column_stack([spread, spread**2]), gaps)
        case ObservedColumns(ColumnStatistics(family), columns, gaps), _ if not isinstance(family, INDICATORS):
            return _with_gaps(_positive(_deviations(family, statistic)[columns]), gaps)
        case Among(CentredMonomials(), columns), PatternMoments(complete=True):
            spread = _positive(np.sqrt(np.diagonal(statistic.pooled().full.covariance[0])))[columns]
            i, j = np.triu_indices(len(spread))
            return np.append(spread, spread[i] * spread[j])
    return np.ones(len(piece.names))


def _with_gaps(scale: Array, gaps: Array) -> Array:
    return np.append(scale.ravel(), np.ones(int(gaps.sum())))


def _positive(scale: Array) -> Array:
    return np.where((scale > 0) & np.isfinite(scale), scale, 1.0)


def _deviations(family: Family, statistic: Any) -> Array:
    """Of T, (columns, components), as the family has them that is fitted to all classes together."""
    together = statistic.pooled()
    if isinstance(together, ColumnMoments):  # T is z and z² of a normal z, which is log x for a log-normal x
        mean, variance = together.mean[0], together.variance[0]
        return np.asarray(np.sqrt(np.column_stack([variance, 4 * mean**2 * variance + 2 * variance**2])))
    eta = family.natural(family.fit(together))[0]
    return np.asarray(np.sqrt(np.column_stack([_variance(family, eta, each) for each in range(eta.shape[1])])))


def _variance(family: Family, eta: Array, component: int) -> Array:
    """∂²A/∂η², by differences of ∇A. Rates have units, by which η is to be measured; the η of counts may be 0."""
    step = np.zeros_like(eta)
    size = np.abs(eta[:, component])
    step[:, component] = STEP * (np.maximum(size, 1.0) if family.discrete else size)
    change = family.mean(eta + step) - family.mean(eta - step)
    return np.asarray(change[:, component] / (2 * step[:, component]))


def expected_statistic(family: Family, statistic: Any) -> Array:
    """Mean of T over all classes together, (columns, components)."""
    return np.asarray(family.expected(family.fit(statistic.pooled()))[0])


@runtime_checkable
class HasLinearForm(Protocol):
    """A model whose scores are the sum of an intercept and of what each of its blocks of data adds."""

    def _linear_pieces(self) -> tuple[Array, tuple[LinearPiece, ...]]: ...

    def _check_X(self, X: Any, y: Any = None, *, reset: bool) -> Any: ...

    def _block(self, X: Any, rows: slice) -> tuple[Any, ...]: ...


@stored()
@dataclass(frozen=True)
class StatisticMap:
    """X -> the features a model is linear in, for the same containers that the model takes."""

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
    """log p(y|x) = log softmax(feature_map(X) @ coef.T + intercept)."""

    feature_map: StatisticMap
    coef: Array
    intercept: Array
    names: tuple[str, ...]

    def predict_log_proba(self, X: Any) -> Array:
        """log p(y|x), the same as the model's own."""
        return np.asarray(log_softmax(np.asarray(self.feature_map(X) @ self.coef.T) + self.intercept, axis=1))


def linear_form(model: Any) -> LinearForm:
    """The weights with which a fitted generative classifier is a softmax of a linear function.

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
