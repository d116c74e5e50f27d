"""Shapley values of any function of rows, relative to background rows.

The worth of a coalition S of columns is v(S) = mean over background rows b of f(x_S, b_rest): the columns of S have the
values of the row x, and the others those of b. The Shapley value of a column is its mean marginal v(S ∪ j) − v(S) over
all orders in which columns can be replaced. If all coalitions can be evaluated, the mean is computed exactly; otherwise
it is estimated from random orders, each with its reverse (Mitchell et al., "Sampling permutations for Shapley value
estimation", 2022). In both cases base + Σ values = f(x).

A "player" is a set of columns that are replaced together: usually one column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DataError
from mercer._typing import Array
from mercer.data.mixing import StackedRows

#: background rows that are used; their number multiplies the cost of each coalition
MAX_BACKGROUND_ROWS = 100
#: players up to which all coalitions, 2 to that power, may be evaluated
MAX_ENUMERATED_PLAYERS = 12
#: players of a wide table, whose remaining columns form the last player
MAX_PLAYERS = 80
#: players at least, even if evaluations are few for the number of rows
MIN_PLAYERS = 10
#: entries of a mixed table that is evaluated in one call, which bounds memory
MAX_MIXED_ENTRIES = 8_000_000
#: pairs of an order and its reverse drawn for each row: the minimum, for standard errors
MIN_ORDER_PAIRS = 4
#: … and the maximum, beyond which standard errors are small enough
MAX_ORDER_PAIRS = 200
#: rows on which the columns of a wide table are screened
MAX_SCREENED_ROWS = 8
#: groups of columns at the beginning of the screening
N_SCREENED_GROUPS = 200
#: evaluations × columns, which bounds time for wide tables
MAX_EVALUATED_ENTRIES = 12_000_000
#: standard errors, relative to the largest value, that are rounding errors
SHAPLEY_ROUNDING = 1e-9


class ShapleyValues(NamedTuple):
    """Values of shape (rows, players, outputs), the base (outputs,), standard errors, and the sizes of the samples.

    `error` is None if all orders were evaluated, or if the order makes no difference. Each of `players` contains the
    positions of the columns that are replaced together.
    """

    base: Array
    values: Array
    error: Array | None
    players: tuple[tuple[int, ...], ...]
    background: int
    orders: int


def shapley_values(
    function: Callable[[Any], Array],
    X: Any,
    background: Any,
    *,
    columns: Sequence[int] | None = None,
    max_evaluations: int = 100_000,
    random_state: int = 0,
) -> ShapleyValues:
    """Divide the difference between the value of a function and its mean over the background among the columns.

    Parameters
    ----------
    function : callable
        Function of a table like `X` with values of shape (rows, outputs).
    X, background : data frame, array-like or sparse matrix
        The rows to explain, and rows with typical values. Of more than 100 background rows, 100 are used, evenly spaced
        in the order of their output.
    columns : sequence of int, default=None
        Positions of the columns on which the function depends; all by default.
    max_evaluations : int, default=100_000
        Approximate number of distinct rows for which the function is evaluated; fewer for more than 120 columns. At
        least four orders and their reverses are evaluated for each row, and at most 200. If there are too many columns
        for that, those with the least effect are replaced together.
    random_state : int, default=0
        Seed of the orders and background rows.

    Returns
    -------
    found : ShapleyValues
        With standard errors if orders were sampled.

    Examples
    --------
    >>> found = shapley_values(lambda X: X[:, :1] * X[:, 1:], np.array([[2.0, 3.0]]), np.array([[0.0, 1.0]]))
    >>> found.base.tolist(), found.values[0, :, 0].tolist()  # 2 · 3 = 0 + 4 + 2
    ([0.0], [4.0, 2.0])
    """
    game = _Game.of(function, X, background, columns, random_state)
    max_evaluations = min(max_evaluations, max(MAX_EVALUATED_ENTRIES // game.keys.shape[1], 1))
    game = game.merge_weak_players(max_evaluations)
    if len(game.players) <= MAX_ENUMERATED_PLAYERS and game.count_coalition_rows() <= max_evaluations:
        return game.result(_enumerate_coalitions(game), None, factorial(min(len(game.players), 20)))
    values, error, orders = _sample_orders(game, max_evaluations)
    if error.max(initial=0.0) <= SHAPLEY_ROUNDING * max(np.abs(values).max(initial=0.0), SHAPLEY_ROUNDING):
        return game.result(values, None, orders)
    return game.result(values, error, orders)


class _Game(NamedTuple):
    """A function, the stacked rows and background rows, and the players."""

    function: Callable[[Any], Array]
    stacked: StackedRows
    rows: int
    background: Array  # positions among the stacked rows
    base: Array
    outputs: Array  # of the rows
    middle: Array  # output of the background row in the middle of their order
    players: tuple[tuple[int, ...], ...]
    keys: Array  # (stacked rows, columns): random numbers, equal where values are
    random: np.random.Generator

    @classmethod
    def of(
        cls, function: Callable[[Any], Array], X: Any, background: Any, columns: Sequence[int] | None, seed: int
    ) -> _Game:
        stacked = StackedRows.of(X, background)
        total, width = stacked.table.shape
        rows = stacked.first
        if total == rows:
            raise DataError("The background has no rows; give at least one.")
        random = np.random.default_rng(seed)
        positions = np.arange(rows, total)
        if len(positions) > 10 * MAX_BACKGROUND_ROWS:
            positions = np.sort(random.choice(positions, 10 * MAX_BACKGROUND_ROWS, replace=False))
        places = np.concatenate([np.arange(rows), positions])
        outputs = _evaluate(function, stacked, np.broadcast_to(places[:, None], (len(places), width)))
        of_background = outputs[rows:]
        order = np.argsort(np.nan_to_num(of_background[:, -1]), kind="stable")
        if len(order) > MAX_BACKGROUND_ROWS:
            order = order[((np.arange(MAX_BACKGROUND_ROWS) + 0.5) / MAX_BACKGROUND_ROWS * len(order)).astype(int)]
        base = np.nan_to_num(_finite_mean(of_background[order]))
        coded = [stacked.codes(j) for j in range(width)]
        keys = np.stack([random.integers(0, 2**63, codes.max() + 2, dtype=np.uint64)[codes] for codes in coded], axis=1)
        players = tuple((j,) for j in (range(width) if columns is None else columns))
        known = np.where(np.isnan(outputs), base, outputs)
        middle = known[rows + order[len(order) // 2]]
        return cls(function, stacked, rows, positions[order], base, known[:rows], middle, players, keys, random)

    def result(self, values: Array, error: Array | None, orders: int) -> ShapleyValues:
        return ShapleyValues(self.base, values, error, self.players, len(self.background), orders)

    @property
    def player_keys(self) -> Array:
        """Sums of the keys of the columns of each player, modulo 2⁶⁴, of shape (stacked rows, players)."""
        return np.stack([self.keys[:, list(each)].sum(axis=1, dtype=np.uint64) for each in self.players], axis=1)

    def count_differing(self) -> Array:
        """Count the players that differ between each row and each background row."""
        keys = self.player_keys
        return np.stack([(keys[row] != keys[self.background]).sum(axis=1) for row in range(self.rows)])

    def count_coalition_rows(self) -> float:
        """Count the distinct mixed rows of all coalitions of all rows."""
        return float(np.exp2(self.count_differing()).sum())

    def values(self, row: Array, other: Array, joined: Callable[[Array], Array], keys: Array) -> Array:
        """Evaluate f for mixed rows: players in the mask `joined(items)` are those of `row`, others those of `other`.

        Mixed rows with equal `keys` are equal, and are evaluated once.
        """
        width = self.keys.shape[1]
        owner = np.full(width, len(self.players))  # columns without a player stay those of the row
        for k, columns in enumerate(self.players):
            owner[list(columns)] = k
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        results = []
        for some in _batches(first, MAX_MIXED_ENTRIES // width):
            kept = np.column_stack([joined(some), np.ones(len(some), dtype=bool)])[:, owner]
            index = np.where(kept, row[some][:, None], other[some][:, None])
            results.append(_evaluate(self.function, self.stacked, index))
        values = np.concatenate(results)
        return np.asarray(np.where(np.isnan(values), self.base, values)[np.ravel(inverse)])

    def merge_weak_players(self, max_evaluations: int) -> _Game:
        """Return the game with one player for all columns of little effect, if there are too many columns.

        Groups of columns are screened by the change of f if they are replaced by those of the middle background row.
        Those with the largest change are split and screened again, until they are single columns.
        """
        most = int(np.clip(max_evaluations // (2 * MIN_ORDER_PAIRS * self.rows), MIN_PLAYERS, MAX_PLAYERS))
        if len(self.players) <= most:
            return self
        groups = _split([j for (j,) in self.players], N_SCREENED_GROUPS)
        rest: list[int] = []
        while True:
            effect = self._screen(groups, max_evaluations)
            order = np.argsort(-effect, kind="stable").tolist()
            rest += [column for k in order[most - 1 :] for column in groups[k]]
            groups = [groups[k] for k in order[: most - 1]]
            if all(len(group) == 1 for group in groups):
                return self._replace(players=(*sorted(groups), tuple(sorted(rest))))
            groups = [part for group in groups for part in _split(list(group), 6)]

    def _screen(self, groups: list[tuple[int, ...]], max_evaluations: int) -> Array:
        """Return the mean change of f over some rows if each group is replaced by that of the middle background row."""
        screened = max(1, min(MAX_SCREENED_ROWS, self.rows, max_evaluations // (20 * len(groups))))
        several = len(groups) + 1  # the last leaves no group out
        row = np.repeat(np.linspace(0, self.rows - 1, screened).astype(int), several)
        other = np.full(len(row), self.background[len(self.background) // 2])
        left = np.tile(np.arange(several), screened)
        values = self._replace(players=tuple(groups)).values(
            row, other, lambda items: left[items][:, None] != np.arange(len(groups)), np.arange(len(row))
        )
        values = values.reshape(screened, several, -1)
        return np.asarray(np.abs(values[:, :-1] - values[:, -1:]).mean(axis=(0, 2)))


def _split(columns: list[int], parts: int) -> list[tuple[int, ...]]:
    return [tuple(part.tolist()) for part in np.array_split(columns, min(parts, len(columns)))]


def _evaluate(function: Callable[[Any], Array], stacked: StackedRows, index: Array) -> Array:
    parts = [function(stacked.mix(some)) for some in _batches(index, max(1, MAX_MIXED_ENTRIES // index.shape[1]))]
    return np.concatenate([np.asarray(part, dtype=float) for part in parts])


def _finite_mean(outputs: Array) -> Array:
    """Return the mean of the finite outputs."""
    finite = np.isfinite(outputs)
    return np.asarray(np.where(finite, outputs, 0.0).sum(axis=0) / np.maximum(finite.sum(axis=0), 1))


def _batches(items: Array, most: int) -> Iterator[Array]:
    for start in range(0, len(items), max(most, 1)):
        yield items[start : start + max(most, 1)]


def _enumerate_coalitions(game: _Game) -> Array:
    """Return the mean marginals over all coalitions, weighted by the share of orders that begin with the coalition."""
    p, m = len(game.players), len(game.background)
    members = (np.arange(2**p)[:, None] >> np.arange(p)) & 1 == 1  # (coalitions, players)
    size = members.sum(axis=1)
    weight = np.array([factorial(s) * factorial(p - s - 1) / factorial(p) if s < p else 0.0 for s in range(p + 1)])
    keys = game.player_keys
    inside, outside = members.astype(np.uint64), (~members).astype(np.uint64)
    theirs = outside @ keys[game.background].T  # (coalitions, background rows)
    worth = np.empty((game.rows, 2**p, len(game.base)))
    for rows in _batches(np.arange(game.rows), MAX_MIXED_ENTRIES // (2**p * m)):
        shape = (len(rows), 2**p, m)
        mine = keys[rows] @ inside.T
        coalition = np.broadcast_to(np.arange(2**p)[:, None], shape).ravel()
        values = game.values(
            np.broadcast_to(rows[:, None, None], shape).ravel(),
            np.broadcast_to(game.background, shape).ravel(),
            partial(_select_members, members, coalition),
            (mine[:, :, None] + theirs).ravel(),
        )
        worth[rows] = values.reshape(*shape, -1).mean(axis=2)
    values_of_part = []
    for j in range(p):
        without = np.flatnonzero(~members[:, j])
        marginals = worth[:, without | (1 << j)] - worth[:, without]
        values_of_part.append(np.einsum("s,nsk->nk", weight[size[without]], marginals))
    return np.stack(values_of_part, axis=1) if values_of_part else np.zeros((game.rows, 0, len(game.base)))


def _select_members(members: Array, coalition: Array, items: Array) -> Array:
    return np.asarray(members[coalition[items]])


def _sample_orders(game: _Game, max_evaluations: int) -> tuple[Array, Array, int]:
    """Return means and standard errors over orders and their reverses, and the number of orders for each row.

    With enough evaluations, every background row is used in two or more orders, each with its reverse, and the error is
    that of sampling orders. It is zero for a sum of functions of two columns, for which an order and its reverse
    average to the exact value. Otherwise each row uses some background rows once, and the error is that of sampling
    both; the effect of each player alone, whose mean over the background is known, is a control variate.
    """
    n, p, m = game.rows, len(game.players), len(game.background)
    differing = max(1.0, 2 * float(game.count_differing().mean(axis=1).sum()))
    pairs = min(max(MIN_ORDER_PAIRS, int(max_evaluations / differing)), MAX_ORDER_PAIRS)
    balanced = pairs >= 2 * m
    effects = None
    if not balanced and (cost := p * (n + m)) <= max_evaluations / 3:
        effects = _single_effects(game)
        pairs = min(max(MIN_ORDER_PAIRS, int((max_evaluations - cost) / differing)), MAX_ORDER_PAIRS)
    used, repeats = (m, pairs // m) if balanced else (min(pairs, m), 1)
    means, variances = [], []
    for rows in _batches(np.arange(n), MAX_MIXED_ENTRIES // (used * repeats * 2 * (p + 1) * len(game.base))):
        added, other = _sample_marginals(game, rows, used, repeats)
        drawn = added.mean(axis=3)  # (rows, used, repeats, players, outputs)
        each = drawn.mean(axis=2)
        if effects is not None:
            each = _apply_control_variate(each, effects[rows], effects[other], effects[game.background].mean(axis=0))
        variance = drawn.var(axis=2, ddof=1).mean(axis=1) / repeats if balanced else each.var(axis=1, ddof=1)
        means.append(each.mean(axis=1))
        variances.append(variance / used)
    values, variance = np.concatenate(means), np.concatenate(variances)
    return _complete(game, values, variance), np.sqrt(variance), 2 * used * repeats


def _single_effects(game: _Game) -> Array:
    """Return the change of f at the middle background row if one player is replaced by that of each stacked row.

    The shape is (stacked rows, players, outputs); it is 0 for rows that are neither explained nor background.
    """
    p = len(game.players)
    middle = game.background[len(game.background) // 2]
    positions = np.concatenate([np.arange(game.rows), game.background])
    keys = game.player_keys
    row = np.repeat(positions, p)
    player = np.tile(np.arange(p), len(positions))
    mixed = keys[middle].sum(dtype=np.uint64) - keys[middle][player] + keys[row, player]
    values = game.values(row, np.full(len(row), middle), lambda items: player[items][:, None] == np.arange(p), mixed)
    effects = np.zeros((len(game.keys), p, values.shape[1]))
    effects[positions] = values.reshape(len(positions), p, -1) - game.middle
    return effects


def _apply_control_variate(each: Array, of_rows: Array, of_used: Array, of_background: Array) -> Array:
    """Subtract from marginals (rows, used, players, outputs) the effect of the choice of background rows."""
    control = of_rows[:, None] - of_used
    moved = control - control.mean(axis=1, keepdims=True)
    explained = (moved * (each - each.mean(axis=1, keepdims=True))).sum(axis=(0, 1))
    slope = np.divide(
        explained, (moved**2).sum(axis=(0, 1)), out=np.zeros_like(explained), where=moved.any(axis=(0, 1))
    )
    return np.asarray(each - slope * (control - (of_rows - of_background)[:, None]))


def _sample_marginals(game: _Game, rows: Array, used: int, repeats: int) -> tuple[Array, Array]:
    """Return the marginals of the players in random orders, and the background rows used, of shape (rows, used).

    Marginals have the shape (rows, used background rows, repeats, 2, players, outputs), with an order and its reverse
    along the fourth axis. Background rows are evenly spaced in the order of their output.
    """
    n, p, m = len(rows), len(game.players), len(game.background)
    shape = (n, used, repeats, 2, p)
    order = np.argsort(game.random.random((n, used, repeats, p)), axis=3)
    order = np.stack([order, order[..., ::-1]], axis=3)
    rank = np.argsort(order, axis=4)
    places = ((np.arange(used) + game.random.random((n, 1))) * (m / used)).astype(int) % m
    other = game.background[places]
    keys = game.player_keys
    theirs = keys[other][:, :, None, None, :]
    gained = np.broadcast_to(keys[rows][:, None, None, None, :] - theirs, shape)
    start = np.broadcast_to(theirs.sum(axis=4, dtype=np.uint64)[..., None], (*shape[:-1], 1))
    mixed = np.concatenate([start, np.take_along_axis(gained, order, axis=4)], axis=4)
    steps = (*shape[:-1], p + 1)
    sequence = np.broadcast_to(np.arange(n * used * repeats * 2).reshape(*shape[:-1], 1), steps).ravel()
    step = np.broadcast_to(np.arange(p + 1), steps).ravel()
    ranks = rank.reshape(-1, p)
    values = game.values(
        np.broadcast_to(rows[:, None, None, None, None], steps).ravel(),
        np.broadcast_to(other[:, :, None, None, None], steps).ravel(),
        lambda items: ranks[sequence[items]] < step[items][:, None],
        np.cumsum(mixed, axis=4, dtype=np.uint64).ravel(),
    )
    added = np.diff(values.reshape(*steps, -1), axis=4)  # in the order of the sequence
    return np.asarray(np.take_along_axis(added, rank[..., None], axis=4)), other


def _complete(game: _Game, values: Array, variance: Array) -> Array:
    """Distribute the difference between f(x) − base and the sum of the values in proportion to their variances.

    The difference is zero if every background row was used. A player without variance, such as a column on which the
    function does not depend, keeps its value, unless no player has variance.
    """
    missing = game.outputs - game.base - values.sum(axis=1)
    weight = np.where((variance > 0).any(axis=1, keepdims=True), variance, np.abs(values))
    total = weight.sum(axis=1, keepdims=True)
    share = np.divide(weight, total, out=np.full_like(weight, 1 / max(weight.shape[1], 1)), where=total > 0)
    return np.asarray(values + share * missing[:, None])
