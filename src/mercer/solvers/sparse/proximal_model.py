"""The quadratic model of weighted losses plus a penalty, and its minimum over the columns that matter."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.designs import Design
from mercer.families.response import Slopes
from mercer.solvers.sparse._gram_set import GramSet
from mercer.solvers.sparse._proximal_columns import DesignColumns
from mercer.solvers.sparse.duality import Penalty

#: columns up to which all of them matter, and are multiplied by the design
ALL_AT_ONCE = 200
#: columns that matter at first at most, if they have numbers in every row; they may double each time
FIRST = 100
#: columns up to which products between them are computed, and stored entries per row
MOST_GRAM, MOST_STORED = 2_000, 10
#: products are kept while curvatures have changed by no more than this portion
STALE = 0.02
#: models are minimised to this portion of the distance that there is
CLOSER, MOST_SWEEPS = 1e-4, 1_000
#: sweeps over rows end when one gains no more than this portion of the first
LAST_GAIN = 0.1
MOST_ROW_SWEEPS = 30
#: a sweep that gains more than this portion of the one before is one of many to come
SLOW = 0.15
#: conjugate gradients end at these portions of the residual: the latter is for a distance of as much as the objective
LEAST_RESIDUAL, RESIDUAL = 0.01, 0.1
MOST_CONJUGATE = 30


class Place(Protocol):
    """Where a model is made: see `_proximal_descent.Place`."""

    @property
    def u(self) -> Array: ...
    @property
    def slopes(self) -> Slopes: ...
    @property
    def c(self) -> Array: ...
    @property
    def value(self) -> float: ...
    @property
    def distance(self) -> float: ...


class Model:
    """Columns, and what is known of the products between them."""

    def __init__(self, design: Design, penalty: Penalty) -> None:
        self._design, self._penalty = design, penalty
        self._exact = False
        self._set: GramSet | None = None
        self._h = np.zeros(0)
        #: whether products were computed at the present curvatures
        self._fresh = False

    @cached_property
    def columns(self) -> DesignColumns:
        return DesignColumns(self._design, exact=self._exact)

    def forget(self) -> None:
        """Compute products anew."""
        self._set = None

    def refine(self) -> bool:
        """Compute more exactly than so far; False if that is impossible."""
        if self._set is not None and not self._fresh:
            self.forget()
            return True
        if self.columns.dtype == np.float64:
            return False
        self._exact = True
        del self.columns
        return True

    def minimiser(self, place: Place) -> Array:
        """Of the model made at a place."""
        u, h = place.u, place.slopes.second
        ids = self._that_matter(place)
        if not self._by_gram(ids):
            with blas_for(1):  # products of vectors gain nothing by threads
                return self._by_rows(place, ids)
        self._prepare(ids, h)
        chosen = self._set
        assert chosen is not None
        first = place.slopes.first
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.where(h > 0, first * (first / h), 0.0).sum()
        chosen.load(u, place.c, float(squares))
        chosen.solve(self._penalty, CLOSER * place.distance, MOST_SWEEPS)
        there = u.copy()
        there[chosen.ids] = chosen.quadratic.w
        return there

    def _that_matter(self, place: Place) -> Array:
        """Columns away from their means or free, and those that pull hardest."""
        if self._design.n_columns <= ALL_AT_ONCE:
            return np.arange(self._design.n_columns)
        away = (place.u != 0) | self._penalty.free
        pull = np.where(away, 0.0, self._penalty.violations(place.u, place.c))
        new = np.flatnonzero(pull > 0)
        most = max(FIRST, int(away.sum()))
        if self.columns.numbers(new)[0] > most:
            new = new[np.argpartition(-pull[new], most)[:most]]
        away[new] = True
        return np.flatnonzero(away)

    # By products between columns.

    def _by_gram(self, ids: Array) -> bool:
        if self._design.n_columns <= ALL_AT_ONCE:
            return True
        return len(ids) <= MOST_GRAM and self.columns.numbers(ids)[1] <= MOST_STORED * self._design.n_rows

    def _prepare(self, ids: Array, h: Array) -> None:
        """Have products between these columns, at curvatures near h."""
        change = float(np.abs(h - self._h).sum()) if self._set is not None else np.inf
        new = ids if self._set is None else ids[~self._set.member[ids]]
        if self._set is None or change > STALE * self._h.sum() or len(self._set) + len(new) > MOST_GRAM:
            self._h, change = h, 0.0
            self._set = self._gram_set(ids)
        else:
            self._set.grow(new)
        self._fresh = change == 0.0

    def _gram_set(self, ids: Array) -> GramSet:
        columns: Any = self.columns
        if self._design.n_columns <= ALL_AT_ONCE:
            return GramSet.of_gram(columns, self._design.gram(self._h))
        made = GramSet(columns, self._h)
        made.grow(ids)
        return made

    # By the slopes of rows.

    def _by_rows(self, place: Place, ids: Array) -> Array:
        """Sweeps; where they turn slow, among coefficients that keep their signs by conjugate gradients."""
        self.forget()
        h = place.slopes.second.astype(self.columns.dtype)
        penalty, curvature = self._penalty.of(ids), self.columns.squares(ids, h)
        w, v, c = place.u[ids], np.zeros(len(h), dtype=h.dtype), place.c[ids]
        gains = [np.inf]
        for _ in range(MOST_ROW_SWEEPS):
            gains.append(self.columns.sweep(ids, c, h, curvature, penalty, w, v))
            if gains[-1] <= LAST_GAIN * max(gains[1:]):
                break
            if gains[-1] > SLOW * gains[-2]:
                face = np.flatnonzero((w != 0) & (curvature > 0))
                slopes = c[face] + self.columns.products(ids[face], v)
                w[face] = self._polished(ids[face], w[face], slopes, h, curvature[face], _forcing(place))
                break
        there = place.u.copy()
        there[ids] = w
        return there

    def _polished(self, face: Array, w: Array, c: Array, h: Array, curvature: Array, portion: float) -> Array:
        """Towards the minimum of the model for the present signs; coefficients that would change theirs end at zero."""
        few = self._penalty.of(face)
        bend = curvature + few.l2
        residual = c - few.l2 * w - few.l1 * np.sign(w)
        step, direction = np.zeros((2, len(w)))
        size = begin = 0.0
        for _ in range(MOST_CONJUGATE):
            scaled = residual / bend
            before, size = size, float(residual @ scaled)
            begin = begin or size
            if size <= portion**2 * begin:
                break
            direction = scaled + (size / before if before else 0.0) * direction
            product = self.columns.curved(face, h, direction) + few.l2 * direction
            length = size / float(direction @ product)
            step += length * direction
            residual -= length * product
        there = w + step
        return np.where((there * w < 0) & (few.l1 > 0), 0.0, there)


def _forcing(place: Place) -> float:
    """How exactly a model is worth solving: to a digit at first, to more near the end (Dembo and others 1982)."""
    return float(np.clip(RESIDUAL * np.sqrt(place.distance / abs(place.value)), LEAST_RESIDUAL, RESIDUAL))
