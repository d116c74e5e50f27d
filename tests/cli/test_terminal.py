"""Progress bars and Ctrl-C in a terminal."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cli._program import PROGRAM

pexpect: Any = pytest.importorskip("pexpect")


def started(*arguments: str, folder: Path, width: int = 160) -> Any:
    # a width that the environment names would be believed before that of the terminal
    around = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    program, *words = PROGRAM
    return pexpect.spawn(
        program,
        [*words, *arguments],
        cwd=str(folder),
        dimensions=(50, width),
        encoding="utf-8",
        timeout=120,
        env={**around, "TERM": "xterm"},
        # a shell that runs tests in the background has its programs ignore Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_progress_bars_are_followed_by_the_answer(tmp_path: Path) -> None:
    program = started("compare", "iris", "--folds", "2", "--models", "NaiveBayes", folder=tmp_path)
    program.expect("cross-validation")
    program.expect("left:")
    program.expect("Use NaiveBayes")
    program.expect("150 rows × 4 columns, 3 classes")
    program.expect(pexpect.EOF)
    program.close()
    assert program.exitstatus == 0


def test_no_line_is_wider_than_the_terminal(tmp_path: Path) -> None:
    """Rows of tables stay whole, and sentences break between words."""
    options = ("--folds", "2", "--models", "NaiveBayes", "--no-progress")
    program = started("compare", "wine", *options, folder=tmp_path, width=60)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", program.read()).splitlines()
    program.close()
    assert program.exitstatus == 0
    assert max(map(len, lines)) <= 60
    assert len([line for line in lines if re.match(r" +NaiveBayes +\d", line)]) > 1


def test_ctrl_c_prints_the_finished_part(tmp_path: Path) -> None:
    """Many folds leave time for pressing Ctrl-C."""
    models = ["--models", "NaiveBayes", "--models", "LogisticRegressionCV"]
    program = started("compare", "breast-cancer", "--folds", "200", *models, folder=tmp_path)
    program.expect("LogisticRegressionCV")
    program.sendintr()
    program.expect("Stopped by Ctrl-C before these were done: LogisticRegressionCV")
    program.expect("mercer: stopped by Ctrl-C")
    program.expect(pexpect.EOF)
    program.close()
    assert program.exitstatus == 130


def test_ctrl_c_during_the_page_leaves_the_answer_and_no_partial_page(tmp_path: Path) -> None:
    """Ctrl-C is pressed at the beginning of the page, whose sections take longer than a keystroke."""
    models = ["--models", "NaiveBayes", "--models", "LogisticRegressionCV", "--folds", "2"]
    program = started("compare", "breast-cancer", *models, "--report", "report.html", folder=tmp_path)
    program.expect("Use LogisticRegressionCV")
    program.expect("page ")
    program.sendintr()
    program.expect("mercer: report.html is not written.")
    program.expect("mercer: stopped by Ctrl-C.")
    program.expect(pexpect.EOF)
    program.close()
    assert program.exitstatus == 130
    assert list(tmp_path.iterdir()) == []
