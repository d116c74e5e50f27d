"""Encoding of categories as codes of their levels: one-hot columns that are not written out."""

from __future__ import annotations

import copy
import functools
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from mercer._errors import DataError, MergeError, UnseenCategoryWarning
from mercer._stored import part_of, sequence, stored, values
from mercer._suggest import listed
from mercer._threads import ordered_map, thread_count
from mercer._typing import Array
from mercer._warn import warn
from mercer.base.fitted_fields import FITTED
from mercer.base.sources import fits_sources, is_source, maps_sources
from mercer.base.validation import Plan, check_table, column_names, restore_on_failure
from mercer.data.coding import Coded
from mercer.data.levels import MAX_BUCKETS, Encoding, HashedLevels, Levels, Occurrences, missing_value
from mercer.data.sources.base import Chunk, Source
from mercer.data.storages.dense import DenseStorage, unmask
from mercer.data.table import Table
from mercer.engines.folding import fold
from mercer.matrices import Encoded
from mercer.matrices.encoded import CodePart


@stored(
    **FITTED,
    _names=values("."),
    _occurrences=sequence("d", part_of(Occurrences)),
    levels_=sequence("d"),
    categories_=sequence("d"),
    infrequent_categories_=sequence("d"),
)
class CategoryFeatures(TransformerMixin, BaseEstimator):
    """Indicators of the levels of each column, stored as one integer per row and column.

    Linear models of mercer use the integers; other models, including scikit-learn's, use the expanded columns or a
    sparse matrix. Levels are sorted, or in the order that the type of a column declares (pandas category, polars Enum,
    pyarrow dictionary), followed by missing values and by the level of pooled values. A level that is declared but does
    not occur has no column. All columns, including numbers, are treated as categories: select them beforehand, or use
    `TableFeatures`.

    Parameters
    ----------
    min_frequency : int or float, default=None
        Levels in fewer rows are pooled into one; a float is a share of all rows. None pools nothing.
    max_levels : int, default=None
        Largest number of features for each column of X: if there are more levels, the rarest are pooled. None means no
        limit.
    handle_unknown : {"pool", "ignore", "error"}, default="pool"
        Treatment of a value that did not occur in the fit. "pool": as a rare value if the column has pooled levels,
        else zeros. "ignore": zeros. "error": an error that names it.
    missing : {"level", "zeros", "error"}, default="level"
        Treatment of a missing value: a level like any other (an unknown one if no value is missing in the fit), zeros
        in all columns, or an error.
    hashed : int, default=None
        If given, the number of features for each column of X, whatever its levels: a hash, which is the same on all
        machines, determines the feature of a value. Nothing is learned, so no level is rare or unknown.
    drop_first : bool, default=False
        Whether the first level has no column and is the reference for all others. If False, the columns and an
        intercept are collinear, which matters without a penalty.

    Attributes
    ----------
    levels_ : list of Levels or HashedLevels
        The encoding of each column.
    categories_ : list of ndarray
        Levels of each column in the fit, NaN last if values were missing; empty if hashed.
    infrequent_categories_ : list of ndarray or None
        The levels that were pooled; None if none were.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    plan_ : Plan
        Whether levels were counted or hashed.

    Examples
    --------
    >>> from mercer import CategoryFeatures
    >>> X = [["Ulm", "red"], ["Bonn", "blue"], ["Ulm", None]]
    >>> features = CategoryFeatures().fit(X)
    >>> features.transform(X)
    Encoded(3 rows × 5 columns: 2 of levels, 3 of levels)
    >>> features.get_feature_names_out()
    array(['x0_Bonn', 'x0_Ulm', 'x1_blue', 'x1_red', 'x1_nan'], dtype=object)
    >>> features.transform([["Kiel", "red"]]).toarray()
    array([[0., 0., 0., 1., 0.]])
    """

    levels_: list[Any]
    categories_: list[Array]
    infrequent_categories_: list[Array | None]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "min_frequency": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            None,
        ],
        "max_levels": [Interval(Integral, 1, None, closed="left"), None],
        "handle_unknown": [StrOptions({"pool", "ignore", "error"})],
        "missing": [StrOptions({"level", "zeros", "error"})],
        "hashed": [Interval(Integral, 1, MAX_BUCKETS, closed="both"), None],
        "drop_first": ["boolean"],
    }

    def __init__(
        self,
        *,
        min_frequency: float | None = None,
        max_levels: int | None = None,
        handle_unknown: str = "pool",
        missing: str = "level",
        hashed: int | None = None,
        drop_first: bool = False,
    ) -> None:
        self.min_frequency = min_frequency
        self.max_levels = max_levels
        self.handle_unknown = handle_unknown
        self.missing = missing
        self.hashed = hashed
        self.drop_first = drop_first

    # Learning.

    @fits_sources
    def fit(self, X: Any, y: Any = None) -> Self:
        """Count the levels.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Columns of categories.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        with restore_on_failure(self):
            self._learn(X, reset=True)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Count the levels and encode the same rows, reading them once.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Columns of categories.
        y : None
            Ignored.

        Returns
        -------
        features : Encoded of shape (n_samples, n_features_out)
            The result of `transform`.
        """
        if is_source(X):
            return self.fit(X).transform(X)
        with restore_on_failure(self):
            return self._encode(self._learn(X, reset=True))

    def _fit_source(self, source: Source) -> None:
        self._check_hashing()
        self._table(source.head().X, reset=True)
        self._set_levels(fold(functools.partial(_count_chunk, copy.copy(self)), source, _merge_all))

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Count the levels of more rows: the result is that of one fit on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Columns of categories.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The transformer, with the levels of all rows so far.
        """
        with restore_on_failure(self):
            self._learn(X, reset=not hasattr(self, "_occurrences"))
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows of another transformer's fit.

        Parameters
        ----------
        other : CategoryFeatures
            Fitted to the same columns; it is not changed.

        Returns
        -------
        self : object
            The transformer, as if fitted to the rows of both.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        mine, theirs = column_names(self), column_names(other)
        if mine != theirs:
            raise MergeError(
                f"The other transformer was fitted to the columns {listed(theirs)}, this one to {listed(mine)}; merge "
                "transformers that were fitted to the same columns."
            )
        with restore_on_failure(self):
            self._set_levels(_merge_all(self._occurrences, other._occurrences))
        return self

    def _learn(self, X: Any, *, reset: bool) -> list[Coded]:
        """Count the levels, and return the values of each column as codes."""
        self._validate_params()
        self._check_hashing()
        coded, occurrences = self._counts(self._table(X, reset=reset))
        self._set_levels(occurrences if reset else _merge_all(self._occurrences, occurrences))
        return coded

    def _counts(self, table: Table) -> tuple[list[Coded], list[Occurrences]]:
        """Return the values of each column as codes, and their numbers of occurrences unless hashed."""
        coded, empty = _code_columns(table), [Occurrences.zero()] * table.n_columns
        if self.missing == "error":
            for column, (codes, _) in zip(column_names(self), coded, strict=True):
                if (missing := codes < 0).any():
                    raise missing_value(column, int(np.argmax(missing)))
        if self.hashed is not None:
            return coded, empty
        types = table.take(np.zeros(0, dtype=np.int64))  # some libraries convert a column to find its levels
        declared = map(types.declared_levels, range(table.n_columns))
        return coded, [each.update(new, levels) for each, new, levels in zip(empty, coded, declared, strict=True)]

    def _check_hashing(self) -> None:
        if self.hashed is None:
            return
        if self.min_frequency is not None or self.max_levels is not None or self.drop_first:
            raise DataError(
                "hashed learns no levels, so that none can be rare or the first; leave out min_frequency, max_levels "
                "and drop_first, or hashed."
            )

    def _set_levels(self, occurrences: list[Occurrences]) -> None:
        self._occurrences = occurrences
        self.levels_ = [self._encoding(each) for each in occurrences]
        # all encoded matrices share this array, so that comparing their names is a test of identity
        self._names = self._feature_names(column_names(self))
        self.categories_ = [_object_array([*each.ordered()[0], *[np.nan] * (each.missing > 0)]) for each in occurrences]
        self.infrequent_categories_ = [self._pooled(*each) for each in zip(self.levels_, occurrences, strict=True)]
        path = "levels counted" if self.hashed is None else f"hashed into {self.hashed} columns each"
        self.plan_ = Plan(path, "float64", 1, thread_count(), exact=self.hashed is None)

    def _encoding(self, occurrences: Occurrences) -> Encoding:
        if self.hashed is not None:
            return HashedLevels(int(self.hashed), self.missing)
        return Levels.of(
            occurrences,
            min_frequency=self.min_frequency,
            max_levels=self.max_levels,
            handle_unknown=self.handle_unknown,
            missing=self.missing,
            drop_first=self.drop_first,
        )

    def _pooled(self, levels: Encoding, occurrences: Occurrences) -> Array | None:
        if not (isinstance(levels, Levels) and levels.pooled):
            return None
        with_missing = self.missing == "level" and occurrences.missing > 0 and not levels.own_missing
        return _object_array([*levels.rare, *[np.nan] * with_missing])

    # Reading.

    def _table(self, X: Any, *, reset: bool) -> Table:
        """Return X as a table; unlike for models of numbers, strings that spell numbers remain strings."""
        table: Table = check_table(self, X, reset=reset)[0]
        if table.library == "numpy" and not (isinstance(X, np.ndarray) and X.dtype != object):
            table = replace(table, storage=DenseStorage(np.array(unmask(X), dtype=object)))
        return table

    @maps_sources
    def transform(self, X: Any) -> Any:
        """Encode values as codes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Columns of categories.

        Returns
        -------
        features : Encoded of shape (n_samples, n_features_out)
            Codes, which linear models of mercer use; `np.asarray`, `.toarray()` and `.tocsr()` expand them. A frame if
            `set_output` selects one.
        """
        check_is_fitted(self)
        return self._encode(_code_columns(self._table(X, reset=False)))

    def _encode(self, coded: list[Coded]) -> Any:
        columns = column_names(self)
        codes = ordered_map(lambda j: self.levels_[j].codes(columns[j], coded[j]), range(len(coded)))
        _warn_of_other_types(columns, self.levels_, coded)
        parts = tuple(CodePart(*part) for part in zip(codes, (each.n_columns for each in self.levels_), strict=True))
        X = Encoded(parts, len(codes[0]), self._names)
        return X if _get_output_config("transform", self)["dense"] == "default" else X.toarray()

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features: that of the column, "_", and the level.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X if it had none in the fit; otherwise they must be those of the fit.

        Returns
        -------
        names : ndarray of str objects
            "infrequent" is the level of pooled values and "nan" that of missing values; a level that prints like
            another, or like one of these, is written as in code: `"city_'nan'"`.
        """
        check_is_fitted(self)
        if input_features is None:
            return self._names.copy()
        return self._feature_names(_check_feature_names_in(self, input_features).tolist())

    def _feature_names(self, columns: list[str]) -> Array:
        names = [name for column, levels in zip(columns, self.levels_, strict=True) for name in levels.names(column)]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _warn_of_other_types(columns: list[str], levels: list[Any], coded: list[Coded]) -> None:
    """Warn once about all columns that were fitted to numbers and now hold only strings, or the reverse."""
    changed: dict[tuple[str, str], list[str]] = {}
    for column, fitted_levels, new in zip(columns, levels, coded, strict=True):
        if isinstance(fitted_levels, Levels) and (types := fitted_levels.other_type(new)) is not None:
            changed.setdefault(types, []).append(column)
    for (fitted, given), names in changed.items():
        several = len(names) > 1
        warn(
            f"{'Columns' if several else 'Column'} {listed(names)} {'were' if several else 'was'} fitted to {fitted} "
            f"and {'have' if several else 'has'} only {given} now, so that no value is a known level. Convert to "
            f"{fitted}, or fit again on {given}.",
            UnseenCategoryWarning,
        )


def _code_columns(table: Table) -> list[Coded]:
    return ordered_map(table.coded, range(table.n_columns))


def _object_array(labels: list[Any]) -> Array:
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _count_chunk(features: CategoryFeatures, chunk: Chunk) -> list[Occurrences]:
    return features._counts(features._table(chunk.X, reset=False))[1]


def _merge_all(mine: list[Occurrences], theirs: list[Occurrences]) -> list[Occurrences]:
    return [a.merge(b) for a, b in zip(mine, theirs, strict=True)]
