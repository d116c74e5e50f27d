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


#: how far covariances are drawn to a multiple of the identity in a comparison, safest first
SHRINKAGES = (0.1, 0.0, 0.01, 0.5)
#: columns up to which a comparison has full covariances
MOST_COLUMNS, MOST_COLUMNS_WITH_GAPS = 300, 100


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a normal distribution for each class, with one covariance for all or one for each.

    Covariances are drawn to a multiple of the identity: else a column that is constant in a class has no variance
    there, and a row in which it is not is impossible. A full covariance takes time in the cube of the columns, and with
    missing values in every one of many steps: up to `MOST_COLUMNS` and `MOST_COLUMNS_WITH_GAPS` columns. Beyond, one
    variance for each column stands in for it.
    """
    if not question.is_numeric:
        return
    most = MOST_COLUMNS_WITH_GAPS if question.has_gaps else MOST_COLUMNS
    covariances = [("shared diagonal", 55, inf)] if question.columns > most else []
    for covariance, place, most_columns in [*covariances, ("shared full", 56, most), ("full", 57, most)]:
        if question.has_gaps:  # every fit is one of many steps
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
    tensors there. The model itself stays in main memory, and takes arrays as well.

    Parameters
    ----------
    covariance : {"full", "diagonal", "spherical", "shared full", "shared diagonal", "shared spherical"}, default="full"
        What the covariance of a class may look like, and whether all classes have the same one. "full" is quadratic
        discriminant analysis, "shared full" linear, "diagonal" Gaussian naive Bayes.
    shrinkage : None, float in [0, 1], "oas" or "ledoit-wolf", default=None
        A number δ turns a covariance Σ into (1 − δ) Σ + δ tr(Σ)/d · I. "oas" and "ledoit-wolf" find δ themselves, on
        standardised columns, so that a change of units does not change the classifier; they act on correlations, of
        which diagonal and spherical covariances have none. "ledoit-wolf" needs complete rows.
    priors : array-like of shape (n_classes,), default=None
        Class priors; estimated from the data if not given.
    tol : float, default=1e-8
        Where values are missing and covariances are full: the norm of the gradient of the log likelihood per unit
        weight, measured by the Fisher information of complete rows, at which EM has converged.
    max_iter : int, default=1000
        Steps of EM after which to give up.

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
        The sufficient statistics the model was computed from.
    certificate_ : Certificate
        How we know that this is the optimum.
    plan_ : Plan
        Which path the fit took.

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

    def _refuse_to_fit(self) -> None:
        self._refuse_one_class(", or learn them with partial_fit, which may start with one")

    def _solved(self) -> tuple[Solution, Any]:
        if self._structure.shape == "full":
            return super()._solved()
        return self._in_closed_form(self.statistic_.parts[0]), None

    def _estimate(self, moments: Any) -> None:
        rows, words = self.statistic_.rows, self._words()
        if isinstance(moments, ColumnMoments):
            self._densities = IndependentClasses.of(moments, rows, self._structure, self._shrinkage(), words)
        else:
            share = moments.weight / moments.weight.sum()
            self._densities = GaussianClasses.of(moments, share, self._covariances(moments), words)
            _ = self._densities.whitening  # a singular covariance is refused now, not when predicting

    def _covariances(self, moments: ScatterMoments) -> Array:
        if self._structure.shared:
            return shared_covariance(moments, self._shrinkage(), self._fourth())[None]
        return class_covariances(moments, self._shrinkage(), self._fourth())

    def _settle(self) -> None:
        self.class_prior_ = self.priors_ = self._priors
        self.means_ = self._densities.mean
        self.covariance_ = self._published_covariance()

    def _published_covariance(self) -> Array:
        if isinstance(self._densities, GaussianClasses):
            covariance = self._densities.covariance
        else:
            covariance = self._densities.variance
            covariance = covariance[:, 0] if self._structure.shape == "spherical" else covariance
        return covariance[0] if self._structure.shared else covariance
