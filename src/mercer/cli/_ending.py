"""The end of a command: one sentence on standard error, and an exit code that scripts can rely on."""

from __future__ import annotations

import functools
import os
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import typer

from mercer._errors import DeviceMemoryError, MercerError, MissingDependencyError, ServeError, WriteError

#: exit code for wrong use, or data that cannot be used
USAGE_ERROR = 2
#: exit code where the machine fails: files, ports, memory, packages
SYSTEM_ERROR = 3
#: exit code after Ctrl-C: 128 + SIGINT
INTERRUPTED = 130
#: exit code where the reader of a pipe has gone: 128 + SIGPIPE
BROKEN_PIPE = 141


def report_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with its errors printed as one sentence; only unforeseen errors have a traceback."""

    @functools.wraps(command)
    def run(*args: object, **options: object) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _make_warning_printer()
                command(*args, **options)
                sys.stdout.flush()
        except BrokenPipeError:
            _discard_stdout()
            raise typer.Exit(BROKEN_PIPE) from None
        except KeyboardInterrupt:
            _end("stopped by Ctrl-C.", INTERRUPTED)
        except (WriteError, ServeError, MissingDependencyError, DeviceMemoryError) as error:
            _end(str(error), SYSTEM_ERROR)
        except MercerError as error:
            _end(str(error), USAGE_ERROR)
        except MemoryError:
            _end("there is not enough memory for this. Give fewer rows or columns, or another model.", SYSTEM_ERROR)
        except OSError as error:
            _discard_stdout()
            subject = repr(str(error.filename)) if error.filename else "the output cannot be printed"
            _end(f"{subject}: {(error.strerror or str(error)).lower()}.", SYSTEM_ERROR)

    return run


def open_closed_streams() -> None:
    """Open standard output and standard error on the null device where the shell has closed them (`>&-`)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _discard_stdout() -> None:
    """Send to the null device what is still buffered, so that Python's flush at exit does not fail, too."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _make_warning_printer() -> Callable[..., None]:
    """Return a `warnings.showwarning` that prints each warning once, as a sentence without its line of code."""
    from mercer.cli._printing import remark

    printed: set[str] = set()

    def print_warning(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, FutureWarning):  # a change of defaults concerns Python code only
            return
        # on the command line a parameter is set with --set
        sentence = re.sub(r"\(((?:max_iter|tol)=[^)]+)\)", r"(--set \1)", " ".join(str(message).split()))
        sentence = sentence.replace("(max_iter)", "(--set max_iter=10000)")
        if sentence not in printed:
            remark(f"mercer: note: {sentence}")
        printed.add(sentence)

    return print_warning


def _end(sentence: str, status: int) -> NoReturn:
    from mercer.cli._printing import remark

    remark(f"mercer: {sentence}")
    raise typer.Exit(status) from None
