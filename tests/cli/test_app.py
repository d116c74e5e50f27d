"""The program: its commands, imports and exit codes."""

from __future__ import annotations

import errno
import json
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer

import mercer
from mercer._errors import DataError, MissingDependencyError, ServeError, WriteError
from mercer.cli._ending import report_errors
from mercer.cli.app import app
from tests.cli._program import PROGRAM, Run

COMMANDS = [command.callback.__name__ for command in app.registered_commands if command.callback is not None]


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version").stdout.strip() == f"mercer {mercer.__version__}"


def test_all_commands_are_listed() -> None:
    assert COMMANDS == [
        "compare",
        "fit",
        "predict",
        "explain",
        "describe",
        "outliers",
        "merge",
        "forget",
        "export",
        "serve",
    ]


def test_summaries_of_commands_are_not_truncated(run: Run) -> None:
    assert "..." not in run("--help", env={"COLUMNS": "80"}).stdout.split("Commands:")[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"  mercer {command} " in result.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("mercer out", ["outliers"]),
        ("mercer fit --model NaiveB", ["NaiveBayes"]),
        ("mercer compare --models GaussianN", ["GaussianNB"]),
        ("mercer export --to o", ["onnx"]),
    ],
)
def test_shells_can_complete(run: Run, typed: str, offered: list[str]) -> None:
    variables = {"_MERCER_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    assert run(prog_name="mercer", env=variables).stdout.split() == offered


@pytest.mark.parametrize("arguments", [["--help"], ["compare", "--help"], ["predict", "--help"]])
def test_help_loads_no_heavy_packages(arguments: list[str]) -> None:
    code = f"""
import sys
from mercer.cli import main
sys.argv = ["mercer", *{arguments}]
try:
    main()
except SystemExit as end:
    heavy = {{"numpy", "scipy", "sklearn", "numba", "pyarrow", "pandas", "narwhals", "fastapi", "uvicorn", "duckdb"}}
    print(end.code, sorted(heavy & set(sys.modules)))
"""
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines()[-1] == "0 []"
    assert "--help" in finished.stdout


@pytest.mark.parametrize(
    ("failure", "code", "sentence"),
    [
        (DataError("The table is odd."), 2, "mercer: The table is odd."),
        (WriteError("It cannot be written."), 3, "mercer: It cannot be written."),
        (ServeError("The port is in use."), 3, "mercer: The port is in use."),
        (MissingDependencyError("duckdb is needed."), 3, "mercer: duckdb is needed."),
        (
            MemoryError(),
            3,
            "mercer: there is not enough memory for this. Give fewer rows or columns, or another model.",
        ),
        (OSError(errno.ENOSPC, "No space left on device", "a.csv"), 3, "mercer: 'a.csv': no space left on device."),
        (KeyboardInterrupt(), 130, "mercer: stopped by Ctrl-C."),
    ],
)
def test_exceptions_give_an_exit_code_and_a_sentence(
    failure: BaseException, code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        raise failure

    with pytest.raises(typer.Exit) as ended:
        report_errors(command)()
    assert ended.value.exit_code == code
    assert capsys.readouterr().err.splitlines() == [sentence]


def test_unforeseen_errors_keep_their_traceback() -> None:
    def command() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        report_errors(command)()


def test_a_warning_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        warnings.simplefilter("always")
        warnings.warn("two\n lines", UserWarning, stacklevel=1)

    report_errors(command)()
    assert capsys.readouterr().err == "mercer: note: two lines\n"


def shell(commands: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run commands in bash, with MERCER for the program."""
    script = commands.replace("MERCER", shlex.join(PROGRAM))
    return subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False)


def test_exit_codes_of_the_real_program(model: Path) -> None:
    """All codes are tested in one shell, because each start of the program takes a second."""
    folder = model.parent
    result = shell(
        """
        MERCER predict people.mercer people.csv -q | head -1; echo ${PIPESTATUS[0]}
        MERCER predict people.mercer people.csv -q > /dev/full; echo $?
        MERCER predict no.mercer people.csv -q; echo $?
        """,
        folder,
    )
    assert result.stdout.splitlines() == ['"prediction","probability[short]","probability[tall]"', "0", "3", "2"]
    assert "Traceback" not in result.stderr
    first, second = result.stderr.splitlines()
    assert first == "mercer: the output cannot be printed: no space left on device."
    assert "'no.mercer'" in second


def test_closed_and_full_outputs_are_handled(model: Path) -> None:
    """Standard output and standard error may be closed, full, or without a reader."""
    result = shell(
        """
        MERCER predict people.mercer people.csv -o a.csv -q >&-; echo $?
        MERCER predict people.mercer people.csv -o b.csv 2>&-; echo $?
        MERCER predict people.mercer people.csv -q >&-; echo $?
        MERCER --help > /dev/full; echo $?
        MERCER --version > /dev/full; echo $?
        (sleep 0.1; MERCER --help; echo $? > code) | true; cat code
        """,
        model.parent,
    )
    assert result.stdout.splitlines() == ["0", "0", "0", "3", "3", "141"]
    assert result.stderr.splitlines() == ["mercer: the output cannot be printed: no space left on device."] * 2
    assert (model.parent / "a.csv").read_text() == (model.parent / "b.csv").read_text()


@pytest.mark.parametrize("early", ["mercer.cli.app", "typer"])
def test_ctrl_c_before_a_command_begins(early: str) -> None:
    code = f"""
import builtins
from mercer.cli import main
plain = builtins.__import__
def stopped(name, *rest):
    if name == {early!r}:
        raise KeyboardInterrupt
    return plain(name, *rest)
builtins.__import__ = stopped
main()
"""
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stderr) == (130, "")


def test_a_reader_that_stops_reading_is_not_an_error(model: Path) -> None:
    """There are more rows than a pipe holds, so that the program still writes after `head` has ended."""
    folder = model.parent
    people = (folder / "people.csv").read_text().splitlines(keepends=True)
    (folder / "many.csv").write_text(people[0] + "".join(people[1:]) * 200)
    result = shell("MERCER predict people.mercer many.csv -q | head -1; echo ${PIPESTATUS[0]}", folder)
    assert result.stdout.splitlines()[-1] == "141"
    assert result.stderr == ""


def test_files_are_written_even_if_standard_output_is_closed(model: Path) -> None:
    """A closed pipe or a full disk affects only printed results."""
    folder = model.parent
    result = shell(
        """
        for to in page saved; do echo old > $to; done
        compare="compare people.csv --target size --models NaiveBayes -q"
        (MERCER $compare --report page --save saved --json found; echo $? > code) | true; cat code
        (MERCER ${compare% -q} --report remarks.html --save remarks 2>&1; echo $? > code) | true; cat code
        MERCER $compare --markdown full.md --report full.html > /dev/full; echo $?
        """,
        folder,
    )
    assert result.stdout.splitlines() == ["141", "141", "3"]
    assert (folder / "page").read_text().startswith("<!")
    assert all((folder / name).stat().st_size > 100 for name in ("saved", "found", "full.md", "full.html"))
    assert all((folder / name).exists() for name in ("remarks.html", "remarks"))


def test_the_next_comparison_is_printed_as_a_whole_command(model: Path) -> None:
    """Without a recommendation it repeats the splits; where columns give the target away, it leaves them out."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=60), "noise": rng.normal(size=60)})
    table["twice"] = 2 * table["noise"]
    folder = model.parent
    table[["a", "noise"]].to_csv(folder / "noise.csv", index=False)
    table.to_csv(folder / "leak.csv", index=False)
    result = shell(
        """
        MERCER compare noise.csv --target noise --models Ridge --repeats 2 -q --json found.json
        MERCER compare leak.csv --target noise --models Ridge -q
        """,
        folder,
    )
    lines = result.stdout.splitlines()
    again = "mercer compare noise.csv --target noise --models Ridge -q --json found.json --repeats 5"
    assert f"Compare again with repeated splits, which show smaller differences: {again}" in lines
    again = "mercer compare --drop twice leak.csv --target noise --models Ridge -q"
    assert f"Compare again without what gives the target away: {again}" in lines
    settings = json.loads((folder / "found.json").read_text())["settings"]
    assert settings["command"].startswith("mercer compare noise.csv")
