"""Compiled loops that spread points over a grid by B-splines and interpolate a grid, for Fourier sums.

The spline of order w around a point covers w grid points of each axis. A position is (x − origin) · scale, in units of
the grid; callers choose grids that leave w free grid points around all points.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def _spline(position, values):  # type: ignore[no-untyped-def]
    """Compute the B-spline of even order at the grid points around a position; return the index of the first."""
    order, below = values.shape[0], np.floor(position)
    t = position - below
    values[0] = 1.0
    for j in range(1, order):
        before, share = 0.0, 1.0 / j
        for r in range(j):
            part = values[r] * share
            values[r] = before + (r + 1 - t) * part
            before = (t + (j - r - 1)) * part
        values[j] = before
    return int(below) - order // 2 + 1


@jit
def spread_line(points, weight, origin, scale, order, grid):  # type: ignore[no-untyped-def]
    """Add the weights of points (n, 1) to a grid of one axis; empty weights mean ones."""
    values = np.empty(order)
    for i in range(points.shape[0]):
        first = _spline((points[i, 0] - origin[0]) * scale[0], values)
        mass = weight[i] if weight.shape[0] > 0 else 1.0
        for a in range(order):
            grid[first + a] += mass * values[a]


@jit
def spread_pairs(points, weight, origin, scale, grid):  # type: ignore[no-untyped-def]
    """Do the same as `spread_line` of order 2, each point onto its two neighbours; the fast path for many points."""
    for i in range(points.shape[0]):
        position = (points[i, 0] - origin[0]) * scale[0]
        below = int(position)
        mass = weight[i] if weight.shape[0] > 0 else 1.0
        upper = mass * (position - below)
        grid[below] += mass - upper
        grid[below + 1] += upper


@jit
def spread_plane(points, weight, origin, scale, order, grid):  # type: ignore[no-untyped-def]
    """Do the same for points (n, 2) and a grid of two axes."""
    values, others = np.empty(order), np.empty(order)
    for i in range(points.shape[0]):
        first = _spline((points[i, 0] - origin[0]) * scale[0], values)
        second = _spline((points[i, 1] - origin[1]) * scale[1], others)
        mass = weight[i] if weight.shape[0] > 0 else 1.0
        for a in range(order):
            part, row = mass * values[a], grid[first + a, second : second + order]
            for b in range(order):
                row[b] += part * others[b]


@jit
def spread_space(points, weight, origin, scale, order, grid):  # type: ignore[no-untyped-def]
    """Do the same for points (n, 3) and a grid of three axes."""
    values, others, thirds = np.empty(order), np.empty(order), np.empty(order)
    for i in range(points.shape[0]):
        first = _spline((points[i, 0] - origin[0]) * scale[0], values)
        second = _spline((points[i, 1] - origin[1]) * scale[1], others)
        third = _spline((points[i, 2] - origin[2]) * scale[2], thirds)
        mass = weight[i] if weight.shape[0] > 0 else 1.0
        for a in range(order):
            for b in range(order):
                part, row = mass * values[a] * others[b], grid[first + a, second + b, third : third + order]
                for c in range(order):
                    row[c] += part * thirds[c]


@jit
def interpolate_line(grid, queries, origin, scale, order, result):  # type: ignore[no-untyped-def]
    """Interpolate a grid of one axis at queries (m, 1)."""
    values = np.empty(order)
    for i in range(queries.shape[0]):
        first = _spline((queries[i, 0] - origin[0]) * scale[0], values)
        total = 0.0
        for a in range(order):
            total += values[a] * grid[first + a]
        result[i] = total


@jit
def interpolate_plane(grid, queries, origin, scale, order, result):  # type: ignore[no-untyped-def]
    """Do the same for queries (m, 2) and a grid of two axes."""
    values, others = np.empty(order), np.empty(order)
    for i in range(queries.shape[0]):
        first = _spline((queries[i, 0] - origin[0]) * scale[0], values)
        second = _spline((queries[i, 1] - origin[1]) * scale[1], others)
        total = 0.0
        for a in range(order):
            row, part = grid[first + a, second : second + order], 0.0
            for b in range(order):
                part += others[b] * row[b]
            total += values[a] * part
        result[i] = total


@jit
def interpolate_space(grid, queries, origin, scale, order, result):  # type: ignore[no-untyped-def]
    """Do the same for queries (m, 3) and a grid of three axes."""
    values, others, thirds = np.empty(order), np.empty(order), np.empty(order)
    for i in range(queries.shape[0]):
        first = _spline((queries[i, 0] - origin[0]) * scale[0], values)
        second = _spline((queries[i, 1] - origin[1]) * scale[1], others)
        third = _spline((queries[i, 2] - origin[2]) * scale[2], thirds)
        total = 0.0
        for a in range(order):
            for b in range(order):
                row, part = grid[first + a, second + b, third : third + order], 0.0
                for c in range(order):
                    part += thirds[c] * row[c]
                total += values[a] * others[b] * part
        result[i] = total
