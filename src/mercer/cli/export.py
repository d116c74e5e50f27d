"""`mercer export`: write a model as SQL, ONNX or Python."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from mercer._errors import DataError
from mercer.cli._options import Model, Quiet

Dialect = Literal["standard", "duckdb", "postgresql", "sqlite"]


def export(
    model: Model,
    to: Annotated[Literal["sql", "onnx", "python"], typer.Option(help="The language of the result.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="PATH", help="The file to write; - for standard output.")
    ] = "-",
    table: Annotated[str, typer.Option(help="With --to sql: the table that the query reads.")] = "data",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="With --to sql: a column to select with the predictions, e.g. the key. Repeatable."
        ),
    ] = None,
    dialect: Annotated[
        Dialect,
        typer.Option(help="With --to sql: the database; columns of text need duckdb or postgresql."),
    ] = "standard",
    quiet: Quiet = False,
) -> None:
    """Write a model as SQL, ONNX or Python.

    The result gives the same predictions without mercer.

    \b
    mercer export patients.mercer --to sql --table patients --keep id -o patients.sql
    mercer export patients.mercer --to onnx -o patients.onnx
    mercer export patients.mercer --to python
    """
    from mercer.cli._models import load_fitted
    from mercer.cli._printing import check_outputs, remark, write
    from mercer.export import to_onnx, to_python, to_sql
    from mercer.export.obstacle import remark_on

    if to != "sql" and keep:
        raise DataError("--keep is for --to sql: only a SELECT can have other columns with the predictions.")
    if to == "onnx" and output == "-":
        raise DataError("ONNX is not text. Name a file for it, e.g. --output model.onnx.")
    check_outputs(output, inputs=(model,))
    fitted = load_fitted(model)
    content: str | bytes
    match to:
        case "sql":
            content = to_sql(fitted, table=table, keep=keep or [], dialect=dialect)
        case "onnx":
            content = to_onnx(fitted)
        case "python":
            content = to_python(fitted)
    write(content, output)
    if output != "-":
        remark(" ".join(filter(None, [f"The model is in {output}.", remark_on(fitted)])), quiet)
