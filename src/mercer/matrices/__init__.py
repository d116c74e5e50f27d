"""Design matrices: the columns of a linear predictor, with the products X w, Xᵀ r and Xᵀ diag(h) X."""

from __future__ import annotations

from mercer.matrices._base import Matrix, Tile
from mercer.matrices._split import SplitMatrix
from mercer.matrices.categorical import CategoricalMatrix, Category
from mercer.matrices.coordinates import Coordinates
from mercer.matrices.dense import DenseMatrix
from mercer.matrices.encoded import Encoded
from mercer.matrices.observations import Observations
from mercer.matrices.sparse import SparseMatrix
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
    "matrix_of",
]
