"""Designs: the columns of a linear predictor, known by their products X w, Xᵀ r and Xᵀ diag(h) X."""

from __future__ import annotations

from mercer.designs._base import Design, Tile
from mercer.designs.category import Category
from mercer.designs.codes import CodesDesign
from mercer.designs.coordinates import Coordinates
from mercer.designs.dense import DenseDesign
from mercer.designs.encoded import Encoded
from mercer.designs.mixed import MixedDesign
from mercer.designs.observations import Observations
from mercer.designs.sparse import SparseDesign
from mercer.designs.tensors import TensorDesign, TensorObservations
from mercer.designs.terms import Terms, design_of

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
