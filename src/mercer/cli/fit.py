"""`mercer fit`: one model, saved."""

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
    missing_again,
    models_begun,
    setting_of,
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
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="Where the model goes: model.mercer.")],
    target: Target = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="A model by its name in the leaderboard of `mercer compare`, or in Python.",
            autocompletion=models_begun,
        ),
    ] = "LogisticRegression",
    task: Annotated[
        TaskName,
        typer.Option(help="How the target is read, as in `mercer compare`. By default its values decide."),
    ] = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PARAMETER=VALUE", help="A parameter of the model, e.g. C=10. Repeatable."),
    ] = None,
    calibrate: Annotated[
        Literal["temperature", "platt", "isotonic"] | None,
        typer.Option(help="Correct the probabilities of a classifier on rows that it was not fitted to."),
    ] = None,
    conformal: Annotated[
        float | None,
        typer.Option(
            metavar="COVERAGE",
            help="Set rows aside for intervals, or sets of classes, with this coverage: 0.9.",
        ),
    ] = None,
    seed: Seed = 0,
    drop: Drop = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--in-memory",
            help="Read the rows piece by piece, as often as it takes; by default where they would not fit into memory.",
        ),
    ] = None,
    engine: Annotated[
        Literal["threads", "dask"], typer.Option(help="Where pieces are read: here, or on a Dask cluster.")
    ] = "threads",
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Of the Dask cluster: tcp://host:8786. One is started if not given."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Keep what was learnt so far here, and go on from it after a crash."),
    ] = None,
    skip_damaged: Annotated[
        bool, typer.Option("--skip-damaged", help="Leave out row groups and lines that cannot be read, and name them.")
    ] = False,
    quiet: Quiet = False,
    progress: Bars = None,
    *,
    reading: Reading,
) -> None:
    """Fit one model to all rows of DATA and write it to a file.

    The file also holds the kinds of the columns and how features are made of them, so that `mercer predict` takes a
    table as it is, and a model card, which `mercer describe` prints. Only the words of --missing have to be given
    again.

    \b
    mercer fit patients.csv --target outcome --model NaiveBayes -o patients.mercer
    mercer fit houses.parquet --target price --model Ridge --set alpha=10 --conformal 0.9 -o houses.mercer
    mercer fit logs/ --target clicked --checkpoint kept --engine dask --scheduler tcp://host:8786 -o clicks.mercer
    """
    from mercer.cli._first_run import remark_first_run
    from mercer.cli._printing import called, check_places, remark, remark_columns
    from mercer.cli._progress import stages
    from mercer.cli._streaming import StreamingOptions, checkpoint_of, fitted_streamed, opened_source, why_streamed
    from mercer.comparison.fitting import fit_named
    from mercer.files import save

    check_places(output, kept=(data,), deep=True)
    asked = StreamingOptions(stream, engine, scheduler, checkpoint, skip_damaged)
    asked.check()
    aside: dict[str, Any] = {"calibrate": calibrate, "conformal": conformal}
    with ExitStack() as until_saved:
        journal = None
        if (why := why_streamed(data, asked)) is None:
            problem = _read(data, target, drop or [], reading, quiet)
            remark_first_run(quiet)
            found = fit_named(model, problem.X, problem.y, task=task, settings=setting_of(settings), **aside, seed=seed)
            card = _card(
                found, data, problem.X, problem.y, problem.target, len(problem.y), whole=True, unit=problem.unit
            )
        else:
            _refuse_aside(aside | {"task": None if task == "auto" else task})
            source = opened_source(data, target=target, drop=drop or (), reading=reading, asked=asked)
            remark(
                f"{called(data)}: {source.described}, read piece by piece ({why}); target {source.columns.target!r}.",
                quiet,
            )
            remark_first_run(quiet)
            journal = until_saved.enter_context(checkpoint_of(asked))
            with stages(quiet, progress) as bars:
                found = fitted_streamed(model, source, setting_of(settings), asked, journal, bars, quiet)
            head = source.head()
            card = _card(found, data, head.X, head.y, str(source.columns.target), source.n_rows, whole=False)
        remark_columns(found.schema, quiet)
        for note in found.notes:
            remark(note, quiet)
        save(found.model, output, card=card)
        if journal is not None:  # only now: a full disk does not cost the whole fit
            journal.remove()
    remark(f"The model is in {output}.", quiet)
    if (again := missing_again(reading)) is not None:
        remark(again, quiet)


def _read(data: str, target: str | None, drop: list[str], reading: Reading, quiet: bool) -> TargetProblem:
    from mercer.application.datasets import open_data, problem_of
    from mercer.cli._printing import remark_problem

    rows = open_data(data, reading)
    problem = problem_of(rows, target=target, drop=drop)
    remark_problem(data, rows, problem, quiet)
    return problem


def _card(
    found: PreparedModel, data: str, X: Any, y: Any, target: str, rows: int | None, *, whole: bool, unit: str = ""
) -> ModelCard:
    """The card of the model; its scores are not measured."""
    from mercer.application.model_cards import make_card
    from mercer.data import Table

    task = found.task or ("classification" if hasattr(found.model, "classes_") else "regression")
    table = Table.of(X, dates=True)
    return make_card(
        found.model,
        table,
        y,
        task=task,
        target=target,
        source=Path(data).name,
        schema=found.schema,
        rows=rows,
        whole=whole,
        unit=unit,
    )


def _refuse_aside(wanted: dict[str, Any]) -> None:
    if any(value is not None for value in wanted.values()):
        raise DataError(
            "--calibrate, --conformal and --task take all rows in memory: leave them out, or give --in-memory."
        )
