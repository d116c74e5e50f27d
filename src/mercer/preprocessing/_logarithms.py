"""Features log(1 + x) of columns with large ranges (lecture 1: saturation)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer._stored import stored, whole
from mercer.base.fitted_fields import FITTED
from mercer.base.validation import check_non_negative, column_names, is_sparse
from mercer.preprocessing._numeric import NumericTransformer


def signed_log(x: NDArray[Any]) -> NDArray[Any]:
    """Compute sign(x) log(1 + |x|), the odd continuation of log(1 + x) to negative numbers; NaN stays NaN.

    Examples
    --------
    >>> signed_log(np.array([-1.0, 0.0, 1.0, 1e9])).round(3).tolist()
    [-0.693, 0.0, 0.693, 20.723]
    """
    result = np.abs(x)
    np.log1p(result, out=result)
    return np.asarray(np.copysign(result, x, out=result))


#: the end of the error message about negative numbers
NEGATIVE_REMEDY = "log(1 + x) is for counts and other non-negative numbers; give signed=True for others"


@stored(**FITTED, n_output_features_=whole(0))
class LogFeatures(NumericTransformer):
    """Logarithms log(1 + x) of every column: growth by factors becomes growth by steps.

    Sparse rows stay sparse, since log(1 + 0) is 0. Missing values stay missing.

    Parameters
    ----------
    signed : bool, default=False
        Whether numbers may be negative; the features are then `sign(x) log(1 + |x|)`.

    Attributes
    ----------
    n_output_features_ : int
        Number of features.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    plan_ : Plan
        Kind of the logarithms and number of columns.

    Examples
    --------
    >>> from mercer import LogFeatures
    >>> LogFeatures().fit_transform([[0.0], [9.0], [99.0]]).round(3)
    array([[0.   ],
           [2.303],
           [4.605]])
    """

    _takes_sparse = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {"signed": ["boolean"]}

    def __init__(self, *, signed: bool = False) -> None:
        self.signed = signed

    def _learn(self, X: Any) -> str:
        self.n_output_features_ = X.shape[1]
        return f"{'signed ' if self.signed else ''}logarithms of {X.shape[1]:,} columns"

    def _rows(self, X: Any, *, reset: bool) -> Any:
        X = super()._rows(X, reset=reset)
        if not self.signed:
            check_non_negative(X, column_names(self), estimator=type(self).__name__, expected=NEGATIVE_REMEDY)
        return X

    def _mapped(self, X: Any) -> Any:
        if is_sparse(X):
            return type(X)((signed_log(X.data), X.indices.copy(), X.indptr.copy()), shape=X.shape)
        return signed_log(X)

    def _names(self, columns: list[str]) -> list[str]:
        kind = "signed log" if self.signed else "log"
        return [f"{kind}(1 + {name})" for name in columns]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = not self.signed
        return tags
