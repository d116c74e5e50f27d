"""Whether the rows of a fit are read into memory or piece by piece, and the fit that reads them so."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer._errors import DataError
from mercer._memory import available_bytes, gigabytes

if TYPE_CHECKING:
    from mercer.application.preparing import PreparedModel
    from mercer.data.readers import Reading
    from mercer.data.sources.base import Source
    from mercer.files.checkpoints import Checkpoint

#: bytes that the rows and the features of a file take in memory, for each of the file: about what was seen
GROWTH = 4
#: of the memory that is left, what rows may take
SHARE = 0.5
#: bytes from which on it is said beforehand how long the fit will take
LONG = 1e9


@dataclass(frozen=True)
class StreamingOptions:
    """What was said about how to read and where to compute."""

    stream: bool | None = None
    engine: str = "threads"
    scheduler: str | None = None
    checkpoint: Path | None = None
    skip: bool = False

    def check(self) -> None:
        """Refuse what does not go together."""
        if self.scheduler is not None and self.engine != "dask":
            raise DataError("--scheduler is the address of a Dask cluster: add --engine dask.")
        if self.stream is False and self.needed is not None:
            raise DataError(f"{self.needed} is for rows that are read piece by piece: leave --in-memory out.")

    @property
    def needed(self) -> str | None:
        """The option that makes no sense but for rows read piece by piece."""
        given = {"--engine dask": self.engine == "dask", "--checkpoint": self.checkpoint, "--skip-damaged": self.skip}
        return next((option for option, there in given.items() if there), None)


def why_streamed(data: str, asked: StreamingOptions) -> str | None:
    """The reason to read rows piece by piece; None where they are read into memory."""
    if asked.stream is not None:
        return "as asked for" if asked.stream else None
    if asked.needed is not None:
        return f"for {asked.needed}"
    if not Path(data).exists() and (_is_address(data) or has_magic(data)):
        return "as servers are" if _is_address(data) else "as patterns are"
    size, left = _size(data), available_bytes()
    if GROWTH * size <= SHARE * left:
        return None
    return f"{gigabytes(size)} are too much for the {gigabytes(left)} of memory that are left"


def _is_address(data: str) -> bool:
    return "://" in data


def _size(data: str) -> int:
    from mercer.data.readers.unpacking import plain_file

    path = plain_file(data)
    files = [path] if path.is_file() else path.rglob("*") if path.is_dir() else []
    return sum(file.stat().st_size for file in files if file.is_file())


def opened_source(
    data: str, *, target: str | None, drop: Sequence[str], reading: Reading, asked: StreamingOptions
) -> Source:
    """The rows of a file or folder."""
    from mercer.data import open as open_source
    from mercer.data.readers.unpacking import plain_file

    if not (plain_file(data).exists() or has_magic(data) or _is_address(data)):
        raise DataError(f"There is no file or folder {data!r} to be read piece by piece.")
    if target is None:
        raise DataError("Say which column is the target with --target.")
    on_error: Any = "skip" if asked.skip else "raise"
    return open_source(data, target=target, drop=drop, reading=reading, on_error=on_error)


def fitted_streamed(
    name: str,
    source: Source,
    settings: dict[str, Any],
    asked: StreamingOptions,
    journal: Checkpoint | None,
    bars: Any,
    quiet: bool,
) -> PreparedModel:
    """The model, with its passes told to the bars."""
    from mercer.application.fitting import expected, fitted_source
    from mercer.cli._printing import remark
    from mercer.engines.passes import Run, running

    run = Run(journal=journal)
    run.told = lambda number, pieces: bars.tell(f"pass {number + 1}", run.rows, source.n_rows)
    if not quiet and (source.n_bytes or 0) > LONG:
        remark(f"Expected: {expected(name, source, settings)}")
    with _engine(asked), running(run):
        return fitted_source(name, source, settings=settings)


def checkpoint_of(asked: StreamingOptions) -> AbstractContextManager[Checkpoint | None]:
    """Return the journal of --checkpoint, whose folder is no other process's until the end of the `with` block."""
    if asked.checkpoint is None:
        return nullcontext()
    from mercer.files.checkpoints import Checkpoint

    return Checkpoint(asked.checkpoint)


def _engine(asked: StreamingOptions) -> Any:
    from mercer.engines import engine

    return nullcontext() if asked.engine == "threads" else engine(asked.scheduler or "dask")
