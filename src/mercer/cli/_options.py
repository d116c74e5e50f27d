"""Arguments and options that several commands have."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mercer._errors import DataError
from mercer._suggest import did_you_mean

if TYPE_CHECKING:
    from mercer.data.readers import Reading
    from mercer.data.readers.base import Held

#: the largest seed that scikit-learn takes
MOST_SEED = 2**32 - 1
DATA_HELP = (
    "A CSV, TSV, JSON, Parquet, Arrow, Excel, SQLite or DuckDB file, compressed or in a zip archive, or a folder of "
    "such files with the same columns; - for standard input; or breast-cancer, digits, iris, wine."
)
Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A file that mercer wrote: see `mercer fit`.")]
TaskName = Literal["auto", "classification", "ordered", "regression", "amounts", "counts"]
Target = Annotated[str | None, typer.Option(help="The column to predict: its name, or its position (-1 is the last).")]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out. Repeatable.")]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help="What a column is, if the guess is wrong: number, integer, count, binary, boolean, "
        "category, code, text, date, identifier, constant. Repeatable.",
    ),
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Does the first line hold names? Guessed if not given.")
]
Separator = Annotated[
    str | None,
    typer.Option(metavar="CHARACTER", help="What separates fields: a character, or tab, space. Guessed if not given."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="WORD", help="Also stands for a missing value, as empty fields, NA, ?, null do. Repeatable."),
]
OnlyMissing = Annotated[
    bool, typer.Option("--only-missing", help="Only empty fields and the words of --missing count as missing.")
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Encoding of a text file: utf-8, cp1252, utf-16, latin-1. Detected if not given."
    ),
]
Sql = Annotated[
    str | None,
    typer.Option(metavar="QUERY", help="Query to a SQLite or DuckDB file: SELECT …, or the name of a table."),
]
Sheet = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Sheet of an Excel file: its name or number. The first that is not empty."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Neither progress nor remarks; only the answer.")]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet",
        help="Begin texts that a spreadsheet would run as formulas (= + - @) with an apostrophe. Without it texts are "
        "written as they are.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Fixes how rows are dealt to folds, or set aside.")]
Bars = Annotated[
    bool | None,
    typer.Option("--progress/--no-progress", help="Progress bars; by default where standard error is a terminal."),
]


Decimal = Annotated[
    str | None,
    typer.Option(metavar="MARK", help="The decimal mark of numbers in text: , or . (1.234,56). Guessed if not given."),
]
Dates = Annotated[
    str | None,
    typer.Option(metavar="ORDER", help="How dates are written in text: dmy, mdy or ymd. Guessed if not given."),
]


KEYWORD = inspect.Parameter.KEYWORD_ONLY
#: how a file is to be read, where that is not to be guessed
READING: dict[str, tuple[Any, Any]] = {
    "header": (Header, None),
    "separator": (Separator, None),
    "missing": (Missing, None),
    "only_missing": (OnlyMissing, False),
    "encoding": (Encoding, None),
    "decimal": (Decimal, None),
    "dates": (Dates, None),
    "sql": (Sql, None),
    "sheet": (Sheet, None),
}


def with_reading(*, kinds: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Options in the place of a command's parameter `reading`; `kinds` adds --kind."""
    options = {**({"kinds": (Kinds, None)} if kinds else {}), **READING}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            told = {name: given.pop(name) for name in options}
            command(**given, reading=reading_of(**told))

        # typer reads names, types and defaults off the signature
        signature = inspect.signature(command, eval_str=True, locals={"Reading": None})
        own = {each.name: each.replace(kind=KEYWORD) for each in signature.parameters.values()}
        del own["reading"]
        added = [
            inspect.Parameter(name, KEYWORD, default=usual, annotation=kind) for name, (kind, usual) in options.items()
        ]
        last = [own.pop(name) for name in ("quiet", "progress") if name in own]
        parameters = [*own.values(), *added, *last]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def models_begun(incomplete: str) -> list[str]:
    """Models whose name begins so, for the shell."""
    from mercer.base import model_names

    return [name for name in model_names() if name.lower().startswith(incomplete.lower())]


#: kinds of columns, and as what files are read that are told so
KINDS: dict[str, Held | None] = {
    "number": "number",
    "integer": "number",
    "count": "number",
    "binary": None,
    "boolean": None,
    "category": "category",
    "code": "category",
    "text": "text",
    "date": None,
    "identifier": "text",
    "constant": None,
}


def kinds_of(given: list[str] | None) -> dict[str, str]:
    """COLUMN=KIND, taken apart."""
    kinds = {}
    for each in given or ():
        column, equals, kind = each.rpartition("=")
        if not equals or not column:
            raise DataError(f"--kind takes COLUMN=KIND, e.g. age=number, not {each!r}.")
        if kind not in KINDS:
            raise DataError(f"There is no kind {kind!r}. {did_you_mean(kind, KINDS)}")
        kinds[column] = kind
    return kinds


def reading_of(
    *,
    header: bool | None = None,
    separator: str | None = None,
    missing: list[str] | None = None,
    only_missing: bool = False,
    encoding: str | None = None,
    decimal: str | None = None,
    dates: str | None = None,
    sql: str | None = None,
    sheet: str | None = None,
    kinds: list[str] | None = None,
) -> Reading:
    """What the options say about a file."""
    from mercer.data import Kind
    from mercer.data.formats import DECIMALS, ORDERS
    from mercer.data.readers import Reading

    told = kinds_of(kinds)
    return Reading(
        header=header,
        separator=separator,
        encoding=encoding,
        decimal=_one_of("--decimal", decimal, DECIMALS),
        dates=_one_of("--dates", dates, ORDERS),
        missing=tuple(missing or ()),
        only_missing=only_missing,
        sql=sql,
        sheet=sheet,
        held={column: held for column, kind in told.items() if (held := KINDS[kind]) is not None},
        kinds={column: Kind(kind) for column, kind in told.items()},
    )


def _one_of(option: str, given: str | None, known: Iterable[str]) -> str | None:
    if given is not None and given not in known:
        raise DataError(f"{option} takes one of {' '.join(known)}, not {given!r}.")
    return given


def missing_again(reading: Reading) -> str | None:
    """That a model file does not keep which words are missing, and what to repeat; None where nothing was said."""
    import shlex

    given = [f"--missing {shlex.quote(word)}" for word in reading.missing]
    if reading.only_missing:
        given.append("--only-missing")
    return f"It does not keep what is missing: give `mercer predict` {' '.join(given)}, too." if given else None


#: what Python calls otherwise than JSON
IN_JSON = {"True": "true", "False": "false", "None": "null", "inf": "Infinity", "-inf": "-Infinity"}


def setting_of(given: list[str] | None) -> dict[str, object]:
    """PARAMETER=VALUE, taken apart: a value as JSON or Python has it, anything else is a word."""
    import json

    settings: dict[str, object] = {}
    for each in given or ():
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise DataError(f"--set takes PARAMETER=VALUE, e.g. C=10, not {each!r}.")
        try:
            settings[name] = json.loads(IN_JSON.get(value, value))
        except ValueError:
            settings[name] = value
    return settings
