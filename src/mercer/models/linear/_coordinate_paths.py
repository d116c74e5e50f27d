"""Coefficients along a path of penalties, with scikit-learn's functions."""

from __future__ import annotations

import sys
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils._param_validation import Hidden, Interval, StrOptions, validate_parameter_constraints

from mercer._errors import DataError, NonFiniteError
from mercer._typing import Array
from mercer._warn import warn
from mercer.models._finite import refuse_non_finite
from mercer.models.linear._coordinate_gram import usable_gram
from mercer.models.linear._coordinate_grid import alpha_grid, descending, steepest
from mercer.models.linear._coordinate_points import Point, Task, Terms, points, warn_of

CONSTRAINTS: dict[str, Any] = {
    "X": ["array-like", "sparse matrix"],
    "y": ["array-like", "sparse matrix"],
    "l1_ratio": [Interval(Real, 0.0, 1.0, closed="both")],
    "eps": [Interval(Real, 0.0, None, closed="neither")],
    "n_alphas": [Interval(Integral, 1, None, closed="left"), Hidden(StrOptions({"deprecated"}))],
    "alphas": [Interval(Integral, 1, None, closed="left"), "array-like", None, Hidden(StrOptions({"warn"}))],
    "precompute": [StrOptions({"auto"}), "boolean", "array-like"],
    "Xy": ["array-like", None],
    "copy_X": ["boolean"],
    "coef_init": ["array-like", None],
    "verbose": ["verbose"],
    "return_n_iter": ["boolean"],
    "positive": ["boolean"],
    "check_input": ["boolean"],
}
#: what scikit-learn's functions take besides
OPTIONS = (
    "tol",
    "max_iter",
    "selection",
    "random_state",
    "do_screening",
    "sample_weight",
    "X_offset",
    "X_scale",
)


def lasso_path(
    X: Any,
    y: Any,
    *,
    eps: float = 1e-3,
    n_alphas: Any = "deprecated",
    alphas: Any = "warn",
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    **params: Any,
) -> tuple[Any, ...]:
    """Lasso coefficients along a path of penalties; scikit-learn's, each with a proof of optimality.

    Minimises ‖y − X w‖² / 2n + alpha ‖w‖₁ for each alpha. There is no intercept.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows; a dense array is not copied, be it in C or in Fortran order.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets. Several are fitted together, by scikit-learn: a column is used for all or for none.
    eps : float, default=1e-3
        The smallest alpha, as a portion of the largest.
    n_alphas : int, default=100
        Deprecated: give `alphas` a number.
    alphas : int or array-like, default=100
        Penalties, or how many of them to choose.
    precompute : "auto", bool or array-like of shape (n_features, n_features), default="auto"
        A Gram matrix that is known. True and False have no effect: products are computed where they are needed.
    Xy : array-like of shape (n_features,), default=None
        Has no effect: it costs little to compute.
    copy_X : bool, default=True
        Has no effect: X is never changed.
    coef_init : array-like of shape (n_features,), default=None
        Coefficients to begin with.
    verbose : bool or int, default=False
        Whether to write a dot, or above 1 a line, for each penalty.
    return_n_iter : bool, default=False
        Whether to return the numbers of iterations, too.
    positive : bool, default=False
        Whether to forbid negative coefficients. Only for one target.
    **params : dict
        `tol` (1e-4), `max_iter` (1000), `selection` and `random_state` as for `Lasso`; `sample_weight`.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        Penalties, the largest first.
    coefs : ndarray of shape (n_features, n_alphas) or (n_targets, n_features, n_alphas)
        Coefficients.
    dual_gaps : ndarray of shape (n_alphas,)
        Upper bounds of how much lower the objective can be.
    n_iters : list of int
        Numbers of iterations, if `return_n_iter`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import lasso_path
    >>> X = np.array([[1, 2, 3.1], [2.3, 5.4, 4.3]]).T
    >>> alphas, coefs, gaps = lasso_path(X, np.array([1, 2, 3.1]), alphas=[5.0, 1.0, 0.5], tol=1e-10)
    >>> coefs.round(4)
    array([[0.    , 0.    , 0.4692],
           [0.2159, 0.4426, 0.2367]])
    """
    given = {name: value for name, value in locals().items() if name in CONSTRAINTS}
    validate_parameter_constraints(CONSTRAINTS, given, caller_name="lasso_path")
    return enet_path(
        X,
        y,
        l1_ratio=1.0,
        eps=eps,
        n_alphas=n_alphas,
        alphas=alphas,
        precompute=precompute,
        Xy=Xy,
        copy_X=copy_X,
        coef_init=coef_init,
        verbose=verbose,
        return_n_iter=return_n_iter,
        positive=positive,
        **params,
    )


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: Any = "deprecated",
    alphas: Any = "warn",
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    **params: Any,
) -> tuple[Any, ...]:
    """Elastic net coefficients along a path of penalties; scikit-learn's, each with a proof of optimality.

    Minimises ‖y − X w‖² / 2n + alpha (l1_ratio ‖w‖₁ + (1 − l1_ratio) ‖w‖² / 2) for each alpha. There is no intercept.

    Parameters
    ----------
    X, y, eps, n_alphas, alphas, precompute, Xy, copy_X, coef_init, verbose, return_n_iter, positive, **params
        As for `lasso_path`.
    l1_ratio : float, default=0.5
        The share of the absolute values in the penalty, from 0 to 1.
    check_input : bool, default=True
        Whether to check and convert X and y.

    Returns
    -------
    alphas, coefs, dual_gaps, n_iters
        As for `lasso_path`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import enet_path
    >>> alphas, coefs, gaps = enet_path(np.eye(3), np.arange(3.0), alphas=[0.1, 0.2], l1_ratio=0.5)
    >>> alphas
    array([0.2, 0.1])
    >>> coefs.round(3)
    array([[0.   , 0.   ],
           [0.538, 0.739],
           [1.308, 1.609]])
    """
    given = {name: value for name, value in locals().items() if name in CONSTRAINTS}
    validate_parameter_constraints(CONSTRAINTS, given, caller_name="enet_path")
    if unknown := params.keys() - set(OPTIONS):
        raise DataError(f"Unexpected parameters in params: {sorted(unknown)}. Known are {', '.join(OPTIONS)}.")
    if np.ndim(y) != 1:
        return _of_several_targets(**given, **params)
    if check_input:
        X, y = _checked(X, y)
    task = Task.of(X, y, None)
    if (weight := params.get("sample_weight")) is not None:
        task = Task(X, task.y, np.asarray(weight, dtype=np.float64), task.total)
    centred = params.get("X_offset") is not None and hasattr(X, "indptr")
    try:
        gram = usable_gram(precompute, task, intercept=False)
        terms = _terms(params, l1_ratio=l1_ratio, intercept=centred, positive=positive, gram=gram)
        chosen = _alphas(task, terms, n_alphas, alphas, eps)
        found = points(task, chosen, terms, None if coef_init is None else np.asarray(coef_init, dtype=np.float64))
    except NonFiniteError:
        refuse_non_finite(X, [f"x{j}" for j in range(X.shape[1])], "enet_path")
        raise
    warn_of(found, chosen, task.total)
    _tell(found, verbose)
    coefs = np.column_stack([point.coefficients for point in found]).astype(X.dtype, copy=False)
    result = (chosen, coefs, np.array([point.gap for point in found]))
    return (*result, [point.sweeps for point in found]) if return_n_iter else result


def _of_several_targets(**given: Any) -> tuple[Any, ...]:
    from sklearn.linear_model import enet_path as of_scikit_learn

    result: tuple[Any, ...] = of_scikit_learn(**given)
    return result


def _checked(X: Any, y: Any) -> tuple[Any, Any]:
    X = check_array(X, accept_sparse="csc", dtype=[np.float64, np.float32], ensure_all_finite=False)
    y = check_array(y, dtype=X.dtype.type, ensure_2d=False, input_name="y")
    if len(y) != X.shape[0]:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: {[X.shape[0], len(y)]}. Give one target for "
            "each row of X."
        )
    return X, y


def _terms(params: dict[str, Any], **options: Any) -> Terms:
    if params.get("selection", "cyclic") not in ("random", "cyclic"):
        raise DataError("selection should be either random or cyclic. Either leads to the same optimum.")
    return Terms(
        tolerance=params.get("tol", 1e-4),
        most_sweeps=params.get("max_iter", 1000),
        screening=params.get("do_screening", True),
        **options,
    )


def _alphas(task: Task, terms: Terms, n_alphas: Any, alphas: Any, eps: float) -> Array:
    """Penalties, the largest first, from both of scikit-learn's parameters."""
    count = 100
    if n_alphas != "deprecated":
        warn(
            "'n_alphas' was deprecated in 1.9 and will be removed in 1.11. 'alphas' now accepts an integer value which "
            "removes the need to pass 'n_alphas'. The default value of 'alphas' will change from None to 100 in 1.11. "
            "Pass an explicit value to 'alphas' and leave 'n_alphas' to its default value to silence this warning.",
            FutureWarning,
        )
        count = n_alphas
    if alphas is None:
        warn(
            "'alphas=None' is deprecated and will be removed in 1.11, at which point the default value will be set to "
            "100. Set 'alphas=100' to silence this warning.",
            FutureWarning,
        )
    elif isinstance(alphas, Integral):
        count = int(alphas)
    elif not isinstance(alphas, str):
        return descending(alphas)
    largest = steepest(task, intercept=terms.intercept, positive=terms.positive)
    return alpha_grid(largest, terms.l1_ratio, eps, count)


def _tell(found: list[Point], verbose: Any) -> None:
    """After the fact: the penalties are not solved one after the other."""
    for i, point in enumerate(found if verbose else ()):
        if verbose > 2:
            sys.stdout.write(f"{point.certificate}\n")
        elif verbose > 1:
            sys.stdout.write(f"Path: {i:03d} out of {len(found):03d}\n")
        else:
            sys.stderr.write(".")
