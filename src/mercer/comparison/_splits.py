"""Split the rows into training and held-out rows: at random, by groups, or forward in time."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DataError
from mercer._typing import Array
from mercer.application.tasks import ClassificationTask, Split, Task
from mercer.data import Table
from mercer.report.wording import format_count, join_words


def row_numbers(table: Table) -> Array:
    """Return a number for each row that is the same for equal rows only; missing values are equal.

    Examples
    --------
    >>> row_numbers(Table.of(np.array([[1.0, np.nan], [2.0, 0.0], [1.0, np.nan]]))).tolist()
    [0, 1, 0]
    """
    if table.library == "scipy":
        return _sparse_row_numbers(table.native)
    number = np.zeros(table.n_rows, dtype=np.int64)
    for column in range(table.n_columns):
        # renumber the pairs of (number so far, value of this column), so that numbers stay below the number of rows
        codes = _column_codes(table, column)
        number = np.unique(number * (codes.max() + 1) + codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return number


def duplicates_note(table: Table, splits: Sequence[tuple[Array, Array]]) -> list[str]:
    """Return a note on rows that have a copy on the other side of a split, with advice."""
    if not table.n_columns:
        return []
    numbers = row_numbers(table)
    straddling = np.zeros(len(numbers), dtype=bool)
    for train, test in splits:
        straddling[test] |= np.isin(numbers[test], numbers[train])
    count = int(straddling.sum())
    if not count:
        return []
    note = (
        f"Rows that are equal, except for the target, to a row on the other side of a split: {count:,}. A model may "
        "have memorised their target: if they are copies of one case, give each case a group (groups=, on the "
        "command line --group), or drop the copies."
    )
    return [note]


def _column_codes(table: Table, column: int) -> Array:
    if table.kinds[column].numeric:
        values = table.numbers([column])[:, 0]
        return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return np.asarray(table.coded(column).codes, dtype=np.int64) + 1  # −1 is missing


def _sparse_row_numbers(matrix: Any) -> Array:
    matrix = matrix.tocsr().copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    rows = [
        (matrix.indices[start:stop].tobytes(), matrix.data[start:stop].tobytes())
        for start, stop in pairwise(matrix.indptr)
    ]
    numbers: dict[tuple[bytes, bytes], int] = {}
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows])


class Splitting(NamedTuple):
    """The splits, their description, notes about them, and the unit of each row.

    Units are rows, whole groups, or blocks of time; rows of different units are assumed to be independent.
    """

    splits: list[Split]
    described: str
    notes: list[str]
    units: Array


def make_splits(
    task: Task, folds: int, repeats: int, seed: int | None, groups: Any = None, times: Any = None
) -> Splitting:
    """Split the rows into folds, `repeats` times: at random, with groups kept whole, or forward in time."""
    task.check()
    check_repeats(repeats)
    if times is not None:
        return _split_forward(task, folds, repeats, groups, times)
    if groups is not None:
        return _split_by_groups(task, folds, repeats, seed, _check_values(groups, len(task.truth), "groups"))
    return _split_randomly(task, folds, repeats, seed)


def check_repeats(repeats: Any) -> None:
    if not isinstance(repeats, Integral) or repeats < 1:
        raise DataError(f"repeats must be a whole number of 1 or more, not {repeats!r}.")


def _split_randomly(task: Task, folds: int, repeats: int, seed: int | None) -> Splitting:
    from sklearn.model_selection import KFold, StratifiedKFold

    classes = isinstance(task, ClassificationTask)
    most = int(np.bincount(task.truth).max()) if classes else len(task.truth)
    _check_folds(folds, most, "the rows of the largest class" if classes else "the rows")
    kind = StratifiedKFold if classes else KFold
    splits = _repeat_splits(kind, folds, repeats, seed, task.truth, None)
    notes = _note_rare_classes(task, folds) + _note_absent_classes(task, splits)
    described = _describe_folds(folds, repeats, "stratified folds" if classes else "folds")
    return Splitting(splits, described, notes, _limit_units(np.arange(len(task.truth))))


def _split_by_groups(task: Task, folds: int, repeats: int, seed: int | None, groups: Array) -> Splitting:
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    names, codes = np.unique(groups, return_inverse=True)
    _check_folds(folds, len(names), "the groups")
    kind = StratifiedGroupKFold if isinstance(task, ClassificationTask) else GroupKFold
    dealt = [split for split in _repeat_splits(kind, folds, repeats, seed, task.truth, codes) if len(split[1])]
    splits = [split for split in dealt if _has_two_classes(task, split[0])]
    if not splits:
        raise DataError(
            "The training rows of every split have a single class, because groups are kept whole and each has one "
            "class; leave out the groups, or give more folds."
        )
    note = f"The {len(names)} groups are kept whole: no model is scored on a group that it was fitted to."
    left = len(dealt) - len(splits)
    omitted = [f"{left} of {len(dealt)} splits were left out: their training rows have one class."] if left else []
    notes = [note, *omitted, *_note_absent_classes(task, splits)]
    return Splitting(splits, _describe_folds(folds, repeats, "folds of whole groups"), notes, _limit_units(codes))


def _split_forward(task: Task, folds: int, repeats: int, groups: Any, times: Any) -> Splitting:
    """Split the rows by time: each block is predicted from all strictly earlier rows."""
    if groups is not None:
        raise DataError("Rows are split by groups or by time, not by both; give one of them.")
    if repeats > 1:
        raise DataError("Forward splits are always the same and cannot be repeated; leave out repeats.")
    moments = _check_values(times, len(task.truth), "times")
    try:
        distinct, ranks = np.unique(moments, return_inverse=True)
    except TypeError as problem:
        raise DataError(
            f"times cannot be sorted, because they have several types: {problem}. Give values of one type."
        ) from None
    if len(distinct) < 3:
        values = "one value" if len(distinct) == 1 else "two values"
        raise DataError(f"times has {values}; it takes three or more, to score two folds on rows that came later.")
    _check_folds(folds, len(distinct) - 1, "the distinct times but one")
    order = np.argsort(ranks, kind="stable")
    edges = _block_edges(ranks[order], folds)
    splits = [(np.sort(order[:start]), np.sort(order[start:stop])) for start, stop in pairwise(edges)]
    kept = [split for split in splits if len(split[0]) and len(split[1]) and _has_two_classes(task, split[0])]
    if not kept:
        raise DataError(
            "No row is later than rows that models could be fitted to; give times that differ, or leave them out."
        )
    note = "Every model is scored on rows that are later than all its training rows."
    described = f"{len(kept)} forward split{'s' if len(kept) > 1 else ''}"
    return Splitting(kept, described, [note, *_note_absent_classes(task, kept)], _blocks_of_time(ranks, kept))


def _limit_units(units: Array, most: int = 10_000) -> Array:
    """Return at most `most` units: if there are more, neighbours are merged."""
    number = int(units.max()) + 1
    return units if number <= most else units * most // number


def _blocks_of_time(ranks: Array, splits: list[Split], blocks: int = 6) -> Array:
    """Return blocks of neighbouring times within each split, because errors close in time are correlated."""
    units = np.zeros(len(ranks), dtype=int)
    for number, (_, test) in enumerate(splits):
        moments, places = np.unique(ranks[test], return_inverse=True)
        units[test] = number * blocks + places * blocks // len(moments)
    return units


def _block_edges(ranks: Array, folds: int) -> list[int]:
    """Return the starts of blocks, moved so that rows of the same time are in one block."""
    wanted = np.linspace(0, len(ranks), folds + 2)[1:].round().astype(int)
    begins = np.append(np.flatnonzero(np.diff(ranks)) + 1, len(ranks))
    return sorted({int(begins[min(np.searchsorted(begins, edge), len(begins) - 1)]) for edge in wanted})


def _repeat_splits(
    kind: Any, folds: int, repeats: int, seed: int | None, truth: Array, groups: Array | None
) -> list[Split]:
    """Return the splits of all repeats; the seeds of the later repeats are derived from `seed`."""
    seeds = [seed, *np.random.SeedSequence(seed).generate_state(repeats - 1).tolist()]
    splits: list[Split] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds is mentioned in a note
        for each in seeds:
            splits += kind(folds, shuffle=True, random_state=each).split(truth, truth, groups)
    return splits


def _note_rare_classes(task: Task, folds: int) -> list[str]:
    """Return a note on the classes with fewer rows than folds, rarest first."""
    if not isinstance(task, ClassificationTask):
        return []
    counts = np.bincount(task.codes)
    rare = [code for code in np.argsort(counts, kind="stable") if counts[code] < folds]
    if not rare:
        return []
    named = [f"{task.labels.tolist()[code]!r} ({format_count(counts[code], 'row')})" for code in rare]
    return [f"Classes with fewer rows than the {folds} folds: {join_words(named, 5)}."]


def _note_absent_classes(task: Task, splits: list[Split]) -> list[str]:
    return task.note_absent_classes(splits) if isinstance(task, ClassificationTask) else []


def _has_two_classes(task: Task, rows: Array) -> bool:
    return not isinstance(task, ClassificationTask) or len(np.unique(task.truth[rows])) > 1


def _check_folds(folds: int, most: int, what: str) -> None:
    if most < 2:
        raise DataError(f"Splitting the rows into folds needs two or more of {what}, but there is {most}.")
    if not isinstance(folds, Integral):
        expected = "the whole number 2" if most == 2 else f"a whole number from 2 to {most}"
        raise DataError(f"cv must be a number of folds, not {folds!r}; give {expected} ({what}).")
    if most == 2 != folds:
        raise DataError(
            f"Only 2 folds can be made (one for each of {what}), not {folds!r}; give cv=2 (on the command line "
            "--folds)."
        )
    if not 2 <= folds <= most:
        raise DataError(
            f"There must be from 2 to {most} folds ({what}), not {folds!r}; give cv=2 to {most} (on the command line "
            "--folds)."
        )


def _describe_folds(folds: int, repeats: int, kind: str) -> str:
    return f"{folds} {kind}" if repeats == 1 else f"{repeats} × {folds} {kind}"


def _check_values(values: Any, rows: int, what: str) -> Array:
    """Return groups or times as an array that can be sorted; raise DataError for missing values."""
    array = np.asarray(values)
    if array.shape != (rows,):
        raise DataError(f"{what} must have one value for each of the {rows} rows, got shape {array.shape}.")
    missing = (
        array != array if array.dtype.kind in "fmMc" else np.array([each is None or each != each for each in array])
    )
    if missing.any():
        raise DataError(f"{what} is missing in row {int(np.argmax(missing))}; fill it, or leave out such rows.")
    return array.astype(str) if array.dtype.kind == "O" and what == "groups" else array
