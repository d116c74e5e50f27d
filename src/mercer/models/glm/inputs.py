"""What comes beside X and y into a GLM: offsets and exposures, checked; and what to say of an X that is not finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import DataError, NonFiniteError
from mercer._typing import Array
from mercer.data.table import Table
from mercer.designs.encoded import Encoded
from mercer.families import LOG, Link
from mercer.models._finite import refuse_non_finite


def read_offset(offset: Any, exposure: Any, link: Link, n_rows: int) -> Array | None:
    """What is added to η: the offset, and with a log link the logarithm of the exposure."""
    added = None if offset is None else _one_per_row(offset, "offset", n_rows)
    if exposure is None:
        return added
    if link != LOG:
        raise DataError(
            f"exposure multiplies the mean, which with {link!r} is no offset of the linear predictor; use link='log', "
            "or give what is to be added as `offset`."
        )
    exposure = _one_per_row(exposure, "exposure", n_rows)
    if not (positive := exposure > 0).all():
        row = int(np.argmin(positive))
        raise DataError(f"exposure must be above 0, but is {exposure[row]:g} in row {row}; drop rows without exposure.")
    return np.asarray(np.log(exposure) if added is None else added + np.log(exposure))


def _one_per_row(given: Any, name: str, n_rows: int) -> Array:
    values = np.array(np.broadcast_to(np.asarray(given, dtype=np.float64), (n_rows,)) if np.ndim(given) == 0 else given)
    values = values.astype(np.float64, copy=False)
    if values.shape != (n_rows,):
        raise DataError(
            f"{name} has shape {values.shape}, but X has {n_rows} rows; give one number for each row, or one for all."
        )
    if not (finite := np.isfinite(values)).all():
        row = int(np.argmin(finite))
        raise NonFiniteError(f"{name} is {values[row]} in row {row}; give a finite number, or drop the row.")
    return values


def refuse_spoilt_table(table: Table | Encoded, names: list[str], *, estimator: str) -> None:
    """Find the first number of a table that is missing or infinite and raise an error that names it."""
    if isinstance(table, Encoded):
        refuse_non_finite(table, names, estimator)
        return
    numeric = [column for column, kind in enumerate(table.kinds) if kind.numeric]
    X = table.matrix() if len(numeric) == table.n_columns else table.numbers(numeric)
    refuse_non_finite(X, [names[column] for column in numeric], estimator)
