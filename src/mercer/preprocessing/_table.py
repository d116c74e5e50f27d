"""Conversion of a frame of numbers, categories, dates, text and gaps to a matrix of features.

`mercer.data.infer` infers the kinds of the columns, `_column_choice` chooses a treatment for each, and `treatments`
computes the features, with missing values replaced and indicated.
"""

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
from mercer.base.validation import Plan, check_columns, forget_fit, restore_on_failure
from mercer.data.coding import Coded, code_array
from mercer.data.formats import Format
from mercer.data.infer import infer_formats
from mercer.data.kinds import Kind
from mercer.data.select import fetch_relation, names_of, select
from mercer.data.sources.base import Source
from mercer.data.table import Table
from mercer.matrices import Encoded
from mercer.matrices.encoded import NumberPart, Part
from mercer.preprocessing._column_choice import (
    REQUESTED,
    ColumnReader,
    TableColumnReader,
    TreatmentOptions,
    choose_treatment,
    column_name,
    infer_schema_with,
    requested_kinds,
)
from mercer.preprocessing._formula import FormulaFeatures
from mercer.preprocessing._reading import absent_columns, check_not_sparse, drop_columns
from mercer.preprocessing.table_source import learn_source
from mercer.preprocessing.treatments import (
    LEVEL_SLOT,
    NUMBER_SLOT,
    BinaryTreatment,
    CategoryTreatment,
    DateTreatment,
    LeftOutTreatment,
    NumberTreatment,
    Slot,
    Treatment,
    UnseenValues,
    join_parts,
    number_duplicates,
    standardize_together,
)
from mercer.report import Field, Grid

# Detection of the target among the features, which a model would only repeat.

#: fewest rows for which a column that equals the target is reported
MIN_ROWS_EQUAL = 3
#: fewest rows for which a column that renames the target is reported
MIN_ROWS_RENAMED = 20
#: rows that suffice to exclude most columns
LEAK_SAMPLE_ROWS = 1000
#: tables of at most this many values are read as a whole faster than in two separate rows
MAX_VALUES_AT_ONCE = 1 << 20


def check_for_target(table: Table, positions: list[int], y: Any, on_leak: str) -> None:
    """Warn or raise an error if a column is y, or y with other labels."""
    labels = np.asarray(y)
    if on_leak == "ignore" or labels.shape != (table.n_rows,) or table.n_rows < MIN_ROWS_EQUAL:
        return
    try:
        target = code_array(labels)
    except TypeError:  # y does not consist of labels
        return
    n_labels = len(_occurring_labels(target))
    if n_labels < 2 or (target.codes < 0).any():
        return
    # a column without repeated values determines all others
    may_rename = table.n_rows >= MIN_ROWS_RENAMED and 2 * n_labels <= table.n_rows
    sample, sample_target = table, target
    if table.n_rows > LEAK_SAMPLE_ROWS:
        rows = np.unique(np.linspace(0, table.n_rows - 1, LEAK_SAMPLE_ROWS).astype(np.int64))
        sample, sample_target = table.take(rows), Coded(target.codes[rows], target.labels)
    for position in _drop_varying(sample, sample_target.codes, positions):
        if not _find_leak(sample_target, sample.coded(position), may_rename):
            continue
        if (leak := _find_leak(target, table.coded(position), may_rename)) is None:
            continue
        name = table.names[position]
        message = (
            f"Column {name!r} {leak}, so that a model would only learn to repeat it. Leave it out "
            f"(exclude=[{name!r}]), or allow it with on_leak='ignore'."
        )
        if on_leak == "error":
            raise TargetLeakError(message)
        warn(message, TargetLeakWarning)


def _drop_varying(table: Table, codes: Array, positions: list[int]) -> list[int]:
    """Drop columns of numbers that differ in two rows with the same target, which are most columns."""
    order = np.argsort(codes, kind="stable")
    equal = np.flatnonzero(np.diff(codes[order]) == 0)
    numeric = [position for position in positions if table.kinds[position].numeric]
    if not len(equal) or not numeric:
        return positions
    pair = order[equal[0] : equal[0] + 2]
    if table.n_rows * len(numeric) <= MAX_VALUES_AT_ONCE:
        first, second = table.numbers(numeric)[pair]
    else:
        first, second = (table.rows(slice(row, row + 1)).numbers(numeric)[0] for row in pair.tolist())
    differing = {position for position, differs in zip(numeric, first != second, strict=True) if differs}
    return [position for position in positions if position not in differing]


def _find_leak(target: Coded, column: Coded, may_rename: bool) -> str | None:
    """Return how a column reveals the target, or None; `may_rename`: whether it may have other labels."""
    if (column.codes < 0).any():
        return None
    labels, column_labels = _occurring_labels(target), _occurring_labels(column)
    if len(labels) != len(column_labels):
        return None
    is_same_set = set(labels) == set(column_labels)
    if is_same_set and (target.labels[target.codes] == column.labels[column.codes]).all():
        return "is the target"
    if not may_rename:
        return None
    pairs = target.codes.astype(np.int64) * len(column.labels) + column.codes
    return "is the target under other names" if len(np.unique(pairs)) == len(labels) else None


def _occurring_labels(coded: Coded) -> list[Any]:
    counts = np.bincount(coded.codes + 1, minlength=len(coded.labels) + 1)[1:]
    return list(coded.labels[counts > 0].tolist())


#: number of columns whose reasons are given in the error that no column is left
MAX_REASONS = 5


def _levels(features: TableFeatures) -> dict[str, tuple[Any, ...]]:
    """Return the levels of binary columns and categories, including rare ones."""
    levels: dict[str, tuple[Any, ...]] = {}
    for name, treatment in getattr(features, "_treatments", {}).items():
        match treatment:
            case BinaryTreatment():
                levels[name] = treatment.levels
            case CategoryTreatment():
                levels[name] = (*treatment.levels.kept, *treatment.levels.rare)
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
    formats_=part_of(dict),
    schema_=part_of(),
    unsafe="mercer.files._formulas.unsafe_formula",
)
class TableFeatures(TransformerMixin, BaseEstimator):
    """Features of columns of any kind: each column of a frame is treated as is usual for its kind.

    Numbers and counts are standardised, two values become 0 and 1, and a category becomes one feature for each level
    (stored as codes). Text is vectorized. Dates become days since the first and, where they vary, weekday, month and
    hour in the time zone of the fit; new rows may be in another time zone, but must have one if the rows of the fit had
    one. Identifiers and constants are left out. `grid()` lists the treatment of each column, and why.

    New rows are read by the same rules. The columns of a frame are found by their names, in any order; others are
    ignored. Features are in the order of the columns: first all numbers, then levels, then words.

    Parameters
    ----------
    kinds : dict, default=None
        Kinds of columns, by name or position, whose values suggest another kind: "number", "count", "binary",
        "category", "text", "date", or "identifier" or "constant", which are left out.
    formats : dict, default=None
        Formats of numbers and dates in columns of strings, by name, as in `Schema.infer(X).formats`. None infers them
        from the values. Columns that are numbers or dates already are used as they are.
    exclude : sequence of str, default=()
        Columns to leave out.
    missing : {"indicator", "keep", "error"}, default="indicator"
        "indicator" replaces missing numbers by the mean and, if rows of the fit have gaps, adds a feature that is 1
        where the value is missing; a missing category is a separate level, and missing text has no words. "keep" keeps
        NaN for models that integrate it out, such as `GaussianNB` and `GaussianDiscriminant`. "error" raises an error.
    unseen : {"warn", "error", "ignore"}, default="warn"
        Treatment of a level of a category that no row of the fit has. Without an error, it counts as infrequent if such
        levels were pooled; otherwise all features of the column are 0. In a column of two values it is treated as
        missing.
    scale : bool, default=True
        Whether numbers are standardised.
    min_frequency : int or float, default=None
        Levels in fewer rows than this are pooled; a float is a share of all rows.
    max_levels : int, default=1000
        Largest number of levels of a column with a feature of their own, the most frequent ones; None for all.
    text : {"tfidf", "counts"} or vectorizer, default="tfidf"
        The vectorizer of text: `TfidfVectorizer`, `CountVectorizer`, or a given one.
    formula : str, default=None
        Features in the notation of R's formulas, e.g. "log(income) + C(region) * age", by formulaic; only the schema is
        inferred then. The intercept is left to the model. Needs `pip install 'mercer[formula]'`.
    on_leak : {"warn", "error", "ignore"}, default="warn"
        Reaction if a column of a fit is the target itself, or the target under other names.
    output : {"auto", "array", "sparse"}, default="auto"
        "auto" returns an array if all features are numbers, else an `Encoded` matrix, whose categories are codes and
        whose words are sparse, for models of mercer; `np.asarray` expands it.

    Attributes
    ----------
    schema_ : Schema
        The kind of each column, and remarks.
    formats_ : dict
        Formats of numbers and dates in columns of strings, by which the strings of new rows are read.
    plan_ : Plan
        Numbers of columns and features.
    n_features_in_ : int
        Number of columns of the fit that were not excluded.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of these columns, if all are strings.

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
        """Learn the kinds of the columns, means, levels and words.

        Parameters
        ----------
        X : data frame, DuckDB relation, Source, or array-like of shape (n_samples, n_features)
            Columns of any kind. A source is read once, once more if strings spell numbers or dates, and once more for
            each column of text.
        y : array-like of shape (n_samples,), default=None
            The target; no column should be equal to it.

        Returns
        -------
        self : object
            The fitted features.
        """
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn the kinds of the columns, and compute the features of the same rows, reading text once.

        Parameters
        ----------
        X : data frame, DuckDB relation, or array-like of shape (n_samples, n_features)
            Columns of any kind.
        y : array-like of shape (n_samples,), default=None
            The target; no column should be equal to it.

        Returns
        -------
        X_new : ndarray, Encoded or sparse matrix of shape (n_samples, n_features_out)
            Features, of the type that `output` selects.
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
        """Compute the features of rows.

        Parameters
        ----------
        X : data frame, DuckDB relation, or array-like of shape (n_samples, n_features)
            Rows with the columns of the fit: those of a frame by their names, those of an array by their order.

        Returns
        -------
        X_new : ndarray, Encoded or sparse matrix of shape (n_samples, n_features_out)
            Features, of the type that `output` selects.
        """
        check_is_fitted(self)
        check_not_sparse(X)
        return self._features(self._table(fetch_relation(X)), {})

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features: that of the column, followed by [a level], [a word] or [missing].

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
        """Return the column from which each feature is computed; words and terms of a formula are their own columns.

        Returns
        -------
        columns : ndarray of str objects
            One for each feature, in the order of `get_feature_names_out`.
        """
        check_is_fitted(self)
        columns = self._names.copy()
        if self._formula is not None:
            return columns
        origins = [treatment.column for treatment, slot, _ in self._runs() for _ in slot.names]
        not_words = [j for j, name in enumerate(origins) if self.schema_[name].kind is not Kind.TEXT]
        columns[not_words] = np.array(origins, dtype=object)[not_words]
        return columns

    def feature_scales(self) -> tuple[Array, Array]:
        """Return shift and scale of standardised features, (column − shift) / scale; dates are in days.

        Returns
        -------
        shift, scale : ndarrays of shape (n_features_out,)
            0 and 1 for features that are not standardised columns.
        """
        check_is_fitted(self)
        shift, scale = np.zeros(len(self._names)), np.ones(len(self._names))
        for treatment, slot, positions in self._runs():
            number = treatment.days if isinstance(treatment, DateTreatment) else treatment
            if slot.order == NUMBER_SLOT and isinstance(number, NumberTreatment) and number.scaled:
                shift[positions[0]], scale[positions[0]] = number.scale
        return shift, scale

    def level_groups(self) -> list[list[int]]:
        """Return the positions of the features of the levels of each category.

        Returns
        -------
        groups : list of lists of int
            One for each category, in the order of `get_feature_names_out`.
        """
        check_is_fitted(self)
        return [positions for _, slot, positions in self._runs() if slot.order == LEVEL_SLOT]

    def _runs(self) -> Iterator[tuple[Treatment, Slot, list[int]]]:
        """Yield the treatment, slot and positions of each run of features; none for a formula."""
        if self._formula is not None:
            return
        runs = [(self._treatments[name], slot) for name in self._used for slot in self._treatments[name].slots()]
        start = 0
        for treatment, slot in sorted(runs, key=lambda run: run[1].order):
            yield treatment, slot, list(range(start, start + len(slot.names)))
            start += len(slot.names)

    def grid(self) -> Grid:
        """Return the treatment of each column as a table to print.

        Returns
        -------
        grid : Grid
            Column, kind, treatment, number of features, and remarks.
        """
        check_is_fitted(self)
        rows = tuple(
            (column.name, column.kind.value, *self._describe(column.name), "; ".join(column.notes))
            for column in self.schema_
        )
        fields = ("column", "kind", "treatment")
        notes = (f"Formula: {self.formula}",) if self._formula is not None else ()
        return Grid("", (*map(Field, fields), Field("features", "d"), Field("notes")), rows, notes)

    # Learning.

    def _learn(self, X: Any, y: Any) -> tuple[Table, dict[str, list[Part]]]:
        """Learn everything; return the table, and those of its features that were computed while learning."""
        with restore_on_failure(self):
            self._validate_params()
            table = self._open(X)
            kinds = requested_kinds(table, self.kinds or {})
            self.formats_ = infer_formats(table, kinds) if self.formats is None else dict(self.formats)
            table = table.with_formats(self.formats_)
            self.schema_ = infer_schema_with(table, self.kinds or {})
            computed: dict[str, list[Part]] = {}
            if self.formula is None:
                options = self._options(y)
                self._choose_treatments(table, TableColumnReader.all_of(table), options)
                computed = options.computed
            else:
                self._learn_formula(table)
            check_for_target(table, [table.positions[name] for name in self._used], y, self.on_leak)
            self.plan_ = self._plan()
        return table, computed

    def _open(self, X: Any) -> Table:
        """Reset all fitted attributes, and return the columns of a fit."""
        forget_fit(self)
        check_not_sparse(X)
        return check_columns(self, drop_columns(fetch_relation(X), self.exclude), reset=True)

    def _part(self, X: Any) -> Table:
        """Return some rows of a fit that has begun."""
        table: Table = check_columns(self, drop_columns(fetch_relation(X), self.exclude), reset=False)
        return table.with_formats(self.formats_)

    def _plan(self) -> Plan:
        return Plan(f"{len(self.schema_)} columns to {len(self._names)} features", "float64", 1, 1)

    def _choose_treatments(self, table: Table, readers: Sequence[ColumnReader], options: TreatmentOptions) -> None:
        """Choose the treatment of each column by its rows, and name all features."""
        # excluded columns of a frame were removed before; those of an array are left out here
        is_frame = names_of(table.native) is not None
        excluded = set() if is_frame else {column_name(table, key) for key in self.exclude}
        treatments = [
            LeftOutTreatment(column.name, REQUESTED)
            if column.name in excluded
            else choose_treatment(column, reader, options)
            for column, reader in zip(self.schema_, readers, strict=True)
        ]
        self._formula: FormulaFeatures | None = None
        self._treatments = {each.column: each for each in treatments}
        self._used = [each.column for each in treatments if not isinstance(each, LeftOutTreatment)]
        self._slots = [slot for name in self._used for slot in self._treatments[name].slots()]
        names = [name for slot in sorted(self._slots, key=lambda slot: slot.order) for name in slot.names]
        if not names:
            why = "; ".join(f"{each.column!r} was {each.described()}" for each in treatments[:MAX_REASONS])
            raise EmptyDataError(f"There is no column to learn from: {why}. Give the kinds of columns by `kinds`.")
        self._names = np.array(number_duplicates(names), dtype=object)

    def _options(self, y: Any) -> TreatmentOptions:
        from mercer.text import CountVectorizer, TfidfVectorizer

        vectorizers: dict[str, Any] = {"tfidf": TfidfVectorizer, "counts": CountVectorizer}
        vectorizer = vectorizers[self.text]() if isinstance(self.text, str) else self.text
        levels = {"min_frequency": self.min_frequency, "max_levels": self.max_levels}
        return TreatmentOptions(self.missing, self.scale, vectorizer, levels, y, {})

    def _learn_formula(self, table: Table) -> None:
        formula = FormulaFeatures.of(str(self.formula), table, missing=self.missing)
        self._used = [name for name in table.names if name in formula.variables]
        self._names = np.array(number_duplicates(formula.names), dtype=object)
        self._formula = formula

    # Reading.

    def _features(self, table: Table, computed: dict[str, list[Part]]) -> Any:
        """Return the features of rows; those in `computed` are not computed again."""
        unseen = UnseenValues(self.unseen)
        if self._formula is not None:
            encoded = Encoded.of([NumberPart(self._formula.read(table, unseen))], names=self._names)
        else:
            used = [self._treatments[name] for name in self._used]
            numbers = [treatment for treatment in used if isinstance(treatment, NumberTreatment)]
            places, units = standardize_together(numbers, table)
            parts: list[tuple[int, Part]] = []
            for together, names in groupby(self._used, key=places.__contains__):
                if together:
                    parts.append((NUMBER_SLOT, NumberPart(units[:, [places[name] for name in names]])))
                    continue
                for name in names:
                    column = self._treatments[name]
                    new = computed.get(name) or column.parts(table, table.positions[name], unseen)
                    parts += [(slot.order, part) for slot, part in zip(column.slots(), new, strict=True)]
            encoded = Encoded.of(join_parts(parts), names=self._names)
        unseen.warn()
        return self._convert(encoded)

    def _table(self, X: Any) -> Table:
        names = names_of(X)
        if names is None or not hasattr(self, "feature_names_in_"):
            table: Table = check_columns(self, X, reset=False)
            return replace(table, column_names=self.schema_.names)
        given = set(names)
        if absent := [name for name in self._used if name not in given]:
            raise absent_columns(absent, names)
        table = Table.of(select(X, self._used), dates=True).with_formats(self.formats_)
        if not table.n_rows:
            raise EmptyDataError(
                f"Found array with 0 sample(s) (shape={(0, len(names))}) while a minimum of 1 is required by "
                "TableFeatures. Check how X was selected or read."
            )
        return table

    def _convert(self, encoded: Encoded) -> Any:
        """Return the features in the type that `output` and `set_output` select."""
        if self.output == "array" or _get_output_config("transform", self)["dense"] != "default":
            return encoded.toarray()
        if self.output == "sparse":
            return encoded.tocsr()
        match encoded.parts:
            case (NumberPart(X),):
                return X
        return encoded

    def _describe(self, column: str) -> tuple[str, int | None]:
        """Return a description of the treatment of a column, and its number of features."""
        if self._formula is not None:
            return ("in the formula" if column in self._used else "not in the formula"), None
        treatment = self._treatments[column]
        return treatment.described(), sum(len(slot.names) for slot in treatment.slots())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags
