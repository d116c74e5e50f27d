"""`mercer export`: a model as SQL, ONNX or Python."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from mercer._errors import DataError
from mercer.cli._options import Model, Quiet

Dialect = Literal["standard", "duckdb", "postgresql", "sqlite"]


def export(
    model: Model,
    to: Annotated[Literal["sql", "onnx", "python"], typer.Option(help="In which language.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="PATH", help="Where it goes; - for standard output.")
    ] = "-",
    table: Annotated[str, typer.Option(help="With --to sql: the table to read from.")] = "data",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="With --to sql: a column to have beside the predictions, e.g. the key; repeatable."
        ),
    ] = None,
    dialect: Annotated[
        Dialect,
        typer.Option(help="With --to sql: the database. Text needs duckdb or postgresql."),
    ] = "standard",
    quiet: Quiet = False,
) -> None:
    """Write a model as SQL, ONNX or Python.

    It gives the same predictions there, without mercer.

    \b
    mercer export patients.mercer --to sql --table patients --keep id -o patients.sql
    mercer export patients.mercer --to onnx -o patients.onnx
    mercer export patients.mercer --to python
    """
    from mercer.cli._models import usable
    from mercer.cli._printing import check_places, remark, write
    from mercer.export.obstacle import remark_on

    if to != "sql" and keep:
        raise DataError("--keep is for --to sql: only a SELECT has other columns beside the predictions.")
    if to == "onnx" and output == "-":
        raise DataError("ONNX is not text. Name a file for it, e.g. --output model.onnx.")
    check_places(output, kept=(model,))
    fitted = usable(model)
    write(_written(fitted, to, table, keep or [], dialect), output)
    if output != "-":
        remark(" ".join(filter(None, [f"The model is in {output}.", remark_on(fitted)])), quiet)


def _written(model: object, language: str, table: str, keep: list[str], dialect: Dialect) -> str | bytes:
    from mercer.export import to_onnx, to_python, to_sql

    match language:
        case "sql":
            return to_sql(model, table=table, keep=keep, dialect=dialect)
        case "onnx":
            return to_onnx(model)
    return to_python(model)
