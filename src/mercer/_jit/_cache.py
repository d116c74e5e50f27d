"""Cache of machine code on disk, verified by digests.

numba's own cache unpickles files without a check: a truncated file made every fit fail, and a damaged one could crash
the process. Here each file is verified by a digest before it is unpickled, and after any error the loop is compiled.
The digest detects damage, not attacks: see SECURITY.md.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import stat
from collections.abc import Callable
from glob import escape
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

from mercer._atomic import write_atomically
from mercer._errors import MercerWarning
from mercer._warn import warn

#: bytes of the digests of files
DIGEST_BYTES = 16


class CheckedCache(FunctionCache):
    """The cache of one loop: that of numba with checked files, which raises no errors."""

    def __init__(self, function: Callable[..., Any], stamp: str) -> None:
        super().__init__(function)
        files: Any = CheckedFiles(Path(self.cache_path), self._impl.filename_base, stamp)
        self._cache_file = files
        named: str = numba.config.CACHE_DIR  # type: ignore[attr-defined]
        if named:  # by default the cache is beside the sources or in the user's own folder
            _warn_of_other_writers(named, self.cache_path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            return None  # after any error the loop is compiled

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            reason = error.__cause__ if isinstance(error.__cause__, OSError) else error
            _warn_of_a_failed_write(self.cache_path, (reason.strerror or str(reason)).lower())


class CheckedFiles:
    """An index of signatures and one file of machine code for each, named by the digest of its contents.

    The index begins with a digest of its contents and of the stamp, so that an index of other sources or of another
    version of numba is ignored.
    """

    def __init__(self, folder: Path, base: str, stamp: str) -> None:
        self.folder, self.base = folder, base
        self.stamp = f"{stamp} {numba.__version__}".encode()
        self.index = folder / f"{base}.nbi"

    def load(self, key: Any) -> Any:
        """Return what was saved under a key, or None."""
        name = self._entries().get(key)
        if name is None:
            return None
        content = (self.folder / name).read_bytes()
        # the digest proves that mercer wrote these bytes
        return pickle.loads(content) if name == self._name(content) else None  # noqa: S301

    def save(self, key: Any, data: Any) -> None:
        """Write the data, then the index with its name, then remove the files that the index does not contain."""
        content = dumps(data)
        entries = self._entries() | {key: self._name(content)}
        write_atomically(self.folder / entries[key], content)
        listed = dumps(entries)
        write_atomically(self.index, self._digest(self.stamp + listed) + listed)
        current = set(entries.values())
        for path in self.folder.glob(f"{escape(self.base)}.*.nbc"):
            if path.name not in current:
                path.unlink(missing_ok=True)

    def flush(self) -> None:
        self.index.unlink(missing_ok=True)

    def _entries(self) -> dict[Any, str]:
        """Names of the files by key; empty if the index is absent, damaged or of another stamp."""
        try:
            content = self.index.read_bytes()
            digest, listed = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
            return pickle.loads(listed) if digest == self._digest(self.stamp + listed) else {}  # noqa: S301
        except Exception:  # unpickling may fail, e.g. if the class of a signature was renamed
            return {}

    def _name(self, content: bytes) -> str:
        return f"{self.base}.{self._digest(content).hex()}.nbc"

    @staticmethod
    def _digest(content: bytes) -> bytes:
        return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()


@functools.cache
def _warn_of_a_failed_write(folder: str, reason: str) -> None:
    warn(
        f"Compiled loops cannot be kept in {folder!r} ({reason}): every process compiles them anew. "
        "Make room there, or name another folder by NUMBA_CACHE_DIR.",
        MercerWarning,
    )


@functools.cache
def _warn_of_other_writers(*folders: str) -> None:
    if not hasattr(os, "geteuid"):  # Windows has other permissions
        return
    for folder in folders:
        folder_status = os.stat(folder)
        by_group = folder_status.st_mode & stat.S_IWGRP and folder_status.st_gid != os.getegid()
        if folder_status.st_mode & stat.S_IWOTH or by_group or folder_status.st_uid not in (0, os.geteuid()):
            warn(
                f"Other users can write to {folder!r}, where NUMBA_CACHE_DIR keeps machine code that this process "
                "runs. Name a folder that only you can write to.",
                MercerWarning,
            )
            return
