"""Encoded rows as a design: numbers stay numbers, codes stay codes, counts stay sparse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from mercer._typing import Array
from mercer.designs._base import Design
from mercer.designs.codes import CodesDesign
from mercer.designs.coordinates import Coordinates
from mercer.designs.dense import DenseDesign
from mercer.designs.encoded import CodePart, Encoded, NumberPart, SparsePart
from mercer.designs.mixed import MixedDesign
from mercer.designs.sparse import SparseDesign, far_columns


def encoded_design(X: Encoded, known: Coordinates | None, *, intercept: bool = False) -> Design:
    """In known coordinates, or in ones chosen by the data; coefficients come in the order of the columns."""
    kinds = [type(part) for part in X.parts if part.n_columns]
    if all(kind is NumberPart for kind in kinds):
        numbers = numbers_of(X)
        return DenseDesign(numbers, Coordinates.of(numbers, intercept=intercept) if known is None else known)
    codes = _places(X, CodePart)
    if known is not None and not _plain(known, codes):
        return sparse_design(X.tocsr(), known)  # a fit to the columns written out has shifted and scaled them
    if all(kind is SparsePart for kind in kinds):
        return sparse_design(_counts(X), known, intercept=intercept)
    places = _places(X, NumberPart), _places(X, SparsePart), codes
    return _side_by_side(
        numbers_of(X),
        _counts(X) if len(places[1]) else None,
        _codes(X) if len(codes) else None,
        places,
        known,
        intercept=intercept if known is None else known.intercept,
    )


def sparse_design(X: Any, known: Coordinates | None, *, intercept: bool = False) -> Design:
    """A sparse matrix, and where there is an intercept a column of ones beside it."""
    intercept = intercept if known is None else known.intercept
    if not intercept:
        return _part_of_matrix(X, known)
    nothing = np.zeros(0, dtype=np.int64)
    places = nothing, np.arange(X.shape[1]), nothing
    return _side_by_side(np.empty((X.shape[0], 0)), X.tocsr(), None, places, known, intercept=True)


def _side_by_side(
    numbers: Array,
    matrix: Any,
    codes: CodesDesign | None,
    places: tuple[Array, Array, Array],
    known: Coordinates | None,
    *,
    intercept: bool,
) -> MixedDesign:
    """Numbers, a sparse matrix and codes, each at their places.

    Columns of the matrix that are far from zero are written out beside the numbers, so that their shift is taken out of
    the numbers themselves: taken out of products, it would take their digits with it.
    """
    of_numbers, of_matrix, of_codes = places
    if intercept and matrix is not None and len(far := far_columns(matrix, known and known.at(of_matrix))):
        numbers = np.hstack([numbers, matrix[:, far].toarray()])
        near = np.delete(np.arange(len(of_matrix)), far)
        matrix = matrix[:, near]
        of_numbers, of_matrix = np.append(of_numbers, of_matrix[far]), of_matrix[near]
    return MixedDesign.of(
        _part_of_numbers(numbers, known and known.at(of_numbers), intercept=intercept) if len(of_numbers) else None,
        _part_of_matrix(matrix, known and known.at(of_matrix)) if len(of_matrix) else None,
        codes,
        places=tuple(where for where in (of_numbers, of_matrix, of_codes) if len(where)),
        intercept=intercept,
    )


def _places(X: Encoded, kind: type) -> Array:
    """Where the columns of parts of some kind are."""
    runs = [np.arange(*X.begins[j : j + 2]) for j, part in enumerate(X.parts) if isinstance(part, kind)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *runs])


def number_places(X: Encoded) -> Array:
    """Where the columns of numbers are."""
    return _places(X, NumberPart)


def _plain(known: Coordinates, places: Array) -> bool:
    """Whether columns are neither shifted nor scaled."""
    return not known.shift[places].any() and bool((known.scale[places] == 1).all())


def numbers_of(X: Encoded) -> Array:
    """The columns of numbers, side by side."""
    found = [part.X for part in X.parts if isinstance(part, NumberPart) and part.n_columns]
    return found[0] if len(found) == 1 else np.hstack([np.empty((X.n_rows, 0)), *found])


def _part_of_numbers(numbers: Array, known: Coordinates | None, *, intercept: bool) -> DenseDesign:
    if known is None:
        known = replace(Coordinates.of(numbers, intercept=intercept), intercept=False)
    return DenseDesign(numbers, known)


def _counts(X: Encoded) -> Any:
    found = [part.matrix for part in X.parts if isinstance(part, SparsePart)]
    return found[0] if len(found) == 1 else sparse.hstack(found, format="csr")


def _part_of_matrix(X: Any, known: Coordinates | None) -> SparseDesign:
    return SparseDesign.of(X) if known is None else SparseDesign.within(X, known)


def _codes(X: Encoded) -> CodesDesign:
    found = [part for part in X.parts if isinstance(part, CodePart) and part.n_levels]
    return CodesDesign.of([part.codes for part in found], [part.n_levels for part in found])
