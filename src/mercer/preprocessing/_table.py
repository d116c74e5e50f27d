"""A frame of numbers, categories, dates, text and gaps as a matrix that any model takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from mercer._errors import EmptyDataError, TargetLeakError, TargetLeakWarning
from mercer._stored import mapping, optional, part_of, sequence, stored, values
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import traits
from mercer.base.fitted_fields import FITTED
from mercer.base.sources import fits_sources, is_source, maps_sources
from mercer.base.validation import Plan, checked_columns, forget_fit, old_state_on_failure
from mercer.data.coding import Coded, code_array
from mercer.data.formats import Format
from mercer.data.infer import infer_formats
from mercer.data.kinds import Kind
from mercer.data.select import fetched, names_of, select
from mercer.data.sources.base import Source
from mercer.data.table import Table
from mercer.matrices import Encoded
from mercer.matrices.encoded import NumberPart, Part
from mercer.preprocessing._column_choice import (
    ASKED_FOR,
    ColumnEvidenceSource,
    InTable,
    Manner,
    asked_kinds,
    name_of,
    schema_for,
    treatment,
)
from mercer.preprocessing._formula import FormulaFeatures
from mercer.preprocessing._reading import absent_columns, refuse_sparse, without
from mercer.preprocessing.table_source import learn_source
from mercer.preprocessing.treatments import (
    LEVELS,
    NUMBERS,
    BinaryTreatment,
    CategoryTreatment,
    DateTreatment,
    LeftOutTreatment,
    NumberTreatment,
    Slot,
    Treatment,
    Unseen,
    distinct,
    numbers_at_once,
    side_by_side,
)
from mercer.report import Field, Grid

# Whether the target is among the features: a model would only repeat it.

#: rows in which a column has to be the target itself, and those in which it has to be another name for it
ROWS_ALIKE, ROWS_RENAMED = 3, 20
#: rows that tell of most columns that they are not the target
SOME_ROWS = 1000
#: values that are read faster together than two rows by themselves
MOST_VALUES = 1 << 20


def guard_target(table: Table, positions: list[int], y: Any, on_leak: str) -> None:
    """Look for a column that is y, or y under other names."""
    labels = np.asarray(y)
    if on_leak == "ignore" or labels.shape != (table.n_rows,) or table.n_rows < ROWS_ALIKE:
        return
    try:
        target = code_array(labels)
    except TypeError:  # no labels
        return
    distinct = len(_occurring(target))
    if distinct < 2 or (target.codes < 0).any():
        return
    # where all values differ, each column names all others
    renamed = table.n_rows >= ROWS_RENAMED and 2 * distinct <= table.n_rows
    few, some = table, target
    if table.n_rows > SOME_ROWS:
        rows = np.unique(np.linspace(0, table.n_rows - 1, SOME_ROWS).astype(np.int64))
        few, some = table.take(rows), Coded(target.codes[rows], target.labels)
    for position in _as_constant(few, some.codes, positions):
        if _alike(some, few.coded(position), renamed) and (how := _alike(target, table.coded(position), renamed)):
            _tell(table.names[position], how, on_leak)


def _as_constant(table: Table, codes: Array, positions: list[int]) -> list[int]:
    """Leave out columns of numbers that differ in two rows in which the target does not: by far the most."""
    order = np.argsort(codes, kind="stable")
    alike = np.flatnonzero(np.diff(codes[order]) == 0)
    numeric = [position for position in positions if table.kinds[position].numeric]
    if not len(alike) or not numeric:
        return positions
    pair = order[alike[0] : alike[0] + 2]
    if table.n_rows * len(numeric) <= MOST_VALUES:
        first, second = table.numbers(numeric)[pair]
    else:
        first, second = (table.rows(slice(row, row + 1)).numbers(numeric)[0] for row in pair.tolist())
    differing = {position for position, differs in zip(numeric, first != second, strict=True) if differs}
    return [position for position in positions if position not in differing]


def _tell(column: str, how: str, on_leak: str) -> None:
    sentence = (
        f"Column {column!r} {how}, so that a model would learn nothing but to repeat it. Leave it out "
        f"(exclude=[{column!r}]), or allow it with on_leak='ignore'."
    )
    if on_leak == "error":
        raise TargetLeakError(sentence)
    warn(sentence, TargetLeakWarning)


def _alike(target: Coded, column: Coded, renamed: bool) -> str | None:
    """In which way a column is the target; "under other names" only where such may be."""
    if (column.codes < 0).any():
        return None
    here, there = _occurring(target), _occurring(column)
    if len(here) != len(there):
        return None
    if set(here) == set(there) and _equal(target, column):
        return "is the target"
    if not renamed:
        return None
    pairs = target.codes.astype(np.int64) * len(column.labels) + column.codes
    return "is the target under other names" if len(np.unique(pairs)) == len(here) else None


def _occurring(coded: Coded) -> list[Any]:
    counts = np.bincount(coded.codes + 1, minlength=len(coded.labels) + 1)[1:]
    return list(coded.labels[counts > 0].tolist())


def _equal(target: Coded, column: Coded) -> bool:
    return bool((target.labels[target.codes] == column.labels[column.codes]).all())


#: columns whose reasons are given where none is left
MOST_REASONS = 5


def _levels(features: TableFeatures) -> dict[str, tuple[Any, ...]]:
    """Return the levels of binary columns and categories, rare ones included."""
    levels: dict[str, tuple[Any, ...]] = {}
    for name, how in getattr(features, "_treatments", {}).items():
        match how:
            case BinaryTreatment():
                levels[name] = how.levels
            case CategoryTreatment():
                levels[name] = (*how.levels.kept, *how.levels.rare)
    return levels


@traits(
    "features",
    standardizes=True,
    levels=_levels,
    export="mercer.export.tables.table_features",
)
@stored(
    lambda model: set(getattr(model, "_used", ())) <= getattr(model, "_treatments", {}).keys() or bool(model._formula),
    **FITTED,
    _names=values("."),
    _treatments=mapping(part_of(str), part_of(Treatment)),
    _used=sequence(".", part_of(str)),
    _slots=sequence(".", part_of(Slot)),
    _formula=optional(part_of(FormulaFeatures)),
    unsafe="mercer.files._formulas.unsafe_formula",
)
class TableFeatures(TransformerMixin, BaseEstimator):
    """Columns of any kind as features: each column of a frame is treated as is usual for its kind.

    Numbers and counts are standardised, two values become 0 and 1, categories one feature for each level (kept as
    codes), text is vectorised, dates become days since the first and, where they vary, weekday, month and hour, by the
    clock of the time zone of the fit. New rows may be in another time zone, but must have one if the rows of the fit
    did. Identifiers and constants are left out. `grid()` lists what was done and why.

    New rows are read by the same rules. The columns of a frame are found by their names, in any order; others are
    ignored. Features come in the order of the columns: first all numbers, then levels, then words.

    Parameters
    ----------
    kinds : dict, default=None
        What columns are, by name or position, where their values suggest something else: "number", "count", "binary",
        "category", "text", "date", or "identifier" or "constant", which are left out.
    formats : dict, default=None
        How numbers and dates are written in columns of strings, by name, as `Schema.infer(X).formats` has them. None
        finds it out by the values. Columns that are numbers or dates already are taken as they are.
    exclude : sequence of str, default=()
        Columns to leave out.
    missing : {"indicator", "keep", "error"}, default="indicator"
        "indicator" replaces missing numbers by the mean and, if rows of the fit have gaps, adds a feature that tells
        where they were; a missing category is a level of its own, and missing text has no words. "keep" leaves NaN for
        models that integrate it out, such as `GaussianNB` and `GaussianDiscriminant`. "error" refuses it.
    unseen : {"warn", "error", "ignore"}, default="warn"
        What happens when a category has a level that no row of the fit has. If not refused, it counts as infrequent,
        where such levels were pooled, or else all features of the column are 0; in a column of two values it becomes
        what a missing one would.
    scale : bool, default=True
        Whether numbers are standardised.
    min_frequency : int or float, default=None
        Levels in fewer rows than this are pooled; a float is a share of all rows.
    max_levels : int, default=1000
        How many levels of a column are told apart at most, the most frequent ones; None for all.
    text : {"tfidf", "counts"} or vectoriser, default="tfidf"
        What makes features of text: `TfidfVectorizer`, `CountVectorizer`, or one with parameters of your own.
    formula : str, default=None
        Features as R's formulas write them, e.g. "log(income) + C(region) * age", by formulaic; nothing is inferred
        then but the schema. The intercept is left to the model. Needs `pip install 'mercer[formula]'`.
    on_leak : {"warn", "error", "ignore"}, default="warn"
        What happens in a fit where a column is the target itself, or the target under other names.
    output : {"auto", "array", "sparse"}, default="auto"
        "auto" gives an array if every column became numbers, else an `Encoded` matrix, whose categories are codes and
        whose words are sparse, for models of mercer; `np.asarray` writes it out.

    Attributes
    ----------
    schema_ : Schema
        What each column was found to be, and remarks.
    formats_ : dict
        How numbers and dates are written in columns of strings; strings of new rows are read so.
    plan_ : Plan
        How many columns became how many features.
    n_features_in_ : int
        Number of columns of the fit that were not excluded.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if all are strings.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mercer import TableFeatures
    >>> frame = pa.table({"age": [31.5, 40.0, None, 25.0], "sex": [0, 1, 1, 0], "city": ["Ulm", "Bonn", "Ulm", "Ulm"]})
    >>> features = TableFeatures().fit(frame)
    >>> print(features.grid())
    column  kind      treatment                                features  notes
    ------  --------  ---------------------------------------  --------  -----------
    age     number    standardised, and whether it is missing         2  25% missing
    sex     binary    1 where it is 1                                 1
    city    category  a feature for each level                        2
    >>> features.get_feature_names_out().tolist()
    ['age', 'age[missing]', 'sex', 'city[Bonn]', 'city[Ulm]']
    >>> features.transform(frame)
    Encoded(4 rows × 5 columns: 3 of numbers, 2 of levels)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kinds": [Mapping, None],
        "formats": [Mapping, None],
        "exclude": ["array-like"],
        "missing": [StrOptions({"indicator", "keep", "error"})],
        "unseen": [StrOptions({"warn", "error", "ignore"})],
        "scale": ["boolean"],
        "min_frequency": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            None,
        ],
        "max_levels": [Interval(Integral, 1, None, closed="left"), None],
        "text": [StrOptions({"tfidf", "counts"}), HasMethods(["fit_transform", "transform", "get_feature_names_out"])],
        "formula": [str, None],
        "on_leak": [StrOptions({"warn", "error", "ignore"})],
        "output": [StrOptions({"auto", "array", "sparse"})],
    }

    def __init__(
        self,
        *,
        kinds: Mapping[Any, Any] | None = None,
        formats: Mapping[str, Format] | None = None,
        exclude: Sequence[str] = (),
        missing: str = "indicator",
        unseen: str = "warn",
        scale: bool = True,
        min_frequency: float | None = None,
        max_levels: int | None = 1000,
        text: Any = "tfidf",
        formula: str | None = None,
        on_leak: str = "warn",
        output: str = "auto",
    ) -> None:
        self.kinds = kinds
        self.formats = formats
        self.exclude = exclude
        self.missing = missing
        self.unseen = unseen
        self.scale = scale
        self.min_frequency = min_frequency
        self.max_levels = max_levels
        self.text = text
        self.formula = formula
        self.on_leak = on_leak
        self.output = output

    @fits_sources
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the columns are, and means, levels and words.

        Parameters
        ----------
        X : data frame, DuckDB relation, Source, or array-like of shape (n_samples, n_features)
            Columns of any kind. A source is read once, once more if strings spell numbers or dates, and once more for
            each column of text.
        y : array-like of shape (n_samples,), default=None
            The target, which no column should be.

        Returns
        -------
        self : object
            The fitted features.
        """
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn what the columns are, and the features of the same rows; text is read once.

        Parameters
        ----------
        X : data frame, DuckDB relation, or array-like of shape (n_samples, n_features)
            Columns of any kind.
        y : array-like of shape (n_samples,), default=None
            The target, which no column should be.

        Returns
        -------
        X_new : ndarray, Encoded or sparse matrix of shape (n_samples, n_features_out)
            As `output` says.
        """
        if is_source(X):
            return self.fit(X).transform(X)
        return self._features(*self._learn(X, y))

    def _fit_source(self, source: Source) -> Any:
        if self.formula is not None:
            return NotImplemented
        learn_source(self, source)
        self.plan_ = self._plan()
        return None

    @maps_sources
    def transform(self, X: Any) -> Any:
        """Features of rows.

        Parameters
        ----------
        X : data frame, DuckDB relation, or array-like of shape (n_samples, n_features)
            Rows with the columns of the fit: those of a frame by their names, those of an array by their order.

        Returns
        -------
        X_new : ndarray, Encoded or sparse matrix of shape (n_samples, n_features_out)
            As `output` says.
        """
        check_is_fitted(self)
        refuse_sparse(X)
        return self._features(self._table(fetched(X)), {})

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features: the column's, with [a level], [a word] or [missing] behind it.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            If given, the names of the columns of the fit.

        Returns
        -------
        names : ndarray of str objects
            One for each feature.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return self._names.copy()

    def feature_columns(self) -> Array:
        """The column that each feature was made from; a word, and a term of a formula, stand for themselves.

        Returns
        -------
        columns : ndarray of str objects
            One for each feature, in the order of `get_feature_names_out`.
        """
        check_is_fitted(self)
        columns = self._names.copy()
        if self._formula is not None:
            return columns
        made = [made_by.column for made_by, slot, _ in self._runs() for _ in slot.names]
        whole = [j for j, name in enumerate(made) if self.schema_[name].kind is not Kind.TEXT]
        columns[whole] = np.array(made, dtype=object)[whole]
        return columns

    def feature_scales(self) -> tuple[Array, Array]:
        """Return what standardised features were made by: (column − shift) / scale, of dates (days − shift) / scale.

        Returns
        -------
        shift, scale : ndarrays of shape (n_features_out,)
            0 and 1 for features that are not standardised columns.
        """
        check_is_fitted(self)
        shift, scale = np.zeros(len(self._names)), np.ones(len(self._names))
        for made_by, slot, positions in self._runs():
            number = made_by.days if isinstance(made_by, DateTreatment) else made_by
            if slot.order == NUMBERS and isinstance(number, NumberTreatment) and number.scaled:
                shift[positions[0]], scale[positions[0]] = number.scale
        return shift, scale

    def level_groups(self) -> list[list[int]]:
        """Return the positions of the features that stand for the levels of one category.

        Returns
        -------
        groups : list of lists of int
            One for each category, in the order of `get_feature_names_out`.
        """
        check_is_fitted(self)
        return [positions for _, slot, positions in self._runs() if slot.order == LEVELS]

    def _runs(self) -> Iterator[tuple[Treatment, Slot, list[int]]]:
        """Each run of features in their order, with what made it; none for a formula."""
        if self._formula is not None:
            return
        runs = [(self._treatments[name], slot) for name in self._used for slot in self._treatments[name].slots()]
        start = 0
        for made_by, slot in sorted(runs, key=lambda run: run[1].order):
            yield made_by, slot, list(range(start, start + len(slot.names)))
            start += len(slot.names)

    def grid(self) -> Grid:
        """What was done with each column, as a record to print.

        Returns
        -------
        grid : Grid
            Column, kind, treatment, number of features, and remarks.
        """
        check_is_fitted(self)
        rows = tuple(
            (column.name, column.kind.value, *self._done_with(column.name), "; ".join(column.notes))
            for column in self.schema_
        )
        fields = ("column", "kind", "treatment")
        notes = (f"Formula: {self.formula}",) if self._formula is not None else ()
        return Grid("", (*map(Field, fields), Field("features", "d"), Field("notes")), rows, notes)

    # Learning.

    def _learn(self, X: Any, y: Any) -> tuple[Table, dict[str, list[Part]]]:
        """All but parameters is set; the table, and those of its features that were found on the way."""
        with old_state_on_failure(self):
            self._validate_params()
            table = self._opened(X)
            kinds = asked_kinds(table, self.kinds or {})
            self.formats_ = infer_formats(table, kinds) if self.formats is None else dict(self.formats)
            table = table.with_formats(self.formats_)
            self.schema_ = schema_for(table, self.kinds or {})
            made = self._learn_columns(table, y) if self.formula is None else self._learn_formula(table)
            guard_target(table, [table.positions[name] for name in self._used], y, self.on_leak)
            self.plan_ = self._plan()
        return table, made

    def _opened(self, X: Any) -> Table:
        """The columns of a fit, when all that was learnt before is forgotten."""
        forget_fit(self)
        refuse_sparse(X)
        return checked_columns(self, without(fetched(X), self.exclude), reset=True)

    def _part(self, X: Any) -> Table:
        """Some rows of a fit that was opened."""
        table: Table = checked_columns(self, without(fetched(X), self.exclude), reset=False)
        return table.with_formats(self.formats_)

    def _plan(self) -> Plan:
        return Plan(f"{len(self.schema_)} columns to {len(self._names)} features", "float64", 1, 1)

    def _learn_columns(self, table: Table, y: Any) -> dict[str, list[Part]]:
        manner = self._manner(y)
        self._treat(table, InTable.all_of(table), manner)
        return manner.made

    def _treat(self, table: Table, evidence: Sequence[ColumnEvidenceSource], manner: Manner) -> None:
        """Decide what becomes of each column by what its rows show."""
        excluded = self._excluded(table)
        self._settle(
            [
                LeftOutTreatment(column.name, ASKED_FOR)
                if column.name in excluded
                else treatment(column, shown, manner)
                for column, shown in zip(self.schema_, evidence, strict=True)
            ]
        )

    def _excluded(self, table: Table) -> set[str]:
        """Columns of an array that are left out, as those of a frame were before."""
        return set() if names_of(table.native) is not None else {name_of(table, key) for key in self.exclude}

    def _manner(self, y: Any) -> Manner:
        levels = {"min_frequency": self.min_frequency, "max_levels": self.max_levels}
        return Manner(self.missing, self.scale, self._vectorizer(), levels, y, {})

    def _settle(self, found: list[Treatment]) -> None:
        """Keep what becomes of each column, and the names of all features."""
        self._formula: FormulaFeatures | None = None
        self._treatments = {each.column: each for each in found}
        self._used = [each.column for each in found if not isinstance(each, LeftOutTreatment)]
        self._slots = [slot for name in self._used for slot in self._treatments[name].slots()]
        names = [name for slot in sorted(self._slots, key=lambda slot: slot.order) for name in slot.names]
        if not names:
            why = "; ".join(f"{each.column!r} was {each.described()}" for each in found[:MOST_REASONS])
            raise EmptyDataError(f"There is no column to learn from: {why}. Say what columns are with `kinds`.")
        self._names = np.array(distinct(names), dtype=object)

    def _learn_formula(self, table: Table) -> dict[str, list[Part]]:
        formula = FormulaFeatures.of(str(self.formula), table, missing=self.missing)
        self._used = [name for name in table.names if name in formula.variables]
        self._names = np.array(distinct(formula.names), dtype=object)
        self._formula = formula
        return {}

    def _vectorizer(self) -> Any:
        from mercer.text import CountVectorizer, TfidfVectorizer

        named: dict[str, Any] = {"tfidf": TfidfVectorizer, "counts": CountVectorizer}
        return named[self.text]() if isinstance(self.text, str) else self.text

    # Reading.

    def _features(self, table: Table, made: dict[str, list[Part]]) -> Any:
        """Features of rows, of which some may have been made."""
        unseen = Unseen(self.unseen)
        if self._formula is not None:
            encoded = Encoded.of([NumberPart(self._formula.read(table, unseen))], names=self._names)
        else:
            numbers = [made_by for name in self._used if isinstance(made_by := self._treatments[name], NumberTreatment)]
            places, units = numbers_at_once(numbers, table)
            parts: list[tuple[int, Part]] = []
            for together, names in groupby(self._used, key=places.__contains__):
                if together:
                    parts.append((NUMBERS, NumberPart(units[:, [places[name] for name in names]])))
                    continue
                for name in names:
                    how = self._treatments[name]
                    found = made.get(name) or how.parts(table, table.positions[name], unseen)
                    parts += [(slot.order, part) for slot, part in zip(how.slots(), found, strict=True)]
            encoded = Encoded.of(side_by_side(parts), names=self._names)
        unseen.warn()
        return self._as_asked(encoded)

    def _table(self, X: Any) -> Table:
        names = names_of(X)
        if names is None or not hasattr(self, "feature_names_in_"):
            table: Table = checked_columns(self, X, reset=False)
            return replace(table, column_names=self.schema_.names)
        given = set(names)
        if absent := [name for name in self._used if name not in given]:
            raise absent_columns(absent, names)
        table = Table.of(select(X, self._used), dates=True).with_formats(self.formats_)
        if not table.n_rows:
            raise EmptyDataError(
                f"Found array with 0 sample(s) (shape={(0, len(names))}) while a minimum of 1 is required by "
                "TableFeatures. Look at how X was selected or read."
            )
        return table

    def _as_asked(self, encoded: Encoded) -> Any:
        if self.output == "array" or _get_output_config("transform", self)["dense"] != "default":
            return encoded.toarray()
        if self.output == "sparse":
            return encoded.tocsr()
        match encoded.parts:
            case (NumberPart(X),):
                return X
        return encoded

    def _done_with(self, column: str) -> tuple[str, int | None]:
        """What became of a column, and how many features it is."""
        if self._formula is not None:
            return ("in the formula" if column in self._used else "not in the formula"), None
        done = self._treatments[column]
        return done.described(), sum(len(slot.names) for slot in done.slots())

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Files of older versions have no formats: their strings were levels, texts or dates as ISO 8601 has them."""
        learnt: dict[str, Any] = {"formats_": {}} if "schema_" in state else {}
        super().__setstate__({"formats": None, **learnt, **state})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags
