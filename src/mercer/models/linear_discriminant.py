"""Linear discriminant analysis: one covariance for all classes, and Fisher's directions (lecture 2)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import DataError, PriorError
from mercer._threads import ordered_map, row_blocks
from mercer.data.source import COPIED_BLOCK, rows_per_block
from mercer.models._base import Array, column_names, refuse_infinite
from mercer.models._covariance import class_covariances
from mercer.models._drop_in import DropInDiscriminant
from mercer.models._fisher import Directions, directions_by_rank, directions_by_ratio
from mercer.models._gaussian_classes import GaussianClasses, LinearScores
from mercer.models._linear_pieces import LinearPiece
from mercer.models._singular import singular_class
from mercer.stats import ScatterMoments
from mercer.stats._base import as_block


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DropInDiscriminant):
    """Linear discriminant analysis; scikit-learn's with weights, merging, forgetting, sampling and missing values.

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
        How many directions `transform` projects on; min(n_classes − 1, n_features) if not given.
    store_covariance : bool, default=False
        Whether to keep the covariance in `covariance_` with "svd" too.
    tol : float, default=1e-4
        Directions in which standardised columns deviate less are left out. Only for "svd".
    covariance_estimator : estimator, default=None
        Estimates the covariance of each class instead, from its rows. Not for "svd".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    priors_, class_prior_ : ndarray of shape (n_classes,)
        Class priors.
    means_ : ndarray of shape (n_classes, n_features)
        Class means.
    coef_, intercept_ : ndarray of shape (n_classes, n_features) and (n_classes,)
        Weights of the decision function; of two classes only their difference: (1, n_features) and (1,).
    covariance_ : ndarray of shape (n_features, n_features)
        Covariance within the classes, weighted by the priors; with "svd" only if `store_covariance`.
    scalings_ : ndarray of shape (n_features, n_directions)
        Fisher's directions; not with "lsqr".
    explained_variance_ratio_ : ndarray of shape (n_components,)
        How much of the variance between the classes each direction explains; not with "lsqr".
    xbar_ : ndarray of shape (n_features,)
        Mean of all classes; only with "svd".
    statistic_ : ByClass
        The sufficient statistics the model was computed from.
    certificate_ : Certificate
        How we know that this is the optimum.
    plan_ : Plan
        Which path the fit took.

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

    # Learning.

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver. Use solver='eigen' or 'lsqr'.")
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise DataError("covariance estimator is not supported with svd solver. Try another solver")
        self._refuse_shrinkage_with_estimator()

    def _shares_covariance(self) -> bool:
        return True

    def _contributions(self) -> Array | None:
        return None if self.solver == "svd" else self._priors

    def _refuse_to_fit(self) -> None:
        if self.statistic_.rows.sum() == len(self.classes_):
            raise DataError(
                "The number of samples must be more than the number of classes. Every class has but 1 sample, which "
                "says nothing about its covariance; add rows."
            )

    def _class_priors(self) -> Array:
        if self.priors is None:
            return super()._class_priors()
        if np.less(self.priors, 0).any():
            raise PriorError(f"priors must be non-negative. They are {self.priors}.")
        priors = checked_priors(self.priors, self.classes_, normalised=False)
        if abs(priors.sum() - 1.0) > 1e-5:
            warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=2)
        return np.asarray(priors / priors.sum())

    def _estimate(self, moments: ScatterMoments) -> None:
        weighted = np.tensordot(self._priors, self._class_covariances(moments), axes=1)
        within = moments.within() / moments.weight.sum() if self.solver == "svd" else weighted
        self._weighted_covariance = weighted
        self._between = self._total_covariance(moments) - within if self.solver == "eigen" else None
        self._densities = GaussianClasses(moments.mean, within[None], self.statistic_.rows > 0, self._words())

    def _total_covariance(self, moments: ScatterMoments) -> Array:
        """The covariance of all rows together, estimated as that of each class is."""
        if (delegated := self._delegated()) is not None:
            return delegated.total
        fourth = self._fourth()
        return class_covariances(moments.pooled(), self._shrinkage(), None if fourth is None else fourth.pooled())[0]

    def _settle(self) -> None:
        self._max_components = self._n_features_out = self._components()
        means, directions = self._densities.mean, self._directions()
        precision = self._precision(directions)
        centre = self._priors @ means
        self._origin = centre if self.solver == "svd" else np.zeros_like(centre)
        self._densities = replace(self._densities, discriminants=LinearScores.of(means, precision, centre))
        # what scikit-learn's decision function has more than ours, the same for all classes
        self._surplus = LinearScores.of((centre - self._origin)[None], precision, ...)
        self._publish_scores(LinearScores.of(means, precision, self._origin))
