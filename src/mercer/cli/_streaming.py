"""Fits that read rows in pieces, and the choice between these and a fit in memory."""

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

#: bytes of memory for the rows and features of a file, per byte of the file, as typically measured
MEMORY_PER_FILE_BYTE = 4
#: the share of the available memory that rows may take
MEMORY_SHARE = 0.5
#: bytes of data above which the expected time of the fit is printed beforehand
LONG_FIT_BYTES = 1e9


@dataclass(frozen=True)
class StreamingOptions:
    """Options for reading rows in pieces, and for where to compute."""

    stream: bool | None = None
    engine: str = "threads"
    scheduler: str | None = None
    checkpoint: Path | None = None
    skip: bool = False

    def check(self) -> None:
        """Raise `DataError` where options contradict each other."""
        if self.scheduler is not None and self.engine != "dask":
            raise DataError("--scheduler is the address of a Dask cluster: add --engine dask.")
        if self.stream is False and self.requiring_option is not None:
            raise DataError(f"{self.requiring_option} is for rows that are read in pieces: leave --in-memory out.")

    @property
    def requiring_option(self) -> str | None:
        """The first option given that requires rows to be read in pieces."""
        given = {"--engine dask": self.engine == "dask", "--checkpoint": self.checkpoint, "--skip-damaged": self.skip}
        return next((option for option, value in given.items() if value), None)


def streaming_reason(data: str, options: StreamingOptions) -> str | None:
    """Return the reason to read rows in pieces; None if they are read into memory."""
    if options.stream is not None:
        return "because of --stream" if options.stream else None
    if options.requiring_option is not None:
        return f"because of {options.requiring_option}"
    if not Path(data).exists() and (_is_address(data) or has_magic(data)):
        return "as always from servers" if _is_address(data) else "as always for patterns"
    size, left = _size(data), available_bytes()
    if MEMORY_PER_FILE_BYTE * size <= MEMORY_SHARE * left:
        return None
    return f"{gigabytes(size)} are too much for the {gigabytes(left)} of available memory"


def _is_address(data: str) -> bool:
    return "://" in data


def _size(data: str) -> int:
    from mercer.data.readers.unpacking import plain_file

    path = plain_file(data)
    files = [path] if path.is_file() else path.rglob("*") if path.is_dir() else []
    return sum(file.stat().st_size for file in files if file.is_file())


def open_streamed(
    data: str, *, target: str | None, drop: Sequence[str], reading: Reading, options: StreamingOptions
) -> Source:
    """Open a file, folder, pattern or address whose rows are read in pieces."""
    from mercer.data import open as open_source
    from mercer.data.readers.unpacking import plain_file

    if not (plain_file(data).exists() or has_magic(data) or _is_address(data)):
        raise DataError(f"There is no file or folder {data!r} to be read in pieces.")
    if target is None:
        raise DataError("Say which column is the target with --target.")
    on_error: Any = "skip" if options.skip else "raise"
    return open_source(data, target=target, drop=drop, reading=reading, on_error=on_error)


def fit_streamed(
    name: str,
    source: Source,
    settings: dict[str, Any],
    options: StreamingOptions,
    journal: Checkpoint | None,
    bars: Any,
    quiet: bool,
) -> PreparedModel:
    """Fit a model to rows that are read in pieces, with a progress bar for each pass."""
    from mercer.application.fitting import estimate_fit_cost, fit_to_source
    from mercer.cli._printing import remark
    from mercer.engines.passes import Run, enter_run

    run = Run(journal=journal)
    run.on_piece = lambda number, pieces: bars.update(f"pass {number + 1}", run.rows, source.n_rows)
    if not quiet and (source.n_bytes or 0) > LONG_FIT_BYTES:
        remark(f"Expected: {estimate_fit_cost(name, source, settings)}")
    from mercer.engines import engine

    with nullcontext() if options.engine == "threads" else engine(options.scheduler or "dask"), enter_run(run):
        return fit_to_source(name, source, settings=settings)


def open_checkpoint(options: StreamingOptions) -> AbstractContextManager[Checkpoint | None]:
    """Return the checkpoint of --checkpoint, whose folder is locked until the end of the `with` block."""
    if options.checkpoint is None:
        return nullcontext()
    from mercer.files.checkpoints import Checkpoint

    return Checkpoint(options.checkpoint)
