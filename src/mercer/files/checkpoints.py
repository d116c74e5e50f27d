"""Checkpoints: fits that can be resumed after the process was killed, because the results of passes are on disk.

A fit is a sequence of passes over the data, and the computations between two passes depend on their results only. It is
therefore sufficient to store these results: a killed fit is started again, reads the results of its finished passes,
continues in the middle of the unfinished one, and gives the same result to the last bit. No solver is involved.

A folder belongs to one process at a time. Every file of a pass has the identity of the fits so far and of the data.
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
from mercer.engines.passes import Run, enter_run
from mercer.files import load, save
from mercer.files.model_files import fingerprint

#: the byte to lock on Windows, where locked bytes cannot be read: far behind the name of the owner
LOCKED_BYTE = 1 << 30
#: default seconds between two writes in the middle of a pass
WRITE_INTERVAL = 30.0
#: the file that marks a folder as a checkpoint
LEDGER = "checkpoint.json"
#: the file of the lock
LOCK = "checkpoint.lock"
#: names of files of a checkpoint, including unfinished ones (see `write_atomically`)
OWN = re.compile(
    r"(pass-\d{4,}(-begun)?\.mercer|checkpoint\.(json|lock))"
    r"|\.(pass-\d{4,}(-begun)?\.mercer|checkpoint\.json)\.[0-9a-f]{8}\.part"
)


class FolderInUseError(Exception):
    """An error whose argument names the owner of the lock."""


class FolderLock:
    """An exclusive lock, as a file in the folder that names its owner; the system releases it when the process ends.

    On file systems without locks the folder is used without one, and only the identities in the files are checked.
    """

    def __init__(self, file: Path) -> None:
        """Take the lock, or raise FolderInUseError."""
        self._file, self._number = file, -1
        while self._number < 0:
            number = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                _lock(number)
                if _is_at(number, file):  # else the previous owner has removed it meanwhile
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
        """True if the folder still exists and belongs to this owner."""
        return self._number >= 0 and _is_at(self._number, self._file)

    def release(self, *, remove: bool = False) -> None:
        """Release the lock; with `remove`, its file is removed first."""
        number, self._number = self._number, -1
        if number < 0:
            return
        if remove and sys.platform != "win32":  # where open files cannot be removed
            self._file.unlink(missing_ok=True)
        os.close(number)
        if remove and sys.platform == "win32":
            with suppress(OSError):
                self._file.unlink(missing_ok=True)


def _lock(number: int) -> None:
    """Lock an open file, or raise BlockingIOError if another process has the lock."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(number, LOCKED_BYTE, os.SEEK_SET)
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
    """Return the name of the owner, from the file of the lock."""
    process, _, host = os.read(number, 300).decode("utf-8", "replace").partition(" ")
    if not host:
        return "another process"
    if host != socket.gethostname():
        return f"process {process} on {host}"
    return "another fit of this process" if process == str(os.getpid()) else f"process {process}"


class Checkpoint:
    """The checkpoint of fits in a folder: a file for each pass, and a ledger with the fits.

    The folder belongs to this process until the checkpoint is closed.
    """

    def __init__(self, folder: str | Path, *, every: float = WRITE_INTERVAL) -> None:
        self._folder, self._every, self._written = Path(folder).expanduser(), every, time.monotonic()
        self._lock = self._lock_folder()
        try:
            self._known = self._read_ledger()
        except BaseException:
            self.close()
            raise
        self._entered = 0
        self._warned = False
        #: whether the ledger could not be written, so that later passes could not be identified
        self._is_lost = False
        #: digests of sources, because a stream can be read only once
        self._digests: WeakKeyDictionary[Source, str] = WeakKeyDictionary()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the folder, and keep its files."""
        self._lock.release()

    def _lock_folder(self) -> FolderLock:
        """Create the folder if it does not exist, and lock it."""
        try:
            self._folder.mkdir(exist_ok=True)
            # folders with other files are not used, so that nothing in them is lost
            if not (self._folder / LEDGER).exists() and not all(_is_own(file) for file in self._folder.iterdir()):
                raise CheckpointError(
                    f"{str(self._folder)!r} exists and is not a checkpoint; name a new or an empty folder."
                )
            return FolderLock(self._folder / LOCK)
        except FolderInUseError as owner:
            raise CheckpointError(
                f"The checkpoint in {str(self._folder)!r} is in use by {owner}. Wait until it has finished, or name "
                "another folder."
            ) from None
        except FileExistsError:
            raise CheckpointError(
                f"{str(self._folder)!r} is a file, not a folder for a checkpoint; name a folder."
            ) from None
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise WriteError(f"The folder {str(self._folder)!r} of a checkpoint cannot be created: {reason}.") from None

    # The ledger of fits.

    def enter(self, model: Any, source: Source) -> None:
        """Begin the passes of a model, or raise an error if the checkpoint is that of another fit."""
        from mercer import __version__

        rows, features = _rows_and_features(source)
        now = {
            # another version may read other pieces, or make other passes
            "version": __version__,
            "model": type(model).__name__,
            "parameters": _parameters(model),
            "data": self._data(rows),
            "features": _digest(features),
        }
        if self._entered < len(self._known):
            self._check_same_fit(self._known[self._entered], now, source)
        else:
            self._known.append(now)
            try:
                self._write_ledger(self._known)
            except WriteError as error:
                self._is_lost = True
                self._warn(error)
        self._entered += 1

    def _check_same_fit(self, before: dict[str, str], now: dict[str, str], source: Source) -> None:
        differing = [name for name in now if before.get(name) != now[name]]
        if not differing:
            return
        reasons = {
            "version": f"by another version of mercer than {now['version']}",
            "model": f"of a {before.get('model')}, not of a {now['model']}",
            "parameters": f"of a {now['model']} with other parameters",
            "data": f"to other data than {source.described}, or these have changed since",
            "features": f"to other features of {source.described}: give the feature maps the same parameters, and a "
            "random_state",
        }
        raise CheckpointError(
            f"The checkpoint in {str(self._folder)!r} is that of a fit {reasons[differing[0]]}. Name another folder, "
            "or delete this one to begin again."
        )

    def _read_ledger(self) -> list[dict[str, str]]:
        ledger = self._folder / LEDGER
        if not ledger.exists():
            self._write_ledger([])
        try:
            fits = json.loads(ledger.read_text())["fits"]
            return [{str(name): str(digest) for name, digest in fit.items()} for fit in fits]
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise CheckpointError(
                f"The ledger of the checkpoint in {str(self._folder)!r} cannot be read; delete the folder to begin "
                "again."
            ) from None

    def _write_ledger(self, fits: list[dict[str, str]]) -> None:
        write_atomically(self._folder / LEDGER, json.dumps({"fits": fits}, indent=1))

    # Results of passes.

    def find_result(self, number: int, source: Source) -> Any:
        """Return the result of a pass over these rows, or None if it is not stored."""
        return self._load(self._file(number), source)

    def find_partial_result(self, number: int, source: Source) -> Any:
        """Return the result of the first pieces of a pass, or None if it is not stored."""
        return self._load(self._file(number, part=True), source)

    def _load(self, file: Path, source: Source) -> Any:
        """Return the result in a file; None if it is that of another pass, which will be overwritten."""
        stored = load(file) if file.exists() else None
        return stored["result"] if isinstance(stored, dict) and stored.get("of") == self._identity(source) else None

    def _identity(self, source: Source) -> str:
        """Return a digest of all fits so far (models, parameters, data and features) and of the rows of a pass."""
        rows, _ = _rows_and_features(source)
        return _digest(json.dumps([self._known[: self._entered], self._data(rows)], sort_keys=True))

    def _data(self, rows: Source) -> str:
        if rows not in self._digests:
            self._digests[rows] = _digest(rows.identity)
        return self._digests[rows]

    def keep(self, number: int, source: Source, result: Any, *, finished: bool) -> None:
        """Write the result of a pass, at its end and at intervals before.

        If the disk is full, the fit continues with a warning, and the last checkpoint stays.
        """
        if self._is_lost or (not finished and time.monotonic() - self._written < self._every):
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
            warn(CheckpointWarning(f"The fit continues without new checkpoints, and the last one stays: {error}"))

    def _file(self, number: int, *, part: bool = False) -> Path:
        return self._folder / f"pass-{number:04d}{'-begun' if part else ''}.mercer"

    def remove(self) -> None:
        """Remove the files of the checkpoint, and the folder if it has no others."""
        if not self._lock.is_held:  # the folder is removed, or belongs to another process
            self.close()
            return
        with suppress(OSError):
            for file in [each for each in self._folder.iterdir() if _is_own(each) and each.name != LOCK]:
                file.unlink(missing_ok=True)
        self._lock.release(remove=True)
        with suppress(OSError):  # other files stay
            self._folder.rmdir()


@contextmanager
def checkpointed(path: str | Path, *, every: float = WRITE_INTERVAL) -> Iterator[None]:
    """Store the passes of all fits inside the `with` block, so that the fits can be resumed after a crash.

    If the same fits are run again after a crash, they continue where they stopped. When all fits are done, the files
    of the checkpoint are removed, and the folder too unless it has others. If another process uses the same folder
    meanwhile, it raises a `CheckpointError`.

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
        with enter_run(Run(journal=journal)):
            yield
        journal.remove()


def _is_own(file: Path) -> bool:
    return OWN.fullmatch(file.name) is not None


def _parameters(model: Any) -> str:
    try:
        return fingerprint(model)
    except UnsavableError as failure:
        raise CheckpointError(
            f"The checkpoint of this {type(model).__name__} could not be identified: {failure}"
        ) from None


def _rows_and_features(source: Source) -> tuple[Source, str]:
    """Return the source of the rows and a description of all functions that are applied to them."""
    functions = []
    while isinstance(source, Mapped):
        functions.append(_describe(source.function))
        source = source.source
    return source, "; ".join(functions)


def _describe(function: Any) -> str:
    """Return the name of a function, with its partial arguments as far as they can be stored."""
    if not isinstance(function, functools.partial):
        return f"{function.__module__}.{getattr(function, '__qualname__', type(function).__name__)}"
    given = [_without_plan(each) for each in (*function.args, *function.keywords.values())]
    try:
        return f"{_describe(function.func)} {list(function.keywords)} {fingerprint(given)}"
    except UnsavableError:
        return f"{_describe(function.func)} {[type(each).__name__ for each in given]}"


def _without_plan(thing: Any) -> Any:
    """Return a model without its plan, because the number of threads does not matter."""
    if not hasattr(thing, "plan_"):
        return thing
    thing = copy.copy(thing)
    vars(thing).pop("plan_", None)
    return thing


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
