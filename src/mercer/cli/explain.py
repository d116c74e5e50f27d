"""`mercer explain`: print the parameters of a model, or the contribution of each column to a prediction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer._errors import DataError
from mercer.cli._options import DATA_HELP, Model, with_reading

if TYPE_CHECKING:
    from mercer.data.readers import Reading

#: default of --most for the contributions of a row
ROW_LINES = 20


@with_reading()
def explain(
    model: Model,
    reading: Reading,
    row: Annotated[
        str | None,
        typer.Argument(
            metavar="ROW",
            help="A row as JSON, or with --data its number, counted from 0; without it, the whole model is shown.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="DATA",
            help=f"The table of ROW; without ROW, columns are ranked over all its rows. {DATA_HELP}",
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"The number of lines of a table, the strongest first; {ROW_LINES} for a row if not given."
        ),
    ] = None,
) -> None:
    """Show what a model has learnt, or what each column adds in a row.

    Without a row: its coefficients or likelihoods, or the columns that change its predictions most. With a row: what
    each column adds to the log odds or to the prediction; the base and all contributions add up to the prediction.
    Models that are not sums over columns, such as kernel machines, have Shapley values with standard errors.

    \b
    mercer explain patients.mercer
    mercer explain patients.mercer --data patients.csv
    mercer explain patients.mercer '{"age": 63, "sex": "male"}'
    mercer explain patients.mercer 3 --data tomorrow.csv
    """
    from mercer.cli._models import load_fitted, unseen_level_notes
    from mercer.cli._printing import remark, show
    from mercer.decision import Decision
    from mercer.explanation.tables import evidence_grid, model_grids

    _check_use(model, row, data)
    loaded = load_fitted(model)
    if row is None:
        for grid in model_grids(loaded, most) if data is None else _drivers(loaded, data, reading, most or ROW_LINES):
            show(grid)
        return
    X, others = (_parse(loaded, row), None) if data is None else _read_row(loaded, data, int(row), reading)
    for sentence in unseen_level_notes(loaded)(X):
        remark(sentence)
    if isinstance(loaded, Decision):
        remark("Contributions are computed before costs and priors, the prediction after them.")
    show(evidence_grid(loaded, X, _explain(loaded, X, others), most or ROW_LINES))


def _check_use(model: str, row: str | None, data: str | None) -> None:
    """Check that ROW is JSON without --data, or a number with it."""
    if row is None:
        return
    if data is not None and not row.isdecimal():
        raise DataError(f"With --data, ROW must be the number of a row, counted from 0, not {row!r:.60}.")
    if data is None and row.isdecimal():
        raise DataError(f"Row {row} needs a table: mercer explain {model} {row} --data DATA.")
    if data is None and not row.lstrip().startswith("{"):
        if Path(row).exists():
            raise DataError(f"{row!r} is a table, not a row: mercer explain {model} 0 --data {row}.")
        raise DataError(
            f"ROW must be a row as JSON, e.g. '{{\"age\": 63}}', or a number with --data DATA, not {row!r:.60}."
        )


def _drivers(model: Any, data: str, reading: Reading, most: int) -> list[Any]:
    """Return a table of the columns that change the predictions of a table's rows most."""
    from mercer.cli._models import open_rows, select_read
    from mercer.explanation import drivers
    from mercer.explanation.tables import drivers_grid

    rows = open_rows(model, data, reading)
    return [
        drivers_grid(drivers(model, select_read(model, rows.table()), most=most), f"Over the rows of {rows.path.name}.")
    ]


def _explain(model: Any, X: Any, others: Any) -> Any:
    """Explain rows against rows drawn from the model card or, without a card, against the rows of the table."""
    from mercer._errors import NoExplanationError
    from mercer.explanation import explain_rows
    from mercer.files import card_of

    background = others if card_of(model) is None else None
    try:
        return explain_rows(model, X, background=background)
    except NoExplanationError:
        raise NoExplanationError(
            "The model is not a sum over columns, and its file has no model card to draw usual rows from. Name a row "
            "of a table: mercer explain MODEL 0 --data DATA."
        ) from None


def _parse(model: Any, row: str) -> Any:
    """Return a row given as JSON; columns that it leaves out are missing values."""
    from mercer._suggest import listed
    from mercer.cli._models import parse_row
    from mercer.cli._printing import remark

    X, absent = parse_row(model, row)
    if absent:
        remark(f"Not given, and so missing: {listed(absent)}.")
    return X


def _read_row(model: Any, data: str, number: int, reading: Reading) -> tuple[Any, Any]:
    """Return a row of a table, and all rows."""
    from mercer.cli._models import open_rows, select_read

    rows = open_rows(model, data, reading)
    table = rows.table()
    if number >= table.num_rows:
        raise DataError(f"{rows.path.name!r} has rows 0 to {table.num_rows - 1}, but not row {number}.")
    X = select_read(model, table)
    return X.slice(number, 1), X
