"""`mercer outliers`: list the most unusual rows of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer._errors import ColumnMismatchError, DataError, EmptyDataError
from mercer.cli._options import DATA_HELP, Data, Drop, Quiet, Seed, Spreadsheet, with_reading

if TYPE_CHECKING:
    from mercer.data.readers import Reading, TableReader


#: columns of the result, which those of --keep must not duplicate
RESULT_COLUMNS = ("row", "p-value", "log density", "odd in", "flagged")


@with_reading(kinds=True)
def outliers(
    data: Data,
    reading: Reading,
    usual: Annotated[
        str | None,
        typer.Option(
            metavar="DATA", help=f"Rows known to be usual, with which those of DATA are compared. {DATA_HELP}"
        ),
    ] = None,
    fdr: Annotated[
        float,
        typer.Option(min=0, max=1, help="With --usual: the expected share of usual rows among the flagged rows (FDR)."),
    ] = 0.05,
    most: Annotated[int, typer.Option(min=1, help="The number of rows to list, the most unusual first.")] = 20,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A column of DATA to list with each row. Repeatable.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="PATH", help="Write the list to a .csv or .parquet file; - for standard output."
        ),
    ] = None,
    drop: Drop = None,
    seed: Seed = 0,
    spreadsheet: Spreadsheet = False,
    quiet: Quiet = False,
) -> None:
    """List the most unusual rows of DATA.

    Each row has a p-value and the columns in which it is odd.

    \b
    mercer outliers patients.csv --drop id
    mercer outliers today.csv --usual last-year.csv --fdr 0.1
    """
    from mercer._suggest import listed
    from mercer.application.datasets import open_data
    from mercer.application.training_table import TrainingTable
    from mercer.cli._printing import check_outputs, display_name, remark, show
    from mercer.data import Table
    from mercer.data.select import select
    from mercer.data.target import without_columns
    from mercer.data.writers import format_of
    from mercer.explanation.unusual import unusual_rows

    form = None if output is None else format_of(output)
    check_outputs(output, inputs=(data, usual))
    rows = open_data(data, reading)
    remark(f"{display_name(data)}: {rows.described}.", quiet)
    frame = _read(rows)
    examined = without_columns(frame, drop or [])
    reference = None
    if usual is not None:
        like = _read(_open_usual(usual, reading))
        left = [name for name in like.column_names if name in examined.column_names or name not in frame.column_names]
        examined, like, alone = _select_common(examined, select(like, left), (data, usual))
        if alone:
            remark(f"Columns left out because only one of the tables has them: {listed(alone)}.", quiet)
        reference = Table.of(like, dates=True)
    table = Table.of(examined, dates=True)
    if skipped := [name for name in table.names if name not in TrainingTable.of(table).described]:
        remark(f"Columns left out because they are text, dates or identifiers: {listed(skipped)}.", quiet)
    unusual = unusual_rows(table, reference=reference, fdr=fdr, most=most, seed=seed)
    grid = _grid(unusual, frame, list(dict.fromkeys(keep or [])), flags=usual is not None)
    if output is not None and form is not None:
        _write(grid, form, output, spreadsheet=spreadsheet)
        return
    show(grid)


def _open_usual(usual: str, reading: Reading) -> TableReader:
    """Open the table of usual rows, without options for columns that it does not have."""
    from mercer.application.datasets import open_data

    names = open_data(usual, replace(reading, held={}, kinds={})).names()
    held = {name: what for name, what in reading.held.items() if name in names}
    kinds = {name: kind for name, kind in reading.kinds.items() if name in names}
    return open_data(usual, replace(reading, held=held, kinds=kinds))


def _read(rows: TableReader) -> Any:
    table = rows.table()
    if not table.num_rows:
        raise EmptyDataError(f"{rows.path.name!r} has column names, but no rows.")
    return table


def _select_common(table: Any, usual: Any, paths: tuple[str, str]) -> tuple[Any, Any, list[str]]:
    """Return both tables with their common columns, and the names of the other columns."""
    from mercer.data.select import select

    names = [name for name in table.column_names if name in usual.column_names]
    if not names:
        raise ColumnMismatchError(
            f"{paths[0]!r} and {paths[1]!r} have no column in common. Name usual rows with the same columns."
        )
    alone = [name for name in (*table.column_names, *usual.column_names) if name not in names]
    return select(table, names), select(usual, names), alone


def _grid(unusual: Any, frame: Any, keep: list[str], *, flags: bool) -> Any:
    from mercer.application.reading import check_columns_exist
    from mercer.report import Field, Grid

    check_columns_exist(keep, frame.column_names)
    if twice := [name for name in keep if name in RESULT_COLUMNS]:
        raise DataError(f"Column {twice[0]!r} of --keep has the name of a result. Rename it in the data.")
    fields = [
        Field("row", "d"),
        *map(Field, keep),
        Field("p-value", ".4g"),
        Field("log density", ".4g"),
        Field("odd in"),
    ]
    rows = []
    for k, row in enumerate(unusual.rows.tolist()):
        kept = [None if (value := frame.column(name)[row].as_py()) is None else str(value) for name in keep]
        odd = ", ".join(unusual.odd[k])
        flagged = [("yes" if unusual.flagged[k] else "")] if flags else []
        rows.append((row, *kept, float(unusual.p_values[k]), float(unusual.scores[k]), odd, *flagged))
    if flags:
        fields.append(Field("flagged"))
    return Grid("", tuple(fields), tuple(rows), (f"{unusual.description} Rows are counted from 0.",))


def _write(grid: Any, form: str, output: str, *, spreadsheet: bool) -> None:
    import numpy as np

    from mercer.cli._printing import write
    from mercer.data.frame_like import frame_like
    from mercer.data.writers import encode_tables

    names = [field.heading for field in grid.fields]
    columns = [np.array(column) for column in zip(*grid.rows, strict=True)]
    write(encode_tables([frame_like(names, columns, "pyarrow")], form, spreadsheet=spreadsheet), output)
