"""List the public interface: names, methods and commands with their parameters, and the attributes set by a fit.

`python -m tests.release._names` writes the list anew, after a change that was meant.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mercer

LIST = Path(__file__).with_name("public_names.txt")


def public_lines() -> list[str]:
    """All of them, in order."""
    return sorted({*_python(), *_commands()})


def _python() -> Iterator[str]:
    for name in mercer.__all__:
        value = getattr(mercer, name)
        if not inspect.ismodule(value):
            yield f"mercer.{name}" + _parameters(value)
            yield from _methods(f"mercer.{name}", value)
            yield from (f"mercer.{name}.{learnt}" for learnt in learnt_names(value))
            continue
        # of the nouns in packages how they are made is promised; their methods are for those who write one
        for inner in value.__all__:
            yield f"mercer.{name}.{inner}" + _parameters(getattr(value, inner))


def _methods(path: str, value: Any) -> Iterator[str]:
    for name in dir(value) if inspect.isclass(value) else ():
        if not name.startswith("_") and not name.endswith("_request") and _is_ours(value, name):
            yield f"{path}.{name}" + _parameters(getattr(value, name))


def learnt_names(value: Any) -> list[str]:
    """Return the attributes of a fitted model according to its docstring."""
    _, _, after = (inspect.getdoc(value) or "").partition("\nAttributes\n----------\n")
    section = re.split(r"\n[A-Z]\w+\n---", after)[0]
    heads = re.findall(r"^(\w[\w, ]*) :", section, re.MULTILINE)
    return [name for head in heads for name in head.split(", ") if name.endswith("_")]


def _is_ours(owner: type, name: str) -> bool:
    """Return whether a class of mercer documents the name; names of scikit-learn's base classes are excluded."""
    return any(name in vars(base) and base.__module__.startswith("mercer.") for base in owner.__mro__)


def _parameters(value: Any) -> str:
    """Names and order, and which may be left out; the values they have then may become better ones."""
    if not callable(value) or _is_plain_error(value):
        return ""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ""
    shown = [str(p.replace(annotation=p.empty, default=p.empty)) + "=" * (p.default is not p.empty) for p in parameters]
    first_keyword = next((i for i, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY), None)
    if first_keyword is not None and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        shown.insert(first_keyword, "*")
    return f"({', '.join(shown)})"


def _is_plain_error(value: Any) -> bool:
    """An exception that takes what every exception takes, which versions of Python spell differently."""
    return inspect.isclass(value) and issubclass(value, BaseException) and not inspect.isfunction(value.__init__)


def _commands() -> Iterator[str]:
    import typer

    from mercer.cli.app import app

    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        options = [max(option.opts, key=len) for option in command.params]
        yield " ".join(["$ mercer", name, *options])


if __name__ == "__main__":
    LIST.write_text("\n".join(public_lines()) + "\n", encoding="utf-8")
