"""The constructors of matrices from data, the only places that depend on how the data are stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from mercer._gpu import is_tensor
from mercer._typing import Array
from mercer.matrices.base import Matrix
from mercer.matrices.categorical import CategoricalMatrix
from mercer.matrices.coordinates import Coordinates, positive_weight_rows
from mercer.matrices.dense import DenseMatrix
from mercer.matrices.encoded import CodePart, Encoded, NumberPart, SparsePart, numbers_of, places_of
from mercer.matrices.observations import Observations
from mercer.matrices.sparse import SparseMatrix
from mercer.matrices.split import SplitMatrix, join_parts, sparse_part
from mercer.matrices.tensor import TensorMatrix


def is_sparse(X: Any) -> bool:
    """Return `scipy.sparse.issparse(X)` as a bool, without its type guard, which would change the type of X."""
    return bool(sparse.issparse(X))


def as_matrix(X: Any, coordinates: Coordinates | None = None) -> Matrix:
    """Return data of any storage as a matrix, without a copy where possible.

    Parameters
    ----------
    X : Matrix, array, sparse matrix, tensor or Encoded
        The columns. An `Encoded` with no more rows than columns becomes a sparse matrix unless coordinates are given.
    coordinates : Coordinates, optional
        Coordinates of the matrix; by default those of the data, without an intercept.

    Returns
    -------
    Matrix

    Examples
    --------
    >>> as_matrix(np.array([[1.0, 2.0]])).gram(np.ones(1))
    array([[1., 2.],
           [2., 4.]])
    """
    if isinstance(X, Matrix):
        return X if coordinates is None else X.within(coordinates)
    if isinstance(X, Encoded) and coordinates is None and X.shape[0] <= X.shape[1]:
        X = X.tocsr()
    known = Coordinates.plain(X.shape[1], intercept=False) if coordinates is None else coordinates
    if isinstance(X, Encoded):
        return _of_encoded(X, known)
    if is_sparse(X):
        return _of_sparse(X, known)
    return TensorMatrix(X, known) if is_tensor(X) else DenseMatrix(np.asarray(X), known)


def observations_of(X: Any, Y: Array, weight: Array | None = None) -> Observations:
    """Return observations of several targets for least squares, (n, targets), with the columns in their own units.

    Few rows of a tensor are copied to main memory.
    """
    matrix = as_matrix(X)
    return Observations(matrix.in_memory() if matrix.n_rows <= matrix.n_columns else matrix, Y, weight)


def standardize(X: Any, *, intercept: bool = True, shifted: bool = True, weight: Any = None) -> Matrix:
    """Return data as a matrix in coordinates chosen by the rows of positive weight.

    Parameters
    ----------
    X : array, sparse matrix, tensor or Encoded
        The columns.
    intercept : bool, default=True
        Whether a column of ones is added.
    shifted : bool, default=True
        Whether columns may be shifted where there is an intercept. They may not be if it is penalised.
    weight : array, optional
        Weight of each row.

    Returns
    -------
    Matrix
    """
    movable = shifted or not intercept
    if isinstance(X, Encoded) or (is_sparse(X) and movable):
        of: Any = _of_encoded if isinstance(X, Encoded) else _of_sparse
        X = X if isinstance(X, Encoded) else X.tocsr()
        rows = positive_weight_rows(X, weight)
        known = None if rows is X else of(rows, None, intercept=intercept).coordinates
        matrix: Matrix = of(X, known, intercept=intercept)
        return matrix
    if is_sparse(X):
        scaled = SparseMatrix.of(positive_weight_rows(X.tocsr(), weight)).coordinates
        return SplitMatrix.of(sparse=SparseMatrix.of_matrix(X, scaled), intercept=True)
    chosen = (TensorMatrix if is_tensor(X) else DenseMatrix).of(X, intercept=intercept and movable, weight=weight)
    return chosen.within(replace(chosen.coordinates, intercept=intercept))


def _of_encoded(X: Encoded, known: Coordinates | None, *, intercept: bool = False) -> Matrix:
    """Return the matrix in known coordinates, or in coordinates chosen by the data."""
    kinds = [type(part) for part in X.parts if part.n_columns]
    if all(kind is NumberPart for kind in kinds):
        numbers = numbers_of(X)
        return DenseMatrix(numbers, Coordinates.of(numbers, intercept=intercept) if known is None else known)
    codes = places_of(X, CodePart)
    if known is not None and not _neither_shifted_nor_scaled(known, codes):
        return _of_sparse(X.tocsr(), known)  # the model was fitted to a dense matrix of these columns
    if all(kind is SparsePart for kind in kinds):
        return _of_sparse(_sparse_columns(X), known, intercept=intercept)
    places = places_of(X, NumberPart), places_of(X, SparsePart), codes
    return join_parts(
        numbers_of(X),
        _sparse_columns(X) if len(places[1]) else None,
        _codes(X) if len(codes) else None,
        places,
        known,
        intercept=intercept if known is None else known.intercept,
    )


def _of_sparse(X: Any, known: Coordinates | None, *, intercept: bool = False) -> Matrix:
    """Return a sparse matrix with or without an intercept."""
    intercept = intercept if known is None else known.intercept
    if not intercept:
        return sparse_part(X, known)
    none = np.zeros(0, dtype=np.int64)
    places = none, np.arange(X.shape[1]), none
    return join_parts(np.empty((X.shape[0], 0)), X.tocsr(), None, places, known, intercept=True)


def _neither_shifted_nor_scaled(known: Coordinates, places: Array) -> bool:
    """Return whether the shifts of columns are 0 and their scales 1."""
    return not known.shift[places].any() and bool((known.scale[places] == 1).all())


def _sparse_columns(X: Encoded) -> Any:
    matrices = [part.matrix for part in X.parts if isinstance(part, SparsePart)]
    return matrices[0] if len(matrices) == 1 else sparse.hstack(matrices, format="csr")


def _codes(X: Encoded) -> CategoricalMatrix:
    parts = [part for part in X.parts if isinstance(part, CodePart) and part.n_levels]
    return CategoricalMatrix.of([part.codes for part in parts], [part.n_levels for part in parts])
