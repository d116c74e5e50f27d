"""Gaussian discriminant analysis: every class normal, with one of six covariance structures (lectures 2 and 4)."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from mercer._stored import either, floats, real, stored
from mercer._typing import Array
from mercer.base import Candidate, Half, Question, traits
from mercer.base.fitted_fields import FITTED_CLASSES, FITTED_GAUSSIANS
from mercer.discriminant_analysis._classes import GaussianClasses, IndependentClasses
from mercer.discriminant_analysis._covariance import (
    STRUCTURES,
    AnyShrinkage,
    OracleShrinkage,
    Structure,
    class_covariances,
    fixed_shrinkage,
    shared_covariance,
)
from mercer.discriminant_analysis._discriminant import DiscriminantClassifier
from mercer.optim.certificate import Solution
from mercer.stats import ByClass, ColumnMoments, ScatterMoments


def _half_of(model: GaussianDiscriminant) -> Half:
    """Return the features in which the log odds of the classes are linear."""
    if model.covariance.startswith("shared"):
        return "columns"
    return "monomials" if model.covariance == "full" else "squares"


#: shrinkages that a comparison tries, safest first
SHRINKAGES = (0.1, 0.0, 0.01, 0.5)
#: columns up to which a comparison has full covariances
COMPARED_COLUMNS = 300
#: columns up to which a comparison has full covariances where values are missing
COMPARED_COLUMNS_WITH_GAPS = 100


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a normal distribution for each class, with one covariance for all or one for each.

    Covariances are shrunk to a multiple of the identity: else a column that is constant in a class has no variance
    there, and rows in which it differs are impossible. A full covariance takes time in the cube of the columns, with
    missing values in every step of EM: there is one up to `COMPARED_COLUMNS` and `COMPARED_COLUMNS_WITH_GAPS`
    columns. Tables with more columns also have a model with one variance for each column.
    """
    if not question.is_numeric:
        return
    most = COMPARED_COLUMNS_WITH_GAPS if question.has_gaps else COMPARED_COLUMNS
    covariances = [("shared diagonal", 55, inf)] if question.columns > most else []
    for covariance, place, most_columns in [*covariances, ("shared full", 56, most), ("full", 57, most)]:
        if question.has_gaps:  # every fit takes many steps of EM
            model, search = GaussianDiscriminant(covariance, shrinkage=SHRINKAGES[0]), None
        else:
            model, search = GaussianDiscriminant(covariance), ("shrinkage", SHRINKAGES)
        yield Candidate(model, place, "numbers", "dense columns", search, most_columns=most_columns)


@traits(
    "classification",
    kind="generative",
    columns="numbers",
    integrates_missing=True,
    half=_half_of,
    candidates=_candidates,
    export="mercer.export.discriminants.discriminant",
    evidence="mercer.explanation.evidence.discriminant",
)
@stored(
    **FITTED_CLASSES | FITTED_GAUSSIANS,
    # full, diagonal or spherical, of each class or shared
    covariance_=either(real(), floats("k"), floats("d"), floats("kd"), floats("dd"), floats("kdd")),
)
class GaussianDiscriminant(DiscriminantClassifier):
    """Classes with normal densities: quadratic, linear and naive discriminant analysis in one.

    Rows may be torch tensors, also on a GPU: they are summarised and scored on their device, and predictions are
    tensors there. The fitted attributes are in main memory, and the model takes arrays as well.

    Parameters
    ----------
    covariance : {"full", "diagonal", "spherical", "shared full", "shared diagonal", "shared spherical"}, default="full"
        The shape of covariances, and whether all classes share one. "full" is quadratic
        discriminant analysis, "shared full" linear, "diagonal" Gaussian naive Bayes.
    shrinkage : None, float in [0, 1], "oas" or "ledoit-wolf", default=None
        A number δ turns a covariance Σ into (1 − δ) Σ + δ tr(Σ)/d · I. "oas" and "ledoit-wolf" estimate δ on
        standardised columns, so that a change of units does not change the classifier; they act on correlations, which
        diagonal and spherical covariances do not have. "ledoit-wolf" needs complete rows.
    priors : array-like of shape (n_classes,), default=None
        Class priors; estimated from the data if not given.
    tol : float, default=1e-8
        Where values are missing and covariances are full: the norm of the gradient of the log likelihood per unit
        weight, measured by the Fisher information of complete rows, at which EM has converged.
    max_iter : int, default=1000
        Maximum number of steps of EM.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    priors_, class_prior_ : ndarray of shape (n_classes,)
        Class priors.
    means_ : ndarray of shape (n_classes, n_features)
        Class means.
    covariance_ : ndarray
        Covariances: of shape (n_classes, n_features, n_features), variances (n_classes, n_features) where they are
        diagonal and (n_classes,) where they are spherical; without the first axis where the classes share one.
    n_iter_ : int
        Steps of EM; 1 where there is a closed form.
    statistic_ : ByClass
        The sufficient statistics from which the parameters are computed.
    certificate_ : Certificate
        Evidence that the parameters are optimal.
    plan_ : Plan
        The path that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianDiscriminant
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [-3.0, -2.0], [1.0, 1.0], [2.0, 1.0], [3.0, 2.0]])
    >>> y = ["left", "left", "left", "right", "right", "right"]
    >>> model = GaussianDiscriminant(covariance="shared full").fit(X, y)
    >>> model.predict([[-0.8, np.nan]])
    array(['left'], dtype='<U5')
    """

    _classes_may_grow: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "covariance": [StrOptions(set(STRUCTURES))],
        "shrinkage": [StrOptions({"oas", "ledoit-wolf"}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    _densities: GaussianClasses | IndependentClasses

    def __init__(
        self,
        covariance: str = "full",
        *,
        shrinkage: float | str | None = None,
        priors: Any = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.priors = priors
        self.tol = tol
        self.max_iter = max_iter

    @property
    def _structure(self) -> Structure:
        return STRUCTURES[self.covariance]

    def _shares_covariance(self) -> bool:
        return self._structure.shared

    def _shrinkage(self) -> AnyShrinkage | None:
        if isinstance(self.shrinkage, str):
            return OracleShrinkage() if self.shrinkage == "oas" else None
        return fixed_shrinkage(self.shrinkage or 0.0)

    def _by_ledoit_wolf(self) -> bool:
        return self.shrinkage == "ledoit-wolf" and self._structure.shape == "full"

    def _em_limits(self) -> tuple[float, int]:
        return self.tol, self.max_iter

    def _zero(self, labels: Array, X: Any) -> ByClass:
        if self._structure.shape == "full":
            return super()._zero(labels, X)
        return ByClass.zero(labels, (ColumnMoments.zero(len(labels), self.n_features_in_),))

    def _check_fit_possible(self) -> None:
        self._check_two_classes(", or learn them with partial_fit, which may start with one")

    def _solve_moments(self) -> Solution:
        if self._structure.shape == "full":
            return super()._solve_moments()
        return self._closed_form_solution(self.statistic_.parts[0])

    def _estimate(self, moments: Any) -> None:
        rows, labels = self.statistic_.rows, self._labels()
        if isinstance(moments, ColumnMoments):
            self._densities = IndependentClasses.of(moments, rows, self._structure, self._shrinkage(), labels)
        else:
            share = moments.weight / moments.weight.sum()
            self._densities = GaussianClasses.of(moments, share, self._covariances(moments), labels)
            _ = self._densities.whitening  # raises for a singular covariance now, not when predicting

    def _covariances(self, moments: ScatterMoments) -> Array:
        if self._structure.shared:
            return shared_covariance(moments, self._shrinkage(), self._fourth())[None]
        return class_covariances(moments, self._shrinkage(), self._fourth())

    def _update_parameters(self) -> None:
        self.class_prior_ = self.priors_ = self._priors
        self.means_ = self._densities.mean
        if isinstance(self._densities, GaussianClasses):
            covariance = self._densities.covariance
        else:
            covariance = self._densities.variance
            covariance = covariance[:, 0] if self._structure.shape == "spherical" else covariance
        self.covariance_ = covariance[0] if self._structure.shared else covariance
