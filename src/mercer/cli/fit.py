"""`mercer fit`: one model, saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mercer.cli._options import (
    MOST_SEED,
    Data,
    Drop,
    Encoding,
    Header,
    Kinds,
    Missing,
    OnlyMissing,
    Quiet,
    Separator,
    Sql,
    Target,
    models_begun,
    reading_of,
    setting_of,
)


def fit(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="Where the model goes: model.mercer.")],
    target: Target = None,
    model: Annotated[
        str, typer.Option(metavar="NAME", help="A model by its name in Python.", autocompletion=models_begun)
    ] = "LogisticRegression",
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
            help="Set rows aside for intervals or sets of classes that hold the truth so often: 0.9.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Fixes which rows are set aside.")] = 0,
    drop: Drop = None,
    kind: Kinds = None,
    header: Header = None,
    separator: Separator = None,
    missing: Missing = None,
    only_missing: OnlyMissing = False,
    encoding: Encoding = None,
    sql: Sql = None,
    quiet: Quiet = False,
) -> None:
    """Fit one model to all rows of DATA and write it to a file.

    Features of the columns, where the model needs them, and what the columns are, are kept with it: `mercer predict`
    takes the table as it comes.

    \b
    mercer fit patients.csv --target outcome --model NaiveBayes -o patients.mercer
    mercer fit houses.parquet --target price --model Ridge --set alpha=10 --conformal 0.9 -o houses.mercer
    """
    from mercer.cli._first_run import remark_first_run
    from mercer.cli._printing import check_places, remark, remark_columns
    from mercer.comparison.using.datasets import open_data, problem_of
    from mercer.comparison.using.fitting import fitted
    from mercer.files import save

    check_places(output, kept=(data,))
    options: dict[str, Any] = {"header": header, "separator": separator, "missing": missing, "encoding": encoding}
    rows = open_data(data, reading_of(**options, only_missing=only_missing, sql=sql, kinds=kind))
    problem = problem_of(rows, target=target, drop=drop or ())
    remark(f"{data}: {rows.described}; {problem.X.num_rows} rows, target {problem.target!r}.", quiet)
    if problem.unlabelled:
        remark(f"Rows left out because they have no {problem.target!r}: {problem.unlabelled}.", quiet)
    remark_first_run(quiet)
    found = fitted(
        model,
        problem.X,
        problem.y,
        settings=setting_of(settings),
        calibrate=calibrate,
        conformal=conformal,
        seed=seed,
    )
    remark_columns(found.schema, quiet)
    for note in found.notes:
        remark(note, quiet)
    save(found.model, output)
    remark(f"The model is in {output}.", quiet)
