"""What was found goes to standard output, remarks to standard error."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from mercer.data.schema import Schema
    from mercer.report import Grid

#: columns that are listed one by one; of more only how many there are of each kind
MOST_COLUMNS = 40


def console() -> Console:
    """Standard output, as rich writes to it; a reader that went away ends the command as any other write does."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    # a file or a pipe is as wide as what is written
    return Plain(soft_wrap=True) if sys.stdout.isatty() else Plain(width=MOST_WIDE, soft_wrap=True)


#: characters of a line where no terminal says how many there are
MOST_WIDE = 160


def show(grid: Grid) -> None:
    """Print a table."""
    from mercer.report import print_grid

    print_grid(grid, console())


def remark(text: str, quiet: bool = False) -> None:
    """Something worth knowing that is not what was asked for."""
    if not quiet:
        print(text, file=sys.stderr)


def remark_columns(schema: Schema, quiet: bool) -> None:
    """What the columns were taken for."""
    if quiet:
        return
    if len(schema) <= MOST_COLUMNS:
        remark(str(schema))
        return
    counts = Counter(column.kind.value for column in schema)
    remark(f"{len(schema)} columns: {', '.join(f'{number} {kind}' for kind, number in counts.most_common())}.")


def write(text: str | bytes, path: str | Path) -> None:
    """To a file, whole or not at all; "-" is standard output."""
    if str(path) == "-":
        print(text if isinstance(text, str) else text.decode())
        return
    from mercer._atomic import write_atomically

    write_atomically(path, text)


def write_out(content: bytes) -> None:
    """All of it to standard output, which writes only a part of it at a time where Python does not buffer it."""
    rest = memoryview(content)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]


def check_places(*paths: str | Path | None) -> None:
    """Refuse, before anything is computed, places where nothing can be written."""
    import os

    from mercer._errors import WriteError

    for path in paths:
        if path is None or str(path) == "-":
            continue
        folder = Path(path).parent
        if not folder.is_dir():
            raise WriteError(f"{str(path)!r} cannot be written: there is no folder {str(folder)!r}. Make it first.")
        if not os.access(path if Path(path).exists() else folder, os.W_OK):
            raise WriteError(f"{str(path)!r} cannot be written: permission denied. Name another place.")


def as_json(value: Any) -> str:
    """JSON as people read it."""
    import json

    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
