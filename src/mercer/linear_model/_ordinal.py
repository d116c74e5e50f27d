"""Proportional odds: one linear score, and a threshold between each two neighbouring classes (McCullagh 1980).

P(y ≤ k | x) = σ(θₖ − xβ) with θ₀ < θ₁ < … . With u = θₖ − xβ and l = θₖ₋₁ − xβ the probability of class k is

    σ(u) − σ(l) = σ(u) σ(−l) (1 − e^−(u−l)),

so that the negative log likelihood is a sum of convex terms: for every row the logistic losses of u and of −l, as in
two logistic regressions, and −log(1 − e^−δ) of the distances δ between thresholds, which keeps them in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError, FitInterrupted
from mercer._gpu import is_tensor, to_numpy
from mercer._stored import floats, stored
from mercer._threads import blas_for
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import Candidate, Question, traits
from mercer.base.fitted_fields import FITTED_CLASSES
from mercer.base.sources import fits_sources
from mercer.base.validation import (
    STOPPED,
    Plan,
    check_finite,
    check_has_target,
    check_rows,
    check_spread,
    check_two_classes,
    check_weight,
    column_names,
    is_sparse,
    restore_on_failure,
)
from mercer.data.labels import encode_labels
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.row_space import FEW_HESSIAN_COLUMNS, RowSpace
from mercer.report.wording import format_count

#: maximum number of columns for a factored Hessian; beyond, conjugate gradients need only products with it
MOST_FACTORED = 1_000
#: maximum number of halvings of a step in a line search
MOST_HALVINGS_OF_ORDINAL_STEP = 40


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model for ordered classes, which chooses its penalty if there are enough rows for folds."""
    if question.task != "ordered":
        return
    order = list(question.order)
    # ascending numbers are the default order
    is_usual = all(isinstance(label, int | float) for label in order) and order == sorted(order)
    safest_first = tuple(sorted(question.strengths, key=lambda strength: abs(math.log(strength))))
    search = ("C", safest_first) if question.has_enough_rows else None
    yield Candidate(OrdinalRegression(order=None if is_usual else order), 30, search=search)


@traits(
    "classification",
    "ordered",
    candidates=_candidates,
    export="mercer.export.linear.ordinal",
    evidence="mercer.explanation.evidence.ordinal",
)
@stored(**FITTED_CLASSES, coef_=floats("d"), thresholds_=floats("k-1"))
class OrdinalRegression(ClassifierMixin, BaseEstimator):
    """Ordered classes by proportional odds (cumulative logits), with an L2 penalty and a certificate.

    P(y ≤ k | x) = σ(θₖ − xβ): a unit more of a column multiplies the odds of a higher class, wherever the line between
    lower and higher is drawn, by exp(coefficient). Without a penalty this is `polr` of R and `OrderedModel` of
    statsmodels with distr="logit". For two classes it is logistic regression.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty: Σ w log loss + ½ ‖β‖²/C is minimised. np.inf means no penalty.
    order : sequence of labels, default=None
        Labels from lowest to highest; by default numbers ascend and text is in alphabetical order.
    tol : float, default=1e-8
        Distance to the optimum, in standard errors, at which the fit has converged.
    max_iter : int, default=100
        Maximum number of Newton steps.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels from lowest to highest.
    coef_ : ndarray of shape (n_features,)
        β; higher scores xβ mean higher classes.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds θ, ascending.
    n_iter_ : int
        Newton steps.
    certificate_ : Certificate
        Evidence that this is the optimum.
    plan_ : Plan
        Path that the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if they had any.

    See Also
    --------
    LogisticRegression : Classes without an order.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OrdinalRegression
    >>> hours, grade = np.arange(8.0)[:, None], ["low", "low", "mid", "low", "mid", "high", "mid", "high"]
    >>> model = OrdinalRegression(order=["low", "mid", "high"]).fit(hours, grade)
    >>> model.predict([[0.0], [4.0], [9.0]])
    array(['low', 'mid', 'high'], dtype='<U4')
    >>> model.predict_proba([[4.0]]).round(2)
    array([[0.19, 0.65, 0.17]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0.0, None, closed="right")],
        "order": ["array-like", None],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    classes_: Array
    coef_: Array
    thresholds_: Array

    def __init__(self, *, C: float = 1.0, order: Any = None, tol: float = 1e-8, max_iter: int = 100) -> None:
        self.C = C
        self.order = order
        self.tol = tol
        self.max_iter = max_iter

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            self._validate_params()
            check_has_target(self, y, "label")
            X, y = check_rows(self, X, y, reset=True, dtype=np.float64)
            self.classes_, codes = self._in_order(y)
            check_two_classes(self.classes_)
            check_finite(self, X)
            weight = check_weight(sample_weight, X)
            weight = np.ones(len(codes)) if weight is None else weight
            check_spread(_sums_of_squares(X, weight), column_names(self))
            problem = ProportionalOdds(X, codes, weight, 1 / self.C)
            self._minimise(problem)
        if not self.certificate_.holds:
            warn(
                f"OrdinalRegression did not converge in {format_count(self.n_iter_, 'step')}: {self.certificate_}. "
                "Increase max_iter, or choose a smaller C, which makes the penalty stronger.",
                ConvergenceWarning,
            )
        return self

    def _in_order(self, y: Any) -> tuple[Array, Array]:
        """Return the labels from lowest to highest, and for every row the position of its label."""
        labels, codes = encode_labels(y)
        if self.order is None:
            return labels, codes
        known = labels.tolist()
        order = [label for label in np.asarray(self.order).tolist() if label in known]
        if sorted(map(str, order)) != sorted(map(str, known)):
            absent = next((label for label in known if label not in order), None)
            problem = f"lacks the label {absent!r}" if absent is not None else "names a label twice"
            raise DataError(f"order {problem}. Name every label of y once, from lowest to highest.")
        ranks = np.array([order.index(label) for label in known], dtype=np.intp)
        return np.asarray(order, dtype=labels.dtype), ranks[codes]

    def _minimise(self, problem: ProportionalOdds) -> None:
        """Minimise by damped Newton steps; after an interruption the best point is stored."""
        self.plan_ = Plan(problem.description, "float64", 1, 1)
        point, steps, distance = problem.start(), 0, np.inf
        try:
            while True:
                step, distance = problem.newton_step(point)
                if distance <= self.tol or steps == self.max_iter:
                    break
                following = _search_line(problem, point, step)
                if following is None:  # no further decrease in float64
                    break
                point, steps = following, steps + 1
        except KeyboardInterrupt:
            self._store(problem, point, steps, np.inf)
            raise FitInterrupted(STOPPED, Solution(self.coef_, self.certificate_, interrupted=True)) from None
        self._store(problem, point, steps, problem.distance(point, distance))

    def _store(self, problem: ProportionalOdds, point: OrdinalCoefficients, steps: int, distance: float) -> None:
        self.coef_, self.thresholds_ = problem.lift(point)
        self.n_iter_ = max(1, steps)
        # a step below the square root of the rounding error of the objective cannot be verified
        tolerance = max(self.tol, 1e-6)
        self.certificate_ = Certificate(
            "gradient norm",
            float(distance),
            tolerance,
            f"the likelihood is concave, and the coefficients are within {distance:.1g} standard errors of its maximum",
        )

    @property
    def middle(self) -> int:
        """Position of the middle threshold, between the lower and the upper half of the classes."""
        check_is_fitted(self)
        return (len(self.thresholds_) - 1) // 2

    def predict(self, X: Any) -> Array:
        """Return the most probable class of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        best = self.predict_log_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Array:
        """Return p(y|x) for every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict_log_proba(self, X: Any) -> Array:
        """Return log p(y|x) for every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        X = check_rows(self, to_numpy(X) if is_tensor(X) else X, reset=False, dtype=np.float64)
        score = np.asarray(X @ self.coef_)
        if not np.isfinite(score).all():
            check_finite(self, X)
        below = self.thresholds_ - score[:, None]
        log_proba = np.zeros((len(score), len(self.classes_)))
        log_proba[:, :-1] += log_expit(below)
        log_proba[:, 1:] += log_expit(-below)
        log_proba[:, 1:-1] += np.log(-np.expm1(-np.diff(self.thresholds_)))
        return log_proba

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # scikit-learn's checks have classes without an order
        tags.classifier_tags.poor_score = True
        return tags


class OrdinalCoefficients(NamedTuple):
    """Coefficients and thresholds."""

    coef: Array
    thresholds: Array

    def move(self, step: Array, length: float) -> OrdinalCoefficients:
        p = len(self.coef)
        return OrdinalCoefficients(self.coef + length * step[:p], self.thresholds + length * step[p:])


def _sums_of_squares(X: Any, weight: Array) -> Array:
    """Return Σ w x² of each column, which bounds the curvature; not finite if it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray((X.multiply(X) if is_sparse(X) else np.square(X)).T @ weight).ravel()


class ProportionalOdds:
    """Σ weight · −log p(y|x) + ½ l2 ‖β‖², with its gradient and products with its Hessian.

    If there are fewer dense rows than columns, a penalised β is a combination of the rows, and points have its
    coefficients in an orthonormal basis of their span.
    """

    def __init__(self, X: Any, codes: Array, weight: Array, l2: float) -> None:
        n, p = X.shape
        self._whole, self._space = X, None
        if l2 > 0 and n < p > FEW_HESSIAN_COLUMNS and not is_sparse(X):
            self._space = RowSpace.of(X, np.ones(p))
            X = self._space.rows
        self.X, self.codes, self.weight, self.l2 = X, codes, weight, l2
        self.sizes = np.bincount(codes, weights=weight)
        self.top = len(self.sizes) - 1
        self.factored = X.shape[1] <= MOST_FACTORED
        solver = "with a factored Hessian" if self.factored else "by conjugate gradients"
        self.description = f"Newton's method{'' if self._space is None else ' in the space of the rows'}, {solver}"

    def lift(self, point: OrdinalCoefficients) -> OrdinalCoefficients:
        """Return the point with a coefficient for each column."""
        return point if self._space is None else point._replace(coef=self._space.lift(point.coef))

    def distance(self, point: OrdinalCoefficients, distance: float) -> float:
        """Return the distance to the optimum in all columns, given that in the span of the rows.

        Outside the span only the penalty has a curvature.
        """
        if self._space is None:
            return distance
        slope_up, slope_low = self._slopes(*self._edges(point))
        gradient = np.asarray(self._whole.T @ (slope_up - slope_low)) + self.l2 * self.lift(point).coef
        return math.hypot(distance, math.sqrt(self._space.outside(gradient) / self.l2))

    def start(self) -> OrdinalCoefficients:
        """Return coefficients of zero and the thresholds of the class frequencies; empty classes get a small one."""
        shares = np.maximum(self.sizes, 1e-3 * self.sizes[self.sizes > 0].min())
        below = np.cumsum(shares)[:-1] / shares.sum()
        return OrdinalCoefficients(np.zeros(self.X.shape[1]), np.log(below) - np.log1p(-below))

    def value(self, point: OrdinalCoefficients) -> float:
        """Return the objective; infinite if thresholds are not in order."""
        gaps = np.diff(point.thresholds)
        if (gaps <= 0).any():
            return np.inf
        upper, lower = self._edges(point)
        rows = log_expit(upper) + log_expit(-lower)
        between = self.sizes[1:-1] @ np.log(-np.expm1(-gaps))
        return float(-self.weight @ rows - between + 0.5 * self.l2 * (point.coef @ point.coef))

    def newton_step(self, point: OrdinalCoefficients) -> tuple[Array, float]:
        """Return the Newton step, and its length in standard errors √(gᵀH⁻¹g)."""
        upper, lower = self._edges(point)
        # slopes and curvatures of the two logistic losses of a row
        slope_up, slope_low = self._slopes(upper, lower)
        bend_up, bend_low = slope_up * expit(upper), slope_low * expit(-lower)
        # slope and curvature of −log(1 − e^−δ): 1/(e^δ − 1) and e^δ/(e^δ − 1)², without e^δ, which may overflow
        gaps = np.diff(point.thresholds)
        apart = -np.expm1(-gaps)
        pull = self.sizes[1:-1] * np.exp(-gaps) / apart
        stiffness = pull / apart

        gradient = np.concatenate(
            [
                np.asarray(self.X.T @ (slope_up - slope_low)) + self.l2 * point.coef,
                self._by_threshold(-slope_up, slope_low) + np.diff(np.concatenate([[0.0], pull, [0.0]])),
            ]
        )
        product = self._hessian_product(bend_up, bend_low, stiffness)
        hessian = self._hessian(bend_up, bend_low, stiffness) if self.factored else None
        step = _solve(hessian, product, -gradient)
        return step, math.sqrt(max(0.0, -float(gradient @ step)))

    def _edges(self, point: OrdinalCoefficients) -> tuple[Array, Array]:
        """Return θₖ − xβ above and below the class of every row: ∞ above the highest and −∞ below the lowest."""
        edges = np.concatenate([[-np.inf], point.thresholds, [np.inf]])
        score = np.asarray(self.X @ point.coef)
        return edges[self.codes + 1] - score, edges[self.codes] - score

    def _slopes(self, upper: Array, lower: Array) -> tuple[Array, Array]:
        """Return the slopes of the logistic losses of the edges above and below every row."""
        return self.weight * expit(-upper), self.weight * expit(lower)

    def _by_threshold(self, above: Array, below: Array) -> Array:
        """Return sums for each threshold over the rows whose class ends there and those whose class begins there."""
        ends = np.bincount(self.codes, weights=above, minlength=self.top + 1)[:-1]
        begins = np.bincount(self.codes, weights=below, minlength=self.top + 1)[1:]
        return np.asarray(ends + begins)

    def _mixed_hessian(self, bend_up: Array, bend_low: Array) -> Array:
        """Return ∂²/∂β∂θ, a column for each threshold."""
        crossed = np.empty((self.X.shape[1], self.top))
        for j in range(self.top):
            bend = np.where(self.codes == j, bend_up, 0.0) + np.where(self.codes == j + 1, bend_low, 0.0)
            crossed[:, j] = -np.asarray(self.X.T @ bend)
        return crossed

    def _thresholds_hessian(self, bend_up: Array, bend_low: Array, stiffness: Array) -> Array:
        hessian = np.diag(self._by_threshold(bend_up, bend_low))
        for k, stiff in enumerate(stiffness):
            hessian[k : k + 2, k : k + 2] += stiff * np.array([[1.0, -1.0], [-1.0, 1.0]])
        return hessian

    def _hessian(self, bend_up: Array, bend_low: Array, stiffness: Array) -> Array:
        bend = bend_up + bend_low
        weighted = self.X.multiply(bend[:, None]).tocsr() if is_sparse(self.X) else self.X * bend[:, None]
        curved = self.X.T @ weighted
        curved = curved.toarray() if is_sparse(curved) else np.asarray(curved)
        crossed = self._mixed_hessian(bend_up, bend_low)
        own = curved + self.l2 * np.eye(len(curved))
        return np.block([[own, crossed], [crossed.T, self._thresholds_hessian(bend_up, bend_low, stiffness)]])

    def _hessian_product(self, bend_up: Array, bend_low: Array, stiffness: Array) -> Callable[[Array], Array]:
        p, bend = self.X.shape[1], bend_up + bend_low
        crossed = self._mixed_hessian(bend_up, bend_low)
        of_thresholds = self._thresholds_hessian(bend_up, bend_low, stiffness)

        def product(v: Array) -> Array:
            first = np.asarray(self.X.T @ (bend * np.asarray(self.X @ v[:p]))) + self.l2 * v[:p] + crossed @ v[p:]
            return np.concatenate([first, crossed.T @ v[:p] + of_thresholds @ v[p:]])

        return product


def _solve(hessian: Array | None, product: Callable[[Array], Array], right: Array) -> Array:
    """Return H⁻¹ right, by a factor, by least squares if columns depend on each other, or by conjugate gradients."""
    if hessian is not None:
        from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

        with blas_for(len(hessian)):
            try:
                return np.asarray(cho_solve(cho_factor(hessian), right))
            except LinAlgError:
                return np.asarray(lstsq(hessian, right)[0])
    from scipy.sparse.linalg import LinearOperator, cg

    operator = LinearOperator((len(right), len(right)), matvec=product)
    return np.asarray(cg(operator, right, rtol=1e-6, maxiter=500)[0])


def _search_line(problem: ProportionalOdds, point: OrdinalCoefficients, step: Array) -> OrdinalCoefficients | None:
    """Return the point after the step, halved until the objective decreases; None if no step lowers it."""
    value, length = problem.value(point), 1.0
    for _ in range(MOST_HALVINGS_OF_ORDINAL_STEP):
        following = point.move(step, length)
        if problem.value(following) < value:
            return following
        length /= 2
    return None
