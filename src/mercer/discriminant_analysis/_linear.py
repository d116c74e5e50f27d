"""Linear discriminant analysis: one covariance for all classes, and Fisher's directions (lecture 2)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import DataError, PriorError
from mercer._gpu import is_tensor, like, namespace, to_numpy
from mercer._stored import floats, optional, part_of, stored, whole
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import traits
from mercer.base.fitted_fields import FITTED_CLASSES, FITTED_GAUSSIANS
from mercer.base.generative import check_priors
from mercer.base.sources import maps_sources
from mercer.base.validation import check_spread, column_names, publish
from mercer.data.blocks import COPIED_BLOCK, rows_per_block
from mercer.discriminant_analysis._classes import GaussianClasses, LinearScores
from mercer.discriminant_analysis._covariance import class_covariances, singular_class
from mercer.discriminant_analysis._discriminant import DropInDiscriminant
from mercer.families.multivariate import collinear_columns
from mercer.stats import ScatterMoments
from mercer.stats.base import as_block, divide

# Fisher's discriminant directions, in which the means of the classes are farthest apart, relative to the covariance.

#: ratio of two entries of a direction from which they are equal up to rounding
EQUAL_ENTRIES = 1 - 1e-8
#: distance of means, in standard deviations within the classes, up to which they are equal up to rounding
LEAST_DISTANCE = 1e-13


@stored(scalings=floats("dr"), explained=floats("."))
class Directions(NamedTuple):
    """Columns of `scalings` have unit variance within the classes; `explained` is the variance ratio between them."""

    scalings: Array  # (columns, directions)
    explained: Array


def whitening_by_rank(within: Array) -> Array:
    """Return W with W Wᵀ the pseudo-inverse of a covariance, without directions whose variance is 0 up to rounding.

    A covariance of full rank is scaled to unit variances first, so that different units of columns cost no digits.
    """
    axes, variance, has_variance = _axes_by_rank(within)
    if has_variance.all():
        unit = np.sqrt(np.diagonal(within))[:, None]
        scaled, squares, full = _axes_by_rank(within / unit / unit.T)
        if full.all():
            return np.asarray(scaled / unit / np.sqrt(squares))
    return np.asarray(axes[:, has_variance] / np.sqrt(variance[has_variance]))


def _axes_by_rank(covariance: Array) -> tuple[Array, Array, Array]:
    """Return the axes of a covariance, their variances, and a mask of variances that are more than rounding."""
    variance, axes = np.linalg.eigh(covariance)
    return axes, variance, variance > len(variance) * np.finfo(float).eps * variance[-1]


def directions_by_rank(within: Array, away: Array, share: Array, tolerance: float) -> Directions:
    """Return the directions with variance within the classes and between their means, as an SVD of the rows gives.

    `away` are the means relative to any point, `share` the weights of the classes in the overall mean.

    The columns are scaled to unit variance first, so that singular values of the data, which are the square roots of
    the eigenvalues taken here, compare with an absolute tolerance.
    """
    deviation = np.sqrt(np.diagonal(within))
    deviation = np.where(deviation > 0, deviation, 1.0)
    squares, vectors = np.linalg.eigh(within / deviation[:, None] / deviation)
    squares, vectors = squares[::-1], vectors[:, ::-1]
    rounding = len(squares) * np.finfo(float).eps * squares[0]
    kept = squares > max(tolerance**2, rounding)
    whitening = vectors[:, kept] / deviation[:, None] / np.sqrt(squares[kept])
    between = np.sqrt(share)[:, None] * (away - share @ away) @ whitening
    _, spread, axes = np.linalg.svd(between, full_matrices=False)
    rank = int(np.sum(spread > np.maximum(tolerance * spread[:1], LEAST_DISTANCE)))
    return Directions(fix_signs(whitening @ axes.T[:, :rank]), divide(spread**2, np.sum(spread**2)))


def directions_by_ratio(within: Array, between: Array) -> Directions:
    """Return all directions by the ratio of variances; raise `LinAlgError` if `within` is not positive definite."""
    ratios, vectors = scipy.linalg.eigh(between, within)
    # negative where given priors make the covariance within the classes larger than that of all rows
    total = np.sum(ratios)
    explained = ratios / total if total != 0 else np.zeros_like(ratios)
    return Directions(fix_signs(vectors[:, ::-1]), np.sort(explained)[::-1])


def fix_signs(vectors: Array) -> Array:
    """Flip columns so that the largest entry of each (the first of equal ones) is positive, whatever the rounding."""
    size = np.abs(vectors)
    as_large = size >= EQUAL_ENTRIES * size.max(axis=0, initial=0.0)
    largest = vectors[as_large.argmax(axis=0), np.arange(vectors.shape[1])]
    return np.where(largest < 0, -vectors, vectors)


@traits(
    "classification",
    kind="generative",
    columns="numbers",
    half="columns",
    export="mercer.export.discriminants.discriminant",
    evidence="mercer.explanation.evidence.discriminant",
)
@stored(
    lambda model: not hasattr(model, "scalings_") or model._max_components <= model.scalings_.shape[1],
    **FITTED_CLASSES | FITTED_GAUSSIANS,
    _decision=part_of(LinearScores, d="d"),
    _origin=floats("d"),
    scalings_=floats("d."),
    xbar_=floats("d"),
    coef_=floats(".d"),
    intercept_=floats("."),
    covariance_=floats("dd"),
    explained_variance_ratio_=floats("."),
    _max_components=whole(0),
    _moments=part_of(),
    _n_features_out=whole(0),
    _within=optional(floats("dd")),
    _weighted_covariance=optional(floats("dd")),
)
class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DropInDiscriminant):
    """Linear discriminant analysis; scikit-learn's with weights, merging, forgetting, sampling and missing values.

    Rows may be torch tensors, also on a GPU: they are summarised and scored on their device, and predictions are
    tensors there. The fitted attributes are in main memory, and the model takes arrays as well.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        All three work on the covariance within the classes, found in one pass over the data. "svd" leaves out
        directions without variance, "eigen" finds all directions, "lsqr" none, so that it cannot `transform`.
    shrinkage : None, "auto" or float in [0, 1], default=None
        A number δ turns a covariance Σ into (1 − δ) Σ + δ tr(Σ)/d · I; "auto" finds δ for each class by Ledoit and
        Wolf's formula on standardised columns. Not for "svd".
    priors : array-like of shape (n_classes,), default=None
        Class priors; estimated from the data if not given.
    n_components : int, default=None
        Number of directions on which `transform` projects; min(n_classes − 1, n_features) if not given.
    store_covariance : bool, default=False
        Whether to store the covariance in `covariance_` with "svd" too.
    tol : float, default=1e-4
        Directions in which standardised columns deviate less are left out. Only for "svd".
    covariance_estimator : estimator, default=None
        Estimator of the covariance of each class from its rows. Not for "svd".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    priors_, class_prior_ : ndarray of shape (n_classes,)
        Class priors.
    means_ : ndarray of shape (n_classes, n_features)
        Class means.
    coef_, intercept_ : ndarray of shape (n_classes, n_features) and (n_classes,)
        Weights of the decision function; for two classes their difference: (1, n_features) and (1,).
    covariance_ : ndarray of shape (n_features, n_features)
        Covariance within the classes, weighted by the priors; with "svd" only if `store_covariance`.
    scalings_ : ndarray of shape (n_features, n_directions)
        Fisher's directions; not with "lsqr".
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The share of the variance between the classes that each direction explains; not with "lsqr".
    xbar_ : ndarray of shape (n_features,)
        Mean of all classes; only with "svd".
    n_iter_ : int
        Steps of EM; 1 if no value is missing.
    statistic_ : ByClass
        The sufficient statistics from which the parameters are computed.
    certificate_ : Certificate
        Evidence that the parameters are optimal.
    plan_ : Plan
        The path that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LinearDiscriminantAnalysis
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> y = np.array([1, 1, 1, 2, 2, 2])
    >>> LinearDiscriminantAnalysis().fit(X, y).predict([[-0.8, -1]])
    array([1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = DropInDiscriminant._parameter_constraints | {
        "solver": [StrOptions({"svd", "lsqr", "eigen"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }

    _densities: GaussianClasses

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver. Use solver='eigen' or 'lsqr'.")
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise DataError("covariance estimator is not supported with svd solver. Try another solver")
        self._check_one_shrinkage()

    def _shares_covariance(self) -> bool:
        return True

    def _contributions(self) -> Array | None:
        return None if self.solver == "svd" else self._shares()

    def _check_fit_possible(self) -> None:
        rows = self.statistic_.rows.sum()
        if rows == 1:
            raise DataError(
                f"Found array with 1 sample(s) (shape=(1, {self.n_features_in_})) while a minimum of 2 is required by "
                f"{type(self).__name__}. One row says nothing about a covariance; add rows."
            )
        if rows == len(self.classes_):
            raise DataError(
                "The number of samples must be more than the number of classes. Every class has but 1 sample, which "
                "says nothing about its covariance; add rows."
            )

    def _class_priors(self) -> Array:
        if self.priors is None:
            return super()._class_priors()
        if np.less(self.priors, 0).any():
            raise PriorError(f"priors must be non-negative. They are {self.priors}.")
        priors = check_priors(self.priors, self.classes_, normalised=False)
        if abs(priors.sum() - 1.0) > 1e-5:
            warn("The priors do not sum to 1. Renormalizing", UserWarning)
            priors = priors / priors.sum()
        return priors

    def _shares(self) -> Array:
        """Return the priors of the classes with rows, normalised; their weights, where all of these priors are 0."""
        shares = np.where(self.statistic_.rows > 0, self._priors, 0.0)
        shares = shares if shares.any() else self.statistic_.weight
        return np.asarray(shares / shares.sum())

    def _estimate(self, moments: ScatterMoments) -> None:
        self._moments = moments
        # a loop over classes, because a product by BLAS may round equal entries differently, and so change equal axes
        parts = zip(self._shares(), self._class_covariances(moments), strict=True)
        self._weighted_covariance = sum(share * covariance for share, covariance in parts)
        pooled = moments.within() / moments.weight.sum()
        self._within = pooled if self.solver == "svd" else self._weighted_covariance

    def _total_covariance(self, moments: ScatterMoments) -> Array:
        """Return the covariance of all rows together, estimated as that of each class."""
        if (delegated := self._delegated()) is not None:
            return delegated.total
        together, fourth = moments.pool(), self._fourth()
        check_spread(np.diagonal(together.scatter[0]), column_names(self))
        if fourth is not None:
            fourth = fourth.pool()
            self._check_range(fourth)
        return np.asarray(class_covariances(together, self._shrinkage(), fourth)[0])

    def _update_parameters(self) -> None:
        classes = GaussianClasses.of(self._moments, self._shares(), self._within[None], self._labels())
        whitening = self._discriminating_whitening(classes)
        means, centre = classes.mean, classes.centre
        self._densities = replace(classes, discriminants=LinearScores.of(centre, classes.away, whitening))
        self._origin = centre if self.solver == "svd" else np.zeros_like(centre)
        self._decision = LinearScores.of(self._origin, means - self._origin, whitening)
        weights = self._decision.weights.T
        intercept = self._decision.intercept - self._origin @ weights.T + self._log_prior()
        if len(means) == 2:
            weights, intercept = np.diff(weights, axis=0), np.diff(intercept)
        publish(self, coef_=weights, intercept_=intercept, means_=means, priors_=self._priors)
        self.class_prior_ = self.priors_
        if self.solver == "svd":
            publish(self, xbar_=centre)
        if self.solver != "svd" or self.store_covariance:
            publish(self, covariance_=self._weighted_covariance)

    def _discriminating_whitening(self, classes: GaussianClasses) -> Array:
        """Return W with Σ⁻¹ = W Wᵀ along the directions of the solver, and publish these."""
        self._max_components = self._n_features_out = self._components()
        if self.solver == "lsqr":
            return whitening_by_rank(self._within)
        if self.solver == "svd":
            directions = directions_by_rank(self._within, classes.away, self._shares(), self.tol)
        else:
            directions = self._all_directions(self._within)
        explained = directions.explained[: self._max_components]
        publish(self, scalings_=directions.scalings, explained_variance_ratio_=explained)
        # columns without spread leave fewer directions
        self._max_components = self._n_features_out = min(self._max_components, directions.scalings.shape[1])
        return directions.scalings

    def _all_directions(self, within: Array) -> Directions:
        # decided by eigenvalues, since by rounding a singular covariance may have a Cholesky factor
        if not collinear_columns(within):
            with suppress(np.linalg.LinAlgError):
                return directions_by_ratio(within, self._total_covariance(self._moments) - within)
        labels = self._labels()
        raise singular_class(within, labels.owner, labels.columns)

    def _components(self) -> int:
        most = min(len(self.classes_) - 1, self.n_features_in_)
        if self.n_components is not None and self.n_components > most:
            raise DataError(
                f"n_components cannot be larger than min(n_features, n_classes - 1). That is {most}, and n_components "
                f"is {self.n_components}."
            )
        return most if self.n_components is None else self.n_components

    def decision_function(self, X: Any) -> Array:
        """Return `X @ coef_.T + intercept_`, which is log p(y|x) up to a term common to all classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Above 0 for the second of two classes, or highest for the most probable of several.
        """
        classes = self._fitted_classes()
        if len(classes) == 2:
            return self._over_blocks(X, lambda joint: joint[:, 1] - joint[:, 0], None)
        base = None if self.solver == "svd" else self._common_offset
        return self._over_blocks(X, lambda joint: joint, len(classes), base=base)

    def _common_offset(self, block: tuple[Any, ...]) -> Array:
        """Return `decision_function` minus the scores about the centre, which is the same for all classes."""
        rows, xp = as_block(block[0]), namespace(block[0])
        offset = (self._decision(rows) - self._densities.linear(rows))[:, :1]
        return xp.where(xp.isnan(offset), 0.0, offset)  # type: ignore[no-any-return]

    @maps_sources
    def transform(self, X: Any) -> Array:
        """Project rows on Fisher's directions, in which the classes are farthest apart.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to project; missing values are replaced by their expectations given the rest of the row.

        Returns
        -------
        projected : ndarray of shape (n_samples, n_components)
            Coordinates along the directions.
        """
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        self._fitted_classes()
        if is_tensor(X):
            return self._over_chunks(X, self._project_block)  # type: ignore[no-any-return]
        X = self._check_X(X, reset=False)
        blocks = row_blocks(X.shape[0], rows_per_block(self.n_features_in_, COPIED_BLOCK))
        projected: Array = np.concatenate(ordered_map(lambda rows: self._project_block(X, rows), blocks))
        return projected.astype(np.float32) if X.dtype == np.float32 else projected

    def _project_block(self, X: Any, rows: slice) -> Array:
        block = as_block(X[rows])
        project = LinearScores.along(self.scalings_[:, : self._max_components], self._origin)
        with np.errstate(invalid="ignore"):  # the cause is found below
            projected = project(block)
        if (gaps := ~namespace(projected).isfinite(projected).all(axis=1)).any():
            self._raise_for_rows(X, rows)
            incomplete = to_numpy(block[gaps])
            posterior = self._posterior(self._joint((incomplete,)))
            projected[gaps] = like(project(self._densities.impute(incomplete, posterior)), projected)
        return projected
