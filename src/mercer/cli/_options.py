"""Arguments and options that several commands share."""

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

#: the largest seed that scikit-learn accepts
MAX_SEED = 2**32 - 1
DATA_HELP = (
    "A CSV, TSV, JSON, Parquet, Arrow, Excel, SQLite or DuckDB file, compressed or in a zip archive, or a folder of "
    "such files with the same columns; - for standard input; or breast-cancer, digits, iris, wine."
)
Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file, as written by `mercer fit`.")]
TaskName = Literal["auto", "classification", "ordered", "regression", "amounts", "counts"]
Target = Annotated[str | None, typer.Option(help="The column to predict: its name, or its position (-1 is the last).")]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out. Repeatable.")]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help="The kind of a column, if the guess is wrong: number, integer, count, binary, boolean, "
        "category, code, text, date, identifier, constant. Repeatable.",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line holds column names. Guessed if not given."),
]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER", help="The separator of fields: a character, or tab, space. Guessed if not given."
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="WORD", help="A word for a missing value, besides empty fields, NA, ? and null. Repeatable."),
]
OnlyMissing = Annotated[
    bool, typer.Option("--only-missing", help="Treat only empty fields and the words of --missing as missing.")
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Encoding of a text file: utf-8, cp1252, utf-16, latin-1. Detected if not given."
    ),
]
Sql = Annotated[
    str | None,
    typer.Option(metavar="QUERY", help="A query of a SQLite or DuckDB file: SELECT …, or the name of a table."),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The sheet of an Excel file: its name or number. By default the first non-empty one."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the answer, neither progress nor remarks.")]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet",
        help="Write an apostrophe before texts that a spreadsheet would run as formulas (= + - @). By default, texts "
        "are written as they are.",
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, max=MAX_SEED, help="The seed of random choices, such as which rows go to which fold.")
]
Bars = Annotated[
    bool | None,
    typer.Option("--progress/--no-progress", help="Show progress bars; by default if standard error is a terminal."),
]


Decimal = Annotated[
    str | None,
    typer.Option(metavar="MARK", help="The decimal mark of numbers in text: , or . (1.234,56). Guessed if not given."),
]
Dates = Annotated[
    str | None,
    typer.Option(
        metavar="ORDER", help="The order of day, month and year in dates: dmy, mdy or ymd. Guessed if not given."
    ),
]


KEYWORD = inspect.Parameter.KEYWORD_ONLY
#: options for reading a file, with their defaults
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
    """Return a decorator that replaces a command's parameter `reading` by options; `kinds` adds --kind."""
    options = {**({"kinds": (Kinds, None)} if kinds else {}), **READING}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            own = {name: given.pop(name) for name in options}
            command(**given, reading=make_reading(**own))

        # typer reads names, types and defaults from the signature
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


def complete_model_name(incomplete: str) -> list[str]:
    """Return the names of models that begin so, for completion in the shell."""
    from mercer.base import model_names

    return [name for name in model_names() if name.lower().startswith(incomplete.lower())]


#: the storage in which a column is read that is declared to be of a kind; None leaves it to the reader
STORAGE_BY_KIND: dict[str, Held | None] = {
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


def parse_kinds(given: list[str] | None) -> dict[str, str]:
    """Split options COLUMN=KIND."""
    kinds = {}
    for each in given or ():
        column, equals, kind = each.rpartition("=")
        if not equals or not column:
            raise DataError(f"--kind takes COLUMN=KIND, e.g. age=number, not {each!r}.")
        if kind not in STORAGE_BY_KIND:
            raise DataError(f"There is no kind {kind!r}. {did_you_mean(kind, STORAGE_BY_KIND)}")
        kinds[column] = kind
    return kinds


def make_reading(
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
    """Return the options for reading a file as one object."""
    from mercer.data import Kind
    from mercer.data.formats import DATE_ORDERS, DECIMAL_MARKS
    from mercer.data.readers import Reading

    declared = parse_kinds(kinds)
    return Reading(
        header=header,
        separator=separator,
        encoding=encoding,
        decimal=_one_of("--decimal", decimal, DECIMAL_MARKS),
        dates=_one_of("--dates", dates, DATE_ORDERS),
        missing=tuple(missing or ()),
        only_missing=only_missing,
        sql=sql,
        sheet=sheet,
        held={column: held for column, kind in declared.items() if (held := STORAGE_BY_KIND[kind]) is not None},
        kinds={column: Kind(kind) for column, kind in declared.items()},
    )


def _one_of(option: str, given: str | None, known: Iterable[str]) -> str | None:
    if given is not None and given not in known:
        raise DataError(f"{option} takes one of {' '.join(known)}, not {given!r}.")
    return given


def missing_reminder(reading: Reading) -> str | None:
    """Return a reminder to repeat --missing, which model files do not keep; None if the option is not in use."""
    import shlex

    given = [f"--missing {shlex.quote(word)}" for word in reading.missing]
    if reading.only_missing:
        given.append("--only-missing")
    if not given:
        return None
    return f"The file does not keep the words for missing values: give `mercer predict` {' '.join(given)}, too."


#: Python's names of constants, and JSON's
IN_JSON = {"True": "true", "False": "false", "None": "null", "inf": "Infinity", "-inf": "-Infinity"}


def parse_settings(given: list[str] | None) -> dict[str, object]:
    """Split options PARAMETER=VALUE, with values in JSON or Python notation; any other value is a string."""
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
