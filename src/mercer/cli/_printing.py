"""What was found goes to standard output, remarks to standard error."""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer._suggest import listed

if TYPE_CHECKING:
    from rich.console import Console

    from mercer.data.readers import TableReader
    from mercer.data.schema import Schema
    from mercer.data.target import TargetProblem
    from mercer.report import Grid

#: columns that are listed one by one; of more only how many there are of each kind
MOST_COLUMNS = 40
#: columns of a wide table that are named where something is noted about them
MOST_NAMED = 5
#: characters of a table in a file or a pipe, where no terminal says how many there are in a line
MOST_WIDE = 160


def console() -> Console:
    """Standard output, as rich writes to it; a reader that went away ends the command as any other write does."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    # a file or a pipe is as wide as what is written, and whoever reads it wraps lines
    return Plain() if sys.stdout.isatty() else Plain(width=MOST_WIDE, soft_wrap=True)


def show(grid: Grid) -> None:
    """Print a table."""
    from mercer.report import print_grid

    print_grid(grid, console())


def say(text: str) -> None:
    """Print a sentence."""
    from mercer.report.wording import printable

    console().print(printable(text), markup=False, highlight=False)


def print_text(text: str, end: str = "\n") -> None:
    """Print lines as they are."""
    from mercer.report.wording import printable

    print(printable(text), end=end)


def remark(text: str, quiet: bool = False) -> None:
    """Something worth knowing that is not what was asked for."""
    from mercer.report.wording import printable

    if not quiet:
        print(wrapped(printable(text)), file=sys.stderr)


def wrapped(text: str) -> str:
    """Lines that end between words where standard error is a terminal; elsewhere a sentence is a line."""
    if not sys.stderr.isatty():
        return text
    import shutil
    import textwrap

    width = shutil.get_terminal_size().columns
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def called(data: str) -> str:
    """Return what DATA is called in a sentence."""
    return "standard input" if data == "-" else data


def remark_problem(data: str, rows: TableReader, problem: TargetProblem, quiet: bool) -> None:
    """What was read, and which of it is to be predicted."""
    from mercer.report.wording import counted

    remark(
        f"{called(data)}: {rows.described}; {counted(problem.X.num_rows, 'row')}, target {problem.target!r}.",
        quiet,
    )
    if problem.note:
        remark(f"The target {problem.target!r} is {problem.note}.", quiet)
    if problem.unlabelled:
        remark(f"Rows left out because they have no {problem.target!r}: {problem.unlabelled}.", quiet)


def remark_columns(schema: Schema, quiet: bool) -> None:
    """What the columns were taken for."""
    if quiet:
        return
    if len(schema) <= MOST_COLUMNS:
        _show_columns(schema)
        return
    counts = Counter(column.kind.value for column in schema)
    remark(f"{len(schema)} columns: {', '.join(f'{number} {kind}' for kind, number in counts.most_common())}.")
    for notes, names in _notable(schema).items():
        few = f"{listed(names[:MOST_NAMED])}{f' and {len(names) - MOST_NAMED} more' * (len(names) > MOST_NAMED)}"
        remark(f"{few}: {notes}.")


def _notable(schema: Schema) -> dict[str, list[str]]:
    """Columns of a wide table that are left out, converted, or could split the rows, by what is noted about them."""
    found: dict[str, list[str]] = {}
    for column in schema:
        remarks = [note for note in column.notes if note.startswith(("identifier: ", "read as ")) or "--time" in note]
        if remarks:
            found.setdefault("; ".join(remarks), []).append(column.name)
    return found


def _show_columns(schema: Schema) -> None:
    if not sys.stderr.isatty():
        from mercer.report.wording import printable

        print(printable(str(schema)), file=sys.stderr)
        return
    from rich.console import Console

    from mercer.report import print_grid

    print_grid(schema.grid(), Console(stderr=True))


def write(content: str | bytes | Iterable[bytes], path: str | Path) -> None:
    """To a file, whole or not at all; "-" is standard output."""
    if str(path) != "-":
        from mercer._atomic import write_atomically

        write_atomically(path, content)
    else:
        from mercer.report.wording import printable

        shown = sys.stdout.isatty()  # a terminal obeys escape sequences, a pipe gets what was given
        if isinstance(content, str):
            print(printable(content) if shown else content)
            return
        for piece in (content,) if isinstance(content, bytes) else content:
            _write_out(printable(piece.decode()).encode() if shown else piece)


def _write_out(content: bytes) -> None:
    """All of it to standard output, which writes only a part of it at a time where Python does not buffer it."""
    rest = memoryview(content)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]


def check_places(*paths: str | Path | None, kept: Iterable[str | None] = (), deep: bool = False) -> None:
    """Refuse, before anything is computed, places where nothing can be written, and files that are read.

    A `Path` is one of a file; "-" is standard output where it is a string. What is `kept` is the name of a table, a
    model or another file, or None; `deep` says that folders and patterns are read as by `mercer.data.open`.
    """
    from mercer._errors import DataError, WriteError

    if Path("-") in [path for path in paths if isinstance(path, Path)]:
        raise DataError("What is written here is no text for standard output (-). Name a file.")
    files = [path for path in paths if path is not None and str(path) != "-"]
    inputs = list(_files_read(kept, deep=deep)) if files else []
    for number, path in enumerate(files):
        if Path(path).exists() and any(os.path.samestat(os.stat(path), each) for each in inputs):
            raise DataError(f"{str(path)!r} is read, and is not written over. Name another place.")
        if any(_same(path, each) for each in files[:number]):
            raise DataError(f"{str(path)!r} is named for two things. Name another place for one of them.")
        folder = Path(path).parent
        if not folder.is_dir():
            raise WriteError(f"{str(path)!r} cannot be written: there is no folder {str(folder)!r}. Make it first.")
        if Path(path).is_dir():
            raise WriteError(f"{str(path)!r} cannot be written: it is a folder. Name a file in it.")
        if not os.access(path if Path(path).exists() else folder, os.W_OK):
            raise WriteError(f"{str(path)!r} cannot be written: permission denied. Name another place.")


def _files_read(kept: Iterable[str | None], *, deep: bool) -> Iterator[os.stat_result]:
    """Which files are read, by what the system knows them by: a link and its target are one file."""
    from mercer.data.sources.files.finding import input_files

    for name in kept:
        if name is None:
            continue
        with suppress(OSError, ValueError):  # no file of the system, or no name of one
            found = [sys.stdin.fileno()] if name == "-" else input_files(name, deep=deep)
            yield from (each for each in map(os.stat, found) if stat.S_ISREG(each.st_mode))


def _same(path: str | Path, other: str | Path) -> bool:
    """Whether both name the same file, or would once there is one."""
    if Path(path).exists() and Path(other).exists():
        return Path(path).samefile(other)
    return Path(path).resolve() == Path(other).resolve()


def as_json(value: Any) -> str:
    """JSON as people read it."""
    import json

    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
