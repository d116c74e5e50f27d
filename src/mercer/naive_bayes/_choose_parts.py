"""The choice of a family for each column: from the parameter `families`, and for other columns by their types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mercer._errors import ColumnMismatchError, ColumnTypeError, DataError, FamilyError, MercerWarning
from mercer._warn import warn
from mercer.base.validation import find_column
from mercer.data.infer import MAX_CODES, infer_single
from mercer.data.kinds import Kind
from mercer.data.schema import Schema
from mercer.data.table import Table
from mercer.density import Parzen
from mercer.families import (
    Categorical,
    Family,
    Gaussian,
    Histogram,
    Multinomial,
    MultivariateGaussian,
    NegativeBinomial,
    family_from,
)
from mercer.naive_bayes.parts import (
    CategoryPart,
    CountsPart,
    GaussianVectorPart,
    ModelPart,
    NumbersPart,
    VectorPart,
    WindowsPart,
)
from mercer.report.wording import format_count

FAMILY_OF: dict[Kind, Family] = {
    Kind.NUMBER: Gaussian(),
    Kind.INTEGER: Gaussian(),
    Kind.BOOLEAN: Categorical(),
    Kind.CATEGORY: Categorical(),
    Kind.COUNTS: Multinomial(),
    Kind.CODE: Categorical(),
    Kind.BINARY: Categorical(),
    # counts are mostly overdispersed: under a Poisson, a few large values would decide every row
    Kind.COUNT: NegativeBinomial(),
}

#: rows by which text is distinguished from categories
ROWS_TO_DETECT_TEXT = 1000


class ColumnChoice(NamedTuple):
    """A family and its columns, described together if it is a family of vectors, else one by one."""

    columns: tuple[int, ...]
    family: Family
    #: levels that a schema has found in the whole table
    levels: tuple[Any, ...] | None = None


def choose_parts(table: Table, families: Any, *, unseen: Any) -> tuple[ModelPart, ...]:
    """Return parts that cover every column of the table once, or for an array every column that a schema describes."""
    choices = _group_columns([*_split_columns(table, _read_choices(table, families))])
    return tuple(_make_part(table, choice, unseen) for choice in choices)


def _read_choices(table: Table, families: Any) -> list[ColumnChoice]:
    if isinstance(families, Schema):
        names = table.names if table.named else [name for name in families.names if name in table.positions]
        described = [(table.positions[name], families[name]) for name in names or table.names]
        return [ColumnChoice((j,), FAMILY_OF[column.stored or column.kind], column.levels) for j, column in described]
    if isinstance(families, Mapping):
        given = [ColumnChoice(_find_columns(table, key), _read_family(family)) for key, family in families.items()]
        named = [column for choice in given for column in choice.columns]
        if twice := {column for column in named if named.count(column) > 1}:
            raise DataError(f"families describes column {table.names[min(twice)]!r} twice; name it once.")
        return [*given, *_choose_by_type(table, except_for=set(named))]
    if isinstance(families, str) and families == "auto":
        return _choose_by_type(table, except_for=set())
    return [ColumnChoice(tuple(range(table.n_columns)), _read_family(families))]


def _read_family(family: Any) -> Family:
    """Return a family, given as an object or by its name; the name may also be that of Parzen windows."""
    if isinstance(family, str) and family == Parzen.name:
        return Parzen()
    try:
        return family_from(family)
    except FamilyError as error:
        raise FamilyError(f"{error} There is {Parzen.name!r}, too.") from None


def needs_all_rows(given: Any) -> bool:
    """Return whether a family needs all rows at once: windows store them, a histogram places its bins by them."""
    family = None if isinstance(given, Schema) or given == "auto" else _read_family(given)
    return isinstance(family, Parzen) or (isinstance(family, Histogram) and not family.resolved)


def _choose_by_type(table: Table, *, except_for: set[int]) -> list[ColumnChoice]:
    """Choose families by type alone, not by values, which differ between batches."""
    columns = [j for j in range(table.n_columns) if j not in except_for]
    _warn_of_text(table, [j for j in columns if table.kinds[j] is Kind.CATEGORY])
    return [ColumnChoice((j,), FAMILY_OF[table.kinds[j]]) for j in columns]


def _warn_of_text(table: Table, columns: list[int]) -> None:
    """Warn of columns of text: its values differ from row to row, so that as categories they carry no information."""
    some = table.rows(slice(0, ROWS_TO_DETECT_TEXT))
    if texts := [table.names[j] for j in columns if infer_single(some, j, MAX_CODES).kind is Kind.TEXT]:
        more = f", like those of {format_count(len(texts) - 1, 'more column')}," if len(texts) > 1 else ""
        different = len(some.coded(table.position(texts[0])).labels)
        warn(
            f"Column {texts[0]!r} holds free text, {different} different values in {some.n_rows} rows, which{more} "
            "NaiveBayes treats as categories, so that they carry no information about other rows. Make features of "
            "their words with TableFeatures() first, leave the column out, or confirm the choice with families="
            f"{{{texts[0]!r}: 'categorical'}}.",
            MercerWarning,
        )


def _find_columns(table: Table, key: Any) -> tuple[int, ...]:
    keys = key if isinstance(key, tuple) else (key,)
    if not keys:
        raise ColumnMismatchError(
            "families has the key (), which names no column; name the columns that the family describes."
        )
    return tuple(find_column(one, table.names, "families") for one in keys)


def _split_columns(table: Table, choices: list[ColumnChoice]) -> Iterator[ColumnChoice]:
    """Yield columns of scalar families one by one, checked and with the edges of their histograms."""
    for choice in choices:
        columns, family, levels = choice
        if family.statistic != "levels":
            _check_no_text(table, columns, family)
        if family.vector:
            yield choice
            continue
        for column in columns:
            placed = family.with_edges_from(table.numbers([column])) if isinstance(family, Histogram) else family
            yield ColumnChoice((column,), placed, levels)


def _check_no_text(table: Table, columns: tuple[int, ...], family: Family) -> None:
    for column in columns:
        if not table.kinds[column].numeric:
            raise ColumnTypeError(
                f"Column {table.names[column]!r} holds text or categories, but the {family.name} family describes "
                f"{family.support}. Describe it by Categorical(), or convert it to numbers."
            )


def _group_columns(choices: list[ColumnChoice]) -> list[ColumnChoice]:
    """Return columns of equal scalar families as one block, and the counts of a sparse matrix as one row.

    Blocks are in the order of their first columns, so that models merge for any order of the keys of `families`.
    """
    blocks: dict[Any, ColumnChoice] = {}
    for choice in sorted(choices, key=lambda choice: choice.columns):
        alone = choice.family.statistic == "levels" or len(choice.columns) > 1
        key = choice.columns if alone else choice.family
        before = blocks.get(key, choice._replace(columns=()))
        blocks[key] = before._replace(columns=(*before.columns, *choice.columns))
    return sorted(blocks.values(), key=lambda choice: min(choice.columns))


def _make_part(table: Table, choice: ColumnChoice, unseen: Any) -> ModelPart:
    columns, family, levels = choice
    names = tuple(table.names[column] for column in columns)
    match family:
        case Categorical():
            return CategoryPart(columns, names, family, unseen, levels)
        case Multinomial():
            return CountsPart(columns, names, family, table.library == "scipy")
        case MultivariateGaussian():
            return GaussianVectorPart(columns, names, family)
        case Parzen():
            return WindowsPart(columns, names, family)
        case _ if family.vector:
            return VectorPart(columns, names, family)
    return NumbersPart(columns, names, family)
