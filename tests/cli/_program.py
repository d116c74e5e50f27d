"""The program as tests start it: in their process, or in a separate one."""

from __future__ import annotations

import sys
from collections.abc import Callable

from typer.testing import Result

#: the fixture `run`: a command line, word by word
Run = Callable[..., Result]

#: what begins a command line in a process of its own
PROGRAM = (sys.executable, "-c", "from mercer.cli import main; main()")
