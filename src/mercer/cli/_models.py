"""Models read from files, and rows in the form in which a model reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mercer._errors import ColumnMismatchError, DataError, ModelFileError
from mercer._suggest import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from mercer.data.readers import Reading, TablePart, TableReader
    from mercer.data.readers.base import Held


def describe_model(model: object) -> str:
    """Return the name of a model or, of a pipeline, the name of its last step."""
    steps = getattr(model, "steps", None)
    return type(model).__name__ if steps is None else f"{type(steps[-1][1]).__name__} with features before it"


def load_fitted(path: str, *, predicts: bool = True) -> Any:
    """Load a model, and check that it is fitted and, if `predicts`, that it has `predict`."""
    from mercer.base.pipelines import is_fitted
    from mercer.files import load

    model = load(path)
    if predicts and not hasattr(model, "predict"):
        raise ModelFileError(
            f"{path!r} holds a {describe_model(model)}, which has no predictions. Name a file with a classifier or "
            "regressor, such as `mercer fit` writes."
        )
    if hasattr(model, "fit") and not is_fitted(model):
        raise ModelFileError(
            f"{path!r} holds a {describe_model(model)} that is not fitted. Fit it before saving it, or use "
            "`mercer fit`."
        )
    return model


def open_rows(model: Any, data: str, reading: Reading, keep: Sequence[str] = ()) -> TableReader:
    """Open a table whose columns are read as in the fit of the model; those of `keep` are read as written."""
    from mercer.application.datasets import open_data
    from mercer.application.reading import check_table_columns, column_types, columns_of, levels_of

    rows = open_data(data, reading)
    names = rows.names_among([*(columns_of(model) or ()), *keep])
    check_table_columns(model, names, data)
    kept: dict[str, Held] = dict.fromkeys(keep, "verbatim")
    held = kept | column_types(model) | dict(reading.held)
    held = {name: what for name, what in held.items() if name in names}
    return open_data(data, replace(reading, held=held, levels=levels_of(model)))


def select_read(model: Any, table: Any) -> Any:
    """Return the columns of a table that the model reads."""
    from mercer.application.reading import read_rows
    from mercer.data.select import select

    return read_rows(model, select(table, _columns_read(model, table.column_names)))


def read_parts(model: Any, rows: TableReader, keep: list[str]) -> Iterator[tuple[TablePart, Any]]:
    """Yield blocks of rows, each with the columns that the model reads."""
    from mercer.application.reading import read_rows
    from mercer.data.select import select

    names = rows.names()
    wanted = _columns_read(model, [name for name in names if name not in keep])
    columns = list(dict.fromkeys([*keep, *wanted]))
    if twice := [name for name in columns if names.count(name) > 1]:
        raise ColumnMismatchError(
            f"{rows.path.name!r} has column {twice[0]!r} {names.count(twice[0])} times. Rename its columns so that "
            "every name occurs once."
        )
    for part in rows.parts(columns):
        yield part, read_rows(model, select(part.frame, wanted))


def _columns_read(model: Any, names: list[str]) -> list[str]:
    """Return the columns that the model reads: all of them if the columns of the fit had no names."""
    from mercer.application.reading import columns_of, reader_of

    if known := columns_of(model):
        return known
    width = getattr(reader_of(model), "n_features_in_", len(names))
    if width != len(names):
        raise ColumnMismatchError(
            f"The model was fitted to {width} columns without names, but the table has {len(names)}: "
            f"{listed(names)}. Give a table with the columns of the fit only, in the same order."
        )
    return names


def unseen_level_notes(model: Any) -> Callable[[Any], Iterator[str]]:
    """Return a function of a block of rows that yields a sentence for each column with a new level, once per column."""
    from mercer.application.reading import columns_of, reader_of
    from mercer.base.pipelines import columns_of_fit
    from mercer.data.coding import is_new_level

    names = columns_of(model)
    columns = [] if names is None else columns_of_fit(reader_of(model))
    known = {each.name: frozenset(each.levels) for each in columns if each.levels}

    def find_new_levels(X: Any) -> Iterator[str]:
        for name in [name for name in getattr(X, "column_names", ()) if name in known]:
            present = X.column(name).drop_null().unique()
            new = [value for value in present.to_pylist() if is_new_level(value, known[name])]
            if new:
                guess = did_you_mean(str(new[0]), map(str, known.pop(name)))
                yield f"Column {name!r} has {quoted(new[0])}, which no row of the fit had. {guess}"

    return find_new_levels


def parse_row(model: Any, text: str) -> tuple[Any, list[str]]:
    """Return the row of a JSON object as the model reads it, and the columns that the object leaves out."""
    import json

    from mercer.application.reading import check_columns_exist
    from mercer.serve.errors import RequestError
    from mercer.serve.inputs import Inputs
    from mercer.serve.rows import make_table

    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as failure:
        raise DataError(f'{text!r:.60} is not JSON: {failure}. Write e.g. \'{{"age": 63, "sex": "male"}}\'.') from None
    inputs = Inputs.of(model)
    check_columns_exist(list(row), inputs.names)
    absent = [each.name for each in inputs if each.required and each.name not in row]
    try:
        return make_table([dict.fromkeys(inputs.names) | row], inputs), absent
    except RequestError as error:
        raise DataError(error.sentence) from None
