"""The diagonal of Xᵀ diag(h) X, without the whole matrix."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array
from mercer.matrices import sparse_loops as loops
from mercer.matrices._base import Matrix, Tile
from mercer.matrices._split import MixedTile
from mercer.matrices.categorical import CodesTile
from mercer.matrices.sparse import SparseTile
from mercer.matrices.tensor import TensorMatrix, TensorTile


def column_squares(design: Matrix, h: Array) -> Array:
    """Σ h x² of each column, in working coordinates; duplicate entries of a sparse matrix are squared one by one.

    Examples
    --------
    >>> from mercer.matrices import DenseMatrix
    >>> design = DenseMatrix.of(np.array([[1.0], [1.0], [-1.0], [-1.0]]))
    >>> column_squares(design, np.ones(4))
    array([4., 4.])
    """
    h = design.to_device(h) if isinstance(design, TensorMatrix) else h
    return design._summed(lambda tile, rows: _tile_squares(tile, h[rows]), np.zeros(design.n_columns))


def _tile_squares(tile: Tile, h: Array) -> Array:
    if isinstance(tile, SparseTile):
        scale, h = tile.coordinates.scale, np.ascontiguousarray(h)
        total = loops.squares(*tile.entries, tile.start, tile.stop, h, len(scale))
        if tile.coordinates.shifted:
            shift = tile.coordinates.shift
            total = np.maximum(total + shift * (shift * h.sum() - 2 * tile.entries_times(h)), 0.0)
        return np.asarray(total / scale / scale)
    if isinstance(tile, CodesTile):  # 1² = 1
        return tile.rmatvec(h)
    if isinstance(tile, TensorTile):
        return tile.squares(h)
    if isinstance(tile, MixedTile):
        total = np.zeros(tile.design.n_columns)
        if tile.design.coordinates.intercept:
            total[-1] = h.sum()
        for part, where in tile.design.placed_parts():
            for rows, part_tile in part.tiles():
                total[where] += _tile_squares(part_tile, h[rows])
        return total
    return np.asarray(np.square(tile.dense()).T @ h)
