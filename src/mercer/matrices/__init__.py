"""Matrices: the columns of a linear predictor, with the products X w, Xᵀ r and Xᵀ diag(h) X."""

from __future__ import annotations

from mercer.matrices.base import Matrix, Tile
from mercer.matrices.categorical import CategoricalMatrix, Category
from mercer.matrices.construction import as_matrix, observations_of, standardize
from mercer.matrices.coordinates import Coordinates
from mercer.matrices.dense import DenseMatrix
from mercer.matrices.encoded import Encoded
from mercer.matrices.observations import Observations
from mercer.matrices.sparse import SparseMatrix
from mercer.matrices.split import SplitMatrix
from mercer.matrices.tensor import TensorMatrix, TensorObservations
from mercer.matrices.terms import Terms, matrix_of

__all__ = [
    "CategoricalMatrix",
    "Category",
    "Coordinates",
    "DenseMatrix",
    "Encoded",
    "Matrix",
    "Observations",
    "SparseMatrix",
    "SplitMatrix",
    "TensorMatrix",
    "TensorObservations",
    "Terms",
    "Tile",
    "as_matrix",
    "matrix_of",
    "observations_of",
    "standardize",
]
