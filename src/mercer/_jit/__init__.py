"""Compiled loops, and the one decorator that compiles them.

`jit` is numba's `njit` with three differences that were measured to matter:

* numba is imported when the first loop is called, not when mercer is (it costs a third of a second);
* machine code is cached on disk under a stamp that hashes *all* compiled sources, so that an edit in one file never
  revives stale code in another that calls it;
* cached code is verified before it is loaded, and where the cache is damaged, full or absent, the loop is compiled.

Loops lie in the package that calls them, if several do in the lowest one, in modules whose names end in `loops`; what
loops of several packages share lies here.
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

# Sums may be reordered and fused so that they vectorise. The flags that assume NaN and infinity away
# are never set: missing values are found by the sums they spoil.
SUMS_MAY_BE_REORDERED = frozenset({"reassoc", "contract"})

#: `@jit(**IN_ORDER)` for sums whose terms nearly cancel, and for those over the entries of sparse rows: reordered, the
#: product with such a row is compiled to gathers, which take twice as long as one number after the other
IN_ORDER: dict[str, Any] = {"fastmath": {"contract"}}

#: 0/0 is NaN: asking of each divisor whether it is 0 does not vectorise
# nobody calls a loop from C, and its wrapper for that is a sixth of the compilation
USUAL: dict[str, Any] = {"fastmath": set(SUMS_MAY_BE_REORDERED), "error_model": "numpy", "no_cfunc_wrapper": True}

# Two threads may call a loop for the first time at once; nested because compiling a caller compiles its callees.
_compiling = threading.RLock()

if hasattr(os, "register_at_fork"):  # no child finds it held by a thread that it does not have
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


#: what numba is to be told when it is there
_untold: list[Callable[[], None]] = []


def overload(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let compiled loops call `function`, an ordinary Python one: the decorated chooser gets the numba types of its
    arguments and returns the Python function to compile in its place.

    A value that decides by its type what is computed (a loss, a kernel) is a NamedTuple whose chooser looks at
    `type.instance_class`. Unlike a function handed over as an argument, it is found in the cache again.
    """

    def remember(chooser: Callable[..., Any]) -> Callable[..., Any]:
        def tell() -> None:
            from numba.extending import overload as numbas

            options: Any = {**USUAL, "forceinline": True}  # a call in a loop keeps it from being vectorised
            numbas(function, jit_options=options)(chooser)

        _untold.append(tell)
        return chooser

    return remember


def wide_vectors() -> None:
    """Written first in a loop, lets it use the widest vectors of the machine; those it calls have to ask themselves."""


def _with_intrinsics(function: Any) -> Any:
    """The function as numba is to see it: an intrinsic takes effect only where it is called by itself."""
    from numba import config

    # set by numba from the environment
    if config.DISABLE_JIT or "wide_vectors" not in function.__code__.co_names:  # type: ignore[attr-defined]
        return function
    from mercer._jit import _wide as wide

    names = {**function.__globals__, "wide_vectors": wide.wide_vectors}
    return functools.wraps(function)(FunctionType(function.__code__, names, function.__name__))


@functools.cache
def _compile_before_forks() -> None:
    """Let forks wait for a compilation: a child would find numba's lock held forever, and its compiler halfway."""
    from numba.core.compiler_lock import global_compiler_lock as lock

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


def _compile(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    import numba
    from numba.extending import typeof_impl

    _compile_before_forks()
    # A compiled loop that calls another finds a `Loop` under its global name; tell numba what it stands for.
    if Loop not in typeof_impl.registry:
        typeof_impl.register(Loop)(lambda loop, context: typeof_impl(loop.dispatcher, context))
    while _untold:
        _untold.pop()()
    dispatcher = numba.njit(nogil=True, **options)(_with_intrinsics(function))
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        from mercer._jit._cache import CheckedCache

        with suppress(RuntimeError, OSError):  # no writable directory
            # Private to numba, hence the tests in tests/_jit.
            dispatcher._cache = CheckedCache(dispatcher.py_func, source_stamp())
    return dispatcher


class Loop:
    """A function that is compiled on its first call; `.plain` is the Python function it was made from."""

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
    options = {**USUAL, **options}
    if function is None:
        return lambda f: Loop(f, options)
    return Loop(function, options)
