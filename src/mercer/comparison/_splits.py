"""Ways to part the rows into those that models are fitted to and those that they are scored on."""

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

# Rows that occur several times: a model that is scored on a copy of a row it has seen looks better than it is.


def row_numbers(table: Table) -> Array:
    """A number for each row, equal for equal rows (missing values are equal) and for no others.

    Examples
    --------
    >>> row_numbers(Table.of(np.array([[1.0, np.nan], [2.0, 0.0], [1.0, np.nan]]))).tolist()
    [0, 1, 0]
    """
    if table.library == "scipy":
        return _of_sparse(table.native)
    number = np.zeros(table.n_rows, dtype=np.int64)
    for column in range(table.n_columns):
        # pairs of (rows alike so far, value here), numbered anew, so that numbers stay below the number of rows
        codes = _codes(table, column)
        number = np.unique(number * (codes.max() + 1) + codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return number


def duplicates_note(table: Table, splits: Sequence[tuple[Array, Array]]) -> list[str]:
    """How many rows have a copy on the other side of a split, and what to do about it."""
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
        f"Rows that are equal, but for the target, to a row on the other side of a split: {count:,}. A model may know "
        "their answer by heart: if they are copies of one case, give each case a group (groups=, on the command line "
        "--group), or drop the copies."
    )
    return [note]


def _codes(table: Table, column: int) -> Array:
    if table.kinds[column].numeric:
        values = table.numbers([column])[:, 0]
        return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return np.asarray(table.coded(column).codes, dtype=np.int64) + 1  # −1 is missing


def _of_sparse(matrix: Any) -> Array:
    matrix = matrix.tocsr().copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    rows = [
        (matrix.indices[start:stop].tobytes(), matrix.data[start:stop].tobytes())
        for start, stop in pairwise(matrix.indptr)
    ]
    numbers: dict[tuple[bytes, bytes], int] = {}
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows])


class Dealing(NamedTuple):
    """The splits, what they are called, what a reader should know about them, and the unit of each row.

    Rows of different units are taken to be independent: rows by themselves, or whole groups, or blocks of time.
    """

    splits: list[Split]
    described: str
    notes: list[str]
    units: Array


def deal(task: Task, folds: int, repeats: int, seed: int | None, groups: Any = None, times: Any = None) -> Dealing:
    """Part the rows: into folds, `repeats` times; or by groups; or such that the past foretells what came later."""
    task.check()
    check_repeats(repeats)
    if times is not None:
        return _forward(task, folds, repeats, groups, times)
    if groups is not None:
        return _grouped(task, folds, repeats, seed, _a_value_per_row(groups, len(task.truth), "groups"))
    return _plain(task, folds, repeats, seed)


def check_repeats(repeats: Any) -> None:
    if not isinstance(repeats, Integral) or repeats < 1:
        raise DataError(f"There must be one repeat or more, not {repeats!r}: a whole number of them.")


def _plain(task: Task, folds: int, repeats: int, seed: int | None) -> Dealing:
    from sklearn.model_selection import KFold, StratifiedKFold

    classes = isinstance(task, ClassificationTask)
    most = int(np.bincount(task.truth).max()) if classes else len(task.truth)
    _check_folds(folds, most, "the rows of the largest class" if classes else "the rows")
    kind = StratifiedKFold if classes else KFold
    splits = _repeated(kind, folds, repeats, seed, task.truth, None)
    notes = _rare(task, folds) + _lacking(task, splits)
    described = _called(folds, repeats, "stratified folds" if classes else "folds")
    return Dealing(splits, described, notes, _few(np.arange(len(task.truth))))


def _grouped(task: Task, folds: int, repeats: int, seed: int | None, groups: Array) -> Dealing:
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    names, codes = np.unique(groups, return_inverse=True)
    _check_folds(folds, len(names), "the groups")
    kind = StratifiedGroupKFold if isinstance(task, ClassificationTask) else GroupKFold
    dealt = [split for split in _repeated(kind, folds, repeats, seed, task.truth, codes) if len(split[1])]
    splits = [split for split in dealt if _has_two(task, split[0])]
    if not splits:
        raise DataError(
            "In no split do the rows to learn from have two classes, because groups are kept whole and each is of one; "
            "leave out the groups, or give more folds."
        )
    note = f"The {len(names)} groups are kept whole: no model is scored on a group that it has seen rows of."
    left = len(dealt) - len(splits)
    told = [f"{left} of {len(dealt)} splits were left out: their rows to learn from are of one class."] if left else []
    notes = [note, *told, *_lacking(task, splits)]
    return Dealing(splits, _called(folds, repeats, "folds of whole groups"), notes, _few(codes))


def _forward(task: Task, folds: int, repeats: int, groups: Any, times: Any) -> Dealing:
    """Each block of rows in the order of time is foretold from all that came strictly before it."""
    if groups is not None:
        raise DataError("Rows are parted by groups or by time, not by both; give one of them.")
    if repeats > 1:
        raise DataError("Forward splits are the same each time, so that there is nothing to repeat; leave out repeats.")
    moments = _a_value_per_row(times, len(task.truth), "times")
    try:
        distinct, ranks = np.unique(moments, return_inverse=True)
    except TypeError as problem:
        raise DataError(f"times have no order, because they are of several types: {problem}.") from None
    if len(distinct) < 3:
        values = "one value" if len(distinct) == 1 else "two values"
        raise DataError(f"times has {values}; it takes three or more, to score two folds on rows that came later.")
    _check_folds(folds, len(distinct) - 1, "the distinct times but one")
    order = np.argsort(ranks, kind="stable")
    edges = _edges(ranks[order], folds)
    splits = [(np.sort(order[:start]), np.sort(order[start:stop])) for start, stop in pairwise(edges)]
    kept = [split for split in splits if len(split[0]) and len(split[1]) and _has_two(task, split[0])]
    if not kept:
        raise DataError(
            "No row comes after others from which something could be learnt; give times that differ, or leave them out."
        )
    note = "Every model is scored on rows that came later than all it was fitted to."
    described = f"{len(kept)} forward split{'s' if len(kept) > 1 else ''}"
    return Dealing(kept, described, [note, *_lacking(task, kept)], _blocks_of_time(ranks, kept))


def _few(units: Array, most: int = 10_000) -> Array:
    """At most so many units: where there are more, neighbours are put together."""
    number = int(units.max()) + 1
    return units if number <= most else units * most // number


def _blocks_of_time(ranks: Array, splits: list[Split], blocks: int = 6) -> Array:
    """Blocks of neighbouring moments within each split, because errors that follow each other are alike."""
    units = np.zeros(len(ranks), dtype=int)
    for number, (_, test) in enumerate(splits):
        moments, places = np.unique(ranks[test], return_inverse=True)
        units[test] = number * blocks + places * blocks // len(moments)
    return units


def _edges(ranks: Array, folds: int) -> list[int]:
    """Where blocks begin, moved to where a new moment does, so that no moment is on both sides."""
    wanted = np.linspace(0, len(ranks), folds + 2)[1:].round().astype(int)
    begins = np.append(np.flatnonzero(np.diff(ranks)) + 1, len(ranks))
    return sorted({int(begins[min(np.searchsorted(begins, edge), len(begins) - 1)]) for edge in wanted})


def _repeated(kind: Any, folds: int, repeats: int, seed: int | None, truth: Array, groups: Array | None) -> list[Split]:
    """The first repeat is what `seed` gives; the others have seeds that follow from it."""
    seeds = [seed, *np.random.SeedSequence(seed).generate_state(repeats - 1).tolist()]
    splits: list[Split] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds is mentioned in a note
        for each in seeds:
            splits += kind(folds, shuffle=True, random_state=each).split(truth, truth, groups)
    return splits


def _rare(task: Task, folds: int) -> list[str]:
    """Name the classes that have fewer rows than there are folds, rarest first."""
    if not isinstance(task, ClassificationTask):
        return []
    counts = np.bincount(task.codes)
    rare = [code for code in np.argsort(counts, kind="stable") if counts[code] < folds]
    if not rare:
        return []
    named = [f"{task.labels.tolist()[code]!r} ({format_count(counts[code], 'row')})" for code in rare]
    return [f"Classes with fewer rows than the {folds} folds: {join_words(named, 5)}."]


def _lacking(task: Task, splits: list[Split]) -> list[str]:
    return task.unseen(splits) if isinstance(task, ClassificationTask) else []


def _has_two(task: Task, rows: Array) -> bool:
    return not isinstance(task, ClassificationTask) or len(np.unique(task.truth[rows])) > 1


def _check_folds(folds: int, most: int, what: str) -> None:
    if most < 2:
        raise DataError(f"To part the rows into folds takes two or more of {what}, but there is {most}.")
    if not isinstance(folds, Integral):
        whole = "the whole number 2" if most == 2 else f"a whole number from 2 to {most}"
        raise DataError(f"cv is a number of folds, not {folds!r}; give {whole} ({what}).")
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


def _called(folds: int, repeats: int, kind: str) -> str:
    return f"{folds} {kind}" if repeats == 1 else f"{repeats} × {folds} {kind}"


def _a_value_per_row(values: Any, rows: int, what: str) -> Array:
    """Groups or times as an array that can be sorted, with nothing missing."""
    array = np.asarray(values)
    if array.shape != (rows,):
        raise DataError(f"{what} must have one value for each of the {rows} rows, got shape {array.shape}.")
    missing = (
        array != array if array.dtype.kind in "fmMc" else np.array([each is None or each != each for each in array])
    )
    if missing.any():
        raise DataError(f"{what} is missing in row {int(np.argmax(missing))}; fill it, or leave out such rows.")
    return array.astype(str) if array.dtype.kind == "O" and what == "groups" else array
