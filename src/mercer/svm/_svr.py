"""Support vector regression: a tube of half width ε around the data, as flat as they allow (lecture 5)."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval

from mercer._errors import DataError
from mercer._stored import matrix, stored
from mercer._typing import Array
from mercer.base import Candidate, Question, kernel_choice, traits
from mercer.base.fitted_fields import FITTED_MACHINE
from mercer.base.sources import fits_sources
from mercer.base.validation import check_is_fitted, restore_on_failure, validate_params
from mercer.kernels.inputs import count
from mercer.svm._base import COMPARISON, MACHINE_CONSTRAINTS, SupportVectorMachine, to_dense
from mercer.svm._box_problem import BoxProblem, make_feasible
from mercer.svm._training import validate_row_weights

#: values of C that a comparison tries, safest first
SVR_CANDIDATE_C = (1.0, 10.0, 100.0)


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model of a target in standard units: the tube is as wide as its ε says."""
    if not question.has_texts:
        search = ("C", SVR_CANDIDATE_C) if kernel_choice.searches_price(question) else None
        yield Candidate(
            SVR(),
            71,
            "array",
            search=search,
            scale=question.is_sparse,
            standardize_target=True,
            most_rows=kernel_choice.MOST_ROWS_OF_PARTS,
        )


@traits(
    "regression",
    kind="kernel",
    columns="points",
    candidates=_candidates,
    export="mercer.export.kernels.svr",
    cost="mercer.cost.work.support_vectors",
    objective="mercer.kernel_ridge.objectives.raise_for_second_kernel",
)
@stored(
    **FITTED_MACHINE | {"_dual_coef_": matrix("1n", kinds="f"), "dual_coef_": matrix("1n", kinds="f")},
    _comparison=COMPARISON,
)
class SVR(RegressorMixin, SupportVectorMachine):
    """Support vector regression: scikit-learn's, with a duality gap as a certificate.

    It minimises `½‖w‖² + C Σ max(0, |t − ⟨w, ψ(x)⟩ − b| − ε)` through its dual: rows inside the tube have no influence.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "poly", "rbf", "sigmoid", "laplacian", …), a kernel such as `RBF(gamma=2) + Linear()`, a
        function of two sets of rows (or of two rows), or "precomputed": X is then the kernel matrix.
    degree : int, default=3
        Degree of "poly".
    gamma : float or {"scale", "auto", "median"}, default="scale"
        Of a kernel given by its name: 1/(d · variance of X) for "scale", 1/d for "auto", and 1/2m² with the median
        distance m of a sample of the rows for "median".
    coef0 : float, default=0
        Constant of "poly" and "sigmoid".
    tol : float, default=1e-3
        Largest violation of the optimality conditions at the end of the fit.
    C : float, default=1
        Weight of residuals beyond ε, above 0.
    epsilon : float, default=0.1
        Half width of the tube, 0 or more.
    shrinking : bool, default=True
        Accepted without effect: rows that stay at a bound cost next to nothing here.
    cache_size : float, default=200
        Megabytes of kernel rows to keep.
    verbose : bool, default=False
        Whether to show progress, with the duality gap.
    max_iter : int, default=-1
        Steps after which to give up; −1 for no limit.
    scaling : {"sum", "mean"}, default="sum"
        Whether C counts the sum of the losses or, as in lecture 1, their mean: C/n for each of n rows.
    fit_intercept : bool, default=True
        Whether there is an intercept b; without one there is no constraint Σ(a⁺ − a⁻) = 0.
    time_limit : float or None, default=None
        Seconds after which to stop with the best coefficients so far.
    warm_start : bool, default=False
        Whether a fit begins at the coefficients of the last one on these rows: for a path of C.
    callback : callable or None, default=None
        Called with the progress of the solver: iterations, violation, gap, seconds. If it returns True, the fit ends.
    approximate : {"nystroem", "fourier", "auto"}, Nystroem, RandomFourierFeatures or None, default=None
        Features that approximate the kernel, for many rows. A name means 2√n features; a transformer sets their number,
        and gets the kernel of this model. "auto" is exact where that takes only seconds. The problem of these features
        is solved to a duality gap of `tol`/100 of its objective, and new rows are not compared with support vectors.
        `approximation_` reports the loss of accuracy.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Row numbers of the support vectors.
    support_vectors_ : ndarray, sparse matrix or list of shape (n_SV, n_features)
        Support vectors; empty if the kernel is a matrix or a function of sets.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
        a⁺ − a⁻ of the support vectors.
    a_plus_ : ndarray of shape (n_SV,)
        a⁺, above 0 for rows above the tube or on its upper edge: t − y ≥ ε.
    a_minus_ : ndarray of shape (n_SV,)
        a⁻, above 0 for rows below the tube or on its lower edge: y − t ≥ ε.
    coef_ : ndarray of shape (1, n_features)
        Weights of the columns, for a linear kernel.
    intercept_ : ndarray of shape (1,)
        b.
    fit_status_ : int
        0 if the tolerance was reached.
    n_iter_ : int
        Steps of the solver.
    shape_fit_ : tuple
        Shape of X in the fit.
    certificate_ : Certificate
        Evidence of optimality: the largest violation, with primal, dual and gap.
    diagnosis_ : PositiveDefinite
        Whether the kernel is positive definite, and the evidence.
    approximation_ : Approximation
        Features that approximate the kernel, and their distance from it, if `approximate` is not None.
    plan_ : Plan
        Path that the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where they had any.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = SVR(C=10, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.06), model.certificate_.holds
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MACHINE_CONSTRAINTS,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: Any = False,
        max_iter: int = -1,
        scaling: str = "sum",
        fit_intercept: bool = True,
        time_limit: float | None = None,
        warm_start: bool = False,
        callback: Any = None,
        approximate: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.scaling = scaling
        self.fit_intercept = fit_intercept
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.callback = callback
        self.approximate = approximate

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model: find the flattest function that keeps the rows in its tube, as far as C demands.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of shape (n_samples, n_features)
            Training rows; the kernel matrix if it is precomputed.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for the rows; rows without one above 0 are left out.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            validate_params(self)
            X, y = self._validate(X, y, numeric=True)
            target = self._validate_target(y)
            weight = validate_row_weights(sample_weight, X)
            kept = np.flatnonzero(weight > 0)
            bounds = self._compute_bounds(weight[kept])
            training = self._prepare(X, kept)
            # with an intercept the optimum does not depend on the origin of the targets, but the rounding does
            middle = float(np.median(target[kept])) if self.fit_intercept else 0.0
            problem = BoxProblem(
                training.rows(0, 0),
                target[kept] - middle,
                -bounds,
                bounds,
                epsilon=float(self.epsilon),
                intercept=bool(self.fit_intercept),
            )
            start = self._warm_start(count(X), 1)
            machines = self._solve([(problem, None if start is None else make_feasible(start[kept, 0], problem))])
            (solution,) = machines.solutions
            found = np.flatnonzero(solution.coef.beta)
            self._n_support = np.array([len(found)], dtype=np.int32)
            self._store_support(X, training, kept, found, solution.coef.beta[None, found], machines)
            self.dual_coef_ = self._dual_coef_
            self.intercept_ = self._intercept_ = self._shift_to_data(machines.intercepts) + middle
            (self.n_iter_,) = machines.iterations
            self._store_approximation(X, kept, target[kept], weight[kept], machines)
            self._finish(machines)
        return self

    def _validate_target(self, y: Any) -> Array:
        try:
            return np.ascontiguousarray(y, dtype=float)
        except (TypeError, ValueError) as error:
            word = next((word for word in np.asarray(y).tolist() if not isinstance(word, Real)), y)
            raise DataError(
                f"{error}. y holds {word!r}, but SVR predicts numbers; convert y, or use a classifier such as SVC."
            ) from None

    def predict(self, X: Any) -> Array:
        """Predict ⟨w, ψ(x)⟩ + b for every row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of shape (n_samples, n_features)
            Rows to predict for; their kernel with the rows of the fit if it is precomputed.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted targets.
        """
        check_is_fitted(self)
        return self._scores(X, self._columns())[:, 0]

    @property
    def a_plus_(self) -> Array:
        """a⁺ of the support vectors, above 0 for rows with t − y ≥ ε."""
        return np.asarray(np.maximum(to_dense(self.dual_coef_)[0], 0.0))

    @property
    def a_minus_(self) -> Array:
        """a⁻ of the support vectors, above 0 for rows with y − t ≥ ε."""
        return np.asarray(np.maximum(-to_dense(self.dual_coef_)[0], 0.0))
