"""The laws of a statistic, checked on rows drawn at random."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import UnseenRowsError
from mercer._typing import Array
from mercer.stats import Statistic
from mercer.testing._laws import assert_laws, pickled

DrawRows = Callable[[np.random.Generator, int], Any]

#: relative error allowed, compared with the largest entry of the same array
STATISTIC_TOLERANCE = 1e-9


@dataclass(frozen=True)
class _TestBatch:
    """Rows, their groups and their weights, some of them zero."""

    x: Any
    groups: Array
    weight: Array

    def rows(self, rows: Array) -> _TestBatch:
        return _TestBatch(_cut(self.x, rows), self.groups[rows], self.weight[rows])

    def halves(self) -> tuple[_TestBatch, _TestBatch]:
        places = np.arange(len(self.groups))
        return self.rows(places[: len(places) // 2]), self.rows(places[len(places) // 2 :])

    def into(self, statistic: Statistic) -> Statistic:
        return statistic.update(self.x, self.groups, self.weight)


@dataclass(frozen=True)
class _StatisticCase:
    zero: Statistic
    batches: tuple[_TestBatch, _TestBatch, _TestBatch]

    @property
    def parts(self) -> list[Statistic]:
        return [batch.into(self.zero) for batch in self.batches]


def check_statistic(
    zero: Statistic, draw_rows: DrawRows, rng: np.random.Generator, *, rows: int = 40, weighted: bool = True
) -> list[str]:
    """Check every law of a statistic; return the laws that were checked.

    `zero` is the empty statistic, and `draw_rows(rng, n)` gives n rows in the form that its `update` takes.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats import ColumnMoments
    >>> laws = check_statistic(
    ...     ColumnMoments.zero(groups=3, columns=2), lambda rng, n: rng.normal(size=(n, 2)), np.random.default_rng(0)
    ... )
    >>> laws[0]
    'merge is associative'
    """
    case = _StatisticCase(zero, tuple(_draw(zero, draw_rows, rng, rows, weighted) for _ in range(3)))  # type: ignore[arg-type]
    laws = [
        _merge_is_associative,
        _merge_is_commutative,
        _empty_adds_nothing,
        _halves_equal_the_whole,
        _order_does_not_matter,
        _remove_undoes_update,
        _removing_all_leaves_nothing,
        _unseen_rows_are_rejected,
        _rows_without_weight_do_not_count,
        _groups_move,
        _groups_come_and_go,
        _values_never_change,
        _copies_are_equal,
    ]
    return assert_laws(laws, case, type(case.zero).__name__)


def _draw(zero: Statistic, draw_rows: DrawRows, rng: np.random.Generator, n: int, weighted: bool) -> _TestBatch:
    groups = rng.integers(0, zero.groups, n).astype(np.int32)
    weight = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    return _TestBatch(draw_rows(rng, n), groups, weight)


def _cut(x: Any, rows: Array) -> Any:
    """Return rows of a matrix, of a coded column, or of the blocks of a model's parts."""
    if hasattr(x, "codes"):
        return x._replace(codes=x.codes[rows])
    return tuple(_cut(block, rows) for block in x) if isinstance(x, tuple) else x[rows]


def _assert_alike(actual: Any, expected: Any, tolerance: float = STATISTIC_TOLERANCE, place: str = "contents") -> None:
    """Check that contents are equal, up to rounding: statistics, tuples, dictionaries, arrays or plain values."""
    if isinstance(expected, Statistic):
        actual, expected = actual.contents(), expected.contents()
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), f"{place}: {set(actual)} against {set(expected)}"
        for key in expected:
            _assert_alike(actual[key], expected[key], tolerance, f"{place}.{key}")
    elif isinstance(expected, tuple):
        for i, (one, other) in enumerate(zip(actual, expected, strict=True)):
            _assert_alike(one, other, tolerance, f"{place}[{i}]")
    elif isinstance(expected, np.ndarray) and expected.dtype.kind == "f":
        scale = np.abs(expected).max(initial=0.0) or 1.0
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale, err_msg=place)
    else:
        np.testing.assert_array_equal(actual, expected, err_msg=place)


def _merge_is_associative(case: _StatisticCase) -> None:
    """merge is associative."""
    a, b, c = case.parts
    _assert_alike(a.merge(b).merge(c), a.merge(b.merge(c)))


def _merge_is_commutative(case: _StatisticCase) -> None:
    """merge is commutative."""
    a, b, _ = case.parts
    _assert_alike(a.merge(b), b.merge(a))


def _empty_adds_nothing(case: _StatisticCase) -> None:
    """merging an empty statistic, or subtracting it, changes nothing."""
    a = case.parts[0]
    _assert_alike(a.merge(a.empty()), a)
    _assert_alike(a.empty().merge(a), a)
    _assert_alike(a.subtract(a.empty()), a)
    _assert_alike(case.batches[0].rows(np.arange(0)).into(a), a)


def _halves_equal_the_whole(case: _StatisticCase) -> None:
    """an update in two halves equals an update in one, and a merge of both."""
    batch = case.batches[0]
    first, second = batch.halves()
    together = batch.into(case.zero)
    _assert_alike(second.into(first.into(case.zero)), together)
    _assert_alike(first.into(case.zero).merge(second.into(case.zero)), together)


def _order_does_not_matter(case: _StatisticCase) -> None:
    """the order of the rows does not matter."""
    batch = case.batches[0]
    _assert_alike(batch.rows(np.arange(len(batch.groups))[::-1]).into(case.zero), batch.into(case.zero))


def _remove_undoes_update(case: _StatisticCase) -> None:
    """remove undoes update."""
    a, b, _ = case.parts
    batch = case.batches[1]
    _assert_alike(batch.into(a).remove(batch.x, batch.groups, batch.weight), a)
    _assert_alike(a.merge(b).subtract(b), a)


def _removing_all_leaves_nothing(case: _StatisticCase) -> None:
    """a statistic from which all rows are removed is exactly empty."""
    batch = case.batches[0]
    emptied = batch.into(case.zero).remove(batch.x, batch.groups, batch.weight)
    _assert_alike(emptied, case.zero, tolerance=0.0)


def _unseen_rows_are_rejected(case: _StatisticCase) -> None:
    """rows that were never added cannot be removed."""
    batch = case.batches[0]
    try:
        removed = case.zero.remove(batch.x, batch.groups, batch.weight)
    except UnseenRowsError:
        return
    # rows without any value change nothing, and may be removed
    _assert_alike(batch.into(case.zero), removed)


def _rows_without_weight_do_not_count(case: _StatisticCase) -> None:
    """a row of weight zero does not count."""
    batch = case.batches[0]
    kept = np.arange(len(batch.groups)) % 3 > 0
    silenced = _TestBatch(batch.x, batch.groups, np.where(kept, batch.weight, 0.0))
    _assert_alike(silenced.into(case.zero), batch.rows(np.flatnonzero(kept)).into(case.zero))


def _groups_move(case: _StatisticCase) -> None:
    """groups can be moved before or after an update."""
    batch, k = case.batches[0], case.zero.groups
    places = np.roll(np.arange(k), 1)
    moved = _TestBatch(batch.x, places[batch.groups].astype(np.int32), batch.weight)
    _assert_alike(batch.into(case.zero).regroup(places, k), moved.into(case.zero.regroup(places, k)))


def _groups_come_and_go(case: _StatisticCase) -> None:
    """new groups are empty, and dropping them restores the statistic."""
    a, k = case.parts[0], case.zero.groups
    wider = a.regroup(np.arange(k), k + 2)
    assert wider.groups == k + 2, f"{wider.groups} groups instead of {k + 2}"
    _assert_alike(wider.regroup(np.array([*range(k), -1, -1]), k), a)


def _values_never_change(case: _StatisticCase) -> None:
    """no method changes a statistic in place."""
    a, b, _ = case.parts
    before = copy.deepcopy(a)
    case.batches[1].into(a).remove(*vars(case.batches[1]).values())
    a.merge(b).subtract(a)
    a.regroup(np.arange(a.groups), a.groups + 1)
    _assert_alike(a, before)


def _copies_are_equal(case: _StatisticCase) -> None:
    """a pickled copy is the same statistic."""
    a = case.parts[0]
    _assert_alike(pickled(a), a)
