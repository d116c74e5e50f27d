"""Centred moments of the rows of each group, from tensors to arrays in main memory.

As in `stats._moment_loops` sums are about a *pilot*, a value close to the mean of the group: here the mean itself,
computed in two steps, of which the second makes it exact for a constant column. Sums are in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._gpu import like, to_numpy
from mercer._typing import Array

#: groups up to which sums are products with indicators, which have a fixed order; with more groups they cost too much
MAX_INDICATOR_GROUPS = 256


def group_totals(groups: Any, weight: Any, n_groups: int) -> tuple[Array, Array]:
    """Number of rows and weight of each group. Rows of weight zero do not count, here and below."""
    weight, groups = _rows_of_positive_weight(weight, groups)
    total = TensorGroupSums(groups, weight, n_groups).total
    return to_numpy(groups.bincount(minlength=n_groups)), to_numpy(total[:, 0])


def column_sums(X: Any, groups: Any, weight: Any, n_groups: int) -> tuple[Array, ...]:
    """Pilot, rows, weight, Σw(x−pilot) and Σw(x−pilot)² of the values that are not NaN, each (groups, columns)."""
    weight, X, groups = _rows_of_positive_weight(weight, X, groups)
    add = TensorGroupSums(groups, weight, n_groups)
    rows, total = groups.bincount(minlength=n_groups)[:, None], add.total
    pilot, away = _about_means(X, groups, add, total)
    first = add(away)
    if not bool(first.isfinite().all()):
        observed = ~X.isnan()
        rows, total = (sums(observed.double()) for sums in (TensorGroupSums(groups, None, n_groups), add))
        pilot, away = _about_means(X, groups, add, total, observed)
        first = add(away)
    sums = (pilot, rows.long(), total, first, add(away.square_()))
    return tuple(np.array(to_numpy(values.expand_as(pilot))) for values in sums)


def scatter_sums(X: Any, groups: Any, weight: Any, n_groups: int) -> tuple[tuple[Array, ...], Array]:
    """Pilot, rows, weight and Σw(x−pilot) of each group, and Σw(x−pilot)(x−pilot)ᵀ unless a sum is not finite."""
    weight, X, groups = _rows_of_positive_weight(weight, X, groups)
    add = TensorGroupSums(groups, weight, n_groups)
    pilot, away = _about_means(X, groups, add, add.total)
    first = add(away)
    second = away.new_zeros((n_groups, X.shape[1], X.shape[1]))
    if bool(first.isfinite().all()):
        scaled = away if weight is None else away.mul_(weight.sqrt()[:, None])
        for group, rows in _rows_by_group(groups, n_groups):
            part = scaled[rows]
            second[group] = part.T @ part
    sums = (pilot, groups.bincount(minlength=n_groups), add.total[:, 0], first)
    return tuple(map(to_numpy, sums)), to_numpy((second + second.mT) / 2)


def higher_sums(X: Any, groups: Any, weight: Any, pilot: Array, offset: Array) -> tuple[Array, Array]:
    """Σw u_a² u_b and Σw u_a² u_b² of each group, with u = (x − pilot) − offset."""
    weight, X, groups = _rows_of_positive_weight(weight, X, groups)
    pilots, offsets = (like(values, X.new_empty(0).double()) for values in (pilot, offset))
    third, fourth = pilots.new_zeros((2, *pilot.shape, X.shape[1]))
    for group, rows in _rows_by_group(groups, len(pilot)):
        u = (X[rows] - pilots[group]) - offsets[group]
        squared = u.square() if weight is None else u.square() * weight[rows, None]
        third[group], fourth[group] = squared.T @ u, squared.T @ u.square()
    return to_numpy(third), to_numpy((fourth + fourth.mT) / 2)


class TensorGroupSums:
    """Σ weight · values over the rows of each group: (groups, columns)."""

    def __init__(self, groups: Any, weight: Any, n_groups: int) -> None:
        self._groups, self._weight, self._n_groups = groups, weight, n_groups
        self._indicators = self._weighted_indicators() if n_groups <= MAX_INDICATOR_GROUPS else None
        self.total = self(groups.new_ones((len(groups), 1)).double())

    def _weighted_indicators(self) -> Any:
        indicators = self._groups.new_zeros((len(self._groups), self._n_groups)).double()
        return indicators.scatter_(1, self._groups[:, None], 1.0 if self._weight is None else self._weight[:, None])

    def __call__(self, values: Any) -> Any:
        if self._indicators is not None:
            return self._indicators.T @ values
        weighted = values if self._weight is None else values * self._weight[:, None]
        return values.new_zeros((self._n_groups, values.shape[1])).index_add_(0, self._groups, weighted)


def _about_means(X: Any, groups: Any, add: TensorGroupSums, total: Any, observed: Any = None) -> tuple[Any, Any]:
    """Means of the groups, and the deviations of the rows from them; 0 where no value is observed."""
    pilot = total.new_zeros((len(total), X.shape[1]))
    away = X.double() if observed is None else X.double().where(observed, 0.0)
    for _ in range(2):
        pilot = pilot + (add(away) / total).where(total > 0, 0.0)
        away = _deviations(X, pilot, groups, observed)
    return pilot, away


def _deviations(X: Any, pilot: Any, groups: Any, observed: Any) -> Any:
    away = X - pilot[groups]
    return away if observed is None else away.where(observed, 0.0)


def _rows_of_positive_weight(weight: Any, *rows: Any) -> tuple[Any, ...]:
    """Select the weights and rows of positive weight."""
    if weight is None or bool((kept := weight != 0).all()):
        return weight, *rows
    return weight[kept], *(values[kept] for values in rows)


def _rows_by_group(groups: Any, n_groups: int) -> Iterator[tuple[int, Any]]:
    """Iterate over the groups that have rows, with the positions of these."""
    sizes = groups.bincount(minlength=n_groups).tolist()
    for group, rows in enumerate(groups.argsort(stable=True).split(sizes)):
        if len(rows):
            yield group, rows
