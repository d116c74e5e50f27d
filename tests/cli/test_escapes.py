"""Escape sequences in names and values are printed, but not obeyed by a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run, table_of

NAME, VALUE = "height\x1b[2J", "Ulm\x1b]0;owned\x07\x9b31m"
COMMANDS = [
    ["compare", "t.csv", "--target", "size", "--models", "NaiveBayes", "--folds", "2"],
    ["compare", "t.csv", "--target", "siz\x1b[2Je"],
    ["fit", "t.csv", "--target", "size", "--model", "NaiveBayes", "-o", "other.mercer"],
    ["fit", "t.csv", "--target", "size", "--set", f"{NAME}=1", "-o", "other.mercer"],
    ["describe", "t.mercer"],
    ["describe", "t.mercer", "--markdown"],
    ["describe", "t.mercer", "--json"],
    ["explain", "t.mercer"],
    ["explain", "t.mercer", "0", "--data", "t.csv"],
    ["outliers", "t.csv", "--keep", "city"],
    ["predict", "t.mercer", "no\x1b[2J.csv"],
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(table_of(60).replace("height", NAME).replace("Ulm", VALUE))
    ended = run("fit", "t.csv", "--target", "size", "--model", "NaiveBayes", "-o", "t.mercer")
    assert ended.exit_code == 0, ended.stderr


@pytest.mark.usefixtures("place")
def test_escapes_do_not_reach_the_terminal(run: Run) -> None:
    shown = ""
    for command in COMMANDS:
        ended = run(*command)
        printed = ended.stdout + ended.stderr
        assert printed.strip()
        found = {letter for letter in printed if ord(letter) < 32 or 127 <= ord(letter) < 160} - {"\n", "\t"}
        assert not found or command[-1] == "--json", command
        assert "\x1b" not in printed
        shown += printed
    assert "height\\x1b[2J" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("command", ["predict t.mercer t.csv --keep city", "outliers t.csv --keep city -o -"])
def test_rows_printed_on_a_terminal_contain_no_escapes(command: str) -> None:
    program = "from mercer.cli.app import main; main()"
    for is_terminal in (True, False):
        ours, theirs = os.openpty() if is_terminal else os.pipe()
        command_line = [sys.executable, "-c", program, *command.split()]
        process = subprocess.Popen(command_line, stdout=theirs, stderr=subprocess.DEVNULL)
        os.close(theirs)
        printed = b""
        while piece := _read(ours):
            printed += piece
        os.close(ours)
        assert process.wait() == 0
        assert (b"\\x1b]0;owned\\x07\\x9b31m" in printed) is is_terminal
        assert (b"\x1b" in printed) is not is_terminal  # a file or a program gets what the table holds


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # Linux reports the end of a terminal so
        return b""
