"""`mercer explain`: what a model has learnt, or why it says what it says of a row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer._errors import DataError
from mercer.cli._options import DATA_HELP, Model, with_reading

if TYPE_CHECKING:
    from mercer.data.readers import Reading

#: lines of a table about a row, if not told otherwise
MOST_OF_A_ROW = 20


@with_reading()
def explain(
    model: Model,
    reading: Reading,
    row: Annotated[
        str | None,
        typer.Argument(
            metavar="ROW",
            help="A row as JSON, or with --data its number, counted from 0; without it, all that is learnt.",
        ),
    ] = None,
    data: Annotated[str | None, typer.Option(metavar="DATA", help=f"The table that ROW is of. {DATA_HELP}")] = None,
    most: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"How many lines a table has, the strongest first; {MOST_OF_A_ROW} of a row if not given."
        ),
    ] = None,
) -> None:
    """Show what a model has learnt, or what it makes of one row.

    Without a row: its coefficients or likelihoods. With one: the weight of evidence of each column, which is what it
    adds to the log odds, or to the prediction. Together they are what the model predicts.

    \b
    mercer explain patients.mercer
    mercer explain patients.mercer '{"age": 63, "sex": "male"}'
    mercer explain patients.mercer 3 --data tomorrow.csv
    """
    from mercer.cli._models import unseen_in, usable
    from mercer.cli._printing import remark, show
    from mercer.using.explaining.evidence_table import evidence_grid
    from mercer.using.explaining.explanation import explain_rows
    from mercer.using.explaining.learnt import learnt

    _check_use(model, row, data)
    loaded = usable(model)
    if row is None:
        for grid in learnt(loaded, most):
            show(grid)
        return
    X = _written(loaded, row) if data is None else _numbered(loaded, data, int(row), reading)
    for sentence in unseen_in(loaded)(X):
        remark(sentence)
    inner = _before_corrections(loaded)
    show(evidence_grid(loaded, X, explain_rows(inner, X), most or MOST_OF_A_ROW))


def _check_use(model: str, row: str | None, data: str | None) -> None:
    """Which of the ways to name a row was meant, before anything is read."""
    if row is None:
        if data is not None:
            raise DataError(f"Say which row of {data!r}: mercer explain {model} 0 --data {data}.")
        return
    if data is not None and not row.isdecimal():
        raise DataError(f"With --data, ROW is the number of a row, counted from 0, not {row!r:.60}.")
    if data is None and row.isdecimal():
        raise DataError(f"Say which table row {row} is of: mercer explain {model} {row} --data DATA.")
    if data is None and not row.lstrip().startswith("{"):
        if Path(row).exists():
            raise DataError(f"Say which row of {row!r}: mercer explain {model} 0 --data {row}.")
        raise DataError(f"ROW is a row as JSON, e.g. '{{\"age\": 63}}', or a number with --data DATA, not {row!r:.60}.")


def _before_corrections(model: Any) -> Any:
    """The model that columns add up to, without what calibrates it, decides by it or puts intervals around it."""
    from mercer.cli._printing import remark
    from mercer.decide import Calibrated, ConformalClassifier, ConformalRegressor, Decision
    from mercer.models.reader import inside

    while isinstance(model, Calibrated | ConformalClassifier | ConformalRegressor | Decision):
        if isinstance(model, Calibrated):
            remark("What columns add is told before calibration, the prediction after it.")
        if isinstance(model, Decision):
            remark("What columns add is told before costs and priors, the prediction after them.")
        model = inside(model)
    return model


def _written(model: Any, row: str) -> Any:
    """A row that was typed as JSON; columns that it leaves out are missing."""
    from mercer.cli._models import row_of
    from mercer.cli._printing import remark

    X, absent = row_of(model, row)
    if absent:
        from mercer._suggest import listed

        remark(f"Not given, and so missing: {listed(absent)}.")
    return X


def _numbered(model: Any, data: str, number: int, reading: Reading) -> Any:
    """A row of a table."""
    from mercer.cli._models import read_by, rows_for

    rows = rows_for(model, data, reading)
    table = rows.table()
    if number >= table.num_rows:
        raise DataError(f"{rows.path.name!r} has rows 0 to {table.num_rows - 1}, and none numbered {number}.")
    return read_by(model, table).slice(number, 1)
