"""The program `mercer`: its commands, and how it ends when something goes wrong."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from mercer._errors import MercerError
from mercer.cli.compare import compare

#: exit codes by which a shell knows wrong use and Ctrl-C
MISUSED, INTERRUPTED = 2, 130

app = typer.Typer(name="mercer", add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


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
    """Linear, kernel and probabilistic models with certificates."""


def main() -> None:
    """Run the program."""
    app(prog_name="mercer")


def _ending_in_a_sentence(command: Callable[..., None]) -> Callable[..., None]:
    """What mercer refuses to do is one line and a way on; a traceback is for what nobody foresaw."""

    @functools.wraps(command)
    def run(*args: object, **options: object) -> None:
        try:
            command(*args, **options)
        except MercerError as error:
            _end(str(error), MISUSED)
        except KeyboardInterrupt:
            _end("stopped by Ctrl-C.", INTERRUPTED)

    return run


def _end(sentence: str, status: int) -> NoReturn:
    print(f"mercer: {sentence}", file=sys.stderr)
    raise typer.Exit(status)


for command in (compare,):
    app.command()(_ending_in_a_sentence(command))
