"""Least squares by conjugate gradients, for data too wide for a square matrix of its columns."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._errors import FitInterrupted, NonFiniteError
from mercer._threads import ordered_map, ordered_stream, row_blocks
from mercer._typing import Array
from mercer.data.blocks import rows_per_block
from mercer.designs.encoded import Encoded
from mercer.solvers.certificate import Solution
from mercer.solvers.krylov import conjugate_gradient
from mercer.solvers.least_squares.fit import NOT_FINITE, LinearFit
from mercer.solvers.least_squares.rows import Rows

PATH = "conjugate gradients"


def by_conjugate_gradients(
    rows: Rows, alpha: Array, *, intercept: bool, tolerance: float, most_steps: int | None = None
) -> Solution:
    """Minimise Σ weight (y − X w − b)² + alpha ‖w‖² for each target; see `least_squares`.

    Fewer rows than columns, all penalised, are solved on the side of the rows: (X Xᵀ + alpha) α = y, w = Xᵀα.
    """
    products = CentredProducts(rows, intercept)
    if not np.isfinite(products.right).all():
        raise NonFiniteError(NOT_FINITE)
    on_rows = rows.shape[0] < rows.shape[1] and bool((alpha > 0).all())
    finish = products.from_dual if on_rows else products.finished
    try:
        solution = (
            _on_rows(products, alpha, tolerance, most_steps)
            if on_rows
            else _on_columns(products, alpha, tolerance, most_steps)
        )
    except FitInterrupted as interruption:
        interruption.solution = finish(interruption.solution)
        raise
    return finish(solution)


def _on_rows(products: CentredProducts, alpha: Array, tolerance: float, most_steps: int | None) -> Solution:
    return conjugate_gradient(
        lambda dual: products.kernel_times(dual) + alpha * dual, products.y, tolerance=tolerance, most_steps=most_steps
    )


def _on_columns(products: CentredProducts, alpha: Array, tolerance: float, most_steps: int | None) -> Solution:
    squares = products.squares[:, None] + alpha
    # without a penalty the shortest solution is asked for, which scaled columns would not give
    scaled: Callable[[Array], Array] | None = (lambda r: r / squares) if (alpha > 0).all() else None
    return conjugate_gradient(
        lambda v: products.gram_times(v) + alpha * v,
        products.right,
        precondition=scaled,
        tolerance=tolerance,
        most_steps=most_steps,
    )


@dataclass(frozen=True, eq=False)
class CentredProducts:
    """Products with √weight · X, about its means where there is an intercept, which is never formed."""

    rows: Rows
    intercept: bool

    @cached_property
    def blocks(self) -> list[tuple[Any, Array, Array]]:
        """Views of the rows: X, y and weight."""
        n, weight = len(self.rows), self.rows.weight
        every = np.ones(n) if weight is None else weight
        blocks = row_blocks(n, rows_per_block(self.rows.held))
        return [(self.rows.view(rows), self.rows.Y[rows], every[rows]) for rows in blocks]

    def _sum(self, of_block: Callable[[tuple[Any, Array, Array]], Array]) -> Array:
        return functools.reduce(np.add, ordered_stream(of_block, self.blocks))

    @cached_property
    def mean(self) -> tuple[Array, Array]:
        """Of X and of y."""
        if not self.intercept:
            return np.zeros(self.rows.shape[1]), np.zeros(self.rows.targets)
        with np.errstate(invalid="ignore", over="ignore"):
            x = self._sum(lambda block: block[0].T @ block[2])
        return x / self.rows.total_weight, np.average(self.rows.Y, axis=0, weights=self.rows.weight)

    @cached_property
    def right(self) -> Array:
        """Xᵀ y."""
        _, y = self.mean
        return self._sum(lambda block: block[0].T @ (block[2][:, None] * (block[1] - y)))

    @cached_property
    def squares(self) -> Array:
        """Σ x² of each column."""
        x, _ = self.mean
        total = self._sum(lambda block: _squared(block[0]).T @ block[2])
        return np.maximum(total - self.rows.total_weight * x**2, 0.0)

    def gram_times(self, v: Array) -> Array:
        """XᵀX v, in one pass."""
        x, _ = self.mean
        v = v[:, 0] if (alone := v.shape[1] == 1) else v  # vectors are multiplied faster than matrices of one column
        level = x @ v

        def of_block(block: tuple[Any, Array, Array]) -> Array:
            image = (block[0] @ v - level).T * block[2]
            return np.append(block[0].T @ image.T, [image.T.sum(axis=0)], axis=0)

        product = self._sum(of_block)
        centred = product[:-1].T - np.multiply.outer(product[-1], x)
        return np.asarray(centred[:, None] if alone else centred.T)

    @cached_property
    def y(self) -> Array:
        """√weight · y, about its mean."""
        return np.asarray(self._root * (self.rows.Y - self.mean[1]))

    @cached_property
    def _root(self) -> Array:
        """√weight."""
        root: Array = np.sqrt(np.concatenate([weight for _, _, weight in self.blocks]))
        return root[:, None]

    def transposed_times(self, dual: Array) -> Array:
        """Xᵀα."""
        heavy = self._root * dual
        parts = np.split(heavy, np.cumsum([len(weight) for _, _, weight in self.blocks])[:-1])
        pairs = zip(self.blocks, parts, strict=True)
        w = functools.reduce(np.add, ordered_stream(lambda pair: pair[0][0].T @ pair[1], pairs))
        return np.asarray(w - self.mean[0][:, None] * heavy.sum(axis=0))

    def kernel_times(self, dual: Array) -> Array:
        """X Xᵀα."""
        w = self.transposed_times(dual)
        image = np.concatenate(ordered_map(lambda block: block[0] @ w, self.blocks))
        return np.asarray(self._root * (image - self.mean[0] @ w))

    def from_dual(self, solution: Solution) -> Solution:
        """w = Xᵀα."""
        return self.finished(Solution(self.transposed_times(solution.value), solution.certificate, solution.trace))

    def finished(self, solution: Solution) -> Solution:
        """With the means put back."""
        x, y = self.mean
        w = solution.value
        return Solution(LinearFit(w, y - x @ w, PATH), solution.certificate, solution.trace)


def _squared(X: Any) -> Any:
    if isinstance(X, Encoded):
        return X.squared()
    return X.multiply(X) if hasattr(X, "indptr") else np.square(X)
