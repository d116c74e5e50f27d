"""`mercer explain`: what a model has learnt, or what each column adds for a row."""

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
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATA", help=f"The table that ROW is of; without ROW, columns are ranked over its rows. {DATA_HELP}"
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"How many lines a table has, the strongest first; {MOST_OF_A_ROW} of a row if not given."
        ),
    ] = None,
) -> None:
    """Show what a model has learnt, or what each column adds in a row.

    Without a row: its coefficients or likelihoods, or the columns that move its predictions most. With one: what each
    column adds to the log odds or to the prediction. Together with the base that is what the model predicts. Models
    that are not sums over columns, such as kernel machines, have Shapley values, with their standard errors.

    \b
    mercer explain patients.mercer
    mercer explain patients.mercer --data patients.csv
    mercer explain patients.mercer '{"age": 63, "sex": "male"}'
    mercer explain patients.mercer 3 --data tomorrow.csv
    """
    from mercer.cli._models import unseen_in, usable
    from mercer.cli._printing import remark, show
    from mercer.explanation.tables import evidence_grid, learnt

    _check_use(model, row, data)
    loaded = usable(model)
    if row is None:
        for grid in learnt(loaded, most) if data is None else _drivers(loaded, data, reading, most or MOST_OF_A_ROW):
            show(grid)
        return
    X, others = (_written(loaded, row), None) if data is None else _numbered(loaded, data, int(row), reading)
    for sentence in unseen_in(loaded)(X):
        remark(sentence)
    if _decides(loaded):
        remark("What columns add is computed before costs and priors, the prediction after them.")
    show(evidence_grid(loaded, X, _explained(loaded, X, others), most or MOST_OF_A_ROW))


def _check_use(model: str, row: str | None, data: str | None) -> None:
    """Check that a row is named in one of the two ways, before anything is read."""
    if row is None:
        return
    if data is not None and not row.isdecimal():
        raise DataError(f"With --data, ROW is the number of a row, counted from 0, not {row!r:.60}.")
    if data is None and row.isdecimal():
        raise DataError(f"Say which table row {row} is of: mercer explain {model} {row} --data DATA.")
    if data is None and not row.lstrip().startswith("{"):
        if Path(row).exists():
            raise DataError(f"Say which row of {row!r}: mercer explain {model} 0 --data {row}.")
        raise DataError(f"ROW is a row as JSON, e.g. '{{\"age\": 63}}', or a number with --data DATA, not {row!r:.60}.")


def _drivers(model: Any, data: str, reading: Reading, most: int) -> list[Any]:
    """The columns that move what the model says of the rows of a table."""
    from mercer.cli._models import read_by, rows_for
    from mercer.explanation import drivers
    from mercer.explanation.tables import drivers_grid

    rows = rows_for(model, data, reading)
    return [
        drivers_grid(drivers(model, read_by(model, rows.table()), most=most), f"Over the rows of {rows.path.name}.")
    ]


def _explained(model: Any, X: Any, others: Any) -> Any:
    """Explain rows against those drawn from the model card or, without a card, the other rows of the table."""
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


def _decides(model: Any) -> bool:
    """Whether costs or priors decide after the model."""
    from mercer.decision import Decision

    return isinstance(model, Decision)


def _written(model: Any, row: str) -> Any:
    """A row that was typed as JSON; columns that it leaves out are missing."""
    from mercer.cli._models import row_of
    from mercer.cli._printing import remark

    X, absent = row_of(model, row)
    if absent:
        from mercer._suggest import listed

        remark(f"Not given, and so missing: {listed(absent)}.")
    return X


def _numbered(model: Any, data: str, number: int, reading: Reading) -> tuple[Any, Any]:
    """A row of a table, and all of them."""
    from mercer.cli._models import read_by, rows_for

    rows = rows_for(model, data, reading)
    table = rows.table()
    if number >= table.num_rows:
        raise DataError(f"{rows.path.name!r} has rows 0 to {table.num_rows - 1}, and none numbered {number}.")
    read = read_by(model, table)
    return read.slice(number, 1), read
