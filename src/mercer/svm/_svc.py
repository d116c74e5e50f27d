"""Support vector classification: the widest margin between two classes, one against one for more (lecture 1).

The dual is solved in `_dual`, whose working sets `_working_set` chooses; `_probabilities` computes probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Hidden, StrOptions

from mercer._errors import DataError
from mercer._stored import floats, optional, part_of, sequence, stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import DECIDES_ONLY, Candidate, Question, kernel_choice, traits
from mercer.base.fitted_fields import FITTED_MACHINE
from mercer.base.kernel_comparison import ByKernel
from mercer.base.sources import fits_sources
from mercer.base.validation import (
    check_is_fitted,
    check_two_classes,
    restore_on_failure,
    validate_params,
    warn_of_many_classes,
)
from mercer.data.labels import encode_labels
from mercer.kernels.inputs import count
from mercer.optim.certificate import Certificate
from mercer.svm._approximate import FeatureComparison
from mercer.svm._base import COMPARISON, MACHINE_CONSTRAINTS, Machines, SupportVectorMachine, to_dense
from mercer.svm._box_problem import BoxProblem, make_feasible
from mercer.svm._probabilities import Calibration, log_probabilities
from mercer.svm._training import TrainingRows, check_classes_have_weight, compute_class_weights, validate_row_weights
from mercer.svm.one_against_one import (
    arrange_as_libsvm,
    arrange_by_pair,
    class_pairs,
    raise_winner,
    split_into_pairs,
    sum_votes,
    vote,
)

#: values of C that a comparison tries, safest first
SVC_CANDIDATE_C = (1.0, 10.0, 100.0)


def _candidates(question: Question) -> Iterator[Candidate]:
    if not question.has_texts:
        search = ("C", SVC_CANDIDATE_C) if kernel_choice.searches_price(question) else None
        yield Candidate(
            SVC(), 70, "array", search=search, scale=question.is_sparse, most_rows=kernel_choice.MOST_ROWS_OF_PARTS
        )


def _has_a_machine_for_each_pair(model: SVC) -> bool:
    if not hasattr(model, "_dual_coef_"):
        return True
    n_classes, n_machines = len(model.classes_), len(model._intercept_)
    # coefficients are arranged as in libsvm
    return n_machines == n_classes * (n_classes - 1) // 2 and int(model._dual_coef_.shape[0]) == n_classes - 1


@traits(
    "classification",
    kind="kernel",
    columns="points",
    no_counterpart=DECIDES_ONLY,
    candidates=_candidates,
    export="mercer.export.kernels.svc",
    cost="mercer.cost.work.support_vectors",
    objective="mercer.kernel_ridge.objectives.raise_for_second_kernel",
)
@stored(
    _has_a_machine_for_each_pair,
    **FITTED_MACHINE,
    _comparison=COMPARISON,
    class_weight_=floats("k"),
    _calibration=optional(part_of(Calibration)),
    certificates_=sequence(".", part_of(Certificate)),
)
class SVC(ClassifierMixin, SupportVectorMachine):
    """Support vector classification: scikit-learn's, with a duality gap as a certificate.

    It minimises ½‖w‖² + C Σ max(0, 1 − y (⟨w, ψ(x)⟩ + b)) through its dual. With several classes, each pair has a
    machine of its own, and they vote.

    Parameters
    ----------
    C : float, default=1
        Weight of the violations of the margin, above 0.
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
        Accepted without effect: rows that stay at a bound cost next to nothing here.
    probability : bool, default="deprecated"
        Deprecated as in scikit-learn, and without effect: probabilities are always available.
    tol : float, default=1e-3
        Largest violation of the optimality conditions at the end of the fit.
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
        Accepted without effect: nothing is drawn at random.
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
        Features that approximate the kernel, for many rows. A name means 2√n features; a transformer sets their number,
        and gets the kernel of this model. "auto" is exact where that takes only seconds. The problem of these features
        is solved to a duality gap of `tol`/100 of its objective, and new rows are not compared with support vectors.
        `approximation_` reports the loss of accuracy.

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
        Evidence of optimality: the largest violation, with primal, dual and gap, of the worst pair.
    certificates_ : tuple of Certificate
        Certificates of all pairs.
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
    >>> from mercer import SVC
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> model = SVC(C=100).fit(X, y)
    >>> model.predict(X), model.certificate_.holds
    (array([0, 1, 1, 0]), True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MACHINE_CONSTRAINTS,
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
        """Fit the model: find the widest margins.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of shape (n_samples, n_features)
            Training rows; the kernel matrix if it is precomputed.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for the rows; rows without one above 0 are left out.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            validate_params(self)
            self._warn_of_probability()
            X, y = self._validate(X, y, numeric=False)
            self.classes_, codes = encode_labels(y)
            check_two_classes(self.classes_)
            warn_of_many_classes(self.classes_, len(codes))
            self.class_weight_ = compute_class_weights(self.class_weight, self.classes_, y)
            weight = validate_row_weights(sample_weight, X)
            kept = self._order_rows(codes, weight)
            codes, weight = codes[kept], weight[kept]
            check_classes_have_weight(self.classes_, codes)
            bounds = self._compute_bounds(weight, self.class_weight_[codes])
            n_pairs = len(class_pairs(len(self.classes_)))
            groups = [np.flatnonzero(codes == k) for k in range(len(self.classes_))] if n_pairs > 1 else [codes]
            training = self._prepare(X, kept, groups)
            start = self._warm_start(count(X), n_pairs)
            machines = self._solve(self._make_problems(training, codes, bounds, None if start is None else start[kept]))
            found = self._store(X, training, codes, kept, machines)
            self._calibration = self._prepare_calibration(training, machines, codes, found, weight, bounds)
            self._store_approximation(X, kept, codes, weight, machines)
            self._finish(machines)
        return self

    def _order_rows(self, codes: Array, weight: Array) -> Array:
        """Return the rows with weight; of several classes one after the other, so that a pair consists of two runs of
        rows.
        """
        kept = np.flatnonzero(weight > 0)
        return kept if len(self.classes_) == 2 else kept[np.argsort(codes[kept], kind="stable")]

    # Solving.

    def _make_problems(
        self, training: TrainingRows, codes: Array, bounds: Array, starts: Array | None
    ) -> Iterator[tuple[BoxProblem, Array | None]]:
        """Yield the problem of each pair of classes, with target 1 for its first class as in libsvm, and its start."""
        for p, ((i, j), numbers) in enumerate(
            zip(class_pairs(len(self.classes_)), self._rows_of_pairs(codes), strict=True)
        ):
            first, bound = codes[numbers] == i, bounds[numbers]
            problem = BoxProblem(
                training.rows(i, j),
                np.where(first, 1.0, -1.0),
                np.where(first, 0.0, -bound),
                np.where(first, bound, 0.0),
                intercept=bool(self.fit_intercept),
            )
            yield problem, None if starts is None else make_feasible(starts[numbers, p], problem)

    def _rows_of_pairs(self, codes: Array) -> Iterable[Array]:
        """Return the positions of the rows of each pair of classes."""
        n_classes = len(self.classes_)
        return [np.arange(len(codes))] if n_classes == 2 else split_into_pairs(codes, n_classes)

    # Storing.

    def _store(self, X: Any, training: TrainingRows, codes: Array, kept: Array, machines: Machines) -> Array:
        """Store scikit-learn's attributes, and return which of the rows kept are support vectors, class after class."""
        n_classes = len(self.classes_)
        betas = [solution.coef.beta for solution in machines.solutions]
        dual = arrange_as_libsvm(betas, self._rows_of_pairs(codes), codes, n_classes)
        found = np.flatnonzero(dual.any(axis=0))
        found = found[np.argsort(codes[found], kind="stable")]
        self._n_support = np.bincount(codes[found], minlength=n_classes).astype(np.int32)
        self._store_support(X, training, kept, found, np.ascontiguousarray(dual[:, found]), machines)
        self._intercept_ = self._shift_to_data(machines.intercepts)
        # of two classes, the second one is positive in scikit-learn, and the first in libsvm
        sign = -1.0 if n_classes == 2 else 1.0
        self.intercept_, self.dual_coef_ = sign * self._intercept_ + 0.0, self._dual_coef_ * sign
        self.n_iter_ = np.array(machines.iterations, dtype=np.int32)
        self.certificates_ = tuple(solution.certificate for solution in machines.solutions)
        return found

    def _prepare_calibration(
        self, training: TrainingRows, machines: Machines, codes: Array, found: Array, weight: Array, bounds: Array
    ) -> Calibration:
        """Return what probabilities need.

        Where only the fit has the kernel matrix, the scale of the scores is fitted now.
        """
        calibration = Calibration.of(
            (solution.coef.scores for solution in machines.solutions),
            self._rows_of_pairs(codes),
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
        """Return scores: above 0 for the second of two classes; of more, one for each class or for each pair.

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
        return sum_votes(decisions, len(self.classes_)) if self.decision_function_shape == "ovr" else decisions

    def predict(self, X: Any) -> Array:
        """Predict the class with most votes.

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
        self._check_break_ties()
        return np.asarray(self.classes_[self._vote(self._decisions(X))])

    def predict_proba(self, X: Any) -> Array:
        """Return p(y|x) of every row and class, largest for the class that `predict` returns.

        The probabilities are a softmax of each class's smallest margin over another one, times a scale that fits
        approximate leave-one-out margins of the training rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of shape (n_samples, n_features)
            Rows to score; their kernel with the rows of the fit if it is precomputed.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        decisions = self._decisions(X)
        log = self._log_probabilities(decisions)
        return raise_winner(np.exp(log), self._vote(decisions))

    def predict_log_proba(self, X: Any) -> Array:
        """Return log p(y|x) of every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of shape (n_samples, n_features)
            Rows to score; their kernel with the rows of the fit if it is precomputed.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return self._log_probabilities(self._decisions(X))

    def _log_probabilities(self, decisions: Array) -> Array:
        return log_probabilities(decisions, self._vote(decisions), self._scale(), len(self.classes_))

    def _scale(self) -> float:
        """Return the factor of the scores in probabilities.

        It is fitted on the first call; where only `fit` had the kernel matrix, `fit` has fitted it already.
        """
        return self._calibration.scale(getattr(self._comparison, "among", None))

    @property
    def probA_(self) -> Array:
        """Slopes of Platt's sigmoids, −2 times the scale of the scores, where `probability=True`; deprecated."""
        return self._platt("probA_", -2.0)

    @property
    def probB_(self) -> Array:
        """Offsets of Platt's sigmoids, 0 to agree with `predict`, where `probability=True`; deprecated."""
        return self._platt("probB_", 0.0)

    def _platt(self, name: str, factor: float) -> Array:
        warn(
            f"Attribute `{name}` was deprecated in version 1.9 and will be removed in 1.11 as the `probability=True` "
            "option for SVC and NuSVC was deprecated and will be removed in 1.11. Use predict_proba.",
            FutureWarning,
        )
        return np.full(len(self._intercept_), factor * self._scale()) if self.probability is True else np.empty(0)

    def _warn_of_probability(self) -> None:
        if not (isinstance(self.probability, str) and self.probability == "deprecated"):
            warn(
                "The `probability` parameter was deprecated in 1.9 and will be removed in version 1.11. Use "
                "`CalibratedClassifierCV(SVC(), ensemble=False)` instead of `SVC(probability=True)`. "
                "predict_proba is available without it.",
                FutureWarning,
            )

    def _decisions(self, X: Any) -> Array:
        """Return the decisions of all pairs, above 0 for the first class of each."""
        check_is_fitted(self)
        return self._scores(X, self._columns())

    def _vote(self, decisions: Array) -> Array:
        n_classes = len(self.classes_)
        if self.break_ties and self.decision_function_shape == "ovr" and n_classes > 2:
            return np.asarray(sum_votes(decisions, n_classes).argmax(axis=1))
        return vote(decisions, n_classes)

    def _check_break_ties(self) -> None:
        if self.break_ties and self.decision_function_shape == "ovo":
            raise DataError(
                "break_ties must be False when decision_function_shape is 'ovo'. Scores of pairs cannot break ties; "
                "use 'ovr'."
            )

    def _columns(self) -> Array:
        dual = to_dense(self._dual_coef_)
        return dual.T if len(dual) == 1 else arrange_by_pair(dual, self._n_support)

    def _compute_coef(self) -> Any:
        if isinstance(self._comparison, FeatureComparison):
            weights = self._comparison.columns().T
            return -weights if len(self.classes_) == 2 else weights
        if len(self.classes_) == 2:
            return self.dual_coef_ @ self.support_vectors_
        columns = self._columns().T
        return (sp.csr_matrix(columns) if self._sparse else columns) @ self.support_vectors_
