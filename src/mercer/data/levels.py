"""Levels of a categorical column: which of them get a column of their own, and what becomes of all others."""

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

#: codes are int32, and one is left for missing values
MOST_BUCKETS = 2**31 - 2

#: no column, and no value that is allowed
ZEROS, REFUSED = -1, -2
#: what the level of rare values and that of missing ones are called
INFREQUENT, MISSING = "infrequent", "nan"


@stored(labels=values("k"), counts=reals("k", least=0))
@dataclass(frozen=True, eq=False)
class Occurrences:
    """How often each label occurred in a column: batches and machines add up.

    Examples
    --------
    >>> counted = Occurrences.zero().update(Coded(np.array([0, 1, 0, -1]), np.array(["Ulm", "Bonn", "Jena"])))
    >>> counted.merge(counted).counts, counted.missing
    (array([4, 2]), 1)
    """

    labels: Array
    counts: Array
    missing: int
    #: all labels that the column's type declares, in its order; None where batches disagree, or there was none
    declared: tuple[Any, ...] | None
    empty: bool = False

    @classmethod
    def zero(cls) -> Self:
        return cls(np.empty(0, dtype=object), np.empty(0, dtype=np.int64), 0, None, empty=True)

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum()) + self.missing

    def update(self, coded: Coded, declared: Array | None = None) -> Self:
        """With the values of a batch, and the levels that its type declares."""
        counts = np.bincount(coded.codes + 1, minlength=len(coded.labels) + 1)
        occurring = counts[1:] > 0
        order = None if declared is None else tuple(declared.tolist())
        labels = np.asarray(coded.labels)[occurring]
        return self.merge(type(self)(labels, counts[1:][occurring], int(counts[0]), order))

    def merge(self, other: Self) -> Self:
        """The rows of both."""
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
        """Labels in the order that is declared, or else sorted (mixed types: as they print), and their counts."""
        labels = self.labels.tolist()
        if self.declared is not None:
            place = {label: j for j, label in enumerate(self.declared)}
            order = sorted(range(len(labels)), key=lambda j: place.get(labels[j], len(place)))
        else:
            order = _sorted(labels)
        return [labels[j] for j in order], self.counts[order]


class Encoding(Protocol):
    """How the values of one column become codes of columns."""

    @property
    def n_columns(self) -> int: ...

    def codes(self, column: str, coded: Coded) -> Array: ...

    def names(self, column: str) -> list[str]: ...


@stored()
@dataclass(frozen=True, eq=False)
class Levels:
    """Levels with a column each; after them, where there are such, one for missing values and one for all rare ones.

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
    #: pooled into one level
    rare: tuple[Any, ...]
    #: whether missing values have a level of their own
    own_missing: bool
    #: whether there is a level of rare values
    pooled: bool
    #: codes of values that are missing and of such as were never seen: a level, `ZEROS` or `REFUSED`
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
        """Which levels are kept.

        Parameters
        ----------
        occurrences : Occurrences
            What was seen.
        min_frequency : int or float, optional
            Levels of fewer rows are pooled; a number below 1 is a share of all rows.
        max_levels : int, optional
            Columns at most: beyond, the rarest levels are pooled into the last of them.
        handle_unknown : {"pool", "ignore", "error"}, default="pool"
            What a value that was never seen becomes: one of the rare where any were pooled, else zeros; zeros; or an
            error.
        missing : {"level", "zeros", "error"}, default="level"
            What a missing value becomes: a level like any other, zeros, or an error.
        drop_first : bool, default=False
            Whether the first level has no column, so that the others are compared with it.

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
        unseen = {"pool": pool, "ignore": ZEROS, "error": REFUSED}[handle_unknown]
        of_missing = {"zeros": ZEROS, "error": REFUSED, "level": pool if with_missing else unseen}[missing]
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
        """With those that share a column, and the one that has none."""
        return len(self.kept) + self.own_missing + self.pooled

    @property
    def n_columns(self) -> int:
        return max(0, self.n_levels - self.drop_first)

    def names(self, column: str) -> list[str]:
        """A name for each column, as scikit-learn gives them; labels that print alike are written as in code."""
        extra = [MISSING] * self.own_missing + [INFREQUENT] * self.pooled
        printed = list(map(str, map(float, self.kept) if self._fractional() else self.kept))
        times = Counter([*printed, *extra])
        shown = [text if times[text] == 1 else repr(self.kept[j]) for j, text in enumerate(printed)]
        return [f"{column}_{name}" for name in [*shown, *extra][self.drop_first :]]

    def _fractional(self) -> bool:
        """Whether labels are numbers and some are not whole, in whichever batch: then none is printed as such."""
        types = set(map(type, self.kept + self.rare))
        return float in types and types <= {int, float}

    def codes(self, column: str, coded: Coded) -> Array:
        """The column of each value, −1 for none."""
        labels, positions = _occurring(drop_missing_words(coded, self._place))
        self._refuse_other_type(column, labels)
        known = [self._place.get(label, self.unseen) for label in labels]
        codes = np.array([*known, self.missing], dtype=np.int32)[positions]  # −1, missing, is the last
        if REFUSED in (self.missing, self.unseen) and (refused := codes == REFUSED).any():
            raise self._refusal(column, int(np.argmax(refused)), labels, positions)
        return np.asarray(np.maximum(codes - np.int32(self.drop_first), ZEROS), dtype=np.int32)

    def other_type(self, coded: Coded) -> tuple[str, str] | None:
        """Return ("numbers", "strings") where all levels are numbers and all values strings, and the reverse."""
        return self._other_type(_occurring(drop_missing_words(coded, self._place))[0])

    def _other_type(self, labels: list[Any]) -> tuple[str, str] | None:
        mine = set(map(_is_text, self._place))
        theirs = set(map(_is_text, labels))
        if len(mine) != 1 or len(theirs) != 1 or mine == theirs:
            return None
        return ("strings", "numbers") if mine == {True} else ("numbers", "strings")

    def _refuse_other_type(self, column: str, labels: list[Any]) -> None:
        """Refuse strings where all levels are numbers that these spell, and the reverse: none would be known."""
        if (types := self._other_type(labels)) is None:
            return
        spelt = {str(label) for label in self._place}
        if (same := next((label for label in labels if str(label) in spelt), None)) is None:
            return
        fitted, given = types
        raise UnseenCategoryError(
            f"Column {column!r} was fitted to {fitted} and has {given} now, {same!r} for one, so that no value is a "
            f"known level. Convert the column to {fitted}."
        )

    @cached_property
    def _place(self) -> dict[Any, int]:
        pool = len(self.kept) + self.own_missing
        return dict.fromkeys(self.rare, pool) | {label: j for j, label in enumerate(self.kept)}

    def _refusal(self, column: str, row: int, labels: list[Any], positions: Array) -> DataError:
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


@stored(buckets=whole(1, MOST_BUCKETS))
@dataclass(frozen=True, eq=False)
class HashedLevels:
    """So many columns for any number of levels: each value has the one that a hash of it names.

    The hash is the same in every process and on every machine, and needs nothing to be learned. Values that are equal
    have the same hash, 1 and 1.0 too; "1" is another value.
    """

    buckets: int
    #: "level" for a column of their own, "zeros", or "error"
    missing: str = "level"

    @property
    def n_columns(self) -> int:
        return self.buckets + (self.missing == "level")

    def names(self, column: str) -> list[str]:
        """One for each bucket, and the missing values last."""
        return [f"{column}_hash{j}" for j in range(self.buckets)] + [f"{column}_{MISSING}"] * (self.missing == "level")

    def codes(self, column: str, coded: Coded) -> Array:
        """The column of each value, −1 for none."""
        labels, positions = _occurring(coded)
        if self.missing == "error" and (none := positions < 0).any():
            raise missing_value(column, int(np.argmax(none)))
        of_missing = self.buckets if self.missing == "level" else ZEROS
        places = [stable_hash(label) % self.buckets for label in labels]
        return np.array([*places, of_missing], dtype=np.int32)[positions]


def stable_hash(label: Any) -> int:
    """64 bits, the same in every process."""
    if isinstance(label, bool | int) or (isinstance(label, float) and label.is_integer()):
        label = int(label)
    written = f"{'s' if isinstance(label, str) else 'n'}{label}"
    digest = hashlib.blake2b(written.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def missing_value(column: str, row: int) -> NonFiniteError:
    """The error about a missing value where none is allowed."""
    return NonFiniteError(
        f"Input X contains NaN. Column {column!r} has a missing value in row {row}; fill it in, leave the row out, or "
        'use missing="zeros".'
    )


def _occurring(coded: Coded) -> tuple[list[Any], Array]:
    """Labels and the position of each value among them; only those that occur, where they are fewer than the labels."""
    if len(coded.labels) <= len(coded.codes):
        return coded.labels.tolist(), coded.codes
    used, positions = np.unique(coded.codes, return_inverse=True)
    some = len(used) and used[0] < 0
    return coded.labels[used[int(some) :]].tolist(), positions.reshape(-1) - int(some)


def _rare(counts: Array, n_rows: int, min_frequency: float | None, max_levels: int | None) -> Array:
    """Which levels are to be pooled; among those that are equally rare, the first ones."""
    fewest = 0 if min_frequency is None else min_frequency * (n_rows if min_frequency < 1 else 1)
    rare = np.asarray(counts < fewest)
    wanted = len(rare) - int(rare.sum()) + bool(rare.any())
    if max_levels is not None and wanted > max_levels:
        rare[np.argsort(counts, kind="stable")[: len(rare) - (max_levels - 1)]] = True
    return rare


def _sorted(labels: Sequence[Any]) -> list[int]:
    """Positions of labels in their order; of such as cannot be compared, as they print."""
    try:
        return sorted(range(len(labels)), key=labels.__getitem__)
    except TypeError:
        return sorted(range(len(labels)), key=lambda j: (str(labels[j]), type(labels[j]).__name__))
