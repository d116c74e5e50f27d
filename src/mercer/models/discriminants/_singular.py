"""The error for a class whose covariance has no inverse."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._errors import SingularCovarianceError
from mercer._typing import Array
from mercer.families.collinear import collinear_columns

#: how many columns a message names
MOST_NAMES = 10


# Not in mercer._errors, where NumPy would have to be imported: the command line answers before that is done.
class SingularClassError(SingularCovarianceError, np.linalg.LinAlgError):
    """A `SingularCovarianceError` that code written against scikit-learn catches as NumPy's `LinAlgError`."""


def singular_class(covariance: Array, owner: str, names: Sequence[str]) -> SingularClassError:
    """What to raise about a singular covariance: whose it is, which columns are to blame, and what helps."""
    return SingularClassError(f"the covariance of {owner} is singular: {to_blame(covariance, names)}")


def to_blame(covariance: Array, names: Sequence[str]) -> str:
    """Which columns make a covariance (or, of independent columns, variances) singular, and what helps."""
    full = covariance.ndim == 2
    columns = collinear_columns(covariance) if full else np.flatnonzero(covariance <= 0).tolist()
    listed = ", ".join(repr(names[j]) for j in columns[:MOST_NAMES]) + (", …" if len(columns) > MOST_NAMES else "")
    state = "collinear or constant" if full else "constant"
    what = f"columns {listed} are {state} there" if columns else "its columns are nearly collinear"
    if not covariance.any():
        return f"{what}; share the covariance with other classes, which have more than one distinct row."
    return f"{what}; leave columns out, or use shrinkage, e.g. shrinkage=0.1."
