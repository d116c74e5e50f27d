"""Print how much of mercer one call passes through: files, functions and the depth of the call stack.

    python tools/walk.py                     one row for each call
    python tools/walk.py --against sklearn   the same for scikit-learn's estimators beside it
    python tools/walk.py Ridge               the functions of one call, each below the one that first called it

Calls are warm (the second of two) and their data are tiny. Only Python functions in files of the package count, and
functions compiled by numba that these call; lambdas, comprehensions and generator expressions belong to the function
around them. The numbers show how far a reader has to go. They are not targets: code is not split or joined for them.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa


class Function(NamedTuple):
    """A function, by the place of its definition."""

    file: str
    name: str
    line: int


class Trace:
    """The functions of a folder that one call passed through."""

    def __init__(self) -> None:
        #: in the order of their first calls, each with the function of the folder that made this call
        self.callers: dict[Function, Function | None] = {}
        self.depth = 0

    @property
    def files(self) -> set[str]:
        return {function.file for function in self.callers}

    def add(self, stack: list[Function]) -> None:
        """Record a call, given the functions on its stack, the innermost first."""
        self.callers.setdefault(stack[0], stack[1] if len(stack) > 1 else None)
        self.depth = max(self.depth, len(stack))

    def tree(self, caller: Function | None = None, indent: str = "") -> Iterator[str]:
        """Yield a line `file:function` for each function, indented below its first caller."""
        for function in [called for called, by in self.callers.items() if by == caller]:
            yield f"{indent}{function.file}:{function.name}"
            yield from self.tree(function, indent + "  ")


class Tracer:
    """Traces calls through the files of a folder.

    Threads that start within a call are included, each with a stack of its own. Use one tracer for all calls of a
    process: it also reaches threads that a pool keeps from one call to the next.
    """

    def __init__(self, folder: Path) -> None:
        self._prefix = f"{folder}{os.sep}"
        self._trace: Trace | None = None

    def trace(self, call: Callable[[], object]) -> Trace:
        """Return the trace of the second of two calls."""
        threading.setprofile(self._record)
        try:
            call()
            self._trace = trace = Trace()
            sys.setprofile(self._record)
            call()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            self._trace = None
        return trace

    def _record(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and self._trace is not None and self._counts(frame):
            running = sys._getframe(1)  # the caller, for compiled functions: their frames are not linked to it
            stack = [*([] if running is frame else [frame]), *frames(running)]
            self._trace.add([self._function(each) for each in stack if self._counts(each)])

    def _counts(self, frame: FrameType) -> bool:
        code = frame.f_code
        return code.co_filename.startswith(self._prefix) and not code.co_name.startswith("<")

    def _function(self, frame: FrameType) -> Function:
        code = frame.f_code
        file = Path(code.co_filename.removeprefix(self._prefix)).as_posix()
        return Function(file, code.co_qualname, code.co_firstlineno)


def frames(innermost: FrameType) -> Iterator[FrameType]:
    frame: FrameType | None = innermost
    while frame is not None:
        yield frame
        frame = frame.f_back


def calls(package: str) -> dict[str, Callable[[], object]]:
    """Return the calls that are traced, by name; scikit-learn has only some of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.standard_normal(60)
    labels = np.where(y > 0, "yes", "no")
    counts = rng.poisson(np.exp(X[:, 0] / 2))
    texts = ["the cat sat on the mat", "the dog barked", "a cat and a dog"]
    table = pa.table({"x": X[:, 0], "colour": np.where(X[:, 1] > 0, "red", "green")})
    # scikit-learn's module, and the call, given what the name before its parenthesis stands for
    known: dict[str, tuple[str, Callable[[Any], object]]] = {
        "LogisticRegression().fit()": ("linear_model", lambda public: public().fit(X, labels)),
        "Ridge().fit()": ("linear_model", lambda public: public().fit(X, y)),
        "Lasso().fit()": ("linear_model", lambda public: public(alpha=0.1).fit(X, y)),
        "PoissonRegressor().fit()": ("linear_model", lambda public: public().fit(X, counts)),
        "GLM().fit(offset)": ("", lambda public: public("poisson").fit(X, counts, offset=X[:, 1])),
        "SVC().fit().predict()": ("svm", lambda public: public().fit(X, labels).predict(X)),
        "GaussianNB().fit()": ("naive_bayes", lambda public: public().fit(X, labels)),
        "KernelDensity().fit()": ("neighbors", lambda public: public().fit(X)),
        "CountVectorizer().fit_transform()": ("feature_extraction.text", lambda public: public().fit_transform(texts)),
        "KernelRidge().fit()": ("kernel_ridge", lambda public: public(kernel="rbf").fit(X, y)),
        "compare()": ("", lambda public: public(table, labels)),
    }
    found: dict[str, Callable[[], object]] = {}
    for name, (module, call) in known.items():
        if package == "mercer" or module:
            home = importlib.import_module("mercer" if package == "mercer" else f"{package}.{module}")
            found[name] = partial(call, getattr(home, public_name(name)))
    return found


def public_name(call: str) -> str:
    return call.partition("(")[0]


def trace_all(package: str, name: str | None = None) -> Iterator[tuple[str, Trace]]:
    """Yield the name and the trace of each call, or of those of one public name."""
    tracer = Tracer(Path(str(importlib.import_module(package).__file__)).parent)
    for call, run in calls(package).items():
        if name in (None, public_name(call)):
            yield call, tracer.trace(run)


def table_rows(packages: list[str], name: str | None = None) -> Iterator[str]:
    """Yield the lines of the table: a row for each call, three columns for each package."""
    yield f"{'':34}" + "".join(f"{package + ' files':>15}{'functions':>11}{'depth':>7}" for package in packages)
    others = [dict(trace_all(package, name)) for package in packages[1:]]
    for call, trace in trace_all(packages[0], name):
        cells = [trace, *(other.get(call) for other in others)]
        yield f"{call:34}" + "".join(map(three_columns, cells))


def three_columns(trace: Trace | None) -> str:
    files, functions, depth = (len(trace.files), len(trace.callers), trace.depth) if trace else ("–",) * 3
    return f"{files:>15}{functions:>11}{depth:>7}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = [public_name(call) for call in calls("mercer")]
    parser.add_argument("name", nargs="?", choices=names, help="print the tree of this call")
    parser.add_argument("--against", choices=["sklearn"], help="another package to trace")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    packages = ["mercer", options.against] if options.against else ["mercer"]
    if not options.name:
        for line in table_rows(packages):
            print(line, flush=True)
    for package in packages if options.name else []:
        for _, trace in trace_all(package, options.name):
            print(*trace.tree(), sep="\n")


if __name__ == "__main__":
    main()
