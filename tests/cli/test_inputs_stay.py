"""Commands do not overwrite their inputs, whatever their names."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Run, table_of

REJECTED = [
    "fit d --target size -o d/p.csv",
    "fit d --target size -o d/../d/p.csv",
    "fit d --target size -o link.csv",
    "fit d --target size -o twin.csv",
    "fit d --target size --stream -o d/p.csv",
    "fit d --target size --stream -o d/deep/r.csv",
    "fit d/*.csv --target size -o d/p.csv",
    "fit a.zip/x.csv --target size -o a.zip",
    "fit a.zip --target size -o a.zip",
    "predict people.mercer d -o d/p.csv",
    "predict people.mercer link.csv -o d/p.csv",
    "predict people.mercer a.zip/x.csv --costs costs.csv -o costs.csv",
    "outliers d -o d/p.csv",
    "outliers link.csv --usual d -o d/q.csv",
    "compare d --target size --report d/p.csv",
    "compare d --target size --json d/p.csv",
    "compare d --target size --markdown d/p.csv",
    "compare d --target size --save d/p.csv",
    "compare a.zip/x.csv --target size --save a.zip",
    "merge people.mercer other.mercer -o other.mercer",
    "forget people.mercer d --target size -o d/p.csv",
    "export people.mercer --to python -o people.mercer",
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fitted: bytes) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d/deep").mkdir(parents=True)
    for name in ("d/p.csv", "d/q.csv", "d/deep/r.csv"):
        Path(name).write_text(table_of(40))
    Path("link.csv").symlink_to("d/p.csv")
    os.link("d/p.csv", "twin.csv")
    with zipfile.ZipFile("a.zip", "w") as archive:
        archive.writestr("x.csv", table_of(40))
    Path("few.csv").write_text("\n".join(table_of(40).splitlines()[:6]) + "\n")
    Path("costs.csv").write_text("{}")
    for name in ("people.mercer", "other.mercer"):
        Path(name).write_bytes(fitted)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("command", REJECTED)
def test_an_output_that_is_an_input_is_rejected(run: Run, place: Path, command: str) -> None:
    before = contents(place)
    ended = run(*shlex.split(command))
    assert "is an input, and is not overwritten. Name another file." in ended.stderr
    assert ended.exit_code == 2
    assert contents(place) == before


def test_standard_input_is_an_input(place: Path) -> None:
    before = contents(place)
    program = "from mercer.cli.app import main; main()"
    with Path("d/p.csv").open() as rows:
        command = [sys.executable, "-c", program, "predict", "people.mercer", "-", "-o", "twin.csv"]
        ended = subprocess.run(command, stdin=rows, capture_output=True, text=True)
    assert "'twin.csv' is an input, and is not overwritten." in ended.stderr
    assert ended.returncode == 2
    assert contents(place) == before


@pytest.mark.parametrize(
    "command",
    [
        "predict people.mercer d -o d/deep/r.csv",  # not one of those that are read
        "predict people.mercer d -o d/new.csv",
        "predict people.mercer d/p.csv -o d/q.csv",
        "forget people.mercer few.csv --target size -o people.mercer",
    ],
)
def test_other_files_are_written(run: Run, place: Path, command: str) -> None:
    ended = run(*shlex.split(command))
    assert ended.exit_code == 0, ended.stderr
