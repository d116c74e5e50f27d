"""Print the functions of mercer that an example calls, in the order of their first calls.

Run as a program in a process of its own, since threads that are already running cannot be traced.
"""

from __future__ import annotations

import json
import shlex
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import mercer

SOURCE = Path(mercer.__file__).parent


def traced(work: Callable[[], Any]) -> list[str]:
    """Return `package/module.py::function` for each function that `work` calls, once."""
    called: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(SOURCE)):
            called.setdefault(f"{Path(name).relative_to(SOURCE).as_posix()}::{frame.f_code.co_qualname}")

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(called)


def run_block(block: str, language: str) -> None:
    """Run a block of a page: commands, or Python."""
    if language == "python":
        exec(compile(block, "architecture.md", "exec"), {"__name__": "__main__"})
        return
    from mercer.cli.app import app

    for line in block.splitlines():
        program, *words = shlex.split(line, comments=True) or ["mercer"]
        assert program == "mercer"
        if words:
            app(words, standalone_mode=False)


if __name__ == "__main__":
    language, block, *before = sys.argv[1:]
    for earlier in before:
        exec(compile(earlier, "architecture.md", "exec"), {})
    found = traced(lambda: run_block(block, language))
    sys.stdout.write("\n" + json.dumps(found))
