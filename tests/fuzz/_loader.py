"""A process of its own that loads model files: bounded memory, and an eye on what it imports, opens and runs.

It reads paths from standard input and answers each with a line of JSON; a crash of it crashes no other process.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer._errors import ModelFileError
from mercer.files import describe, load
from tests.files._tags import classes_by_tag

#: bytes that it may allocate in addition to its memory at the start
ROOM = 2 << 30
#: packages from which a name in the table may import further modules
TRUSTED = {"mercer", "sklearn", "scipy", "numpy", "pandas", "pyarrow"}
#: what no file is to make anybody do
FORBIDDEN = ("os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system")
FORBIDDEN += ("pickle.", "socket.", "subprocess.", "shutil.")

events: list[str] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if writes or event.startswith(FORBIDDEN):
        events.append(event)


def _describe_predictions(model: Any) -> str:
    """Call the prediction methods of a loaded model; any Python exception is accepted."""
    try:
        width = getattr(model, "n_features_in_", 0)
    except Exception:  # of a pipeline that is none
        width = 0
    if not isinstance(width, int) or not 0 < width < 10_000:
        return "built"
    for question in ("predict", "predict_proba", "transform", "score_samples"):
        try:
            getattr(model, question)(np.zeros((3, width)))
        except Exception as rejection:
            rejection.__traceback__ = None
    return "built and asked"


def answer(path: str) -> dict[str, Any]:
    events.clear()
    before = set(sys.modules)
    with suppress(ModelFileError):
        describe(path)
    try:
        model = load(path)
        outcome = ""
    except ModelFileError as rejection:
        is_sentence = str(rejection).rstrip().endswith((".", "?"))
        model, outcome = None, "rejected" if is_sentence else f"badly rejected: {rejection}"
    except MemoryError:
        model, outcome = None, "took too much memory"
    except Exception as failure:
        model, outcome = None, f"raised {type(failure).__name__}: {failure}"
    imported = sorted({name.partition(".")[0] for name in set(sys.modules) - before} - TRUSTED)
    found = list(events)
    return {"outcome": outcome or _describe_predictions(model), "imported": imported, "events": found}


def main() -> None:
    """Import all that a file may name, load the files of a folder, so that nothing is left to import; then answer."""
    warnings.simplefilter("ignore")
    classes_by_tag()
    for module in ("pandas", "pyarrow.ipc"):
        import_module(module)
    for path in Path(sys.argv[1]).glob("*.mercer"):
        _describe_predictions(load(path))
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, taken + ROOM))
    sys.addaudithook(_watch)
    with mercer.engine(threads=1):
        for line in sys.stdin:
            sys.stdout.write(json.dumps(answer(line.rstrip("\n"))) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
