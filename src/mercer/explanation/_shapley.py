"""Shapley values of any function of rows, against rows of a background.

A coalition S of columns is worth v(S) = mean over background rows b of f(x_S, b_rest): the columns of S are those of
the row x, the others those of b. The value of a column is its mean marginal v(S ∪ j) − v(S) over all orders in which
columns can be replaced. Where all coalitions can be evaluated, that mean is computed; otherwise it is estimated from
random orders, each with its reverse (Mitchell et al., "Sampling permutations for Shapley value estimation", 2022). In
both cases base + Σ values = f(x).
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

#: rows of the background that are kept
MOST_BACKGROUND = 100
#: columns up to which all coalitions may be evaluated, columns that have a value of their own, and rows × columns of a
#: mixed table that is evaluated at once
MOST_ENUMERATED, MOST_PLAYERS, MOST_ENTRIES = 12, 80, 8_000_000
#: orders, each with its reverse, that are drawn for a row at least and at most
LEAST_PAIRS, MOST_PAIRS = 4, 200
#: columns that have a value of their own where there are few evaluations for many rows
LEAST_PLAYERS = 10
#: rows on which columns of wide tables are screened, and groups of columns at first
SCREENED_ROWS, SCREENED_GROUPS = 8, 200
#: evaluations × columns
MOST_VALUES = 12_000_000
#: errors relative to the largest value that are rounding
ROUNDING = 1e-9


class ShapleyValues(NamedTuple):
    """Values of shape (rows, players, outputs), the base (outputs,), standard errors, and what they rest on.

    `error` is None where all orders were evaluated, or where the order makes no difference. `players` are the columns
    that are replaced together: one, unless there are very many.
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
    """Divide what a function says of each row, beyond its mean over the background, among the columns.

    Parameters
    ----------
    function : callable
        Of a table like `X`, with values of shape (rows, outputs).
    X, background : data frame, array-like or sparse matrix
        The rows to explain, and rows with usual values. Of many background rows 100 are kept: evenly spaced along their
        output.
    columns : sequence of int, default=None
        Positions of the columns that the function depends on; all by default.
    max_evaluations : int, default=100_000
        Distinct rows that the function is evaluated for, about; fewer for more than 120 columns. There are at least
        four orders and their reverses for each row, and at most 200. Where columns are too many for that, those that
        matter least count together.
    random_state : int, default=0
        Which orders and background rows are drawn.

    Returns
    -------
    found : ShapleyValues
        With standard errors where orders were sampled.

    Examples
    --------
    >>> found = shapley_values(lambda X: X[:, :1] * X[:, 1:], np.array([[2.0, 3.0]]), np.array([[0.0, 1.0]]))
    >>> found.base.tolist(), found.values[0, :, 0].tolist()  # 2 · 3 = 0 + 4 + 2
    ([0.0], [4.0, 2.0])
    """
    game = _Game.of(function, X, background, columns, random_state)
    max_evaluations = min(max_evaluations, max(MOST_VALUES // game.keys.shape[1], 1))
    game = game.merged(max_evaluations)
    if len(game.players) <= MOST_ENUMERATED and game.cost_of_coalitions() <= max_evaluations:
        return game.found(_enumerated(game), None, factorial(min(len(game.players), 20)))
    values, error, orders = _sampled(game, max_evaluations)
    if error.max(initial=0.0) <= ROUNDING * max(np.abs(values).max(initial=0.0), ROUNDING):
        return game.found(values, None, orders)
    return game.found(values, error, orders)


class _Game(NamedTuple):
    """A function, rows and background rows stacked, and the columns that are replaced together."""

    function: Callable[[Any], Array]
    stacked: StackedRows
    rows: int
    background: Array  # positions among the stacked rows
    base: Array
    outputs: Array  # of the rows
    middle: Array  # the output of the middle background row
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
        if len(positions) > 10 * MOST_BACKGROUND:
            positions = np.sort(random.choice(positions, 10 * MOST_BACKGROUND, replace=False))
        whole = np.concatenate([np.arange(rows), positions])
        outputs = _evaluated(function, stacked, np.broadcast_to(whole[:, None], (len(whole), width)))
        usual = outputs[rows:]
        order = np.argsort(np.nan_to_num(usual[:, -1]), kind="stable")
        if len(order) > MOST_BACKGROUND:
            order = order[((np.arange(MOST_BACKGROUND) + 0.5) / MOST_BACKGROUND * len(order)).astype(int)]
        base = np.nan_to_num(_mean(usual[order]))
        every = [stacked.codes(j) for j in range(width)]
        keys = np.stack([random.integers(0, 2**63, codes.max() + 2, dtype=np.uint64)[codes] for codes in every], axis=1)
        players = tuple((j,) for j in (range(width) if columns is None else columns))
        known = np.where(np.isnan(outputs), base, outputs)
        middle = known[rows + order[len(order) // 2]]
        return cls(function, stacked, rows, positions[order], base, known[:rows], middle, players, keys, random)

    def found(self, values: Array, error: Array | None, orders: int) -> ShapleyValues:
        return ShapleyValues(self.base, values, error, self.players, len(self.background), orders)

    @property
    def player_keys(self) -> Array:
        """(stacked rows, players): sums of keys, which wrap around."""
        return np.stack([self.keys[:, list(each)].sum(axis=1, dtype=np.uint64) for each in self.players], axis=1)

    def differing(self) -> Array:
        """(rows, background rows): how many players differ between them."""
        keys = self.player_keys
        return np.stack([(keys[row] != keys[self.background]).sum(axis=1) for row in range(self.rows)])

    def cost_of_coalitions(self) -> float:
        """Distinct rows that all coalitions of all rows come to."""
        return float(np.exp2(self.differing()).sum())

    def values(self, row: Array, other: Array, joined: Callable[[Array], Array], keys: Array) -> Array:
        """f of mixed rows: the players of `joined(items)` are those of `row`, the others those of `other`.

        `keys` are equal where mixed rows are; each is evaluated once.
        """
        width = self.keys.shape[1]
        owner = np.full(width, len(self.players))  # columns without a player stay those of the row
        for k, columns in enumerate(self.players):
            owner[list(columns)] = k
        _, first, again = np.unique(keys, return_index=True, return_inverse=True)
        found = []
        for some in _batches(first, MOST_ENTRIES // width):
            kept = np.column_stack([joined(some), np.ones(len(some), dtype=bool)])[:, owner]
            index = np.where(kept, row[some][:, None], other[some][:, None])
            found.append(_evaluated(self.function, self.stacked, index))
        values = np.concatenate(found)
        return np.asarray(np.where(np.isnan(values), self.base, values)[np.ravel(again)])

    def merged(self, max_evaluations: int) -> _Game:
        """The game with one player for all columns that matter little, where columns are many.

        Groups of columns are screened by the change of f as they become those of the middle background row; those with
        the largest are parted and screened again, until they are single columns.
        """
        most = int(np.clip(max_evaluations // (2 * LEAST_PAIRS * self.rows), LEAST_PLAYERS, MOST_PLAYERS))
        if len(self.players) <= most:
            return self
        groups = _parted([j for (j,) in self.players], SCREENED_GROUPS)
        rest: list[int] = []
        while True:
            effect = self._screened(groups, max_evaluations)
            order = np.argsort(-effect, kind="stable").tolist()
            rest += [column for k in order[most - 1 :] for column in groups[k]]
            groups = [groups[k] for k in order[: most - 1]]
            if all(len(group) == 1 for group in groups):
                return self._replace(players=(*sorted(groups), tuple(sorted(rest))))
            groups = [part for group in groups for part in _parted(list(group), 6)]

    def _screened(self, groups: list[tuple[int, ...]], max_evaluations: int) -> Array:
        """The mean change of f, over some rows, as each group becomes that of the middle background row."""
        screened = max(1, min(SCREENED_ROWS, self.rows, max_evaluations // (20 * len(groups))))
        several = len(groups) + 1  # the last leaves no group out
        row = np.repeat(np.linspace(0, self.rows - 1, screened).astype(int), several)
        other = np.full(len(row), self.background[len(self.background) // 2])
        left = np.tile(np.arange(several), screened)
        values = self._replace(players=tuple(groups)).values(
            row, other, lambda items: left[items][:, None] != np.arange(len(groups)), np.arange(len(row))
        )
        values = values.reshape(screened, several, -1)
        return np.asarray(np.abs(values[:, :-1] - values[:, -1:]).mean(axis=(0, 2)))


def _parted(columns: list[int], parts: int) -> list[tuple[int, ...]]:
    return [tuple(part.tolist()) for part in np.array_split(columns, min(parts, len(columns)))]


def _evaluated(function: Callable[[Any], Array], stacked: StackedRows, index: Array) -> Array:
    parts = [function(stacked.mix(some)) for some in _batches(index, max(1, MOST_ENTRIES // index.shape[1]))]
    return np.concatenate([np.asarray(part, dtype=float) for part in parts])


def _mean(outputs: Array) -> Array:
    """The mean of those outputs that are numbers."""
    finite = np.isfinite(outputs)
    return np.asarray(np.where(finite, outputs, 0.0).sum(axis=0) / np.maximum(finite.sum(axis=0), 1))


def _batches(items: Array, most: int) -> Iterator[Array]:
    for start in range(0, len(items), max(most, 1)):
        yield items[start : start + max(most, 1)]


def _enumerated(game: _Game) -> Array:
    """The mean marginal over all coalitions, weighted by the share of orders in which they come first."""
    p, m = len(game.players), len(game.background)
    members = (np.arange(2**p)[:, None] >> np.arange(p)) & 1 == 1  # (coalitions, players)
    size = members.sum(axis=1)
    weight = np.array([factorial(s) * factorial(p - s - 1) / factorial(p) if s < p else 0.0 for s in range(p + 1)])
    keys = game.player_keys
    inside, outside = members.astype(np.uint64), (~members).astype(np.uint64)
    theirs = outside @ keys[game.background].T  # (coalitions, background rows)
    worth = np.empty((game.rows, 2**p, len(game.base)))
    for rows in _batches(np.arange(game.rows), MOST_ENTRIES // (2**p * m)):
        shape = (len(rows), 2**p, m)
        mine = keys[rows] @ inside.T
        coalition = np.broadcast_to(np.arange(2**p)[:, None], shape).ravel()
        values = game.values(
            np.broadcast_to(rows[:, None, None], shape).ravel(),
            np.broadcast_to(game.background, shape).ravel(),
            partial(_members_of, members, coalition),
            (mine[:, :, None] + theirs).ravel(),
        )
        worth[rows] = values.reshape(*shape, -1).mean(axis=2)
    found = []
    for j in range(p):
        without = np.flatnonzero(~members[:, j])
        marginals = worth[:, without | (1 << j)] - worth[:, without]
        found.append(np.einsum("s,nsk->nk", weight[size[without]], marginals))
    return np.stack(found, axis=1) if found else np.zeros((game.rows, 0, len(game.base)))


def _members_of(members: Array, coalition: Array, items: Array) -> Array:
    return np.asarray(members[coalition[items]])


def _sampled(game: _Game, max_evaluations: int) -> tuple[Array, Array, int]:
    """Means and standard errors over orders and their reverses, and the number of orders for each row.

    Where evaluations suffice, every background row is met by two orders or more, each with its reverse, and the error
    is that of sampling orders: none for a function of pairs of columns, for which an order and its reverse average to
    the exact value. Otherwise some background rows are met once, and the error is that of sampling both; the effect of
    each player by itself, whose mean over the background is known, is a control variate.
    """
    n, p, m = game.rows, len(game.players), len(game.background)
    differing = max(1.0, 2 * float(game.differing().mean(axis=1).sum()))
    pairs = min(max(LEAST_PAIRS, int(max_evaluations / differing)), MOST_PAIRS)
    balanced = pairs >= 2 * m
    effects = None
    if not balanced and (cost := p * (n + m)) <= max_evaluations / 3:
        effects = _effects(game)
        pairs = min(max(LEAST_PAIRS, int((max_evaluations - cost) / differing)), MOST_PAIRS)
    met, repeats = (m, pairs // m) if balanced else (min(pairs, m), 1)
    means, variances = [], []
    for rows in _batches(np.arange(n), MOST_ENTRIES // (met * repeats * 2 * (p + 1) * len(game.base))):
        added, other = _marginals(game, rows, met, repeats)
        drawn = added.mean(axis=3)  # (rows, met, repeats, players, outputs)
        each = drawn.mean(axis=2)
        if effects is not None:
            each = _controlled(each, effects[rows], effects[other], effects[game.background].mean(axis=0))
        variance = drawn.var(axis=2, ddof=1).mean(axis=1) / repeats if balanced else each.var(axis=1, ddof=1)
        means.append(each.mean(axis=1))
        variances.append(variance / met)
    values, variance = np.concatenate(means), np.concatenate(variances)
    return _completed(game, values, variance), np.sqrt(variance), 2 * met * repeats


def _effects(game: _Game) -> Array:
    """f of the middle background row with one player of each stacked row, less f of that row.

    The shape is (stacked rows, players, outputs); rows that are neither explained nor background are left out as 0.
    """
    p = len(game.players)
    middle = game.background[len(game.background) // 2]
    positions = np.concatenate([np.arange(game.rows), game.background])
    keys = game.player_keys
    row = np.repeat(positions, p)
    player = np.tile(np.arange(p), len(positions))
    mixed = keys[middle].sum(dtype=np.uint64) - keys[middle][player] + keys[row, player]
    values = game.values(row, np.full(len(row), middle), lambda items: player[items][:, None] == np.arange(p), mixed)
    found = np.zeros((len(game.keys), p, values.shape[1]))
    found[positions] = values.reshape(len(positions), p, -1) - game.middle
    return found


def _controlled(each: Array, mine: Array, theirs: Array, usual: Array) -> Array:
    """Marginals (rows, met, players, outputs) less what is due to the background rows that happened to be met."""
    control = mine[:, None] - theirs
    moved = control - control.mean(axis=1, keepdims=True)
    explained = (moved * (each - each.mean(axis=1, keepdims=True))).sum(axis=(0, 1))
    slope = np.divide(
        explained, (moved**2).sum(axis=(0, 1)), out=np.zeros_like(explained), where=moved.any(axis=(0, 1))
    )
    return np.asarray(each - slope * (control - (mine - usual)[:, None]))


def _marginals(game: _Game, rows: Array, met: int, repeats: int) -> tuple[Array, Array]:
    """Return what each player adds as it is replaced, and the background rows met, of shape (rows, met).

    The former has the shape (rows, background rows met, repeats, 2, players, outputs), the third axis of which is an
    order and its reverse. Background rows are evenly spaced along their output.
    """
    n, p, m = len(rows), len(game.players), len(game.background)
    shape = (n, met, repeats, 2, p)
    order = np.argsort(game.random.random((n, met, repeats, p)), axis=3)
    order = np.stack([order, order[..., ::-1]], axis=3)
    rank = np.argsort(order, axis=4)
    places = ((np.arange(met) + game.random.random((n, 1))) * (m / met)).astype(int) % m
    other = game.background[places]
    keys = game.player_keys
    theirs = keys[other][:, :, None, None, :]
    gained = np.broadcast_to(keys[rows][:, None, None, None, :] - theirs, shape)
    start = np.broadcast_to(theirs.sum(axis=4, dtype=np.uint64)[..., None], (*shape[:-1], 1))
    mixed = np.concatenate([start, np.take_along_axis(gained, order, axis=4)], axis=4)
    steps = (*shape[:-1], p + 1)
    walk = np.broadcast_to(np.arange(n * met * repeats * 2).reshape(*shape[:-1], 1), steps).ravel()
    step = np.broadcast_to(np.arange(p + 1), steps).ravel()
    ranks = rank.reshape(-1, p)
    values = game.values(
        np.broadcast_to(rows[:, None, None, None, None], steps).ravel(),
        np.broadcast_to(other[:, :, None, None, None], steps).ravel(),
        lambda items: ranks[walk[items]] < step[items][:, None],
        np.cumsum(mixed, axis=4, dtype=np.uint64).ravel(),
    )
    added = np.diff(values.reshape(*steps, -1), axis=4)  # in the order of the walk
    return np.asarray(np.take_along_axis(added, rank[..., None], axis=4)), other


def _completed(game: _Game, values: Array, variance: Array) -> Array:
    """Values that sum to f(x) − base: what is missing is divided by the variances of the estimates.

    Something is missing where not every background row was met. A player without variance, such as a column that the
    function does not depend on, keeps its value, unless no player has any.
    """
    missing = game.outputs - game.base - values.sum(axis=1)
    weight = np.where((variance > 0).any(axis=1, keepdims=True), variance, np.abs(values))
    total = weight.sum(axis=1, keepdims=True)
    share = np.divide(weight, total, out=np.full_like(weight, 1 / max(weight.shape[1], 1)), where=total > 0)
    return np.asarray(values + share * missing[:, None])
