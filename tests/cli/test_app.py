"""The program: what it prints, how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from typer.testing import CliRunner, Result

import mercer
from mercer.cli.app import app
from mercer.comparison import leaderboard
from mercer.comparison.entrants import entrants_given
from mercer.data import Table


@pytest.fixture(autouse=True)
def two_quick_models(monkeypatch: pytest.MonkeyPatch) -> None:
    def quick(table: Table, task: str, outputs: int) -> Any:
        return entrants_given([GaussianNB(), DummyClassifier()], table)

    monkeypatch.setattr(leaderboard, "entrants_for", quick)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def heights(tmp_path: Path) -> str:
    path = tmp_path / "heights.csv"
    rows = (f"{i},{1.5 + i % 2 * 0.3 + i / 1000},{'tall' if i % 2 else 'short'}" for i in range(40))
    path.write_text("\n".join(["id,height,size", *rows]))
    return str(path)


@pytest.fixture
def twins(tmp_path: Path) -> str:
    path = tmp_path / "twins.csv"
    path.write_text("height,height,size\n1.5,1.5,short\n1.9,1.9,tall\n")
    return str(path)


def test_version() -> None:
    assert run("--version").stdout.strip() == f"mercer {mercer.__version__}"


def test_without_target_a_bundled_set_is_compared() -> None:
    result = run("compare", "--folds", "3")
    assert result.exit_code == 0
    assert "569 rows × 30 columns, 2 classes; 3 stratified folds" in result.stdout
    assert "6/6" in result.stderr
    assert result.stdout.index("GaussianNB") < result.stdout.index("DummyClassifier")


def test_a_file(heights: str) -> None:
    result = run("compare", heights, "--target", "-1", "--drop", "id", "--seed", "1")
    assert result.exit_code == 0
    assert "40 rows × 1 columns, 2 classes" in result.stdout


def test_text_categories_dates_and_gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    rows = [
        f"{i},{'see you at home tonight' if i % 3 else 'win a free prize now'} {i},{'Ulm' if i % 2 else 'NA'},"
        f"2024-01-{i % 28 + 1:02},{'ham' if i % 3 else 'spam'}"
        for i in range(60)
    ]
    (path := tmp_path / "mails.csv").write_text("\n".join(["id,mail,city,sent,label", *rows]))
    result = run("compare", str(path), "--target", "label", "--folds", "2")
    assert result.exit_code == 0
    assert "Columns left out: 'id' (an identifier)." in result.stdout
    lines = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines() if len(line.split()) == 4}
    assert float(lines["MultinomialNB"][0]) == float(lines["LogisticRegression(C=10)"][0]) == 1.0


def test_rows_without_a_label_are_left_out_and_mentioned(heights: str) -> None:
    with open(heights, "a", encoding="utf-8") as file:
        file.write("\n41,1.7,?")
    result = run("compare", heights, "--target", "size")
    assert "40 rows × 2 columns" in result.stdout
    assert "Rows left out because they have no 'size': 1." in result.stdout


def test_the_seed_deals_the_rows() -> None:
    def accuracies(seed: str) -> list[str]:
        lines = run("compare", "wine", "--seed", seed).stdout.splitlines()
        return [line.split()[1] for line in lines if line.strip().startswith("GaussianNB")]

    assert accuracies("1") == accuracies("1") != accuracies("2")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["brest-cancer"], "Did you mean 'breast-cancer'?"),
        (["no/such.csv"], "There is no file 'no/such.csv', nor a folder 'no'; check the path."),
        (["HEIGHTS"], "There are 'id', 'height', 'size'."),
        (["HEIGHTS", "--target", "Size"], "Did you mean 'size'?"),
        (["HEIGHTS", "--target", "weight_in_kg"], "There is no column 'weight_in_kg'. There are 'id', 'height'"),
        (["HEIGHTS", "--target", "height", "--task", "classification"], "Unknown label type: continuous"),
        (["HEIGHTS", "--target", "size", "--task", "counts"], "use the task classification"),
        (["HEIGHTS", "--target", "height", "--task", "counts"], "use the task regression"),
        (["HEIGHTS", "--target", "size", "--folds", "99"], "from 2 to 20 folds"),
        (["TWINS", "--target", "size"], "column 'height' 2 times"),
    ],
)
def test_a_mistake_is_answered_in_one_line(arguments: list[str], sentence: str, heights: str, twins: str) -> None:
    files = {"HEIGHTS": heights, "TWINS": twins}
    result = run("compare", *(files.get(argument, argument) for argument in arguments))
    last = result.stderr.splitlines()[-1]
    assert result.exit_code == 2
    assert last.startswith("mercer: ")
    assert sentence in last
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_ctrl_c_ends_with_a_word_and_the_code_of_shells(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(table: Table, task: str, outputs: int) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(leaderboard, "entrants_for", interrupted)
    result = run("compare")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "mercer: stopped by Ctrl-C."


def test_what_nobody_foresaw_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(table: Table, task: str, outputs: int) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(leaderboard, "entrants_for", broken)
    assert isinstance(run("compare").exception, ZeroDivisionError)


def test_help_loads_nothing_that_counts() -> None:
    code = """
import sys
from mercer.cli import main
sys.argv = ["mercer", "compare", "--help"]
try:
    main()
except SystemExit as end:
    heavy = {"numpy", "scipy", "sklearn", "numba", "pyarrow", "pandas", "narwhals"}
    print(end.code, sorted(heavy & set(sys.modules)))
"""
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines()[-1] == "0 []"
    assert "--target" in finished.stdout
