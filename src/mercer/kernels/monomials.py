"""All products of up to p columns, each by one multiplication from a product of a lower degree.

Monomials of a degree are in the order of `itertools.combinations_with_replacement`, which is scikit-learn's. Those that
begin with column j are xⱼ times the monomials of one degree less that begin with j or later (with a later column, if
columns are distinct), and these are the last ones of that degree. So every degree is made of slices of the one before,
and so are exponents, names, and the numbers of orders of the factors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import NonFiniteError
from mercer._stored import stored, whole
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array

#: features from which monomials are computed in place, since rows are long enough
IN_PLACE_FEATURES = 1 << 11
#: values of a block that is computed in place
IN_PLACE_BLOCK = 1 << 19
#: values of a block that is computed separately, column by column, and copied from the cache
SEPARATE_BLOCK = 1 << 17
#: blocks that one thread writes one after another
BLOCKS_PER_THREAD = 16


class DegreeSlice(NamedTuple):
    """Monomials `start` to `stop` of a degree are column `first` times those from `after` on of the degree below.

    Of these, `same` begin with that column too.
    """

    first: int
    after: int
    start: int
    stop: int
    same: int


@stored(highest=whole(0, 1000))
@dataclass(frozen=True)
class MonomialOrder:
    """The monomials of `columns` columns from degree `lowest` to `highest`, and their order.

    Examples
    --------
    >>> MonomialOrder(40, 8, 8).n_features, MonomialOrder(40, 0, 8).n_features
    (314457495, 377348994)
    >>> MonomialOrder(2, 0, 2).exponents().tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """

    columns: int
    lowest: int
    highest: int
    #: whether no column may be a factor twice
    distinct: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        # cached properties follow from the four numbers and are not stored
        return MonomialOrder, (self.columns, self.lowest, self.highest, self.distinct)

    @property
    def n_features(self) -> int:
        """Number of monomials, by counting only."""
        if self.distinct:
            return sum(self.of_degree(t) for t in self.degrees if t <= self.columns)
        d, p, lower = self.columns, self.highest, self.lowest - 1
        return comb(d + p, p) - (comb(d + lower, lower) if lower >= 0 else 0)

    @property
    def n_computed(self) -> int:
        """Number of monomials that are computed, those of lower degrees included."""
        return MonomialOrder(self.columns, 0, self.highest, self.distinct).n_features

    @property
    def degrees(self) -> range:
        return range(self.lowest, self.highest + 1)

    def of_degree(self, degree: int) -> int:
        """Return the number of monomials of exactly this degree: 1 for degree 0, even without columns."""
        return comb(self.columns, degree) if self.distinct else comb(max(self.columns + degree - 1, 0), degree)

    @cached_property
    def left(self) -> list[Array]:
        """Number of monomials of each degree from 0 on that begin with column j or later, for every j."""
        counts = [np.ones(self.columns + 1, np.int64)]
        for _ in range(self.highest):
            begin = counts[-1][1:] if self.distinct else counts[-1][:-1]
            counts.append(np.append(np.cumsum(begin[::-1])[::-1], 0))
        return counts

    @cached_property
    def slices(self) -> list[list[DegreeSlice]]:
        """The slices of which each degree is made, column by column; none for degree 0."""
        return [[], *(list(self._slices(t)) for t in range(1, self.highest + 1))]

    def _slices(self, degree: int) -> Iterator[DegreeSlice]:
        lower, ours = self.left[degree - 1].tolist(), self.left[degree].tolist()
        for j in range(self.columns):
            after, same = (lower[j + 1], 0) if self.distinct else (lower[j], lower[j] - lower[j + 1])
            yield DegreeSlice(j, lower[0] - after, ours[0] - ours[j], ours[0] - ours[j + 1], same)

    def exponents(self) -> Array:
        """Return the exponent of every column in every monomial."""
        made = [np.zeros((1, self.columns), np.int64)]
        for t in range(1, self.highest + 1):
            made.append(np.concatenate([made[-1][:0], *(made[-1][part.after :] for part in self.slices[t])]))
            for part in self.slices[t]:
                made[-1][part.start : part.stop, part.first] += 1
        return np.concatenate([made[t] for t in self.degrees])

    def names(self, columns: list[str]) -> list[str]:
        """Return names of monomials, such as "height weight^2", from those of columns."""
        made, rests = [["1"]], [[""]]  # the rest of a name follows the first factor and its power
        powers = [[0]]
        for t in range(1, self.highest + 1):
            rest, power = [], []
            for part in self.slices[t]:
                twice = part.after + part.same
                rest += rests[-1][part.after : twice] + (made[-1][twice:] if t > 1 else [""])
                power += [1 + before for before in powers[-1][part.after : twice]]
                power += [1] * (part.stop - part.start - part.same)
            first = [columns[part.first] for part in self.slices[t] for _ in range(part.start, part.stop)]
            factors = [name if k == 1 else f"{name}^{k}" for name, k in zip(first, power, strict=True)]
            made.append([f"{factor} {more}" if more else factor for factor, more in zip(factors, rest, strict=True)])
            rests.append(rest)
            powers.append(power)
        return [name for t in self.degrees for name in made[t]]

    def factors(self, feature: int) -> list[int]:
        """Return the columns that are multiplied in one of the monomials, in ascending order.

        Examples
        --------
        >>> MonomialOrder(40, 0, 8).factors(377_348_993)
        [39, 39, 39, 39, 39, 39, 39, 39]
        """
        degree = next(t for t in self.degrees if feature < self.places[t].stop)
        at, chosen = feature - self.places[degree].start, []
        for t in range(degree, 0, -1):
            begins, lower = self.left[t][0] - self.left[t], self.left[t - 1]
            j = int(np.searchsorted(begins, at, side="right")) - 1
            chosen.append(j)
            at += int(lower[0] - lower[j + self.distinct] - begins[j])
        return chosen

    def arrangements(self) -> list[Array]:
        """Return t!/∏aⱼ! for each degree from 0 on: the number of orders of the factors of each monomial."""
        made, powers = [np.ones(1)], np.zeros(1)
        for t in range(1, self.highest + 1):
            result, power = np.empty(self.of_degree(t)), np.ones(self.of_degree(t))
            for part in self.slices[t]:
                power[part.start : part.start + part.same] += powers[part.after : part.after + part.same]
                result[part.start : part.stop] = made[-1][part.after :]
            with np.errstate(over="ignore"):
                made.append(result * (t / power))
            powers = power
        return made

    def weights(self, gamma: float, constant: float) -> Array:
        """Return √(C(p, t) cᵖ⁻ᵗ γᵗ t!/∏aⱼ!) of each monomial, with which inner products are (γ x·z + c)ᵖ."""
        p, orders = self.highest, self.arrangements()
        try:
            with np.errstate(over="raise"):
                squares = [comb(p, t) * constant ** (p - t) * gamma**t * orders[t] for t in self.degrees]
        except (OverflowError, FloatingPointError):
            raise NonFiniteError(
                f"coefficients of monomials of degree {p} are beyond float64; use the kernel, which needs none of them."
            ) from None
        return np.asarray(np.sqrt(np.concatenate(squares)))

    def fill_degrees(self, columns: Array, made: list[Array]) -> None:
        """Fill the monomials of every degree from 1 on, a row for each, given those of degree 0."""
        for t in range(1, self.highest + 1):
            for part in self.slices[t]:
                np.multiply(made[t - 1][part.after :], columns[part.first], out=made[t][part.start : part.stop])

    def write(
        self,
        X: Array,
        out: Array,
        weights: Array | None = None,
        *,
        in_place: bool | None = None,
        block_values: int | None = None,
        blocks_per_thread: int = BLOCKS_PER_THREAD,
    ) -> None:
        """Write the monomials of rows into an array; NaN stays NaN, and an overflow becomes infinite.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows.
        out : array of shape (n, n_features)
            Memory for the monomials.
        weights : array of shape (n_features,), default=None
            Factors of the monomials.
        in_place : bool, default=None
            Whether they are computed in `out`, instead of separately and copied; by default if there are many.
        block_values : int, default=None
            Monomials of the rows of a block; by default 2¹⁹ in place, and otherwise 2¹⁷.
        blocks_per_thread : int, default=16
            Blocks that one thread writes one after another.
        """
        lower = self.n_computed - self.n_features
        if in_place is None:
            in_place = self.n_features >= IN_PLACE_FEATURES
        if block_values is None:
            block_values = IN_PLACE_BLOCK if in_place else SEPARATE_BLOCK
        size = max(1, block_values // self.n_computed)

        def several(rows: slice) -> None:
            scratch = np.empty((lower if in_place else self.n_computed, size), out.dtype)
            for start in range(rows.start, rows.stop, size):
                block = slice(start, min(start + size, rows.stop))
                self._write_block(X[block], out[block], weights, scratch[:, : block.stop - block.start])

        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            ordered_map(several, row_blocks(len(X), size * blocks_per_thread))

    def _write_block(self, X: Array, out: Array, weights: Array | None, scratch: Array) -> None:
        """Write the rows of a block; `scratch` holds all monomials, or only those of lower degrees."""
        lower = self.n_computed - self.n_features
        apart = scratch[lower:] if len(scratch) > lower else out.T
        ends = np.cumsum([self.of_degree(t) for t in range(self.lowest)]).tolist()
        made = np.split(scratch[:lower], ends)[: self.lowest] + [apart[self.places[t]] for t in self.degrees]
        made[0][:] = 1
        self.fill_degrees(np.ascontiguousarray(X.T), made)
        if weights is not None:
            np.multiply(apart.T, weights, out=out)
        elif len(scratch) > lower:
            out[:] = apart.T

    @cached_property
    def places(self) -> list[slice]:
        """Positions at which each degree is written; empty below the lowest."""
        stops = np.cumsum([self.of_degree(t) if t in self.degrees else 0 for t in range(self.highest + 1)]).tolist()
        return [slice(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]
