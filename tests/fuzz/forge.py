"""Forge model files and load them in processes of their own: `python -m tests.fuzz.forge 300000`.

Each forged file is loaded and, if it is taken, public methods of the model are called. Workers are forked from one
process that has fitted the models and compiled their loops; each has bounded memory, and one that takes too long or
goes down is replaced. A find has the number of its mutation; `--only NUMBER` repeats it.

With `--bounds` compiled loops check their indices (NUMBA_BOUNDSCHECK=1, with compiled code of its own in build/), and
an index out of bounds is a find, also where a method explains it or loading rejects the file because of it.
"""

from __future__ import annotations

import argparse
import faulthandler
import inspect
import json
import mmap
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

import mercer
from mercer._errors import MercerError, ModelFileError
from mercer.files import load, save
from tests.files._cases import CASES, frame, numbers
from tests.files._tags import classes_by_tag
from tests.fuzz._forge import Template
from tests.fuzz._values import GIVEN, answers

#: bytes that a worker may allocate in addition to its memory at the start
MEMORY = 1 << 30
#: seconds that one file may take
PATIENCE = 20.0
#: seconds of a method of the whole model, beyond which it is called for a share of the files only
QUICK = 0.01
SLOW_SHARE = 0.1
#: the message of numba's checks of indices; NumPy's have the index in it
OUT_OF_BOUNDS = "index is out of bounds"
#: where compiled code with these checks is kept
CHECKED_CODE = Path(__file__).parents[2] / "build" / "numba-bounds"
#: "guarded" are errors of Python or numba that a method has explained, and failures only on request; the
#: last three are finds, in classes of scikit-learn as in those of mercer
OUTCOMES = ("rejected", "built", "guarded", "foreign", "crashed", "hung")
#: methods of Python, scikit-learn and displays that are not of the model
SKIPPED = {"get_metadata_routing", "set_output", "fit_more", "set_params", "get_params", "set_callbacks"}
LAST = ("partial_fit", "merge", "forget", "update", "subtract", "fit", "fit_transform", "fit_predict")
#: the exceptions that answer a question
ANSWERS = (MercerError, ValueError, MemoryError)


class Subject(NamedTuple):
    """A whole file with what its model is called with."""

    template: Template
    arguments: dict[str, Any]
    #: methods by name with their seconds, and what they raise of the whole model
    methods: dict[str, float]
    raised: dict[str, type[BaseException]]
    #: methods of estimators with parameters that have no argument
    uncalled: tuple[str, ...] = ()


class Find(NamedTuple):
    """Failure with one forged file."""

    number: int
    name: str
    outcome: str
    detail: str


def subjects(
    chosen: Callable[[str], bool] = lambda name: True, skipped: dict[str, str] | None = None
) -> Iterator[Subject]:
    """Fit the models, save them, and find out what they answer.

    Models that need a package that is not installed are entered in `skipped`, with the reason.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mercer"
        for case in CASES:
            if chosen(case.name):
                data = case.data()
                try:
                    save(case.fitted(), path)
                except ImportError as error:
                    if skipped is None:
                        raise
                    skipped[case.name] = str(error)
                    continue
                yield _subject(case.name, path, _arguments(data.X, data.y))
        for name, value in (GIVEN | answers()).items():
            if chosen(name):
                save(value, path)
                yield _subject(name, path, _arguments(numbers().X, None))
        if chosen("Schema"):
            save(mercer.Schema.infer(frame().X), path)
            yield _subject("Schema", path, _arguments(frame().X, None))


def _arguments(X: Any, y: Any) -> dict[str, Any]:
    few = X[:12] if not hasattr(X, "iloc") else X.iloc[:12]
    Z = np.asarray(numbers().X[:4])
    return {
        "X": few,
        "y": None if y is None else y[:12],
        "Y": Z[:3],
        "Z": Z[:3],
        "x": Z[:, 0],
        "values": Z[:, 0],
        "raw_documents": few,
        "n_samples": 3,
        "random_state": 0,
        "table": few,
        "eta": Z[:, 0],
        "mu": np.abs(Z[:, 0]),
        "theta": Z[:, 0],
        "n": 3,
        "k": 2,
        "column": 0,
        "row": few[:1],
        "q": 0.5,
        "level": 0.9,
        "data": few,
        "priors": None if y is None else np.full(len(np.unique(y)), 1 / len(np.unique(y))),
        "given": {0: 0.5},
        "doc": few[0] if isinstance(few, list) else b"a few words",
        "columns": 3,
        "predicted": Z[:, 0],
        "X_test": Z,
        "comp_cov": np.eye(Z.shape[1]),
    }


def _subject(name: str, path: Path, arguments: dict[str, Any]) -> Subject:
    octets = path.read_bytes()
    model = load(path)
    found, raised, uncalled = {}, dict[str, type[BaseException]](), []
    for method in _methods(model):
        for _ in range(2):  # the first call compiles
            begin = time.perf_counter()
            try:
                if not _call(model, method, arguments) and _is_of_estimator(model, method):
                    uncalled.append(method)
            except Exception as error:
                raised[method] = type(error.__cause__ or error)  # without the explanation of a loaded model
            found[method] = time.perf_counter() - begin
        if method.rpartition(".")[2] in LAST:
            model = load(path)
    return Subject(Template(name, octets), arguments, found, raised, tuple(dict.fromkeys(uncalled)))


def _methods(model: Any) -> list[str]:
    if isinstance(model, list):
        return [f"{place}.{name}" for place, each in enumerate(model) for name in _methods(each)]
    public = [name for name in dir(type(model)) if not name.startswith(("_", "set_")) and name not in SKIPPED]
    if not hasattr(model, "get_params") and callable(model):
        public.append("__call__")
    return sorted(public, key=lambda name: (name in LAST, name))


def _is_of_estimator(model: Any, method: str) -> bool:
    part = model[int(method.partition(".")[0])] if isinstance(model, list) else model
    return isinstance(part, BaseEstimator)


def _call(model: Any, name: str, arguments: dict[str, Any]) -> bool:
    """Call a method with what its parameters are called, or read the attribute of that name.

    Returns whether all of its parameters have arguments.
    """
    if isinstance(model, list):
        place, _, name = name.partition(".")
        if int(place) < len(model) and name in dir(type(model[int(place)])):
            return _call(model[int(place)], name, arguments)
        return True
    try:
        method = getattr(model, name)
    except AttributeError:  # it is not there, as `hasattr` says
        return True
    if not callable(method):
        return True
    if name in ("merge", "subtract"):
        method(model)
        return True
    given = {}
    for parameter in inspect.signature(method).parameters.values():
        required = parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        if parameter.name in arguments and (required or parameter.name in ("X", "y", "random_state")):
            given[parameter.name] = arguments[parameter.name]
        elif required:
            return False
    result = method(**given)
    if inspect.isgenerator(result):
        for _, _ in zip(range(10), result, strict=False):
            pass
    return True


def tried(subject: Subject, number: int, seed: int, path: Path, names: list[str]) -> tuple[str, str]:
    """Forge a file, load it and call the model; return the outcome, and where it was not to be expected."""
    rng = Random(f"{seed}:{number}")
    path.write_bytes(subject.template.forged(rng, names))
    try:
        model = load(path)
    except MercerError as error:
        return ("foreign", f"load: {place}") if (place := _place_out_of_bounds(error)) else ("rejected", "")
    except Exception as error:
        return "foreign", f"load: {_place(error)}"
    every, part = rng.random() < 0.02, rng.random() < 0.8
    guarded = ""
    for method, seconds in subject.methods.items():
        if not every and (rng.random() > SLOW_SHARE if seconds > QUICK else part and rng.random() < 0.7):
            continue
        try:
            _call(model, method, subject.arguments)
        except ModelFileError as error:
            if place := _place_out_of_bounds(error):
                return "foreign", f"{method}: {place}"
            if (cause := error.__cause__) is not None and not isinstance(cause, subject.raised.get(method, ())):
                guarded = guarded or f"{method}: {_place(cause)}"
        except ANSWERS as error:
            if place := _place_out_of_bounds(error):
                return "foreign", f"{method}: {place}"
        except Exception as error:
            if not isinstance(error, subject.raised.get(method, ())) and not _is_sentence(error):
                return "foreign", f"{method}: {_place(error)}"
    try:
        if every:
            repr(model)
            save(model, path)
    except ANSWERS:
        pass
    except Exception as error:
        return "foreign", f"save: {_place(error)}"
    return "guarded" if guarded else "built", guarded


def _place_out_of_bounds(error: BaseException | None) -> str:
    """Return where a compiled loop has read out of bounds, if that caused the error; else an empty string."""
    while error is not None:
        if isinstance(error, IndexError) and str(error) == OUT_OF_BOUNDS:
            return _place(error)
        error = error.__cause__ or error.__context__
    return ""


def _is_sentence(error: Exception) -> bool:
    """Return whether mercer raised the error itself, such as the `TypeError` of a family without a response.

    scikit-learn has sentences in `TypeError`, too, such as that of sparse predictions without a score.
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = "/mercer/" in last.filename or ("/sklearn/" in last.filename and isinstance(error, TypeError))
    return ours and (last.line or "").startswith("raise ")


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [each for each in frames if "/mercer/" in each.filename and not each.filename.endswith("_stored.py")]
    last = (ours or frames)[-1]
    where = f"{last.filename.rpartition('mercer/' if ours else 'site-packages/')[2]}:{last.lineno}"
    return f"{type(error).__name__} at {where}: {str(error)[:100]}"


class Board:
    """Memory that workers and their parent share: what each is at, since when, its slowest, and the outcomes."""

    def __init__(self, workers: int, subjects: int) -> None:
        self._map = mmap.mmap(-1, 8 * (3 * workers + subjects * len(OUTCOMES) * workers))
        values = np.frombuffer(self._map, dtype=np.int64)
        self.at = values[:workers]
        self.since = values[workers : 2 * workers].view(np.float64)
        self.slowest = values[2 * workers : 3 * workers].view(np.float64)
        self.counts = values[3 * workers :].reshape(workers, subjects, len(OUTCOMES))


def run(
    found: list[Subject],
    count: int,
    seed: int,
    workers: int,
    folder: Path,
    logged: tuple[str, ...] = ("foreign",),
    patience: float = PATIENCE,
) -> Any:
    """Try mutations; return counts by subject and outcome, the failures, and the seconds of the slowest file."""
    board = Board(workers, len(found))
    names = sorted(classes_by_tag())
    running = {_forked(i, i, found, count, seed, workers, board, folder, names, logged): i for i in range(workers)}
    finds: list[Find] = []
    while running:
        time.sleep(0.05)
        for worker in list(running.values()):
            if board.since[worker] and time.monotonic() - board.since[worker] > patience:
                pid = next(pid for pid, each in running.items() if each == worker)
                os.kill(pid, signal.SIGABRT)
                time.sleep(0.2)
                os.kill(pid, signal.SIGKILL)
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            continue
        worker = running.pop(pid)
        if status == 0:
            continue
        number = int(board.at[worker])
        hung = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGABRT)
        hung = hung and time.monotonic() - board.since[worker] > patience
        outcome = "hung" if hung else "crashed"
        which = number % len(found)
        board.counts[worker, which, OUTCOMES.index(outcome)] += 1
        trace = (folder / f"trace{worker}").read_text(errors="replace").partition("Extension modules")[0][-3000:]
        finds.append(Find(number, found[which].template.name, outcome, f"status {status}\n{trace}"))
        (folder / f"trace{worker}").write_text("")
        board.since[worker] = 0.0  # or the next one would be stopped before it has begun
        again = _forked(number + workers, worker, found, count, seed, workers, board, folder, names, logged)
        running[again] = worker
    for path in folder.glob("finds*"):
        finds += [Find(*json.loads(line)) for line in path.read_text().splitlines()]
    return board.counts.sum(axis=0), finds, float(board.slowest.max())


def _forked(
    start: int,
    worker: int,
    found: list[Subject],
    count: int,
    seed: int,
    workers: int,
    board: Board,
    folder: Path,
    names: list[str],
    logged: tuple[str, ...],
) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        trace = (folder / f"trace{worker}").open("w")
        faulthandler.enable(trace)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        path = folder / f"{worker}.mercer"
        with (folder / f"finds{worker}").open("a") as log:
            for number in range(start, count, workers):
                board.at[worker], board.since[worker] = number, time.monotonic()
                which = number % len(found)
                outcome, detail = tried(found[which], number, seed, path, names)
                board.slowest[worker] = max(board.slowest[worker], time.monotonic() - board.since[worker])
                board.counts[worker, which, OUTCOMES.index(outcome)] += 1
                if outcome in logged:
                    log.write(json.dumps([number, found[which].template.name, outcome, detail]) + "\n")
                    log.flush()
        board.since[worker] = 0.0
        status = 0
    except BaseException:  # of the mutation itself
        traceback.print_exc(file=trace)
        trace.flush()
    finally:
        os._exit(status)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--json", type=Path, help="write counts and finds to this file")
    parser.add_argument("--guarded", action="store_true", help="errors that a method has explained are finds as well")
    parser.add_argument("--bounds", action="store_true", help="compiled loops check their indices")
    parser.add_argument("--cases", default="", help="models whose name contains this")
    options = parser.parse_args()
    # libraries read these when they are imported; each worker computes on one core
    wanted = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if options.bounds:
        wanted |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(CHECKED_CODE)}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, "-m", "tests.fuzz.forge", *sys.argv[1:]], os.environ | wanted)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with mercer.engine(threads=1), tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        skipped: dict[str, str] = {}
        found = list(subjects(lambda name: options.cases in name, skipped))
        if options.only is not None:
            subject = found[options.only % len(found)]
            path, names = options.json or Path("forged.mercer"), sorted(classes_by_tag())
            sys.stdout.write(f"{subject.template.name} {tried(subject, options.only, options.seed, path, names)}\n")
            return
        ready = time.perf_counter()
        logged = ("foreign", "guarded") if options.guarded else ("foreign",)
        counts, finds, slowest = run(found, options.count, options.seed, options.workers, Path(folder), logged)
        seconds = time.perf_counter() - ready
    if options.json is not None:
        record = {
            "mutations": options.count,
            "slowest": round(slowest, 2),
            "seconds": round(seconds * options.workers),
            "counts": {
                s.template.name: dict(zip(OUTCOMES, map(int, c), strict=True))
                for s, c in zip(found, counts, strict=True)
            },
            "skipped": skipped,
            "uncalled": sorted({f"{s.template.name}.{name}" for s in found for name in s.uncalled}),
            "classes": sorted({name for subject in found for name in subject.template.classes}),
            "finds": [find._asdict() for find in finds],
        }
        options.json.write_text(json.dumps(record, indent=1))
    said = ("rejected", "answered", "guarded", "foreign errors", "crashes", "hangs")
    total = ", ".join(f"{n:,} {word}" for word, n in zip(said, map(int, counts.sum(axis=0)), strict=True))
    sys.stdout.write(
        f"{len(found)} models made in {ready - begin:.0f} s; {options.count:,} inputs of seed {options.seed} in "
        f"{seconds:.0f} s, the slowest in {slowest:.1f} s: {total}\n"
    )
    for name, reason in skipped.items():
        sys.stdout.write(f"skipped {name}: {reason}\n")
    places = Counter(
        (find.outcome, find.detail.split(": ")[1] if find.outcome in logged else find.name) for find in finds
    )
    for (outcome, place), number in places.most_common(40):
        sys.stdout.write(f"{number:6} {outcome} {place}\n")
    sys.exit(bool(finds))


if __name__ == "__main__":
    main()
