"""Quadratic discriminant analysis: a covariance for every class (lecture 4)."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import DataError
from mercer._stored import each_of, floats, sequence, stored
from mercer._typing import Array
from mercer.base import traits
from mercer.base.fitted_fields import FITTED_CLASSES, FITTED_GAUSSIANS
from mercer.base.generative import check_priors
from mercer.base.validation import publish
from mercer.discriminant_analysis._classes import GaussianClasses
from mercer.discriminant_analysis._covariance import SingularClassError, describe_singularity, principal_axes
from mercer.discriminant_analysis._discriminant import DropInDiscriminant
from mercer.discriminant_analysis._linear import fix_signs
from mercer.families.gaussian import LOG_2PI
from mercer.stats import ScatterMoments


@traits(
    "classification",
    kind="generative",
    columns="numbers",
    needs_full_rank=True,
    half="monomials",
    export="mercer.export.discriminants.discriminant",
    evidence="mercer.explanation.evidence.discriminant",
)
@stored(
    **FITTED_CLASSES | FITTED_GAUSSIANS,
    scalings_=sequence("k", floats("_r")),
    rotations_=sequence("k", floats("d _r")),
    covariance_=sequence("k", floats("dd")),
    _axes=sequence("k", each_of(floats("_r"), floats("d _r"))),
)
class QuadraticDiscriminantAnalysis(DropInDiscriminant):
    """Quadratic discriminant analysis; scikit-learn's with weights, merging, forgetting, sampling and missing values.

    Rows may be torch tensors, also on a GPU: they are summarised and scored on their device, and predictions are
    tensors there. The fitted attributes are in main memory, and the model takes arrays as well.

    Parameters
    ----------
    solver : {"svd", "eigen"}, default="svd"
        Both diagonalise the covariance of each class, found in one pass over the data; "svd" takes `reg_param`, "eigen"
        takes `shrinkage` and `covariance_estimator`.
    shrinkage : None, "auto" or float in [0, 1], default=None
        A number δ turns a covariance Σ into (1 − δ) Σ + δ tr(Σ)/d · I; "auto" finds δ by Ledoit and Wolf's formula on
        standardised columns. Only for "eigen".
    priors : array-like of shape (n_classes,), default=None
        Class priors; estimated from the data if not given.
    reg_param : float, default=0.0
        Replaces the principal variances s of each class by (1 − reg_param) s + reg_param. Only for "svd".
    store_covariance : bool, default=False
        Whether to store the covariances in `covariance_`.
    tol : float, default=1e-4
        A class is rank-deficient if one of its principal variances is not above this.
    covariance_estimator : estimator, default=None
        Estimator of the covariance of each class from its rows. Only for "eigen".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    priors_, class_prior_ : ndarray of shape (n_classes,)
        Class priors.
    means_ : ndarray of shape (n_classes, n_features)
        Class means.
    covariance_ : list of ndarray of shape (n_features, n_features)
        Covariance of each class, if `store_covariance`.
    rotations_ : list of ndarray of shape (n_features, n_features)
        Principal axes of each class.
    scalings_ : list of ndarray of shape (n_features,)
        Variances along them, descending.
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
    >>> from mercer import QuadraticDiscriminantAnalysis
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> y = np.array([1, 1, 1, 2, 2, 2])
    >>> QuadraticDiscriminantAnalysis().fit(X, y).predict([[-0.8, -1]])
    array([1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = DropInDiscriminant._parameter_constraints | {
        "solver": [StrOptions({"svd", "eigen"})],
        "reg_param": [Interval(Real, 0, 1, closed="both")],
    }

    _densities: GaussianClasses

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1.0e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver. Use solver='eigen', or reg_param.")
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise DataError("covariance_estimator is not supported with solver='svd'. Try solver='eigen' instead.")
        self._check_one_shrinkage()

    def _shares_covariance(self) -> bool:
        return False

    def _check_fit_possible(self) -> None:
        self._check_two_classes()

    def _class_priors(self) -> Array:
        if self.priors is None:
            return super()._class_priors()
        return check_priors(self.priors, self.classes_, normalised=False).copy()

    def _estimate(self, moments: ScatterMoments) -> None:
        rows = self.statistic_.rows
        if (alone := rows == 1).any():
            raise DataError(
                f"y has only 1 sample in class {self.classes_[alone][0]}, covariance is ill defined. Add rows of that "
                "class, or use GaussianDiscriminant with a shared covariance."
            )
        covariances = self._class_covariances(moments)
        self._axes = [self._principal_axes(c, covariance) for c, covariance in enumerate(covariances)]
        if self.solver == "svd":  # not from the axes, where rounding of a large column would swamp a small one
            covariances = (1 - self.reg_param) * covariances + self.reg_param * np.eye(self.n_features_in_)
        share = moments.weight / moments.weight.sum()
        self._densities = GaussianClasses.of(moments, share, covariances, self._labels())
        _ = self._densities.whitening  # raises for a singular covariance now, not when predicting

    def _principal_axes(self, c: int, covariance: Array) -> tuple[Array, Array]:
        """Return the variances along the principal axes, descending and regularised, and the axes."""
        scaling, rotation = principal_axes(covariance)
        rotation = fix_signs(rotation)
        if self.solver == "svd":
            scaling = (1 - self.reg_param) * scaling + self.reg_param
        if self.statistic_.rows[c]:
            self._check_rank(c, covariance, scaling)
        return scaling, rotation

    def _check_rank(self, c: int, covariance: Array, scaling: Array) -> None:
        rows, d, label = self.statistic_.rows[c], len(scaling), self.classes_[c]
        # an SVD of fewer rows than columns has as many singular values as rows, also with regularisation
        too_few = self.solver == "svd" and rows < d
        if not too_few and (scaling > self.tol).all():
            return
        sentence = f"The covariance matrix of class {label} is not full rank."
        if self.solver == "svd" and rows <= d:
            raise SingularClassError(
                f"{sentence} When using `solver='svd'` the number of samples in each class should be more than the "
                f"number of features, but class {label} has {rows} samples and {d} features. Try using "
                "`solver='eigen'` and setting the parameter `shrinkage` for regularization."
            )
        parameter = "shrinkage" if self.solver == "eigen" else "reg_param"
        raise SingularClassError(
            f"{sentence} Increase the value of `{parameter}` to reduce the collinearity: "
            f"{describe_singularity(covariance, self._labels().columns)}"
        )

    def _update_parameters(self) -> None:
        publish(self, means_=self._densities.mean)
        self.class_prior_ = self.priors_ = self._priors
        self.scalings_ = [scaling for scaling, _ in self._axes]
        self.rotations_ = [rotation for _, rotation in self._axes]
        if self.store_covariance:
            self.covariance_ = list(self._densities.covariance)

    def decision_function(self, X: Any) -> Array:
        """Return log p(x, y) without the constant −d/2 log 2π; for two classes, the difference.

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
        constant = 0.5 * self.n_features_in_ * LOG_2PI
        return self._over_blocks(X, lambda joint: joint + constant, len(classes))
