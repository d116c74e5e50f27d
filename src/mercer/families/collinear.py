"""Covariance matrices: their Cholesky factors, and which columns make one singular."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._errors import SingularCovarianceError
from mercer._typing import Array

#: eigenvalues of a d × d correlation matrix below d times this are zero to rounding
ROUNDING = 4 * float(np.finfo(float).eps)

#: a pivot so many times as large as an eigenvalue that is zero may still belong to one: it is looked for
DOUBTFUL = 1e4

#: columns with a smaller part in every dependence have none
NEGLIGIBLE = 1e-6


def collinear_columns(covariance: Array) -> tuple[int, ...]:
    """Indices of the columns that take part in a linear dependence; a constant column is one by itself.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 0.0], [4.0, 8.0, 3.0]])
    >>> collinear_columns(np.cov(x.T))
    (0, 1)
    """
    covariance = np.asarray(covariance, dtype=float)
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))  # which rounding may have left below
    constant = ~(scale > 0)
    unit = np.where(constant, 1.0, scale)
    correlation = covariance / unit[:, None] / unit
    correlation[constant] = correlation[:, constant] = 0.0
    eigenvalues, vectors = np.linalg.eigh(correlation)
    dependences = vectors[:, eigenvalues <= len(scale) * ROUNDING]
    return tuple(np.flatnonzero(np.linalg.norm(dependences, axis=1) > NEGLIGIBLE).tolist())


def singular_covariance(covariance: Array, names: Sequence[str] | None = None) -> SingularCovarianceError:
    """The error to raise for a covariance matrix without an inverse; columns by name, or by index without names."""
    columns = collinear_columns(covariance)
    listed = ", ".join(str(j) if names is None else repr(names[j]) for j in columns[:10])
    more = ", …" if len(columns) > 10 else ""
    what = f"columns {listed}{more} are collinear or constant" if columns else "its columns are nearly collinear"
    return SingularCovarianceError(
        f"the covariance matrix is singular: {what}. Leave columns out, or use shrinkage or a prior."
    )


def cholesky(covariance: Array, names: Sequence[str] | None = None) -> Array:
    """Lower Cholesky factors of covariance matrices (last two axes), or the error that names the collinear columns.

    Columns are scaled to unit variance first, so that units do not decide what counts as singular; eigenvalues do, as
    the last pivot of a singular matrix is rounding that elimination has magnified: other orders of rows leave others.
    """
    covariance = np.asarray(covariance, dtype=float)
    variance = np.diagonal(covariance, axis1=-2, axis2=-1)
    scale = np.sqrt(np.maximum(variance, 0.0))  # rounding may have left one below 0
    if not (scale > 0).all():
        raise singular_covariance(_first(covariance, ~(scale > 0).all(axis=-1)), names)
    correlation = covariance / scale[..., :, None] / scale[..., None, :]
    try:
        factor = np.linalg.cholesky(correlation)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(correlation)[..., 0]
        raise singular_covariance(_first(covariance, smallest == smallest.min()), names) from None
    zero = factor.shape[-1] * ROUNDING
    pivots = np.square(np.diagonal(factor, axis1=-2, axis2=-1))
    if (pivots <= DOUBTFUL * zero).any() and (singular := np.linalg.eigvalsh(correlation)[..., 0] <= zero).any():
        raise singular_covariance(_first(covariance, singular), names)
    return np.asarray(scale[..., :, None] * factor)


def _first(covariances: Array, which: Array) -> Array:
    return np.asarray(covariances.reshape(-1, *covariances.shape[-2:])[np.flatnonzero(which)[0]])
