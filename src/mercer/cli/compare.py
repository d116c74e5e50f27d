"""`mercer compare`: which model suits this table?"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer._errors import ComparisonInterrupted, DataError
from mercer.cli._collecting import rare_collections
from mercer.cli._options import (
    DATA_HELP,
    Bars,
    Drop,
    Quiet,
    Seed,
    Target,
    TaskName,
    missing_again,
    models_begun,
    with_reading,
)

if TYPE_CHECKING:
    from mercer.cli._progress import Stages
    from mercer.comparison.comparison import Comparison
    from mercer.comparison.time_limit import Budget
    from mercer.data.readers import Reading, TableReader
    from mercer.data.target import TargetProblem


@with_reading(kinds=True)
@rare_collections()
def compare(
    data: Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)] = "breast-cancer",
    target: Target = None,
    task: Annotated[
        TaskName,
        typer.Option(
            help="How the target is read: classes, ordered classes, numbers, positive amounts or counts. By default "
            "its values and the columns decide."
        ),
    ] = "auto",
    order: Annotated[
        str | None,
        typer.Option(metavar="LABELS", help="Ordered classes from lowest to highest: low,medium,high."),
    ] = None,
    drop: Drop = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A model that takes part, by its name in the leaderboard or its class in mercer or scikit-learn; by "
            "default all that suit the data. Repeatable.",
            autocompletion=models_begun,
        ),
    ] = None,
    reference: Annotated[
        bool | None,
        typer.Option(
            "--reference/--no-reference",
            help="Score scikit-learn's gradient boosting on the same folds; by default without --models only.",
        ),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="How many folds to cross-validate on.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="How many times rows are dealt to folds anew.")] = 1,
    group: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Keep rows with the same value here in the same fold.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Models are scored on rows later than those they have seen.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            help="For the whole run, the page included: what is not done in time is left out.",
        ),
    ] = None,
    seed: Seed = 0,
    report: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write all that was found as one HTML page: report.html.")
    ] = None,
    json: Annotated[str | None, typer.Option(metavar="PATH", help="Write it as JSON; - for standard output.")] = None,
    markdown: Annotated[
        str | None, typer.Option(metavar="PATH", help="Write it as Markdown; - for standard output.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write the recommended model, fitted to all rows: best.mercer.")
    ] = None,
    quiet: Quiet = False,
    progress: Bars = None,
    *,
    reading: Reading,
) -> None:
    """Cross-validate every model that suits DATA; say which to use.

    Guesses and progress go to standard error, the answer to standard output; files are written only where you ask
    for them. The first run on a machine compiles, which takes half a minute.

    \b
    mercer compare iris
    mercer compare patients.csv --target outcome --report report.html --save best.mercer
    mercer compare visits.parquet --target cost --group patient --time-limit 120 --json -
    """
    started = perf_counter()
    from mercer.application.datasets import open_data
    from mercer.cli._first_run import remark_first_run
    from mercer.cli._printing import check_places, remark_columns, remark_problem
    from mercer.cli._progress import stages
    from mercer.comparison.time_limit import FOR_THE_PAGE, FOR_THE_VERDICT, Budget
    from mercer.data import Schema

    budget = Budget(time_limit, started=started, kept=FOR_THE_VERDICT if report is save is None else FOR_THE_PAGE)
    check_places(report, json, markdown, save, kept=(data,))
    if json == markdown == "-":
        raise DataError("JSON and Markdown cannot both go to standard output; name a file for one of them.")
    with stages(quiet, progress) as bars:
        bars.tell("reading", 0, 1, data)
        rows = open_data(data, reading)
        problem, asides = _apart(rows, target, drop or [], {"groups": group, "times": time})
        bars.tell("reading", 1, 1)
    remark_problem(data, rows, problem, quiet)
    problem, left_out = _without_clocks(problem)
    remark_columns(Schema.infer(problem.X), quiet)
    remark_first_run(quiet)
    levels = problem.order_for(task) if order is None else [label.strip() for label in order.split(",")]
    options = {
        "models": models,
        "task": task,
        "order": levels,
        "target": problem.target,
        "cv": folds,
        "repeats": repeats,
        "random_state": seed,
        "reference": reference,
        **asides,
    }
    with stages(quiet, progress) as bars:
        found, stopped = _compared(problem.X, problem.y, **options, time_limit=budget, progress=bars.tell)
    found.source, found.unit = rows.path.name, problem.unit
    found.notes = (*found.notes, *left_out)
    unread = _tell(found, json, markdown)
    if stopped:
        raise KeyboardInterrupt
    if not found.done:
        raise DataError(_nothing_done(found))
    if save is not None:
        _save_best(found, save, reading, quiet, progress)
    if report is not None:
        _write_page(found, report, budget.whole(), quiet, progress)
    if unread is not None:
        raise unread


def _save_best(found: Comparison, path: Path, reading: Reading, quiet: bool, progress: bool | None) -> None:
    """Whatever time is left: without the file that was asked for, all of it was for nothing."""
    from mercer.cli._printing import remark
    from mercer.files import save as save_model

    with _writing(path, quiet, progress) as bars:
        bars.tell("best model", 0, 1)
        save_model(found, path)
        bars.tell("best model", 1, 1)
    which = "recommended model" if found.verdict().best is not None else "first model by score (none is recommended)"
    remark(f"The {which}, {found.entry().name}, is in {path}.", quiet)
    if (again := missing_again(reading)) is not None:
        remark(again, quiet)


def _write_page(found: Comparison, path: Path, budget: Budget, quiet: bool, progress: bool | None) -> None:
    """Everything that was found, and the command that found it."""
    from mercer.cli._printing import remark

    found.settings = {**found.settings, "command": shlex.join(["mercer", *sys.argv[1:]])}
    with _writing(path, quiet, progress) as bars:
        found.report(path, progress=bars.tell, time_limit=budget)
    remark(f"The page is {path}.", quiet)


@contextmanager
def _writing(path: Path, quiet: bool, progress: bool | None) -> Iterator[Stages]:
    """Bars, and on Ctrl-C a sentence about the file that there will not be; one that was there before is as it was."""
    from mercer.cli._printing import remark
    from mercer.cli._progress import stages

    try:
        with stages(quiet, progress) as bars:
            yield bars
    except KeyboardInterrupt:
        remark(f"mercer: {path} is not written.")
        raise


def _apart(
    rows: TableReader, target: str | None, drop: list[str], asides: dict[str, str | None]
) -> tuple[TargetProblem, dict[str, Any]]:
    """What to predict from what, without the columns that only tell how to split the rows."""
    from mercer.application.datasets import problem_of

    problem = problem_of(rows, target=target, drop=drop)
    found = {use: problem.column(name) for use, name in asides.items() if name is not None}
    return problem.without([name for name in asides.values() if name is not None]), found


def _without_clocks(problem: TargetProblem) -> tuple[TargetProblem, list[str]]:
    """Leave out times of day and durations, which no model file holds, and say so."""
    from mercer.data.storages.time_columns import clock_columns

    if not (clocks := clock_columns(problem.X)):
        return problem, []
    which = ", ".join(f"{name!r} ({what})" for name, what in clocks.items())
    note = f"Columns left out: {which}. Write them as numbers, e.g. as hours, to use them."
    return problem.without(list(clocks)), [note]


def _compared(X: Any, y: Any, **options: Any) -> tuple[Comparison, bool]:
    """What was found, and whether Ctrl-C came before the end."""
    from mercer.comparison import compare as compare_models

    try:
        return compare_models(X, y, **options), False
    except ComparisonInterrupted as stopped:
        if stopped.comparison is None:
            raise
        return stopped.comparison, True


def _nothing_done(found: Comparison) -> str:
    reasons = [f"{entry.name}: {note}" for entry in found.entries for note in entry.notes]
    return " ".join(["No model could be fitted.", *(reasons or found.notes)[:1]])


def _tell(found: Comparison, json: str | None, markdown: str | None) -> OSError | None:
    """Write what was found to files, and print one form of it.

    Returns the error of printing, such as that of a pipe whose reader has gone: files that come later are still
    written.
    """
    from mercer.cli._printing import as_json, write

    def written() -> Iterator[tuple[str, str]]:
        if json is not None:
            yield as_json(found.json()), json
        if markdown is not None:
            yield found.markdown(), markdown

    forms = list(written())
    for text, path in forms:
        if path != "-":
            write(text, path)
    try:
        if "-" not in (json, markdown):
            _print(found)
        for text, path in forms:
            if path == "-":
                write(text, path)
        sys.stdout.flush()
    except OSError as error:
        return error
    return None


def _print(found: Comparison) -> None:
    from mercer.cli._printing import say, show

    board, tests, verdict = found.leaderboard(), found.differences(), found.verdict()
    for problem in found.problems():
        say(f"{problem.severity.upper()} {problem.code}: {problem.sentence} {problem.remedy}")
    for sentence in (*verdict.sentences, found.task.reason):
        say(sentence)
    show(replace(board, notes=()))
    if tests.rows:
        show(tests)
    for sentence in (*found.sentences()[len(verdict.sentences) :], *board.notes):
        if sentence != found.task.reason:
            say(sentence)
