"""Printing and writing: results go to standard output or files, remarks to standard error."""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer._suggest import listed

if TYPE_CHECKING:
    from rich.console import Console

    from mercer.data.readers import TableReader
    from mercer.data.schema import Schema
    from mercer.data.target import TargetProblem
    from mercer.report import Grid

#: tables with more columns are summarized by the number of columns of each kind
MAX_PRINTED_COLUMNS = 40
#: columns of a wide table that are named in one remark
MAX_REMARKED_COLUMNS = 5
#: characters in a line of a table that is printed to a file or a pipe
PIPE_WIDTH = 160


def console() -> Console:
    """Return rich's standard output, with a closed pipe as the usual `BrokenPipeError`."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Plain() if sys.stdout.isatty() else Plain(width=PIPE_WIDTH, soft_wrap=True)


def show(grid: Grid) -> None:
    """Print a table."""
    from mercer.report import print_grid

    print_grid(grid, console())


def print_sentence(text: str) -> None:
    """Print a sentence."""
    from mercer.report.wording import escape_controls

    console().print(escape_controls(text), markup=False, highlight=False)


def print_text(text: str, end: str = "\n") -> None:
    """Print lines as they are."""
    from mercer.report.wording import escape_controls

    print(escape_controls(text), end=end)


def remark(text: str, quiet: bool = False) -> None:
    """Print a sentence to standard error, unless `quiet`."""
    from mercer.report.wording import escape_controls

    if not quiet:
        _print_remark(wrap(escape_controls(text)))


def _print_remark(text: str) -> None:
    """Print lines to standard error; nothing if it is a closed pipe, because remarks are not results."""
    try:
        print(text, file=sys.stderr, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def wrap(text: str) -> str:
    """Return the text in lines that fit the terminal; unchanged if standard error is not a terminal."""
    if not sys.stderr.isatty():
        return text
    import shutil
    import textwrap

    width = shutil.get_terminal_size().columns
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def display_name(data: str) -> str:
    """Return the name of DATA in a sentence."""
    return "standard input" if data == "-" else data


def remark_first_run(quiet: bool) -> None:
    """Print why the first results take so long, if nothing has been compiled on this machine yet."""
    if _has_empty_cache():
        remark("The first run compiles code, which takes half a minute or more; later runs do not.", quiet)


def _has_empty_cache() -> bool:
    """Return whether numba's cache is empty; False if it is in a folder other than the two usual ones."""
    if folder := os.environ.get("NUMBA_CACHE_DIR"):
        cache = Path(folder)
    else:
        loops = find_spec("mercer._jit")
        if loops is None or loops.origin is None or not os.access(cache := Path(loops.origin).parent, os.W_OK):
            return False
    return next(cache.rglob("*.nbi"), None) is None


def remark_problem(data: str, rows: TableReader, problem: TargetProblem, quiet: bool) -> None:
    """Print how the data were read, and the target."""
    from mercer.report.wording import format_count

    n_rows = format_count(problem.X.num_rows, "row")
    remark(f"{display_name(data)}: {rows.described}; {n_rows}, target {problem.target!r}.", quiet)
    if problem.note:
        remark(f"The target {problem.target!r} is {problem.note}.", quiet)
    if problem.unlabelled:
        remark(f"Rows left out because they have no {problem.target!r}: {problem.unlabelled}.", quiet)


def remark_columns(schema: Schema, quiet: bool) -> None:
    """Print the kinds of the columns."""
    if quiet:
        return
    if len(schema) <= MAX_PRINTED_COLUMNS:
        _show_columns(schema)
        return
    counts = Counter(column.kind.value for column in schema)
    remark(f"{len(schema)} columns: {', '.join(f'{number} {kind}' for kind, number in counts.most_common())}.")
    for notes, names in _notable(schema).items():
        more = len(names) - MAX_REMARKED_COLUMNS
        remark(f"{listed(names[:MAX_REMARKED_COLUMNS])}{f' and {more} more' * (more > 0)}: {notes}.")


def _notable(schema: Schema) -> dict[str, list[str]]:
    """Return the columns of a wide table that are left out, converted or may split rows, grouped by their notes."""
    by_notes: dict[str, list[str]] = {}
    for column in schema:
        remarks = [note for note in column.notes if note.startswith(("identifier: ", "read as ")) or "--time" in note]
        if remarks:
            by_notes.setdefault("; ".join(remarks), []).append(column.name)
    return by_notes


def _show_columns(schema: Schema) -> None:
    if not sys.stderr.isatty():
        from mercer.report.wording import escape_controls

        _print_remark(escape_controls(str(schema)))
        return
    from rich.console import Console

    from mercer.report import print_grid

    print_grid(schema.grid(), Console(stderr=True))


def write(content: str | bytes | Iterable[bytes], path: str | Path) -> None:
    """Write a file, completely or not at all; "-" is standard output."""
    if str(path) != "-":
        from mercer._atomic import write_atomically

        write_atomically(path, content)
    else:
        from mercer.report.wording import escape_controls

        shown = sys.stdout.isatty()  # a terminal obeys escape sequences; a pipe gets the content unchanged
        if isinstance(content, str):
            print(escape_controls(content) if shown else content)
            return
        for piece in (content,) if isinstance(content, bytes) else content:
            _write_out(escape_controls(piece.decode()).encode() if shown else piece)


def _write_out(content: bytes) -> None:
    """Write all of the content to standard output, which may write only a part at a time if it is not buffered."""
    rest = memoryview(content)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]


def check_outputs(*paths: str | Path | None, inputs: Iterable[str | None] = (), deep: bool = False) -> None:
    """Check, before anything is computed, that the outputs can be written and are not among the inputs.

    A `Path` is that of a file; the string "-" is standard output. Each of `inputs` is the name of a table, a model or
    another file, or None; with `deep`, folders and patterns are read as by `mercer.data.open`.
    """
    from mercer._errors import DataError, WriteError

    if Path("-") in [path for path in paths if isinstance(path, Path)]:
        raise DataError("This output is not text and cannot go to standard output (-). Name a file.")
    files = [path for path in paths if path is not None and str(path) != "-"]
    read = list(_input_stats(inputs, deep=deep)) if files else []
    for number, path in enumerate(files):
        if Path(path).exists() and any(os.path.samestat(os.stat(path), each) for each in read):
            raise DataError(f"{str(path)!r} is an input, and is not overwritten. Name another file.")
        if any(_is_same_file(path, each) for each in files[:number]):
            raise DataError(f"{str(path)!r} is named for two outputs. Name another file for one of them.")
        folder = Path(path).parent
        if not folder.is_dir():
            raise WriteError(f"{str(path)!r} cannot be written: there is no folder {str(folder)!r}. Make it first.")
        if Path(path).is_dir():
            raise WriteError(f"{str(path)!r} cannot be written: it is a folder. Name a file in it.")
        if not os.access(path if Path(path).exists() else folder, os.W_OK):
            raise WriteError(f"{str(path)!r} cannot be written: permission denied. Name another file.")


def _input_stats(inputs: Iterable[str | None], *, deep: bool) -> Iterator[os.stat_result]:
    """Yield the status of every file that is read, in which a link and its target are the same file."""
    from mercer.data.sources.files.finding import input_files

    for name in inputs:
        if name is None:
            continue
        with suppress(OSError, ValueError):  # not a file of this system, or not a valid name
            files = [sys.stdin.fileno()] if name == "-" else input_files(name, deep=deep)
            yield from (each for each in map(os.stat, files) if stat.S_ISREG(each.st_mode))


def _is_same_file(path: str | Path, other: str | Path) -> bool:
    """Return whether both paths name the same file, which need not exist yet."""
    if Path(path).exists() and Path(other).exists():
        return Path(path).samefile(other)
    return Path(path).resolve() == Path(other).resolve()


def to_json(value: Any) -> str:
    """Return indented JSON."""
    import json

    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
