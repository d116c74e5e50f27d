"""Levels of a categorical column: the choice of those with a column of their own, and the codes of all values."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from mercer._errors import DataError, NonFiniteError, UnseenCategoryError
from mercer._stored import reals, stored, values, whole
from mercer._suggest import did_you_mean, quoted
from mercer._typing import Array
from mercer.data.coding import Coded, drop_missing_words, label_array

#: largest number of buckets: codes are int32, and one is for missing values
MAX_BUCKETS = 2**31 - 2

#: code of values without a column
ZEROS = -1
#: code of values that are not allowed
RAISES = -2
#: name of the level of rare values
INFREQUENT_LEVEL = "infrequent"
#: name of the level of missing values
MISSING_LEVEL = "nan"


@stored(labels=values("k"), counts=reals("k", least=0))
@dataclass(frozen=True, eq=False)
class Occurrences:
    """The number of occurrences of each label in a column, which can be merged.

    Examples
    --------
    >>> counted = Occurrences.zero().update(Coded(np.array([0, 1, 0, -1]), np.array(["Ulm", "Bonn", "Jena"])))
    >>> counted.merge(counted).counts, counted.missing
    (array([4, 2]), 1)
    """

    labels: Array
    counts: Array
    missing: int
    #: all labels that the type of the column declares, in order; None if batches disagree or there are none
    declared: tuple[Any, ...] | None
    empty: bool = False

    @classmethod
    def zero(cls) -> Self:
        return cls(np.empty(0, dtype=object), np.empty(0, dtype=np.int64), 0, None, empty=True)

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum()) + self.missing

    def update(self, coded: Coded, declared: Array | None = None) -> Self:
        """Add the values of a batch, and the levels that its type declares."""
        counts = np.bincount(coded.codes + 1, minlength=len(coded.labels) + 1)
        occurring = counts[1:] > 0
        order = None if declared is None else tuple(declared.tolist())
        labels = np.asarray(coded.labels)[occurring]
        return self.merge(type(self)(labels, counts[1:][occurring], int(counts[0]), order))

    def merge(self, other: Self) -> Self:
        """Return the occurrences in the rows of both."""
        if self.empty or other.empty:
            return other if self.empty else self
        declared = self.declared if self.declared == other.declared else None
        both = replace(self, missing=self.missing + other.missing, declared=declared)
        if np.array_equal(self.labels, other.labels):
            return replace(both, counts=self.counts + other.counts)
        total = Counter(dict(zip(self.labels.tolist(), self.counts.tolist(), strict=True)))
        for label, count in zip(other.labels.tolist(), other.counts.tolist(), strict=True):
            total[label] += count
        return replace(both, labels=label_array(list(total)), counts=np.array(list(total.values()), dtype=np.int64))

    def ordered(self) -> tuple[list[Any], Array]:
        """Return labels in declared order, or sorted (mixed types by their text), and their counts."""
        labels = self.labels.tolist()
        if self.declared is not None:
            place = {label: j for j, label in enumerate(self.declared)}
            order = sorted(range(len(labels)), key=lambda j: place.get(labels[j], len(place)))
        else:
            order = _sorted(labels)
        return [labels[j] for j in order], self.counts[order]


class Encoding(Protocol):
    """The encoding of the values of one column."""

    @property
    def n_columns(self) -> int: ...

    def codes(self, column: str, coded: Coded) -> Array: ...

    def names(self, column: str) -> list[str]: ...


@stored()
@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of a column with a column each, followed, if any, by those of missing values and of all rare values.

    Examples
    --------
    >>> city = Coded(np.array([0, 1, 0, 2, 0, 1]), np.array(["Ulm", "Bonn", "Jena"], dtype=object))
    >>> levels = Levels.of(Occurrences.zero().update(city), min_frequency=2)
    >>> levels.names("city")
    ['city_Bonn', 'city_Ulm', 'city_infrequent']
    >>> levels.codes("city", Coded(np.array([0, 1, 2]), np.array(["Bonn", "Jena", "Kiel"], dtype=object)))
    array([0, 2, 2], dtype=int32)
    """

    kept: tuple[Any, ...]
    #: the levels that are pooled into one
    rare: tuple[Any, ...]
    #: whether missing values have a separate level
    own_missing: bool
    #: whether rare values have a level
    pooled: bool
    #: codes of missing values and of unknown values: a level, `ZEROS` or `RAISES`
    missing: int
    unseen: int
    #: whether the first of all levels has no column
    drop_first: bool = False

    @classmethod
    def of(
        cls,
        occurrences: Occurrences,
        *,
        min_frequency: float | None = None,
        max_levels: int | None = None,
        handle_unknown: str = "pool",
        missing: str = "level",
        drop_first: bool = False,
    ) -> Self:
        """Choose the levels.

        Parameters
        ----------
        occurrences : Occurrences
            The occurrences in the rows of the fit.
        min_frequency : int or float, optional
            Levels of fewer rows are pooled; a number below 1 is a share of all rows.
        max_levels : int, optional
            Largest number of columns: if there are more levels, the rarest are pooled into the last column.
        handle_unknown : {"pool", "ignore", "error"}, default="pool"
            Treatment of an unknown value: "pool": rare if levels were pooled, else zeros; "ignore": zeros; "error": an
            error.
        missing : {"level", "zeros", "error"}, default="level"
            Treatment of a missing value: a level like any other, zeros, or an error.
        drop_first : bool, default=False
            Whether the first level has no column and is the reference for the others.

        Returns
        -------
        Levels
        """
        labels, counts = occurrences.ordered()
        with_missing = missing == "level" and occurrences.missing > 0
        if with_missing:
            counts = np.append(counts, occurrences.missing)
        rare = _rare(counts, occurrences.n_rows, min_frequency, max_levels)
        own_missing, pooled = with_missing and not rare[-1], bool(rare.any())
        kept = tuple(label for label, is_rare in zip(labels, rare, strict=False) if not is_rare)
        pool = len(kept) + own_missing if pooled else ZEROS
        unseen = {"pool": pool, "ignore": ZEROS, "error": RAISES}[handle_unknown]
        of_missing = {"zeros": ZEROS, "error": RAISES, "level": pool if with_missing else unseen}[missing]
        return cls(
            kept,
            tuple(label for label, is_rare in zip(labels, rare, strict=False) if is_rare),
            own_missing,
            pooled,
            len(kept) if own_missing else of_missing,
            unseen,
            drop_first,
        )

    @property
    def n_levels(self) -> int:
        """Number of levels, including those that share a column and the one without a column."""
        return len(self.kept) + self.own_missing + self.pooled

    @property
    def n_columns(self) -> int:
        return max(0, self.n_levels - self.drop_first)

    def names(self, column: str) -> list[str]:
        """Return a name for each column, as in scikit-learn; labels that print alike are written as in code."""
        extra = [MISSING_LEVEL] * self.own_missing + [INFREQUENT_LEVEL] * self.pooled
        printed = list(map(str, map(float, self.kept) if self._fractional() else self.kept))
        times = Counter([*printed, *extra])
        shown = [text if times[text] == 1 else repr(self.kept[j]) for j, text in enumerate(printed)]
        return [f"{column}_{name}" for name in [*shown, *extra][self.drop_first :]]

    def _fractional(self) -> bool:
        """Return whether labels are numbers of which some, in any batch, are not whole; then all are printed as
        floats.
        """
        types = set(map(type, self.kept + self.rare))
        return float in types and types <= {int, float}

    def codes(self, column: str, coded: Coded) -> Array:
        """Return the column of each value, −1 for none."""
        labels, positions = _occurring(drop_missing_words(coded, self._place))
        self._check_label_type(column, labels)
        known = [self._place.get(label, self.unseen) for label in labels]
        table = np.array([*known, self.missing], dtype=np.int32)  # position −1 (missing) selects the last entry
        codes = table[positions]
        if RAISES in (self.missing, self.unseen) and (raises := codes == RAISES).any():
            raise self._error_of_value(column, int(np.argmax(raises)), labels, positions)
        return np.asarray(np.maximum(codes - np.int32(self.drop_first), ZEROS), dtype=np.int32)

    def other_type(self, coded: Coded) -> tuple[str, str] | None:
        """Return ("numbers", "strings") if all levels are numbers and all values strings, or the reverse; else None."""
        return self._other_type(_occurring(drop_missing_words(coded, self._place))[0])

    def _other_type(self, labels: list[Any]) -> tuple[str, str] | None:
        mine = set(map(_is_text, self._place))
        theirs = set(map(_is_text, labels))
        if len(mine) != 1 or len(theirs) != 1 or mine == theirs:
            return None
        return ("strings", "numbers") if mine == {True} else ("numbers", "strings")

    def _check_label_type(self, column: str, labels: list[Any]) -> None:
        """Raise an error for strings that spell levels that are numbers, or the reverse: no value would be known."""
        if (types := self._other_type(labels)) is None:
            return
        spelt = {str(label) for label in self._place}
        if (same := next((label for label in labels if str(label) in spelt), None)) is None:
            return
        fitted, now = types
        raise UnseenCategoryError(
            f"Column {column!r} was fitted to {fitted} but has {now}, such as {same!r}, so that no value is a known "
            f"level. Convert the column to {fitted}."
        )

    @cached_property
    def _place(self) -> dict[Any, int]:
        pool = len(self.kept) + self.own_missing
        return dict.fromkeys(self.rare, pool) | {label: j for j, label in enumerate(self.kept)}

    def _error_of_value(self, column: str, row: int, labels: list[Any], positions: Array) -> DataError:
        if positions[row] < 0:
            return missing_value(column, row)
        label = labels[positions[row]]
        known = did_you_mean(str(label), map(str, self.kept + self.rare))
        return UnseenCategoryError(
            f"Found unknown categories [{quoted(label)}] in column {column!r} during transform, in row {row}. {known} "
            'Correct it, or use handle_unknown="pool" or "ignore".'
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_place"}


def _is_text(label: Any) -> bool:
    return isinstance(label, str)


@stored(buckets=whole(1, MAX_BUCKETS))
@dataclass(frozen=True, eq=False)
class HashedLevels:
    """A fixed number of columns for any number of levels: a hash determines the column of each value.

    The hash is the same in all processes and on all machines, and nothing is learned. Equal values have the same hash,
    including 1 and 1.0; "1" is a different value.
    """

    buckets: int
    #: "level" (a separate column), "zeros", or "error"
    missing: str = "level"

    @property
    def n_columns(self) -> int:
        return self.buckets + (self.missing == "level")

    def names(self, column: str) -> list[str]:
        """Return a name for each bucket, and that of missing values last."""
        extra = [f"{column}_{MISSING_LEVEL}"] * (self.missing == "level")
        return [f"{column}_hash{j}" for j in range(self.buckets)] + extra

    def codes(self, column: str, coded: Coded) -> Array:
        """Return the column of each value, −1 for none."""
        labels, positions = _occurring(coded)
        if self.missing == "error" and (none := positions < 0).any():
            raise missing_value(column, int(np.argmax(none)))
        of_missing = self.buckets if self.missing == "level" else ZEROS
        places = [stable_hash(label) % self.buckets for label in labels]
        return np.array([*places, of_missing], dtype=np.int32)[positions]


def stable_hash(label: Any) -> int:
    """Return a 64-bit hash that is the same in all processes."""
    if isinstance(label, bool | int) or (isinstance(label, float) and label.is_integer()):
        label = int(label)
    written = f"{'s' if isinstance(label, str) else 'n'}{label}"
    digest = hashlib.blake2b(written.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def missing_value(column: str, row: int) -> NonFiniteError:
    """Return the error about a missing value."""
    return NonFiniteError(
        f"Input X contains NaN. Column {column!r} has a missing value in row {row}; fill it in, leave the row out, or "
        'use missing="zeros".'
    )


def _occurring(coded: Coded) -> tuple[list[Any], Array]:
    """Return labels and the position of each value among them; unused labels are dropped if there are more labels than
    values.
    """
    if len(coded.labels) <= len(coded.codes):
        return coded.labels.tolist(), coded.codes
    used, positions = np.unique(coded.codes, return_inverse=True)
    some = len(used) and used[0] < 0
    return coded.labels[used[int(some) :]].tolist(), positions.reshape(-1) - int(some)


def _rare(counts: Array, n_rows: int, min_frequency: float | None, max_levels: int | None) -> Array:
    """Return a mask of the levels to be pooled; ties are resolved in favour of later levels."""
    fewest = 0 if min_frequency is None else min_frequency * (n_rows if min_frequency < 1 else 1)
    rare = np.asarray(counts < fewest)
    wanted = len(rare) - int(rare.sum()) + bool(rare.any())
    if max_levels is not None and wanted > max_levels:
        rare[np.argsort(counts, kind="stable")[: len(rare) - (max_levels - 1)]] = True
    return rare


def _sorted(labels: Sequence[Any]) -> list[int]:
    """Return the order of labels; labels that cannot be compared are ordered by their text."""
    try:
        return sorted(range(len(labels)), key=labels.__getitem__)
    except TypeError:
        return sorted(range(len(labels)), key=lambda j: (str(labels[j]), type(labels[j]).__name__))
