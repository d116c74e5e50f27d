"""Designs of every kind with the dense matrix that each stands for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from mercer.matrices import CategoricalMatrix, DenseMatrix, Matrix, SparseMatrix, SplitMatrix


class Expanded(NamedTuple):
    """A design, and its matrix in the units of the data with the column of ones where it has an intercept."""

    design: Matrix
    matrix: np.ndarray


ORDERS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every other column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "some rows of F": lambda x: np.asfortranarray(np.vstack([x, x]))[: len(x)],
}
DTYPES = (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_)


def numbers_of(rng: np.random.Generator, n: int, d: int, order: str, dtype: Any, read_only: bool) -> np.ndarray:
    """Small whole numbers, which every type holds."""
    X = ORDERS[order](rng.integers(0, 2 if dtype is np.bool_ else 9, size=(n, d)).astype(dtype))
    X.flags.writeable = not read_only
    return X


def sparse_of(rng: np.random.Generator, n: int, d: int, format: str, dtype: Any, messy: bool) -> Any:
    """Half of it zeros; `messy` ones store some places twice, out of order, and some zeros."""
    X = sparse.coo_array(np.where(rng.random((n, d)) < 0.5, 0, rng.integers(0, 9, size=(n, d))).astype(dtype))
    if messy and X.nnz:
        again = rng.integers(0, X.nnz, size=5)
        order = rng.permutation(X.nnz + 5)
        row, column = (np.append(index, index[again])[order] for index in X.coords)
        value = np.append(X.data, X.data[again] * np.arange(5) % 3)[order].astype(dtype)
        indptr = np.append(0, np.cumsum(np.bincount(row, minlength=n)))
        by_row = np.argsort(row, kind="stable")
        X = sparse.csr_array((value[by_row], column[by_row], indptr), shape=(n, d))
    return X.asformat(format)


def one_hot(codes: list[np.ndarray], levels: list[int], *, drop_first: bool) -> np.ndarray:
    return np.hstack(
        [(c[:, None] == np.arange(drop_first, k)).astype(float) for c, k in zip(codes, levels, strict=True)]
    )


@st.composite
def dense_designs(draw: st.DrawFn) -> Expanded:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d, intercept = draw(st.integers(1, 40)), draw(st.integers(1, 6)), draw(st.booleans())
    X = numbers_of(rng, n, d, draw(st.sampled_from(sorted(ORDERS))), draw(st.sampled_from(DTYPES)), draw(st.booleans()))
    if draw(st.booleans()):  # far from zero: another path
        X = X + np.asarray(1000, dtype=X.dtype if X.dtype.itemsize > 1 else float)
    return Expanded(DenseMatrix.of(X, intercept=intercept), np.hstack([X, np.ones((n, 1))])[:, : d + intercept])


@st.composite
def sparse_designs(draw: st.DrawFn) -> Expanded:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    format, dtype = draw(st.sampled_from(["csr", "csc", "coo"])), draw(st.sampled_from(DTYPES[:4]))
    X = sparse_of(rng, n, d, format, dtype, draw(st.booleans()))
    if draw(st.booleans()):  # entries that need a scale
        X = X * np.asarray(2.0**40)
    if format != "coo" and draw(st.booleans()):
        X.indptr, X.indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
    design = SparseMatrix.of(X)
    if draw(st.booleans()):  # coordinates of a fit to a dense matrix
        coordinates = replace(design.coordinates, shift=rng.integers(-3, 4, size=d) * design.coordinates.scale)
        design = SparseMatrix.of_matrix(X, coordinates)
    return Expanded(design, X.toarray().astype(float))


@st.composite
def codes_designs(draw: st.DrawFn) -> Expanded:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, levels = draw(st.integers(1, 40)), draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    drop_first, missing = draw(st.booleans()), draw(st.booleans())
    codes = [rng.integers(-missing, k, size=n).astype(np.int32) for k in levels]
    design = CategoricalMatrix.of(codes, levels, drop_first=drop_first)
    return Expanded(design, one_hot(codes, levels, drop_first=drop_first))


@st.composite
def mixed_designs(draw: st.DrawFn) -> Expanded:
    drawn = [draw(part) for part in (dense_designs(), sparse_designs(), codes_designs())]
    chosen = draw(st.lists(st.booleans(), min_size=3, max_size=3).filter(any))
    n = min(len(part.matrix) for part in drawn)
    parts = [without_intercept(part) if use else None for part, use in zip(drawn, chosen, strict=True)]
    designs = [None if part is None else part.design.rows(slice(0, n)) for part in parts]
    matrices = [part.matrix[:n] for part in parts if part is not None]
    sizes = [matrix.shape[1] for matrix in matrices]
    order = np.random.default_rng(draw(st.integers(0, 2**32))).permutation(sum(sizes))
    places = tuple(map(np.sort, np.split(order, np.cumsum(sizes)[:-1])))
    intercept = draw(st.booleans())
    matrix = np.ones((n, sum(sizes) + intercept))
    for where, part in zip(places, matrices, strict=True):
        matrix[:, where] = part
    return Expanded(SplitMatrix.of(*designs, places=places, intercept=intercept), matrix)


def without_intercept(part: Expanded) -> Expanded:
    if not part.design.coordinates.intercept:
        return part
    return Expanded(DenseMatrix.of(part.design.X, intercept=False), part.matrix[:, :-1])


def any_design() -> st.SearchStrategy[Expanded]:
    return st.one_of(dense_designs(), sparse_designs(), codes_designs(), mixed_designs())
