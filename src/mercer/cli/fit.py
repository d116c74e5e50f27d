"""`mercer fit`: fit one model and save it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mercer._errors import DataError
from mercer.cli._options import (
    Bars,
    Data,
    Drop,
    Quiet,
    Seed,
    Target,
    TaskName,
    complete_model_name,
    missing_reminder,
    parse_settings,
    with_reading,
)

if TYPE_CHECKING:
    from mercer.application.preparing import PreparedModel
    from mercer.data.readers import Reading
    from mercer.data.target import TargetProblem
    from mercer.files import ModelCard


@with_reading(kinds=True)
def fit(
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="PATH", help="The file to write, e.g. model.mercer.")
    ],
    target: Target = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The name of the model in the leaderboard of `mercer compare`, or of its class in Python.",
            autocompletion=complete_model_name,
        ),
    ] = "LogisticRegression",
    task: Annotated[
        TaskName,
        typer.Option(help="The kind of target, as in `mercer compare`. Guessed from its values if not given."),
    ] = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PARAMETER=VALUE", help="A parameter of the model, e.g. C=10. Repeatable."),
    ] = None,
    calibrate: Annotated[
        Literal["temperature", "platt", "isotonic"] | None,
        typer.Option(help="Calibrate the probabilities of a classifier on held-out rows."),
    ] = None,
    conformal: Annotated[
        float | None,
        typer.Option(
            metavar="COVERAGE",
            help="Hold out rows for intervals, or sets of classes, with this coverage, e.g. 0.9.",
        ),
    ] = None,
    seed: Seed = 0,
    drop: Drop = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--in-memory",
            help="Read the rows in pieces, as often as necessary; by default if they would not fit into memory.",
        ),
    ] = None,
    engine: Annotated[
        Literal["threads", "dask"], typer.Option(help="Where pieces are read: on this machine, or on a Dask cluster.")
    ] = "threads",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="The address of the Dask cluster, e.g. tcp://host:8786. A local one is started if not given.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="A folder for the state of the fit, which resumes from it after a crash."),
    ] = None,
    skip_damaged: Annotated[
        bool, typer.Option("--skip-damaged", help="Leave out unreadable row groups and lines, and list them.")
    ] = False,
    quiet: Quiet = False,
    progress: Bars = None,
    *,
    reading: Reading,
) -> None:
    """Fit one model to all rows of DATA and write it to a file.

    The file also holds the preprocessing of the columns, so that `mercer predict` accepts a table as it is, and a
    model card, which `mercer describe` prints. Only --missing has to be given again.

    \b
    mercer fit patients.csv --target outcome --model NaiveBayes -o patients.mercer
    mercer fit houses.parquet --target price --model Ridge --set alpha=10 --conformal 0.9 -o houses.mercer
    mercer fit logs/ --target clicked --checkpoint kept --engine dask --scheduler tcp://host:8786 -o clicks.mercer
    """
    from mercer.cli._printing import check_outputs, display_name, remark, remark_columns, remark_first_run
    from mercer.cli._progress import stage_bars
    from mercer.cli._streaming import StreamingOptions, fit_streamed, open_checkpoint, open_streamed, streaming_reason
    from mercer.comparison.fitting import fit_named
    from mercer.files import save

    check_outputs(output, inputs=(data,), deep=True)
    streaming = StreamingOptions(stream, engine, scheduler, checkpoint, skip_damaged)
    streaming.check()
    held_out: dict[str, Any] = {"calibrate": calibrate, "conformal": conformal}
    with ExitStack() as until_saved:
        journal = None
        if (reason := streaming_reason(data, streaming)) is None:
            problem = _read(data, target, drop or [], reading, quiet)
            remark_first_run(quiet)
            fitted = fit_named(
                model, problem.X, problem.y, task=task, settings=parse_settings(settings), **held_out, seed=seed
            )
            card = _card(
                fitted, data, problem.X, problem.y, problem.target, len(problem.y), whole=True, unit=problem.unit
            )
        else:
            if task != "auto" or any(value is not None for value in held_out.values()):
                raise DataError(
                    "--calibrate, --conformal and --task need all rows in memory: leave them out, or give --in-memory."
                )
            source = open_streamed(data, target=target, drop=drop or (), reading=reading, options=streaming)
            columns = f"target {source.columns.target!r}"
            remark(f"{display_name(data)}: {source.described}, read in pieces ({reason}); {columns}.", quiet)
            remark_first_run(quiet)
            journal = until_saved.enter_context(open_checkpoint(streaming))
            with stage_bars(quiet, progress) as bars:
                fitted = fit_streamed(model, source, parse_settings(settings), streaming, journal, bars, quiet)
            head = source.head()
            card = _card(fitted, data, head.X, head.y, str(source.columns.target), source.n_rows, whole=False)
        remark_columns(fitted.schema, quiet)
        for note in fitted.notes:
            remark(note, quiet)
        save(fitted.model, output, card=card)
        if journal is not None:  # only after saving, so that a full disk does not cost the whole fit
            journal.remove()
    remark(f"The model is in {output}.", quiet)
    if (reminder := missing_reminder(reading)) is not None:
        remark(reminder, quiet)


def _read(data: str, target: str | None, drop: list[str], reading: Reading, quiet: bool) -> TargetProblem:
    from mercer.application.datasets import open_data, problem_of
    from mercer.cli._printing import remark_problem

    rows = open_data(data, reading)
    problem = problem_of(rows, target=target, drop=drop)
    remark_problem(data, rows, problem, quiet)
    return problem


def _card(
    fitted: PreparedModel, data: str, X: Any, y: Any, target: str, rows: int | None, *, whole: bool, unit: str = ""
) -> ModelCard:
    """Return the card of the model, without scores, which are not measured here."""
    from mercer.application.model_cards import make_card
    from mercer.data import Table

    task = fitted.task or ("classification" if hasattr(fitted.model, "classes_") else "regression")
    table = Table.of(X, dates=True)
    return make_card(
        fitted.model,
        table,
        y,
        task=task,
        target=target,
        source=Path(data).name,
        schema=fitted.schema,
        rows=rows,
        whole=whole,
        unit=unit,
    )
