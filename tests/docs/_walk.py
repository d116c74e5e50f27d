"""List the functions of mercer that a piece of work visits, in the order of the first visit.

Run as a program, in a process of its own: threads that were there before cannot be followed.
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


def walked(work: Callable[[], Any]) -> list[str]:
    """`room/module.py::function` for each that was called, once."""
    seen: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(SOURCE)):
            seen.setdefault(f"{Path(name).relative_to(SOURCE).as_posix()}::{frame.f_code.co_qualname}")

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(seen)


def done(block: str, language: str) -> None:
    """Contents of a block of a page: commands, or Python."""
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
    found = walked(lambda: done(block, language))
    sys.stdout.write("\n" + json.dumps(found))
