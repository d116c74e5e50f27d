"""Support vector classification: the widest margin between two classes, one against one for more (lecture 1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Hidden, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError
from mercer._stored import floats, optional, part_of, stored
from mercer._typing import Array
from mercer.base import DECIDES_ONLY, Candidate, Question, kernel_choice, traits
from mercer.base.fitted_fields import FITTED_MACHINE
from mercer.base.kernel_comparison import ByKernel
from mercer.base.sources import fits_sources
from mercer.base.validation import old_state_on_failure, refuse_one_class, warn_of_many_classes
from mercer.data.labels import encode_labels
from mercer.kernels.inputs import count
from mercer.svm._approximate import ByFeatures
from mercer.svm._base import CONSTRAINTS, Machines, SupportVectorMachine, dense
from mercer.svm._box_problem import BoxProblem, feasible
from mercer.svm._probabilities import Calibration, WithProbabilities
from mercer.svm._training import MachineTraining, prices, refuse_lost_classes, row_weights
from mercer.svm.one_against_one import dual_layout, one_against_rest, pair_columns, pairs, rows_of_pairs, winners

#: prices of an error that a comparison tries, safest first
PRICES = (1.0, 10.0, 100.0)


def _candidates(question: Question) -> Iterator[Candidate]:
    if not question.has_texts:
        search = ("C", PRICES) if kernel_choice.searches_price(question) else None
        yield Candidate(SVC(), 70, "array", search=search, scale=question.is_sparse, most_rows=kernel_choice.PART)


@traits(
    "classification",
    kind="kernel",
    columns="points",
    no_counterpart=DECIDES_ONLY,
    candidates=_candidates,
    export="mercer.export.kernels.svc",
    cost="mercer.cost.work.support_vectors",
    objective="mercer.kernel_ridge.objectives.refuse_second_kernel",
)
@stored(**FITTED_MACHINE, class_weight_=floats("k"), _calibration=optional(part_of(Calibration)))
class SVC(ClassifierMixin, WithProbabilities, SupportVectorMachine):
    """Support vector classification: scikit-learn's, with a duality gap to show for it.

    It minimises ½‖w‖² + C Σ max(0, 1 − y (⟨w, ψ(x)⟩ + b)) through its dual. With several classes, each pair has a
    machine of its own, and they vote.

    Parameters
    ----------
    C : float, default=1
        Price of a violated margin, above 0.
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
    shrinking : bool, default=True
        Accepted, and of no effect: rows that stay at a bound cost next to nothing here.
    probability : bool, default="deprecated"
        Deprecated as in scikit-learn, and without effect: there are always probabilities.
    tol : float, default=1e-3
        The largest violation of the optimality conditions that is left.
    cache_size : float, default=200
        Megabytes of kernel rows to keep.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for the classes; "balanced" gives all classes the same total.
    verbose : bool, default=False
        Whether to show progress, with the duality gap.
    max_iter : int, default=-1
        Steps after which to give up; −1 for no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` gives a score for each class or one for each pair.
    break_ties : bool, default=False
        Whether `predict` decides by their scores between classes that have equally many votes.
    random_state : int, RandomState or None, default=None
        Accepted and not needed: nothing is drawn at random.
    scaling : {"sum", "mean"}, default="sum"
        Whether C counts the sum of the losses or, as in lecture 1, their mean: C/n for each of n rows.
    fit_intercept : bool, default=True
        Whether there is an intercept b; without one there is no constraint Σ αy = 0.
    time_limit : float or None, default=None
        Seconds after which to stop with the best coefficients so far.
    warm_start : bool, default=False
        Whether a fit begins at the coefficients of the last one on these rows: for a path of C.
    callback : callable or None, default=None
        Called with the progress of the solver: iterations, violation, gap, seconds. If it returns True, the fit ends.
    approximate : {"nystroem", "fourier", "auto"}, Nystroem, RandomFourierFeatures or None, default=None
        Features that stand in for the kernel, for many rows. A name means 2√n features; a transformer says how many,
        and takes the kernel of this model. "auto" is exact where that takes only seconds. The problem of these features
        is solved to a duality gap of `tol`/100 of its objective, and new rows are not compared with support vectors.
        `approximation_` says how much accuracy is lost.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    support_ : ndarray of shape (n_SV,)
        Row numbers of the support vectors, class after class.
    support_vectors_ : ndarray, sparse matrix or list of shape (n_SV, n_features)
        Support vectors; empty if the kernel is a matrix or a function of sets.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_SV)
        y α of the support vectors, in libsvm's layout.
    coef_ : ndarray of shape (n_pairs, n_features)
        Weights of the columns, for a linear kernel.
    intercept_ : ndarray of shape (n_pairs,)
        b of each machine.
    class_weight_ : ndarray of shape (n_classes,)
        Factors of C.
    fit_status_ : int
        0 if the tolerance was reached.
    n_iter_ : ndarray of shape (n_pairs,)
        Steps of each machine.
    shape_fit_ : tuple
        Shape of X in the fit.
    certificate_ : Certificate
        How we know that this is the optimum: the largest violation, with primal, dual and gap, of the worst pair.
    certificates_ : tuple of Certificate
        Those of all pairs.
    diagnosis_ : PositiveDefinite
        Whether the kernel is positive definite, and how we know.
    approximation_ : Approximation
        Which features stood for the kernel, and how far from it they are, if `approximate` asked for them.
    plan_ : Plan
        Which path the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where they had any.

    Examples
    --------
    >>> from mercer import SVC
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> model = SVC(C=100).fit(X, y)
    >>> model.predict(X), model.certificate_.holds
    (array([0, 1, 1, 0]), True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: Any = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        scaling: str = "sum",
        fit_intercept: bool = True,
        time_limit: float | None = None,
        warm_start: bool = False,
        callback: Any = None,
        approximate: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.scaling = scaling
        self.fit_intercept = fit_intercept
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.callback = callback
        self.approximate = approximate

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the widest margins.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of shape (n_samples, n_features)
            Training rows; the kernel matrix if it is precomputed.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for the rows; rows that have none above 0 take no part.

        Returns
        -------
        self : object
            The fitted model.
        """
        with old_state_on_failure(self):
            self._validate_params()
            self._warn_of_probability()
            X, y = self._checked(X, y, numeric=False)
            self.classes_, codes = encode_labels(y)
            refuse_one_class(self.classes_)
            warn_of_many_classes(self.classes_, len(codes))
            self.class_weight_ = prices(self.class_weight, self.classes_, y)
            weight = row_weights(sample_weight, X)
            kept = self._kept(codes, weight)
            codes, weight = codes[kept], weight[kept]
            refuse_lost_classes(self.classes_, codes)
            bounds = self._bounds(weight, self.class_weight_[codes])
            n_pairs = len(pairs(len(self.classes_)))
            groups = [np.flatnonzero(codes == k) for k in range(len(self.classes_))] if n_pairs > 1 else [codes]
            training = self._training(X, kept, groups)
            start = self._start(count(X), n_pairs)
            machines = self._solved(self._problems(training, codes, bounds, None if start is None else start[kept]))
            found = self._store(X, training, codes, kept, machines)
            self._calibration = self._calibrated(training, machines, codes, found, weight, bounds)
            self._describe(X, kept, codes, weight, machines)
            self._finish(machines)
        return self

    def _kept(self, codes: Array, weight: Array) -> Array:
        """Rows that take part; with several classes one class after the other, so that pairs are two runs of rows."""
        kept = np.flatnonzero(weight > 0)
        return kept if len(self.classes_) == 2 else kept[np.argsort(codes[kept], kind="stable")]

    # Solving.

    def _problems(
        self, training: MachineTraining, codes: Array, bounds: Array, starts: Array | None
    ) -> Iterator[tuple[BoxProblem, Array | None]]:
        """The machine of each pair of classes: its first class has target 1, as in libsvm."""
        for p, ((i, j), numbers) in enumerate(zip(pairs(len(self.classes_)), self._numbers(codes), strict=True)):
            first, bound = codes[numbers] == i, bounds[numbers]
            problem = BoxProblem(
                training.rows(i, j),
                np.where(first, 1.0, -1.0),
                np.where(first, 0.0, -bound),
                np.where(first, bound, 0.0),
                intercept=bool(self.fit_intercept),
            )
            yield problem, None if starts is None else feasible(starts[numbers, p], problem)

    def _numbers(self, codes: Array) -> Iterable[Array]:
        """For every pair the numbers of its rows."""
        n_classes = len(self.classes_)
        return [np.arange(len(codes))] if n_classes == 2 else rows_of_pairs(codes, n_classes)

    # Storing.

    def _store(self, X: Any, training: MachineTraining, codes: Array, kept: Array, machines: Machines) -> Array:
        """Set what scikit-learn sets; which of the rows kept are support vectors, class after class."""
        n_classes = len(self.classes_)
        betas = [solution.value.beta for solution in machines.solutions]
        dual = dual_layout(betas, self._numbers(codes), codes, n_classes)
        found = np.flatnonzero(dual.any(axis=0))
        found = found[np.argsort(codes[found], kind="stable")]
        self._n_support = np.bincount(codes[found], minlength=n_classes).astype(np.int32)
        self._store_support(X, training, kept, found, np.ascontiguousarray(dual[:, found]), machines)
        self._intercept_ = self._moved(machines.intercepts)
        # of two classes scikit-learn has the second one positive, where libsvm has the first
        sign = -1.0 if n_classes == 2 else 1.0
        self.intercept_, self.dual_coef_ = sign * self._intercept_ + 0.0, self._dual_coef_ * sign
        self.n_iter_ = np.array(machines.iterations, dtype=np.int32)
        self.certificates_ = tuple(solution.certificate for solution in machines.solutions)
        return found

    def _calibrated(
        self, training: MachineTraining, machines: Machines, codes: Array, found: Array, weight: Array, bounds: Array
    ) -> Calibration:
        """What probabilities will need; where only the fit has the kernel matrix, their scale is fitted now."""
        calibration = Calibration.of(
            (solution.value.scores for solution in machines.solutions),
            self._numbers(codes),
            codes,
            weight,
            found,
            bounds=bounds,
            diagonal=training.diagonal,
            columns=self._columns(),
            intercept=machines.intercepts,
            fit_intercept=bool(self.fit_intercept),
        )
        if (K := training.matrix) is not None and not isinstance(self._comparison, ByKernel):
            calibration.scale(lambda a, b: K[np.ix_(found[a], found[b])])
        return calibration

    # Predicting.

    def decision_function(self, X: Any) -> Array:
        """Scores: above 0 for the second of two classes; of more one for each class, or for each pair.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of shape (n_samples, n_features)
            Rows to score; their kernel with the rows of the fit if it is precomputed.

        Returns
        -------
        scores : ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            For a pair, above 0 for its first class; for a class, its votes, and scores to break ties.
        """
        decisions = self._decisions(X)
        if len(self.classes_) == 2:
            return -decisions[:, 0]
        return one_against_rest(decisions, len(self.classes_)) if self.decision_function_shape == "ovr" else decisions

    def predict(self, X: Any) -> Array:
        """The class with most votes.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of shape (n_samples, n_features)
            Rows to classify; their kernel with the rows of the fit if it is precomputed.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        check_is_fitted(self)
        self._refuse_ties_of_pairs()
        return np.asarray(self.classes_[self._winner(self._decisions(X))])

    def _decisions(self, X: Any) -> Array:
        """Decisions of all pairs, above 0 for the first class of each."""
        check_is_fitted(self)
        return self._scores(X, self._columns())

    def _winner(self, decisions: Array) -> Array:
        n_classes = len(self.classes_)
        if self.break_ties and self.decision_function_shape == "ovr" and n_classes > 2:
            return np.asarray(one_against_rest(decisions, n_classes).argmax(axis=1))
        return winners(decisions, n_classes)

    def _refuse_ties_of_pairs(self) -> None:
        if self.break_ties and self.decision_function_shape == "ovo":
            raise DataError(
                "break_ties must be False when decision_function_shape is 'ovo'. Scores of pairs break no ties; use "
                "'ovr'."
            )

    def _columns(self) -> Array:
        dual = dense(self._dual_coef_)
        return dual.T if len(dual) == 1 else pair_columns(dual, self._n_support)

    def _primal(self) -> Any:
        if isinstance(self._comparison, ByFeatures):
            weights = self._comparison.columns().T
            return -weights if len(self.classes_) == 2 else weights
        if len(self.classes_) == 2:
            return self.dual_coef_ @ self.support_vectors_
        columns = self._columns().T
        return (sp.csr_matrix(columns) if self._sparse else columns) @ self.support_vectors_
