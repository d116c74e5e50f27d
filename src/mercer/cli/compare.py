"""`mercer compare`: which model suits this table?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from mercer.comparison import Leaderboard
    from mercer.data import Problem


def compare(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A CSV, TSV or Parquet file, or breast-cancer, digits, iris, wine.")
    ] = "breast-cancer",
    target: Annotated[
        str | None, typer.Option(help="The column to predict: its name, or its position (-1 is the last).")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out; may be given several times.")] = None,
    task: Annotated[
        Literal["auto", "classification", "regression", "counts"],
        typer.Option(help="What the target is: classes, numbers or counts. Decided by its values if not given."),
    ] = "auto",
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Does the first line hold names? Guessed if not given.")
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="How many folds to cross-validate on.")] = 5,
    seed: Annotated[int, typer.Option(help="Fixes how rows are dealt to the folds.")] = 0,
) -> None:
    """Cross-validate every model that suits DATA and print a leaderboard.

    The first run on a machine compiles, which takes half a minute.
    """
    from rich.console import Console

    from mercer.comparison.datasets import open_problem
    from mercer.report import print_grid

    problem = open_problem(data, target=target, header=header, drop=drop or ())
    grid = _compare_with_progress(problem, task, folds, seed, Console(stderr=True)).grid()
    if problem.unlabelled:
        note = f"Rows left out because they have no {problem.target!r}: {problem.unlabelled}."
        grid = replace(grid, notes=(*grid.notes, note))
    print_grid(grid, Console())


def _compare_with_progress(problem: Problem, task: str, folds: int, seed: int, console: Console) -> Leaderboard:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from mercer.comparison import compare as compare_models

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        fits = bar.add_task("", total=None)

        def show(done: int, total: int, model: str) -> None:
            bar.update(fits, completed=done, total=total, description=model or "done")

        return compare_models(problem.X, problem.y, task=task, cv=folds, random_state=seed, progress=show)
