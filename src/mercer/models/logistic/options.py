"""What `LogisticRegression` and `LogisticRegressionCV` understand by their parameters: scikit-learn's rules."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import Hidden, Interval, StrOptions

from mercer._errors import DataError
from mercer._gpu import like, to_numpy
from mercer._typing import Array
from mercer._warn import warn
from mercer.data.labels import encode_labels
from mercer.data.sources.base import Chunk
from mercer.designs.survey import Seen
from mercer.models._finite import refuse_not_finite
from mercer.models._refusal import refuse_no_target, refuse_one_class_of_solver, warn_of_many_classes
from mercer.models._tensors import refuse_other_device
from mercer.models.base import checked, checked_weight
from mercer.models.logistic._path import Point

SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")
#: whose sparse matrices have 32-bit indices in scikit-learn
SMALL_INDICES = ("liblinear", "sag", "saga")
#: scikit-learn refuses larger values for liblinear
LIBLINEAR_LARGEST = 1e30

CONSTRAINTS: dict[str, Any] = {
    "penalty": [StrOptions({"l1", "l2", "elasticnet"}), None, Hidden(StrOptions({"deprecated"}))],
    "C": [Interval(Real, 0, None, closed="right")],
    "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
    "dual": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="left")],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "random_state": ["random_state"],
    "solver": [StrOptions(set(SOLVERS))],
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    "n_jobs": [None, Integral],
}


def refuse_unsuitable(solver: str, penalty: str | None, dual: bool) -> None:
    """Raise scikit-learn's errors for a solver that it cannot combine with a penalty."""
    if solver not in ("liblinear", "saga") and penalty not in ("l2", None):
        raise DataError(
            f"Solver {solver} supports only 'l2' or None penalties, got {penalty} penalty. Use solver='saga'."
        )
    if solver != "liblinear" and dual:
        raise DataError(f"Solver {solver} supports only dual=False, got dual={dual}. Leave dual out.")
    if penalty == "elasticnet" and solver != "saga":
        raise DataError(f"Only 'saga' solver supports elasticnet penalty, got solver={solver}. Use solver='saga'.")
    if solver == "liblinear" and penalty is None:
        raise DataError(
            "C=np.inf as well as penalty=None is not supported for the liblinear solver. Use another solver."
        )


def classes_and_codes(y: Any, solver: str) -> tuple[Array, Array]:
    """The labels and their codes; there must be two of them, or more if the solver takes them."""
    classes, codes = encode_labels(y)
    refuse_few_classes(classes, solver)
    warn_of_many_classes(classes, len(codes))
    return classes, codes


def refuse_few_classes(classes: Array, solver: str) -> None:
    """There must be two classes, or more if the solver takes them."""
    refuse_one_class_of_solver(classes)
    if solver == "liblinear" and len(classes) > 2:
        raise DataError(
            "The 'liblinear' solver does not support multiclass classification (n_classes >= 3). Either use another "
            "solver or wrap the estimator in a OneVsRestClassifier to keep applying a one-versus-rest scheme."
        )


def checked_rows(estimator: Any, X: Any, y: Any, solver: str, dtype: Any, *, reset: bool = True) -> tuple[Any, Any]:
    """X as floats, in any order, and y; what is not finite is found by the fit."""
    refuse_no_target(estimator, y, "class")
    X, y = checked(
        estimator,
        X,
        y,
        reset=reset,
        codes=solver != "liblinear",  # whose penalised intercept allows no shift of columns
        dtype=dtype,
        accept_large_sparse=solver not in SMALL_INDICES,
    )
    if solver == "liblinear":
        _refuse_huge(X, estimator)
    return X, y


def seen_of(reader: Any, chunk: Chunk) -> Seen:
    """The rows of a chunk, checked like all others."""
    X, y = checked_rows(reader, chunk.X, chunk.y, reader.solver, [np.float64, np.float32], reset=False)
    return Seen(X, y, checked_weight(chunk.weight, X, part=True), None)


def numbers_of(reader: Any, chunk: Chunk) -> Any:
    """X of a chunk, to be looked at."""
    seen = seen_of(reader, chunk)
    encode_labels(seen.y)  # looks at labels
    return seen.X


def _refuse_huge(X: Any, estimator: Any) -> None:
    largest = X.max() if X.shape[0] else 0.0
    if not np.isfinite(largest):
        refuse_not_finite(estimator, X)
    if largest > LIBLINEAR_LARGEST:
        raise DataError(
            "Using the 'liblinear' solver while X contains a maximum value > 1e30 results in a frozen fit. Please "
            "choose another solver or rescale the input X. Here the other solvers can handle such values."
        )


def row_weights(sample_weight: Any, X: Any, class_weight: Any, classes: Array, codes: Array) -> Array | None:
    """Weights of rows times those of their classes; None if all are 1."""
    return _times_class_weights(checked_weight(sample_weight, X), class_weight, classes, codes)


def tensor_row_weights(sample_weight: Any, X: Any, class_weight: Any, classes: Array, codes: Any) -> Any:
    """`row_weights` where X is a tensor: found in main memory, unless there are none, and put beside it."""
    import torch

    if sample_weight is None and class_weight is None:
        return None
    refuse_other_device(sample_weight, X, "sample_weight")
    given = None if sample_weight is None else to_numpy(sample_weight)
    weight = row_weights(given, range(len(X)), class_weight, classes, to_numpy(codes))
    return None if weight is None else like(weight, X, dtype=torch.float64)


def _times_class_weights(weight: Array | None, class_weight: Any, classes: Array, codes: Array) -> Array | None:
    of_class = class_weights(class_weight, classes, np.bincount(codes, weight, minlength=len(classes)))
    if of_class is not None:
        weight = of_class[codes] if weight is None else weight * of_class[codes]
    return weight


def class_weights(class_weight: Any, classes: Array, counts: Array) -> Array | None:
    """One for each class, whose rows weigh `counts`; None if all are 1."""
    of_class = _class_weights(class_weight, classes, counts)
    if of_class is not None and not (of_class @ counts) > 0:
        raise DataError("the weights of the classes leave no row a weight, so that there is nothing to learn from.")
    return of_class


def _class_weights(class_weight: Any, classes: Array, counts: Array) -> Array | None:
    if class_weight is None or len(class_weight) == 0:
        return None
    if class_weight == "balanced":
        with np.errstate(divide="ignore"):
            return np.where(counts > 0, counts.sum() / (len(classes) * counts), 0.0)
    try:
        return np.asarray(compute_class_weight(class_weight, classes=classes, y=classes), dtype=float)
    except ValueError as wrong:
        raise DataError(f"{wrong}. Give the classes of y as keys; those without a weight have 1.") from None


def warn_if_unfinished(point: Point, solver: str, max_iter: int) -> None:
    """scikit-learn's sentence for the solver asked for, the evidence, and one thing to do."""
    if point.certificate.holds or point.n_iter < max_iter:
        return
    n = point.n_iter
    sentence = {
        "lbfgs": f"lbfgs failed to converge after {n} iteration(s)",
        "newton-cg": f"newton-cg failed to converge after {n} iteration(s). Increase the number of iterations",
        "newton-cholesky": f"Newton solver did not converge after {n} iterations",
        "liblinear": "Liblinear failed to converge, increase the number of iterations",
    }.get(solver, "The max_iter was reached which means the coef_ did not converge")
    warn(
        f"{sentence}. {point.certificate}. Increase the number of iterations (max_iter={max_iter}); scaling the data "
        "is not needed.",
        ConvergenceWarning,
    )
