"""Fits that survive being killed: the results of their passes are kept on disk.

A fit is a sequence of passes over the data, and what is done between two passes follows from their results alone. So
the results are all that has to be kept: a fit that was killed is simply begun again, finds the results of the passes
it had finished, reads on in the middle of the one it had not, and comes to the same answer, to the last bit. No solver
knows of it.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mercer._atomic import write_atomically
from mercer._errors import CheckpointError, CheckpointWarning, UnsavableError, WriteError
from mercer._warn import warn
from mercer.data.sources.base import Mapped, Source
from mercer.engines.running import Run, running
from mercer.files import load, save
from mercer.files.model_files import fingerprint

#: seconds between two writes of a pass that goes on
EVERY = 30.0
#: what tells a folder of ours from any other
LEDGER = "checkpoint.json"


class Checkpoint:
    """The journal of a fit in a folder: a file for each pass, and a ledger of whose passes they are."""

    def __init__(self, folder: str | Path, *, every: float = EVERY) -> None:
        self._folder, self._every, self._written = Path(folder).expanduser(), every, time.monotonic()
        self._known = self._read_ledger()
        self._entered = 0
        self._warned = False
        #: whether the ledger could not be written: whose passes would follow is then not known to anyone
        self._lost = False

    # Whose passes.

    def enter(self, model: Any, source: Source) -> None:
        """The passes that follow are those of this model; refused if another one was fitted here before."""
        from mercer import __version__

        rows, features = _rows_and_features(source)
        now = {
            # another one may cut data into other pieces, or make other passes
            "version": __version__,
            "model": type(model).__name__,
            "parameters": _parameters(model),
            "data": _digest(rows.identity),
            "features": _digest(features),
        }
        if self._entered < len(self._known):
            self._refuse_another(self._known[self._entered], now, source)
        else:
            self._known.append(now)
            try:
                self._write_ledger(self._known)
            except WriteError as error:
                self._lost = True
                self._warn(error)
        self._entered += 1

    def _refuse_another(self, before: dict[str, str], now: dict[str, str], source: Source) -> None:
        differs = [what for what in now if before.get(what) != now[what]]
        if not differs:
            return
        said = {
            "version": f"by another version of mercer than {now['version']}",
            "model": f"of a {before.get('model')}, not of a {now['model']}",
            "parameters": f"of a {now['model']} with other parameters",
            "data": f"to other data than {source.described}, or these have changed since",
            "features": f"to other features of {source.described}: give what makes them the same parameters, and a "
            "random_state",
        }
        raise CheckpointError(
            f"The checkpoint in {str(self._folder)!r} is that of a fit {said[differs[0]]}. Name another folder, or "
            "delete this one to begin anew."
        )

    def _read_ledger(self) -> list[dict[str, str]]:
        ledger = self._folder / LEDGER
        if not self._folder.exists():
            try:
                self._folder.mkdir()
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise WriteError(
                    f"The folder {str(self._folder)!r} cannot be made for a checkpoint: {reason}."
                ) from None
        if not ledger.exists():
            if not self._folder.is_dir() or not all(map(_is_unfinished, self._folder.iterdir())):
                raise CheckpointError(
                    f"{str(self._folder)!r} is there and holds no checkpoint; name a new or an empty folder for one."
                )
            self._write_ledger([])
        try:
            fits = json.loads(ledger.read_text())["fits"]
            return [{str(what): str(digest) for what, digest in fit.items()} for fit in fits]
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise CheckpointError(
                f"The ledger of the checkpoint in {str(self._folder)!r} cannot be read; delete the folder to begin "
                "anew."
            ) from None

    def _write_ledger(self, fits: list[dict[str, str]]) -> None:
        write_atomically(self._folder / LEDGER, json.dumps({"fits": fits}, indent=1))

    # Results of passes.

    def finished(self, number: int) -> Any:
        """The result of that pass, if it was done before; else None."""
        return self._kept(self._file(number))

    def begun(self, number: int) -> Any:
        """The result of its first pieces, if some were done before; else None."""
        return self._kept(self._file(number, part=True))

    def _kept(self, file: Path) -> Any:
        return load(file) if file.exists() else None

    def keep(self, number: int, result: Any, *, finished: bool) -> None:
        """Write the result of a pass: at its end, and now and then on the way.

        A disk that is full is no reason to lose the fit: it goes on, the last checkpoint stays, and a warning says so.
        """
        if self._lost or (not finished and time.monotonic() - self._written < self._every):
            return
        try:
            save(result, self._file(number, part=not finished))
        except (WriteError, UnsavableError) as error:
            self._warn(error)
        else:
            if finished:
                self._file(number, part=True).unlink(missing_ok=True)
        self._written = time.monotonic()

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            warn(CheckpointWarning(f"The fit goes on without new checkpoints, and the last one stays: {error}"))

    def _file(self, number: int, *, part: bool = False) -> Path:
        return self._folder / f"pass-{number:04d}{'-begun' if part else ''}.mercer"

    def remove(self) -> None:
        """The fit is done, and nothing is left to go on with."""
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def checkpointed(path: str | Path, *, every: float = EVERY) -> Iterator[None]:
    """Keep on disk the passes of all fits inside the `with` block, so that they survive being killed.

    Run the same fits again after a crash, and they continue where they were. The folder is removed when all are done.

    Parameters
    ----------
    path : str or Path
        A folder; it is created if it does not exist.
    every : float, default=30
        Seconds between two writes in the middle of a pass.

    Examples
    --------
    >>> import tempfile
    >>> import mercer, numpy as np
    >>> X, y = np.random.default_rng(0).normal(size=(100, 2)), np.arange(100) % 2
    >>> source = mercer.data.open(X, y=y)
    >>> with tempfile.TemporaryDirectory() as folder, mercer.checkpointed(f"{folder}/fit"):
    ...     model = mercer.GaussianNB().fit(source)
    """
    journal = Checkpoint(path, every=every)
    with running(Run(journal=journal)):
        yield
    journal.remove()


def _is_unfinished(file: Path) -> bool:
    """Whether somebody was killed while writing it: see `write_atomically`."""
    return file.name.startswith(".") and file.suffix == ".part"


def _parameters(model: Any) -> str:
    try:
        return fingerprint(model)
    except UnsavableError as failure:
        raise CheckpointError(
            f"Nobody could tell the checkpoint of this {type(model).__name__} from that of another: {failure}"
        ) from None


def _rows_and_features(source: Source) -> tuple[Source, str]:
    """What is read, and what is done to it: the same rows through other features are other data."""
    done = []
    while isinstance(source, Mapped):
        done.append(_what(source.function))
        source = source.source
    return source, "; ".join(done)


def _what(function: Any) -> str:
    """A function by its name, and by what it was given beforehand where files can hold that."""
    if not isinstance(function, functools.partial):
        return f"{function.__module__}.{getattr(function, '__qualname__', type(function).__name__)}"
    given = [_without_plan(each) for each in (*function.args, *function.keywords.values())]
    try:
        return f"{_what(function.func)} {list(function.keywords)} {fingerprint(given)}"
    except UnsavableError:
        return f"{_what(function.func)} {[type(each).__name__ for each in given]}"


def _without_plan(thing: Any) -> Any:
    """A model without what was noted of its fit: how many threads there were changes nothing."""
    if not hasattr(thing, "plan_"):
        return thing
    thing = copy.copy(thing)
    vars(thing).pop("plan_", None)
    return thing


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
