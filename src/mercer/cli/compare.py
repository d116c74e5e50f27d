"""`mercer compare`: cross-validate the models that suit a table."""

from __future__ import annotations

import gc
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
from mercer.cli._options import (
    DATA_HELP,
    Bars,
    Drop,
    Quiet,
    Seed,
    Target,
    TaskName,
    complete_model_name,
    missing_reminder,
    with_reading,
)

if TYPE_CHECKING:
    from mercer.cli._progress import StageBars
    from mercer.comparison.comparison import Comparison
    from mercer.comparison.time_limit import Budget
    from mercer.data.readers import Reading, TableReader
    from mercer.data.target import TargetProblem


@contextmanager
def rare_collections(*, allocations: int = 50_000) -> Iterator[None]:
    """Run Python's garbage collector less often; also a decorator.

    A table of thousands of columns has hundreds of thousands of small objects, none of which is garbage: at Python's
    default of 700 to 2,000 allocations, collections take a fifth of the time of a comparison.

    Parameters
    ----------
    allocations : int, default=50000
        Allocations, less deallocations, from one collection of the youngest objects to the next.
    """
    before = gc.get_threshold()
    gc.set_threshold(allocations, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@with_reading(kinds=True)
@rare_collections()
def compare(
    data: Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)] = "breast-cancer",
    target: Target = None,
    task: Annotated[
        TaskName,
        typer.Option(
            help="The kind of target: classes, ordered classes, numbers, positive amounts or counts. Guessed if not "
            "given."
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
            help="A model to compare: its name in the leaderboard, or its class in mercer or scikit-learn. By default "
            "all that suit the data. Repeatable.",
            autocompletion=complete_model_name,
        ),
    ] = None,
    reference: Annotated[
        bool | None,
        typer.Option(
            "--reference/--no-reference",
            help="Score scikit-learn's gradient boosting on the same folds; by default only without --models.",
        ),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="The number of folds of cross-validation.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="The number of times that cross-validation is repeated.")] = 1,
    group: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A column whose equal values are kept in the same fold.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="A column of times; models are scored on rows later than those they are fitted to."
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            help="The time limit of the whole run, including the report. What is not finished in time is left out.",
        ),
    ] = None,
    seed: Seed = 0,
    report: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write all results as one HTML page, e.g. report.html.")
    ] = None,
    json: Annotated[
        str | None, typer.Option(metavar="PATH", help="Write the results as JSON; - for standard output.")
    ] = None,
    markdown: Annotated[
        str | None, typer.Option(metavar="PATH", help="Write the results as Markdown; - for standard output.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Write the recommended model, fitted to all rows, e.g. best.mercer."),
    ] = None,
    quiet: Quiet = False,
    progress: Bars = None,
    *,
    reading: Reading,
) -> None:
    """Cross-validate every model that suits DATA and recommend one.

    Guesses and progress go to standard error, results to standard output; files are written only on request. The
    first run on a machine compiles code, which takes half a minute.

    \b
    mercer compare iris
    mercer compare patients.csv --target outcome --report report.html --save best.mercer
    mercer compare visits.parquet --target cost --group patient --time-limit 120 --json -
    """
    started = perf_counter()
    from mercer.application.datasets import open_data
    from mercer.cli._printing import check_outputs, remark_columns, remark_first_run, remark_problem
    from mercer.cli._progress import stage_bars
    from mercer.comparison.time_limit import PAGE_SHARE, VERDICT_SHARE, Budget
    from mercer.data import Schema

    budget = Budget(time_limit, started=started, kept=VERDICT_SHARE if report is save is None else PAGE_SHARE)
    check_outputs(report, json, markdown, save, inputs=(data,))
    if json == markdown == "-":
        raise DataError("JSON and Markdown cannot both go to standard output; name a file for one of them.")
    with stage_bars(quiet, progress) as bars:
        bars.update("reading", 0, 1, data)
        rows = open_data(data, reading)
        problem, split_columns = _separate_split_columns(rows, target, drop or [], {"groups": group, "times": time})
        bars.update("reading", 1, 1)
    remark_problem(data, rows, problem, quiet)
    problem, left_out = _drop_clock_columns(problem)
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
        **split_columns,
    }
    with stage_bars(quiet, progress) as bars:
        comparison, stopped = _compare(problem.X, problem.y, **options, time_limit=budget, progress=bars.update)
    comparison.source, comparison.unit = rows.path.name, problem.unit
    comparison.settings = {**comparison.settings, "command": shlex.join(["mercer", *sys.argv[1:]])}
    comparison.notes = (*comparison.notes, *left_out)
    print_error = _write_results(comparison, json, markdown)
    if stopped:
        raise KeyboardInterrupt
    if not comparison.done:
        raise DataError(_explain_no_model(comparison))
    if save is not None:
        _save_best(comparison, save, reading, quiet, progress)
    if report is not None:
        _write_page(comparison, report, budget.whole(), quiet, progress)
    if print_error is not None:
        raise print_error


def _save_best(comparison: Comparison, path: Path, reading: Reading, quiet: bool, progress: bool | None) -> None:
    """Save the recommended model, whatever time is left: without this file the run would be in vain."""
    from mercer.cli._printing import remark
    from mercer.files import save as save_model

    with _writing(path, quiet, progress) as bars:
        bars.update("best model", 0, 1)
        save_model(comparison, path)
        bars.update("best model", 1, 1)
    which = (
        "recommended model" if comparison.verdict().best is not None else "first model by score (none is recommended)"
    )
    remark(f"The {which}, {comparison.entry().name}, is in {path}.", quiet)
    if (reminder := missing_reminder(reading)) is not None:
        remark(reminder, quiet)


def _write_page(comparison: Comparison, path: Path, budget: Budget, quiet: bool, progress: bool | None) -> None:
    """Write the report."""
    from mercer.cli._printing import remark

    with _writing(path, quiet, progress) as bars:
        comparison.report(path, progress=bars.update, time_limit=budget)
    remark(f"The page is {path}.", quiet)


@contextmanager
def _writing(path: Path, quiet: bool, progress: bool | None) -> Iterator[StageBars]:
    """Show progress bars, and on Ctrl-C say that the file is not written; an earlier file stays as it is."""
    from mercer.cli._printing import remark
    from mercer.cli._progress import stage_bars

    try:
        with stage_bars(quiet, progress) as bars:
            yield bars
    except KeyboardInterrupt:
        remark(f"mercer: {path} is not written.")
        raise


def _separate_split_columns(
    rows: TableReader, target: str | None, drop: list[str], names: dict[str, str | None]
) -> tuple[TargetProblem, dict[str, Any]]:
    """Return features and target, and apart from these the columns of `names`, which only split the rows."""
    from mercer.application.datasets import problem_of

    problem = problem_of(rows, target=target, drop=drop)
    columns = {use: problem.column(name) for use, name in names.items() if name is not None}
    return problem.without([name for name in names.values() if name is not None]), columns


def _drop_clock_columns(problem: TargetProblem) -> tuple[TargetProblem, list[str]]:
    """Leave out times of day and durations, which model files cannot store, and return a note about them."""
    from mercer.data.storages.time_columns import clock_columns

    if not (clocks := clock_columns(problem.X)):
        return problem, []
    which = ", ".join(f"{name!r} ({what})" for name, what in clocks.items())
    note = f"Columns left out: {which}. Write them as numbers, e.g. as hours, to use them."
    return problem.without(list(clocks)), [note]


def _compare(X: Any, y: Any, **options: Any) -> tuple[Comparison, bool]:
    """Return the comparison, and whether Ctrl-C stopped it."""
    from mercer.comparison import compare as compare_models

    try:
        return compare_models(X, y, **options), False
    except ComparisonInterrupted as stopped:
        if stopped.comparison is None:
            raise
        return stopped.comparison, True


def _explain_no_model(comparison: Comparison) -> str:
    reasons = [f"{entry.name}: {note}" for entry in comparison.entries for note in entry.notes]
    return " ".join(["No model could be fitted.", *(reasons or comparison.notes)[:1]])


def _write_results(comparison: Comparison, json: str | None, markdown: str | None) -> OSError | None:
    """Write the results to files, and print them in one form.

    Returns the error of printing, such as that of a closed pipe: the caller writes further files before it raises.
    """
    from mercer.cli._printing import to_json, write

    forms = []
    if json is not None:
        forms.append((to_json(comparison.json()), json))
    if markdown is not None:
        forms.append((comparison.markdown(), markdown))
    for text, path in forms:
        if path != "-":
            write(text, path)
    try:
        if "-" not in (json, markdown):
            _print(comparison)
        for text, path in forms:
            if path == "-":
                write(text, path)
        sys.stdout.flush()
    except OSError as error:
        return error
    return None


def _print(comparison: Comparison) -> None:
    from mercer.cli._printing import print_sentence, show
    from mercer.comparison.next_steps import steps_to_compare_again

    board, tests, verdict = comparison.leaderboard(), comparison.differences(), comparison.verdict()
    for problem in comparison.problems():
        print_sentence(f"{problem.severity.upper()} {problem.code}: {problem.sentence} {problem.remedy}")
    for sentence in (*verdict.sentences, comparison.task.reason):
        print_sentence(sentence)
    for step in steps_to_compare_again(comparison, verdict):
        print_sentence(f"{step.text}: {step.command}")
    show(replace(board, notes=()))
    if tests.rows:
        show(tests)
    for sentence in (*comparison.sentences()[len(verdict.sentences) :], *board.notes):
        if sentence != comparison.task.reason:
            print_sentence(sentence)
