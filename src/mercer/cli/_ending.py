"""How a command ends: in a sentence and with a code that a script can rely on."""

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

#: wrong use or data that cannot be used; what the machine refuses; Ctrl-C; nobody reads what is printed
MISUSED, REFUSED, INTERRUPTED, UNREAD = 2, 3, 130, 141


def ending_in_a_sentence(command: Callable[..., None]) -> Callable[..., None]:
    """What mercer refuses to do is one line and a way on; a traceback is for what nobody foresaw."""

    @functools.wraps(command)
    def run(*args: object, **options: object) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _telling_once()
                command(*args, **options)
                sys.stdout.flush()
        except BrokenPipeError:
            _let_go_of_stdout()
            raise typer.Exit(UNREAD) from None
        except KeyboardInterrupt:
            _end("stopped by Ctrl-C.", INTERRUPTED)
        except (WriteError, ServeError, MissingDependencyError, DeviceMemoryError) as error:
            _end(str(error), REFUSED)
        except MercerError as error:
            _end(str(error), MISUSED)
        except MemoryError:
            _end("there is not enough memory for this. Give fewer rows or columns, or another model.", REFUSED)
        except OSError as error:
            _let_go_of_stdout()
            _end(f"{_named(error)}{(error.strerror or str(error)).lower()}.", REFUSED)

    return run


def open_what_is_closed() -> None:
    """Whoever closed standard output or standard error (`>&-`) wants nothing of what goes there."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _named(error: OSError) -> str:
    return f"{str(error.filename)!r}: " if error.filename else "what was found cannot be printed: "


def _let_go_of_stdout() -> None:
    """Nothing more can be written there, not even what Python would flush at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _telling_once() -> Callable[..., None]:
    """A warning is a sentence, too: whoever typed a command has no use for the line of code, nor for a second one."""
    from mercer.cli._printing import remark

    told: set[str] = set()

    def tell(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, FutureWarning):  # a later default concerns code
            return
        # a parameter is given by an option here
        sentence = re.sub(r"\(((?:max_iter|tol)=[^)]+)\)", r"(--set \1)", " ".join(str(message).split()))
        sentence = sentence.replace("(max_iter)", "(--set max_iter=10000)")
        if sentence not in told:
            remark(f"mercer: note: {sentence}")
        told.add(sentence)

    return tell


def _end(sentence: str, status: int) -> NoReturn:
    from mercer.cli._printing import remark

    remark(f"mercer: {sentence}")
    raise typer.Exit(status) from None
