"""Runs the blocks of a page as a reader would: from top to bottom, in one folder, in one session of Python."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import warnings
from dataclasses import dataclass, field
from types import ModuleType

import pytest
from typer.testing import CliRunner

from mercer._errors import MercerWarning
from mercer.cli.app import app
from tests.cli._program import PROGRAM
from tests.docs._pages import PRINTED, PYTHON, SHELL, Block, Page

#: the port at which pages serve, which may be taken where tests run
PORT = "8000"


@dataclass
class Session:
    """State that is kept from block to block."""

    module: ModuleType
    port: str
    servers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def close(self) -> None:
        for server in self.servers:
            server.terminate()
            server.wait(30)


def run_page(page: Page, replaced: dict[str, str] | None = None) -> str:
    """Return the output of all blocks, run in the current folder; `replaced` makes large examples smaller."""
    # a module that can be found: what a page defines may be pickled
    module = ModuleType("page_of_the_documentation")
    sys.modules[module.__name__] = module
    sys.path.insert(0, "")  # as in every session: what a page writes it can import
    session = Session(module, _free_port())
    blocks = [block for block in page.blocks if not block.directive and not block.excuse]
    printed = []
    try:
        for block, following in zip(blocks, [*blocks[1:], None], strict=True):
            if block.language not in PYTHON | SHELL:
                continue
            code = block.code.replace(f":{PORT}", f":{session.port}")
            for old, new in (replaced or {}).items():
                code = code.replace(old, new)
            where = f"{page.name}:{block.line}"
            shown = _python(code, where, session) if block.language in PYTHON else _shell(code, session)
            shown = shown.replace(f":{session.port}", f":{PORT}")
            _compare(shown, following, where)
            printed.append(shown)
    finally:
        session.close()
        del sys.modules[module.__name__]
        sys.path.remove("")
    return "\n".join(printed)


def _python(code: str, where: str, session: Session) -> str:
    # lines before the code, so that a traceback has the line of the page
    name, line = where.rsplit(":", 1)
    program = compile("\n" * (int(line) - 1) + code, name, "exec")
    with contextlib.redirect_stdout(io.StringIO()) as shown, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", MercerWarning)
        exec(program, session.module.__dict__)
    # as Python prints them, without file and line; deprecations among other packages are hidden
    heard = [one for one in told if not issubclass(one.category, (DeprecationWarning, PendingDeprecationWarning))]
    said = [f"{one.category.__name__}: {one.message}" for one in heard]
    return "\n".join([*said, shown.getvalue()])


def _shell(code: str, session: Session) -> str:
    shown = []
    for command in _commands(code):
        words = shlex.split(command, comments=True)
        if words[:2] == ["mercer", "serve"]:
            _serve(words[2:], session)
        elif words[0] == "mercer" and not re.search(r"[|<>;&]", re.sub(r"'[^']*'", "", command)):
            shown.append(_mercer(words[1:], command))
        elif words[0] not in {"make", "pip"}:  # of these `test_blocks.py` sees that targets and extras exist
            if shutil.which(words[0]) is None:
                pytest.skip(f"there is no {words[0]} on this machine")
            shown.append(subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout)
    return "".join(shown)


def _commands(code: str) -> list[str]:
    """One for each line, but that lines end in a backslash, or within quotation marks."""
    commands, begun = [], ""
    for line in code.splitlines():
        begun += line.removesuffix("\\") if line.endswith("\\") else f"{line}\n"
        if line.endswith("\\") or begun.count("'") % 2:
            continue
        if shlex.split(begun, comments=True):
            commands.append(begun.strip())
        begun = ""
    return commands


def _mercer(words: list[str], command: str) -> str:
    """In this process: another one would load its compiled loops anew."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # which are printed, as they are for users
        result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, f"{command}\n{result.output}"
    return result.stdout


def _serve(words: list[str], session: Session) -> None:
    command = [*PROGRAM, "serve", *words, "--port", session.port]
    session.servers.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    for _ in range(600):
        assert session.servers[-1].poll() is None, command
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{session.port}/health").close()
            return
        time.sleep(0.1)
    raise AssertionError(f"{command} does not answer")


def _free_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


def _compare(shown: str, following: Block | None, where: str) -> None:
    if following is None or following.language not in PRINTED:
        unasked = [line for line in shown.splitlines() if re.match(r"\w+Warning: ", line)]
        assert not unasked, f"{where} warns, and the page does not say so: {unasked}"
        return
    assert matches(shown, following.code), f"{where} prints\n{shown}\nand the page says\n{following.code}"


def matches(shown: str, expected: str) -> bool:
    """Line by line but for blanks at the ends; … stands for anything in a line, and alone for any lines."""
    pattern = "".join(_pattern(line) for line in _lines(expected))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _lines(shown))) is not None


def _pattern(line: str) -> str:
    return "(?:.*\n)*?" if line == "…" else f"{re.escape(line).replace('…', '.*')}\n"


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    return lines
