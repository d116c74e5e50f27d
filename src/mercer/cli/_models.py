"""Rows as a model takes them, of a table or typed by hand, and what somebody would call the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mercer._errors import ColumnMismatchError, DataError, ModelFileError
from mercer._suggest import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from mercer.data.readers import Reading, TablePart, TableReader
    from mercer.data.readers.base import Held


def named(model: object) -> str:
    """What somebody would call the model."""
    steps = getattr(model, "steps", None)
    return type(model).__name__ if steps is None else f"{type(steps[-1][1]).__name__} with features before it"


def usable(path: str, *, predicts: bool = True) -> Any:
    """The model of a file: one that is fitted, and that says something of rows; Python saves others, too."""
    from mercer.decision.wrapped import is_fitted
    from mercer.files import load

    model = load(path)
    if predicts and not hasattr(model, "predict"):
        raise ModelFileError(
            f"{path!r} holds a {named(model)}, which predicts nothing. Name a file with a classifier or regressor, "
            "such as `mercer fit` writes."
        )
    if hasattr(model, "fit") and not is_fitted(model):
        raise ModelFileError(
            f"{path!r} holds a {named(model)} that is not fitted. Fit it before it is saved, or with `mercer fit`."
        )
    return model


def rows_for(model: Any, data: str, reading: Reading, keep: Sequence[str] = ()) -> TableReader:
    """Rows of a table whose columns hold for the reader what they held for the model; others are kept as written."""
    from mercer.application.datasets import open_data
    from mercer.application.reading import columns_of, held_by, levels_of, refuse_other_table

    rows = open_data(data, reading)
    names = rows.names_among([*(columns_of(model) or ()), *keep])
    refuse_other_table(model, names, data)
    kept: dict[str, Held] = dict.fromkeys(keep, "verbatim")
    held = kept | held_by(model) | dict(reading.held)
    held = {name: what for name, what in held.items() if name in names}
    return open_data(data, replace(reading, held=held, levels=levels_of(model)))


def read_by(model: Any, table: Any) -> Any:
    """The columns of a table that the model reads."""
    from mercer.application.reading import read_rows
    from mercer.data.select import select

    return read_rows(model, select(table, _wanted(model, table.column_names)))


def parts_for(model: Any, rows: TableReader, keep: list[str]) -> Iterator[tuple[TablePart, Any]]:
    """Some rows at a time, and the columns of these that the model reads."""
    from mercer.application.reading import read_rows
    from mercer.data.select import select

    names = rows.names()
    wanted = _wanted(model, [name for name in names if name not in keep])
    asked = list(dict.fromkeys([*keep, *wanted]))
    if twice := [name for name in asked if names.count(name) > 1]:
        raise ColumnMismatchError(
            f"{rows.path.name!r} has column {twice[0]!r} {names.count(twice[0])} times. Rename its columns so that "
            "every name occurs once."
        )
    for part in rows.parts(asked):
        yield part, read_rows(model, select(part.frame, wanted))


def _wanted(model: Any, names: list[str]) -> list[str]:
    """Those columns that the model reads: all, where those of its fit had no names."""
    from mercer.application.reading import columns_of, reader_of

    if known := columns_of(model):
        return known
    width = getattr(reader_of(model), "n_features_in_", len(names))
    if width != len(names):
        raise ColumnMismatchError(
            f"The model was fitted to {width} columns without names, but here are {len(names)}: "
            f"{listed(names)}. Give a table that has those of the fit alone, in their order."
        )
    return names


def unseen_in(model: Any) -> Callable[[Any], Iterator[str]]:
    """Asked for some rows at a time, names levels of these that no row of the fit had; each column once."""
    from mercer.application.reading import columns_of, reader_of
    from mercer.base.pipelines import columns_of_fit
    from mercer.data.coding import is_new_level

    names = columns_of(model)
    columns = [] if names is None else columns_of_fit(reader_of(model))
    known = {each.name: frozenset(each.levels) for each in columns if each.levels}

    def look(X: Any) -> Iterator[str]:
        for name in [name for name in getattr(X, "column_names", ()) if name in known]:
            present = X.column(name).drop_null().unique()
            strange = [value for value in present.to_pylist() if is_new_level(value, known[name])]
            if strange:
                guess = did_you_mean(str(strange[0]), map(str, known.pop(name)))
                yield f"Column {name!r} has {quoted(strange[0])}, which no row of the fit had. {guess}"

    return look


def row_of(model: Any, text: str) -> tuple[Any, list[str]]:
    """A row that is written as a JSON object, as the model reads it, and the columns that it leaves out."""
    import json

    from mercer.application.reading import refuse_unknown
    from mercer.serve.described import Inputs
    from mercer.serve.page import RequestRefusal
    from mercer.serve.rows import table

    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as failure:
        raise DataError(f'{text!r:.60} is no JSON: {failure}. Write e.g. \'{{"age": 63, "sex": "male"}}\'.') from None
    inputs = Inputs.of(model)
    refuse_unknown(list(row), inputs.names)
    absent = [each.name for each in inputs if each.required and each.name not in row]
    try:
        return table([dict.fromkeys(inputs.names) | row], inputs), absent
    except RequestRefusal as refusal:
        raise DataError(refusal.sentence) from None
