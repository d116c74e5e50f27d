"""Values of X that are no finite numbers: looked for at little cost, found, and named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._errors import DataError, DegenerateDataError, NonFiniteError
from mercer._gpu import is_tensor
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.designs.encoded import Encoded
from mercer.models.base import column_names, first_where, is_sparse, refuse_where

#: numbers that one thread adds up: with fewer, threads would cost more than they gain
SUMMED = 1 << 20


def refuse_not_finite(estimator: Any, X: Any) -> None:
    """Find the first value of an array or tensor that is not finite, if there is one, and raise an error about it."""
    if adds_up(X):
        return
    if is_tensor(X):
        _refuse_tensor(estimator, X)
    else:
        refuse_non_finite(X, column_names(estimator), type(estimator).__name__)


def adds_up(X: Any) -> bool:
    """Whether the sum of all values is a number, so that each of them is; large ones may have none all the same.

    A sum takes no memory, as a mask would; of encoded rows it is not taken.
    """
    if is_tensor(X):
        import torch

        return bool(X.sum(dtype=torch.float64).isfinite())
    if isinstance(X, Encoded):
        return False
    values = X.data if is_sparse(X) else X
    parts = row_blocks(len(values), max(1, SUMMED // max(1, values[:1].size)))
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(sum(ordered_map(lambda rows: values[rows].sum(dtype=np.float64), parts))))


def refuse_non_finite(X: Any, names: list[str], estimator: str) -> None:
    """Find the first value of X that is not a finite number, if there is one, and raise an error that names it."""
    refuse_where(
        lambda values: ~np.isfinite(values),
        X,
        names,
        gaps=f"{estimator} does not accept missing values encoded as NaN natively; drop such rows, or put "
        "TableFeatures() before it, which fills the gaps and says where they were",
    )


def refuse_unrepresentable(coef: Array, names: list[str]) -> None:
    """Raise if a coefficient has no float64: its column is too small."""
    if not (finite := np.isfinite(coef).all(axis=0)).all():
        column = int(np.argmin(finite))
        raise NonFiniteError(
            f"the coefficient of column {names[column]!r} is too large for float64, because its values are so small; "
            "multiply the column by 1e100, say."
        )


def refuse_spoilt_start(*coefficients: Any) -> None:
    """Raise if a fit is to begin with coefficients that are no numbers: no step leads away from them."""
    if not all(np.isfinite(each).all() for each in coefficients):
        raise NonFiniteError(
            "the coefficients to begin with hold NaN or infinity: set warm_start=False, or give others (coef_init)."
        )


def refuse_too_wide(spread: Array, names: Sequence[str]) -> None:
    """Raise if the spread of a column, one number each, has no float64."""
    if (wide := np.flatnonzero(~np.isfinite(spread))).size:
        raise DegenerateDataError(
            f"column {names[wide[0]]!r} is so wide that its variance is too large for float64; divide it by its "
            "largest value."
        )


def _refuse_tensor(estimator: Any, X: Any) -> None:
    if (found := first_where(X, lambda values: ~np.isfinite(values))) is None:
        return
    row, column, value = found
    raise NonFiniteError(
        f"Input X contains {'NaN' if np.isnan(value) else 'infinity'}. Column {column_names(estimator)[column]!r} is "
        f"{value} in row {row}; drop the row, or replace it by a number."
    )


def finite_numbers(y: Any) -> Array:
    """Targets as float64; a typed error where they are not numbers."""
    try:
        numbers: Array = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the targets y are not numbers ({error}); encode them, or use a classifier.") from error
    if not np.isfinite(numbers).all():
        row = int(np.argwhere(~np.isfinite(numbers))[0][0])
        raise NonFiniteError(f"Input y contains NaN or infinity in row {row}. Leave the row out, or impute its target.")
    return numbers
