"""The decorator of compiled loops.

`jit` is numba's `njit` with three differences that were measured to matter:

* numba is imported when the first loop is called, not when mercer is imported (it takes a third of a second);
* machine code is cached on disk under a hash of *all* compiled sources, so that after an edit no stale code of a
  caller in another file is loaded;
* cached code is verified before it is loaded, and if the cache is damaged, full or absent, the loop is compiled.

Loops are in the package that calls them (the lowest one, if several do), in modules whose names end in `loops`; loops
that several packages share are here.
"""

from __future__ import annotations

import functools
import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

__all__ = ["IN_ORDER", "jit", "overload", "wide_vectors"]

#: sums may be reordered and fused so that they can be vectorized; the flags that assume that there is no NaN or
#: infinity are never set, as missing values are found by sums that are NaN
SUMS_MAY_BE_REORDERED = frozenset({"reassoc", "contract"})

#: `@jit(**IN_ORDER)` for sums whose terms nearly cancel, and for sums over the entries of sparse rows: if reordered, a
#: product with such a row is compiled to gather instructions, which take twice as long as scalar ones
IN_ORDER: dict[str, Any] = {"fastmath": {"contract"}}

#: default options: 0/0 is NaN, as a test of each divisor prevents vectorization, and there is no wrapper for calls from
#: C, which takes a sixth of the compilation
DEFAULT_OPTIONS: dict[str, Any] = {
    "fastmath": set(SUMS_MAY_BE_REORDERED),
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}

# Two threads may call a loop for the first time; the lock is reentrant as compiling a caller compiles its callees.
_compiling = threading.RLock()

if hasattr(os, "register_at_fork"):  # a child process must not inherit the lock held by a thread of its parent
    os.register_at_fork(
        before=_compiling.acquire, after_in_parent=_compiling.release, after_in_child=_compiling.release
    )


@functools.cache
def source_stamp() -> str:
    """Return a hash of all sources of compiled code: those of this package, and every module named `…loops`."""
    digest = hashlib.sha256()
    here = Path(__file__).parent
    for path in sorted({*here.rglob("*.py"), *here.parent.rglob("*loops.py")}):
        digest.update(path.read_bytes())
    return digest.hexdigest()


#: registrations of overloads that wait for the import of numba
_pending_overloads: list[Callable[[], None]] = []


def overload(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a Python function callable from compiled loops, as `numba.extending.overload` does.

    The decorated chooser gets the numba types of the arguments and returns the Python function to compile.
    A value whose type decides what is computed (a loss, a kernel) is a NamedTuple, and its chooser dispatches on
    `type.instance_class`. Unlike code that takes a function as an argument, such code is found in the cache.
    """

    def decorate(chooser: Callable[..., Any]) -> Callable[..., Any]:
        def register() -> None:
            from numba.extending import overload as numba_overload

            options: Any = {**DEFAULT_OPTIONS, "forceinline": True}  # a call in a loop prevents vectorization
            numba_overload(function, jit_options=options)(chooser)

        _pending_overloads.append(register)
        return chooser

    return decorate


def wide_vectors() -> None:
    """Compile the calling loop for the widest vectors of the machine; loops that it calls need a call of their own."""


def _with_intrinsics(function: Any) -> Any:
    """Replace `wide_vectors` by its intrinsic in the globals of a loop, as only a direct call of it has an effect."""
    from numba import config

    # set by numba from the environment
    if config.DISABLE_JIT or "wide_vectors" not in function.__code__.co_names:  # type: ignore[attr-defined]
        return function
    from mercer._jit._wide import wide_vectors as intrinsic

    names = {**function.__globals__, "wide_vectors": intrinsic}
    return functools.wraps(function)(FunctionType(function.__code__, names, function.__name__))


@functools.cache
def _compile_before_forks() -> None:
    """Make forks wait for a running compilation, as a child would inherit numba's lock in the locked state."""
    from numba.core.compiler_lock import global_compiler_lock as lock

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


def _compile(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    import numba
    from numba.extending import typeof_impl

    _compile_before_forks()
    # numba finds a `Loop` under the global name of a loop that is called by another: register its type.
    if Loop not in typeof_impl.registry:
        typeof_impl.register(Loop)(lambda loop, context: typeof_impl(loop.dispatcher, context))
    while _pending_overloads:
        _pending_overloads.pop()()
    dispatcher = numba.njit(nogil=True, **options)(_with_intrinsics(function))
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        from mercer._jit._cache import CheckedCache

        with suppress(RuntimeError, OSError):  # no writable directory
            # a private attribute of numba, tested in tests/_jit
            dispatcher._cache = CheckedCache(dispatcher.py_func, source_stamp())
    return dispatcher


class Loop:
    """A function that is compiled on its first call; `.plain` is the Python function."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.plain = function
        self._options = options
        self._dispatcher: Any = None

    @property
    def dispatcher(self) -> Any:
        if self._dispatcher is None:
            with _compiling:
                if self._dispatcher is None:
                    self._dispatcher = _compile(self.plain, self._options)
        return self._dispatcher

    def __call__(self, *args: Any) -> Any:
        return self.dispatcher(*args)


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile `function` on first use, without the GIL, cached on disk.

    Examples
    --------
    >>> @jit
    ... def total(x):
    ...     s = 0.0
    ...     for value in x:
    ...         s += value
    ...     return s
    """
    options = {**DEFAULT_OPTIONS, **options}
    if function is None:
        return lambda f: Loop(f, options)
    return Loop(function, options)
