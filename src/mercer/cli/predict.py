"""`mercer predict`: predict new rows, read block by block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer._errors import DataError, EmptyDataError, MercerError
from mercer.cli._options import Bars, Data, Model, Quiet, Spreadsheet, with_reading

if TYPE_CHECKING:
    from mercer.application.predicting import PredictionOptions
    from mercer.cli._progress import StageBars
    from mercer.data.readers import Reading, TableReader


@with_reading()
def predict(
    model: Model,
    data: Data,
    reading: Reading,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="PATH", help="The .csv, .tsv or .parquet file to write; - for standard output."
        ),
    ] = "-",
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column of DATA to write with the predictions. Repeatable."),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities/--no-probabilities", help="Write a column of probabilities for each class.")
    ] = True,
    intervals: Annotated[
        bool,
        typer.Option("--intervals", help="Write intervals or sets of classes, for a model fitted with --conformal."),
    ] = False,
    abstain: Annotated[
        float | None,
        typer.Option(
            metavar="PROBABILITY", help="Leave the prediction empty if no class has at least this probability."
        ),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            help='Minimize the expected cost: {"true class": {"predicted": cost}}, or a file with it. Correct '
            "predictions cost 0.",
        ),
    ] = None,
    priors: Annotated[
        str | None,
        typer.Option(
            metavar="JSON", help='The prior probabilities of the classes in DATA: {"ill": 0.01, "well": 0.99}.'
        ),
    ] = None,
    trained_priors: Annotated[
        str | None,
        typer.Option(
            metavar="JSON", help="The prior probabilities in the rows of the fit, for a model that does not store them."
        ),
    ] = None,
    spreadsheet: Spreadsheet = False,
    quiet: Quiet = False,
    progress: Bars = None,
) -> None:
    """Predict the rows of DATA with a model.

    Rows are read in blocks and need not fit into memory. Columns are matched by name, in any order; other columns are
    ignored. Predictions are written in the order of the rows.

    \b
    mercer predict patients.mercer tomorrow.csv -o predicted.csv --keep id
    mercer predict patients.mercer tomorrow.parquet --abstain 0.8 -o predicted.parquet
    mercer predict patients.mercer tomorrow.csv --costs '{"ill": {"well": 10}, "well": {"ill": 1}}' | head
    """
    from mercer.application.predicting import PredictionOptions, add_decision
    from mercer.cli._models import load_fitted, open_rows
    from mercer.cli._printing import check_outputs, display_name, remark, write
    from mercer.cli._progress import stage_bars
    from mercer.data.writers import encode_tables, format_of

    if trained_priors is not None and priors is None:
        raise DataError("--trained-priors has no effect without --priors: give both.")
    if intervals and (costs is not None or priors is not None):
        raise DataError("--intervals do not depend on --costs and --priors: leave out the one or the others.")
    form = format_of(output)
    check_outputs(output, inputs=(model, data, costs, priors, trained_priors))
    loaded = load_fitted(model)
    rows = open_rows(loaded, data, reading, keep or ())
    loaded = add_decision(
        loaded,
        costs=_json(costs, "--costs"),
        priors=_json(priors, "--priors"),
        trained_priors=_json(trained_priors, "--trained-priors"),
    )
    options = PredictionOptions(probabilities, abstain, intervals)
    remark(f"{display_name(data)}: {rows.described}.", quiet)
    with stage_bars(quiet, progress) as bars:
        blocks = _predict_blocks(loaded, rows, list(dict.fromkeys(keep or [])), options, bars, quiet)
        write(encode_tables(blocks, form, spreadsheet=spreadsheet), output)
    if output != "-":
        remark(f"The predictions are in {output}.", quiet)


def _predict_blocks(
    model: Any, rows: TableReader, keep: list[str], options: PredictionOptions, bars: StageBars, quiet: bool
) -> Iterator[Any]:
    """Yield blocks of predictions, with the columns to keep."""
    from mercer.application.predicting import predict_columns
    from mercer.application.reading import check_columns_exist
    from mercer.cli._models import read_parts, unseen_level_notes
    from mercer.cli._printing import remark
    from mercer.data.writers import append_columns

    check_columns_exist(keep, rows.names_among(keep))
    n_rows, new_level_notes = 0, unseen_level_notes(model)
    for part, X in read_parts(model, rows, keep):
        if not part.frame.num_rows:
            continue
        for sentence in new_level_notes(X):
            remark(sentence, quiet)
        with _rows_counted_from(n_rows):
            predicted = predict_columns(model, X, options)
        if twice := [name for name in keep if name in predicted]:
            raise DataError(f"Column {twice[0]!r} of --keep has the name of a prediction. Rename it in the data.")
        n_rows += part.frame.num_rows
        bars.update("rows", n_rows, None if not part.share else round(n_rows / part.share))
        yield append_columns(part.frame, keep, predicted)
    if not n_rows:
        raise EmptyDataError(f"{rows.path.name!r} has no rows.")


@contextmanager
def _rows_counted_from(first: int) -> Iterator[None]:
    """Count the rows in error messages from the beginning of the file instead of the block."""
    try:
        yield
    except MercerError as error:
        message = re.sub(r"\b([Rr]ow) (\d+)\b", lambda match: f"{match[1]} {first + int(match[2])}", str(error))
        error.args = (message, *error.args[1:])
        raise


def _json(given: str | None, option: str) -> Any:
    """Return the JSON of an option, or of the file that it names."""
    if given is None:
        return None
    import json
    from pathlib import Path

    try:
        return json.loads(given if given.lstrip().startswith(("{", "[")) else Path(given).read_text(encoding="utf-8"))
    except (OSError, ValueError) as failure:
        raise DataError(f"{option} takes JSON or a file with JSON, but {given!r} is neither: {failure}.") from None
