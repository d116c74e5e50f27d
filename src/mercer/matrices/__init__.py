"""Design matrices: the columns of a linear predictor, with the products X w, Xᵀ r and Xᵀ diag(h) X."""

from __future__ import annotations

from mercer.matrices._base import Design, Tile
from mercer.matrices._split import MixedDesign
from mercer.matrices.categorical import Category, CodesDesign
from mercer.matrices.coordinates import Coordinates
from mercer.matrices.dense import DenseDesign
from mercer.matrices.encoded import Encoded
from mercer.matrices.observations import Observations
from mercer.matrices.sparse import SparseDesign
from mercer.matrices.tensor import TensorDesign, TensorObservations
from mercer.matrices.terms import Terms, design_of

__all__ = [
    "Category",
    "CodesDesign",
    "Coordinates",
    "DenseDesign",
    "Design",
    "Encoded",
    "MixedDesign",
    "Observations",
    "SparseDesign",
    "TensorDesign",
    "TensorObservations",
    "Terms",
    "Tile",
    "design_of",
]
