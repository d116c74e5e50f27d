"""`mercer predict`: what a model says of new rows, however many there are."""

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
    from mercer.cli._progress import Stages
    from mercer.data.readers import Reading, TableReader


@with_reading()
def predict(
    model: Model,
    data: Data,
    reading: Reading,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="PATH", help="A .csv, .tsv or .parquet file; - for standard output."),
    ] = "-",
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column of DATA to write beside the predictions. Repeatable."),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities/--no-probabilities", help="A column for each class, where there are any.")
    ] = True,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Intervals, or sets of classes, of a model fitted with --conformal.")
    ] = False,
    abstain: Annotated[
        float | None,
        typer.Option(metavar="PROBABILITY", help="Leave the prediction empty where no class has this probability."),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            help='Predict by least expected cost: {"true class": {"predicted": cost}}, or a file of it. Right costs 0.',
        ),
    ] = None,
    priors: Annotated[
        str | None,
        typer.Option(
            metavar="JSON", help='Shares of the classes where the rows come from: {"ill": 0.01, "well": 0.99}.'
        ),
    ] = None,
    trained_priors: Annotated[
        str | None,
        typer.Option(
            metavar="JSON", help="Their shares among the rows of the fit, of a model that does not know them."
        ),
    ] = None,
    spreadsheet: Spreadsheet = False,
    quiet: Quiet = False,
    progress: Bars = None,
) -> None:
    """Predict the rows of DATA with a model.

    Rows are read some at a time, and need not fit into memory. Columns are found by their names, in any order; others
    are ignored. The rows come out in the order they came in.

    \b
    mercer predict patients.mercer tomorrow.csv -o predicted.csv --keep id
    mercer predict patients.mercer tomorrow.parquet --abstain 0.8 -o predicted.parquet
    mercer predict patients.mercer tomorrow.csv --costs '{"ill": {"well": 10}, "well": {"ill": 1}}' | head
    """
    from mercer.application.predicting import PredictionOptions, decided
    from mercer.cli._models import rows_for, usable
    from mercer.cli._printing import called, check_places, remark, write
    from mercer.cli._progress import stages
    from mercer.data.writers import encoded, format_of

    if trained_priors is not None and priors is None:
        raise DataError("--trained-priors says what --priors changes from: give both.")
    if intervals and (costs is not None or priors is not None):
        raise DataError("--intervals are those of the model as it was fitted: leave them out, or --costs and --priors.")
    form = format_of(output)
    check_places(output, kept=(model, data, costs, priors, trained_priors))
    loaded = usable(model)
    rows = rows_for(loaded, data, reading, keep or ())
    loaded = decided(
        loaded,
        costs=_json(costs, "--costs"),
        priors=_json(priors, "--priors"),
        trained_priors=_json(trained_priors, "--trained-priors"),
    )
    asked = PredictionOptions(probabilities, abstain, intervals)
    remark(f"{called(data)}: {rows.described}.", quiet)
    with stages(quiet, progress) as bars:
        predicted = _predicted(loaded, rows, list(dict.fromkeys(keep or [])), asked, bars, quiet)
        write(encoded(predicted, form, spreadsheet=spreadsheet), output)
    if output != "-":
        remark(f"The predictions are in {output}.", quiet)


def _predicted(
    model: Any, rows: TableReader, keep: list[str], asked: PredictionOptions, bars: Stages, quiet: bool
) -> Iterator[Any]:
    from mercer.application.predicting import answers
    from mercer.application.reading import refuse_unknown
    from mercer.cli._models import parts_for, unseen_in
    from mercer.cli._printing import remark
    from mercer.data.writers import beside

    refuse_unknown(keep, rows.names_among(keep))
    seen, unseen = 0, unseen_in(model)
    for part, X in parts_for(model, rows, keep):
        if not part.frame.num_rows:
            continue
        for sentence in unseen(X):
            remark(sentence, quiet)
        with _rows_counted_from(seen):
            told = answers(model, X, asked)
        if twice := [name for name in keep if name in told]:
            raise DataError(f"Column {twice[0]!r} is kept and predicted; give the one of the data another name.")
        seen += part.frame.num_rows
        bars.tell("rows", seen, None if not part.share else round(seen / part.share))
        yield beside(part.frame, keep, told)
    if not seen:
        raise EmptyDataError(f"{rows.path.name!r} has no rows.")


@contextmanager
def _rows_counted_from(first: int) -> Iterator[None]:
    """A refusal names a row of the file, not of the part in which it was found."""
    try:
        yield
    except MercerError as refusal:
        said = re.sub(r"\b([Rr]ow) (\d+)\b", lambda found: f"{found[1]} {first + int(found[2])}", str(refusal))
        refusal.args = (said, *refusal.args[1:])
        raise


def _json(given: str | None, option: str) -> Any:
    """JSON as it was typed, or as a file has it."""
    if given is None:
        return None
    import json
    from pathlib import Path

    try:
        return json.loads(given if given.lstrip().startswith(("{", "[")) else Path(given).read_text(encoding="utf-8"))
    except (OSError, ValueError) as failure:
        raise DataError(f"{option} takes JSON, or a file of it, but {given!r} is neither: {failure}.") from None
