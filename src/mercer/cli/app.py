"""The program `mercer` and its commands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mercer.cli._ending import open_closed_streams, report_errors
from mercer.cli.compare import compare
from mercer.cli.describe import describe
from mercer.cli.explain import explain
from mercer.cli.export import export
from mercer.cli.fit import fit
from mercer.cli.forget import forget
from mercer.cli.merge import merge
from mercer.cli.outliers import outliers
from mercer.cli.predict import predict
from mercer.cli.serve import serve

app = typer.Typer(name="mercer", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


def _print_version(wanted: bool) -> None:
    if wanted:
        from mercer import __version__

        print(f"mercer {__version__}")
        raise typer.Exit


@app.callback()
def mercer(
    version: Annotated[
        bool,
        typer.Option("--version", callback=lambda on: _print_version(on), is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Linear, kernel and probabilistic models with certificates.

    \b
    mercer compare patients.csv --target outcome --report report.html
    mercer fit patients.csv --target outcome --model LogisticRegression -o patients.mercer
    mercer predict patients.mercer tomorrow.csv -o predicted.csv
    """


def main() -> None:
    """Run the program."""
    open_closed_streams()
    try:
        report_errors(_run)()
    except typer.Exit as end:
        sys.exit(end.exit_code)


def _run() -> None:
    try:
        app(prog_name="mercer")
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # typer's exit code is another
            raise BrokenPipeError from None
        sys.stdout.flush()
        raise


for command in (compare, fit, predict, explain, describe, outliers, merge, forget, export, serve):
    app.command()(report_errors(command))
