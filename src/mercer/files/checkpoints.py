"""Fits that survive being killed: the results of their passes are kept on disk.

A fit is a sequence of passes over the data, and what is done between two passes follows from their results alone. So
the results are all that has to be kept: a fit that was killed is simply begun again, finds the results of the passes
it had finished, reads on in the middle of the one it had not, and comes to the same answer, to the last bit. No solver
knows of it.

A folder belongs to one process at a time, and every file of a pass carries whose it is: the fits so far and the data.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import os
import re
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from weakref import WeakKeyDictionary

from mercer._atomic import write_atomically
from mercer._errors import CheckpointError, CheckpointWarning, UnsavableError, WriteError
from mercer._warn import warn
from mercer.data.sources.base import Mapped, Source
from mercer.engines.passes import Run, running
from mercer.files import load, save
from mercer.files.model_files import fingerprint

# A lock on a folder, held by one process at a time; the system takes it back when the process dies.

#: the byte that is locked on Windows, where one that is locked cannot be read: far behind those that name the owner
LOCKED = 1 << 30


class FolderInUseError(Exception):
    """Another owner has the lock: its argument names who."""


class FolderLock:
    """An exclusive lock, as a file in the folder that names its owner.

    File systems that have no locks are used without: what is read there has to prove itself.
    """

    def __init__(self, file: Path) -> None:
        """Take the lock, or raise FolderInUseError."""
        self._file, self._number = file, -1
        while self._number < 0:
            number = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                _lock(number)
                if _is_at(number, file):  # else the owner before has removed it meanwhile
                    self._number = number
            except BlockingIOError:
                raise FolderInUseError(_owner(number)) from None
            finally:
                if self._number < 0:
                    os.close(number)
        os.ftruncate(self._number, 0)
        os.write(self._number, f"{os.getpid()} {socket.gethostname()}".encode())

    @property
    def is_held(self) -> bool:
        """Whether the folder is still there, and still this owner's."""
        return self._number >= 0 and _is_at(self._number, self._file)

    def release(self, *, remove: bool = False) -> None:
        """Give the lock back; with `remove`, its file goes first."""
        number, self._number = self._number, -1
        if number < 0:
            return
        if remove and sys.platform != "win32":  # there an open file stays
            self._file.unlink(missing_ok=True)
        os.close(number)
        if remove and sys.platform == "win32":
            with suppress(OSError):
                self._file.unlink(missing_ok=True)


def _lock(number: int) -> None:
    """Lock an open file; BlockingIOError where another one has it."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(number, LOCKED, os.SEEK_SET)
        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BlockingIOError from None
        finally:
            os.lseek(number, 0, os.SEEK_SET)
    else:
        import fcntl

        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:  # the file system has no locks
            return


def _is_at(number: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(number), file.stat())
    except OSError:
        return False


def _owner(number: int) -> str:
    """Name the owner by what it wrote."""
    process, _, host = os.read(number, 300).decode("utf-8", "replace").partition(" ")
    if not host:
        return "another process"
    if host != socket.gethostname():
        return f"process {process} on {host}"
    return "another fit of this process" if process == str(os.getpid()) else f"process {process}"


#: seconds between two writes of a pass that goes on
EVERY = 30.0
#: what tells a folder of ours from any other
LEDGER = "checkpoint.json"
#: who uses the folder
LOCK = "checkpoint.lock"
#: files that are ours; those that were never finished among them (see `write_atomically`)
OWN = re.compile(
    r"(pass-\d{4,}(-begun)?\.mercer|checkpoint\.(json|lock))"
    r"|\.(pass-\d{4,}(-begun)?\.mercer|checkpoint\.json)\.[0-9a-f]{8}\.part"
)


class Checkpoint:
    """The journal of a fit in a folder: a file for each pass, and a ledger of whose passes they are.

    It belongs to this process until it is closed.
    """

    def __init__(self, folder: str | Path, *, every: float = EVERY) -> None:
        self._folder, self._every, self._written = Path(folder).expanduser(), every, time.monotonic()
        self._lock = self._locked()
        try:
            self._known = self._read_ledger()
        except BaseException:
            self.close()
            raise
        self._entered = 0
        self._warned = False
        #: whether the ledger could not be written: whose passes would follow is then not known to anyone
        self._lost = False
        #: of the rows of a source: a stream can be asked once
        self._rows: WeakKeyDictionary[Source, str] = WeakKeyDictionary()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others use the folder; what was kept stays."""
        self._lock.release()

    def _locked(self) -> FolderLock:
        """Make the folder if there is none, and take it."""
        try:
            self._folder.mkdir(exist_ok=True)
            # what is not ours is not touched, so that nothing of it is lost
            if not (self._folder / LEDGER).exists() and not all(_is_own(file) for file in self._folder.iterdir()):
                raise CheckpointError(
                    f"{str(self._folder)!r} is there and holds no checkpoint; name a new or an empty folder for one."
                )
            return FolderLock(self._folder / LOCK)
        except FolderInUseError as owner:
            raise CheckpointError(
                f"The checkpoint in {str(self._folder)!r} is in use by {owner}. Wait until that is done, or name "
                "another folder."
            ) from None
        except FileExistsError:
            raise CheckpointError(
                f"{str(self._folder)!r} is a file, and no folder for a checkpoint; name another place."
            ) from None
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise WriteError(f"The folder {str(self._folder)!r} cannot be made for a checkpoint: {reason}.") from None

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
            "data": self._data(rows),
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
        if not ledger.exists():
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

    def finished(self, number: int, source: Source) -> Any:
        """The result of that pass over these rows, if it was done before; else None."""
        return self._kept(self._file(number), source)

    def begun(self, number: int, source: Source) -> Any:
        """The result of its first pieces, if some were done before; else None."""
        return self._kept(self._file(number, part=True), source)

    def _kept(self, file: Path, source: Source) -> Any:
        """What a file holds; None where it is that of other passes, to be written over."""
        kept = load(file) if file.exists() else None
        return kept["result"] if isinstance(kept, dict) and kept.get("of") == self._identity(source) else None

    def _identity(self, source: Source) -> str:
        """Of a pass: the models, parameters, data and features of the fits so far, and the rows that it reads."""
        rows, _ = _rows_and_features(source)
        return _digest(json.dumps([self._known[: self._entered], self._data(rows)], sort_keys=True))

    def _data(self, rows: Source) -> str:
        if rows not in self._rows:
            self._rows[rows] = _digest(rows.identity)
        return self._rows[rows]

    def keep(self, number: int, source: Source, result: Any, *, finished: bool) -> None:
        """Write the result of a pass: at its end, and now and then on the way.

        A disk that is full is no reason to lose the fit: it goes on, the last checkpoint stays, and a warning says so.
        """
        if self._lost or (not finished and time.monotonic() - self._written < self._every):
            return
        if not self._lock.is_held:
            self._warn(WriteError(f"The folder {str(self._folder)!r} was removed or taken by another process."))
            return
        try:
            save({"of": self._identity(source), "result": result}, self._file(number, part=not finished))
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
        """Remove what was kept, once the fit is done, and the folder if it holds nothing else."""
        if not self._lock.is_held:  # the folder is gone, or another's
            self.close()
            return
        with suppress(OSError):
            for file in [each for each in self._folder.iterdir() if _is_own(each) and each.name != LOCK]:
                file.unlink(missing_ok=True)
        self._lock.release(remove=True)
        with suppress(OSError):  # other files stay
            self._folder.rmdir()


@contextmanager
def checkpointed(path: str | Path, *, every: float = EVERY) -> Iterator[None]:
    """Keep on disk the passes of all fits inside the `with` block, so that they survive being killed.

    Run the same fits again after a crash, and they continue where they were. When all are done, the files of the
    checkpoint are removed, and the folder unless it holds others. Another process that is given the same folder
    meanwhile gets a `CheckpointError`.

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
    with Checkpoint(path, every=every) as journal:
        with running(Run(journal=journal)):
            yield
        journal.remove()


def _is_own(file: Path) -> bool:
    return OWN.fullmatch(file.name) is not None


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
