"""`mercer explain`: what a model has learnt, or why it says what it says of a row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer._errors import DataError
from mercer.cli._options import DATA_HELP, Encoding, Header, Missing, Model, OnlyMissing, Separator, Sql, reading_of


def explain(
    model: Model,
    data: Annotated[str | None, typer.Argument(metavar="[DATA]", help=DATA_HELP)] = None,
    row: Annotated[int, typer.Argument(metavar="[ROW]", help="Which row of DATA, counted from 0.")] = 0,
    most: Annotated[
        int | None,
        typer.Option(min=1, help="How many lines a table has, the strongest first; 20 of a row if not given."),
    ] = None,
    header: Header = None,
    separator: Separator = None,
    missing: Missing = None,
    only_missing: OnlyMissing = False,
    encoding: Encoding = None,
    sql: Sql = None,
) -> None:
    """Show the coefficients or likelihoods of a model; or what each column says of a row of DATA.

    What columns say is the weight of evidence: what they add to the log odds, or to the prediction. It adds up to what
    the model predicts.

    \b
    mercer explain patients.mercer
    mercer explain patients.mercer tomorrow.csv 3
    """
    from mercer.cli._models import opened, rows_for
    from mercer.cli._printing import show
    from mercer.comparison.explaining.inside import learnt

    loaded = opened(model)
    if data is None:
        for grid in learnt(loaded):
            show(replace(grid, rows=grid.rows[:most]))
        return
    if data.isdecimal() and not Path(data).exists():
        raise DataError(f"Say which table row {data} is of: mercer explain {model} DATA {data}.")
    options: dict[str, Any] = {"header": header, "separator": separator, "missing": missing, "encoding": encoding}
    rows = rows_for(loaded, data, reading_of(**options, only_missing=only_missing, sql=sql))
    show(_evidence(loaded, rows, row, most or 20))


def _evidence(model: Any, rows: Any, row: int, most: int) -> Any:
    from mercer.comparison.explaining.explanation import explain_rows
    from mercer.comparison.explaining.told import evidence_grid
    from mercer.comparison.using.reading import columns_of
    from mercer.data.select import select

    table = rows.table()
    if not 0 <= row < table.num_rows:
        raise DataError(f"{rows.path.name!r} has rows 0 to {table.num_rows - 1}, and none numbered {row}.")
    X = select(table, columns_of(model) or table.column_names).slice(row, 1)
    return evidence_grid(model, X, explain_rows(model, X), most)
