"""Mistakes are reported in one sentence, with a stable exit code."""

from __future__ import annotations

import gzip
import os
import socket
import sqlite3
import sys
from pathlib import Path

import pytest

import mercer
from tests.cli._program import Run


@pytest.fixture
def folder(model: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a folder with a valid table, a valid model, and invalid files."""
    folder = model.parent
    monkeypatch.chdir(folder)
    head, *rows = (folder / "people.csv").read_text().splitlines()
    files: dict[str, str | bytes] = {
        "empty.csv": "",
        "header.csv": head + "\n",
        "ragged.csv": "\n".join([head, *rows[:5], "6,1.7,Ulm", *rows[6:]]),
        "latin.csv": "height,city,size\n1.7,Köln,tall\n1.6,Ulm,short\n".encode("latin-1"),
        "one_class.csv": "x,y\n1,a\n2,a\n3,a\n",
        "no_target.csv": "x,y\n1,\n2,NA\n",
        "told.csv": "p-value,x\n" + "".join(f"{i / 7},{i}\n" for i in range(30)),
        "own_label.csv": "x,y\n" + "".join(f"{i},name{i}\n" for i in range(30)),
        "twins.csv": "height,height,size\n1.5,1.5,short\n1.9,1.9,tall\n",
        "two_heights.csv": "height,height,city\n1.5,1.9,Ulm\n",
        "other.csv": "weight,town\n80,Ulm\n",
        "renamed.csv": "id,Height,city,size\n1,1.7,Ulm,tall\n",
        "words.csv": "id,height,city,size\n1,high,Ulm,tall\n",
        "infinite.csv": "x,y\n" + "".join(f"{'inf' if i == 3 else i / 7},{'ab'[i % 2]}\n" for i in range(30)),
        "not.mercer": "x,y\n1,a\n",
        "cut.mercer": (folder / "people.mercer").read_bytes()[:500],
        "zipped.csv.gz": gzip.compress(b""),
        "book.xlsx": b"PK",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "nothing").mkdir()
    return folder


MISTAKES = [
    # the data
    ("compare brest-cancer", "Did you mean 'breast-cancer'?"),
    ("compare poeple.csv --target size", "Did you mean 'people.csv'?"),
    ("compare no/such.csv", "There is neither a file 'no/such.csv' nor a folder 'no'; check the path."),
    ("compare empty.csv --target size", "'empty.csv' is empty."),
    ("compare zipped.csv.gz --target size", "'zipped.csv.gz' is empty."),
    ("compare header.csv --target size", "'header.csv' has column names, but no rows."),
    ("compare ragged.csv --target size", "Line 7 of 'ragged.csv' has 3 fields, but the first line has 4."),
    (
        "compare latin.csv --target size --encoding utf-8",
        "Try encoding='latin-1' (on the command line --encoding latin-1).",
    ),
    ("compare nothing --target size", "'nothing' is a folder without data"),
    ("compare -", "Standard input is empty. Redirect a table to it"),
    ("compare book.xlsx --target size", "'book.xlsx' cannot be read as a workbook of Excel"),
    (
        "compare people.csv --target size --sheet 2",
        "A sheet (--sheet) is for an Excel file, which 'people.csv' is not",
    ),
    ("compare twins.csv --target size", "column 'height' 2 times"),
    ("compare people.csv --target size --sql SELECT", "A query (--sql) is for a SQLite or DuckDB file"),
    ("compare people.csv --target size --encoding utf-9", "There is no encoding 'utf-9'"),
    # the target
    ("compare people.csv", "Say which column of 'people.csv' is the target (on the command line with --target)."),
    ("compare people.csv --target Size", "There is no column 'Size'. Did you mean 'size'?"),
    ("compare people.csv --target weight_in_kg", "There are 'id', 'height', 'city', 'size'."),
    ("compare one_class.csv --target y", "Every row has the label 'a'"),
    ("compare no_target.csv --target y", "The target 'y' is missing in all 2 rows of 'no_target.csv'"),
    ("compare own_label.csv --target y", "Each of the 30 rows has a label of its own, e.g. 'name0'"),
    ("compare people.csv --target height --task classification", "Unknown label type: continuous"),
    ("compare people.csv --target size --task counts", "use the task classification"),
    ("compare people.csv --target height --task counts", "use the task regression"),
    # the options
    ("compare people.csv --target size --drop ID", "There is no column 'ID'. Did you mean 'id'?"),
    ("compare people.csv --target size --drop size", "Column 'size' is the target, which cannot be dropped"),
    ("compare people.csv --target size --group size", "Column 'size' is the target; split the rows by another one."),
    ("compare people.csv --target size --json - --markdown -", "cannot both go to standard output"),
    ("compare infinite.csv --target y --models NaiveBayes", "No model could be fitted. NaiveBayes: "),
    ("compare people.csv --target size --folds 99", "There must be from 2 to"),
    ("compare people.csv --target size --group town", "There is no column 'town'."),
    ("compare people.csv --target size --kind height=nubmer", "There is no kind 'nubmer'. Did you mean 'number'?"),
    ("compare people.csv --target size --kind height", "--kind takes COLUMN=KIND"),
    ("compare people.csv --target size --kind heihgt=number", "Did you mean 'height'?"),
    (
        "compare people.csv --target size --models NaiveBays",
        "There is no model 'NaiveBays'. Did you mean 'NaiveBayes'?",
    ),
    ("compare people.csv --target size --models Ridge", "Ridge is not a model for the task classification."),
    ("fit people.csv --target size --model LogisticRegresion -o a.mercer", "Did you mean 'LogisticRegression'"),
    (
        "fit people.csv --target size --set c=1 -o a.mercer",
        "LogisticRegression has no parameter 'c'. Did you mean 'C'?",
    ),
    ("fit people.csv --target size --set C=-1 -o a.mercer", "The 'C' parameter of LogisticRegression must be"),
    ("fit people.csv --target size --set C -o a.mercer", "--set takes PARAMETER=VALUE"),
    ("fit people.csv --target size --model Ridge -o a.mercer", "Ridge predicts numbers, but the target holds names"),
    ("fit people.csv --target height --model Ridge --calibrate platt -o a.mercer", "leave out --calibrate"),
    ("fit people.csv --target size --conformal 90 -o a.mercer", "A coverage lies between 0 and 1"),
    ("fit one_class.csv --target y -o a.mercer", "Every row has the label 'a'; to fit a classifier takes at least two"),
    # places
    ("fit people.csv --target size -o -", "not text and cannot go to standard output (-). Name a file."),
    ("merge people.mercer people.mercer -o -", "not text and cannot go to standard output (-). Name a file."),
    ("forget people.mercer people.csv --target size -o -", "not text and cannot go to standard output (-)."),
    ("compare people.csv --target size --report -", "not text and cannot go to standard output (-). Name a file."),
    ("compare people.csv --target size --save a --report ./a", "'a' is named for two outputs."),
    ("compare people.csv --target size --json a --markdown a", "'a' is named for two outputs."),
    ("predict people.mercer people.csv -o people.csv", "'people.csv' is an input, and is not overwritten."),
    ("predict people.mercer people.csv -o a.doc", "does not follow from its ending. Use .csv, .tsv or .parquet."),
    ("outliers header.csv -o a.doc", "does not follow from its ending. Use .csv, .tsv or .parquet."),
    ("outliers people.csv --usual other.csv -o other.csv", "'other.csv' is an input, and is not overwritten."),
    ("merge people.mercer cut.mercer -o cut.mercer", "'cut.mercer' is an input, and is not overwritten."),
    # unusual rows
    ("outliers header.csv", "'header.csv' has column names, but no rows."),
    ("outliers people.csv --usual header.csv", "'header.csv' has column names, but no rows."),
    ("outliers people.csv --usual other.csv", "'people.csv' and 'other.csv' have no column in common."),
    ("outliers told.csv --keep p-value", "Column 'p-value' of --keep has the name of a result. Rename it in the data."),
    # models and tables that do not go together
    (
        "predict people.mercer other.csv",
        "The model was fitted to another table: 'other.csv' lacks 2 of the 2 columns that it reads: 'height', 'city'.",
    ),
    ("predict people.mercer two_heights.csv", "'two_heights.csv' has column 'height' 2 times."),
    ("predict people.mercer renamed.csv", "lacks column 'height'. Did you mean 'Height'?"),
    ("predict people.mercer words.csv", "Column 'height' of 'words.csv' must hold numbers, but is 'high' in line 2"),
    ("predict people.mercer header.csv", "'header.csv' has no rows."),
    ("predict people.mercer people.csv --keep ident", "There is no column 'ident'."),
    ("predict people.mercer people.csv --costs nothing.json", "--costs takes JSON or a file with JSON"),
    ('predict people.mercer people.csv --costs {"tall":{"big":1}}', "mercer: costs"),
    ("predict people.mercer people.csv --intervals", "Fit it with --conformal 0.9"),
    (
        'predict people.mercer people.csv --intervals --costs {"tall":{"short":9},"short":{"tall":1}}',
        "--intervals do not depend on --costs and --priors: leave out the one or the others.",
    ),
    ("predict people.mercer people.csv --abstain 80", "a probability from 0 to 1, not 80."),
    (
        'predict people.mercer people.csv --trained-priors {"tall":1}',
        "--trained-priors has no effect without --priors",
    ),
    ("predict not.mercer people.csv", "not.mercer"),
    ("predict cut.mercer people.csv", "cut.mercer"),
    ("predict poeple.mercer people.csv", "poeple.mercer"),
    ("predict people.csv people.csv", "people.csv"),
    ("explain people.mercer 80 --data people.csv", "'people.csv' has rows 0 to 79, but not row 80."),
    ("explain people.mercer 3", "Row 3 needs a table: mercer explain people.mercer 3 --data DATA."),
    (
        "explain people.mercer people.csv",
        "'people.csv' is a table, not a row: mercer explain people.mercer 0 --data people.csv.",
    ),
    ("explain people.mercer three --data people.csv", "ROW must be the number of a row, counted from 0, not 'three'."),
    (
        "explain people.mercer three",
        "ROW must be a row as JSON, e.g. '{\"age\": 63}', or a number with --data DATA, not 'three'.",
    ),
    ('explain people.mercer {"hieght":1.9}', "There is no column 'hieght'. Did you mean 'height'?"),
    (
        'explain people.mercer {"height":"tall"}',
        "Column 'height' is the string 'tall' in row 0, but must be a number",
    ),
    ("explain people.mercer {height:1.9}", "is not JSON: "),
    ("merge people.mercer -o a.mercer", "Merging needs two models or more"),
    ("export people.mercer --to onnx", "Name a file for it, e.g. --output model.onnx"),
    (
        "forget people.mercer people.csv --target city -o a.mercer",
        "The model reads column 'city' as a feature. Name the",
    ),
    ("forget people.mercer people.csv -o a.mercer", "Say which column of 'people.csv' is the target"),
]


@pytest.mark.parametrize(("command", "sentence"), MISTAKES)
def test_a_mistake_is_answered_in_one_line(run: Run, folder: Path, command: str, sentence: str) -> None:
    before = {file.name for file in folder.iterdir()}
    result = run(*command.split())
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if line.startswith("mercer: ")]
    assert len(lines) == 1
    assert sentence in lines[0] if not sentence.startswith("mercer: ") else lines[0].startswith(sentence)
    assert result.stderr.splitlines()[-1] == lines[0]
    assert "Traceback" not in result.stderr
    assert {file.name for file in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("compare people.csv --target size --report no/report.html", "there is no folder 'no'. Make it first."),
        (
            "compare people.csv --target size --save full.mercer",
            "'full.mercer' cannot be written: no space left on device.",
        ),
        ("compare people.csv --target size --report nothing", "'nothing' cannot be written: it is a folder."),
        ("fit people.csv --target size -o no/a.mercer", "there is no folder 'no'. Make it first."),
        ("fit people.csv --target size -o full.mercer", "'full.mercer' cannot be written: no space left on device."),
        ("predict people.mercer people.csv -o no/a.csv", "there is no folder 'no'. Make it first."),
        ("predict people.mercer people.csv -o full.csv", "'full.csv' cannot be written: no space left on device."),
        ("export people.mercer --to sql -o full.csv", "'full.csv' cannot be written: no space left on device."),
    ],
)
def test_outputs_that_cannot_be_written_are_reported(run: Run, folder: Path, command: str, sentence: str) -> None:
    for name in ("full.csv", "full.mercer"):
        (folder / name).symlink_to("/dev/full")
    result = run(*command.split(), *(["--models", "NaiveBayes"] if command.startswith("compare") else []))
    assert (result.exit_code, sentence in result.stderr.splitlines()[-1]) == (3, True), result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_missing_permission_is_reported(run: Run, folder: Path) -> None:
    (closed := folder / "closed").mkdir(mode=0o500)
    result = run("fit", "people.csv", "--target", "size", "-o", closed / "a.mercer")
    assert (result.exit_code, "permission denied" in result.stderr) == (3, True)


def test_permission_is_checked_before_anything_is_computed(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    result = run("compare", "people.csv", "--target", "size", "--report", "report.html")
    assert result.exit_code == 3
    assert result.stderr == "mercer: 'report.html' cannot be written: permission denied. Name another file.\n"


def test_a_port_in_use_is_reported(run: Run, folder: Path) -> None:
    pytest.importorskip("uvicorn")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run("serve", "people.mercer", "--port", port)
    assert result.exit_code == 3
    assert f"Port {port} at 127.0.0.1 is in use" in result.stderr.splitlines()[-1]


def test_an_address_that_others_reach_needs_a_token(run: Run, folder: Path) -> None:
    pytest.importorskip("uvicorn")
    result = run("serve", "people.mercer", "--host", "0.0.0.0", env={"MERCER_TOKEN": ""})
    assert result.exit_code == 3
    assert "token" in result.stderr.splitlines()[-1]
    assert "on the command line --open-to-all" in result.stderr.splitlines()[-1]


def test_a_package_that_is_not_installed(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    (folder / "a.duckdb").write_bytes(b"")
    result = run("compare", "a.duckdb", "--target", "y")
    assert result.exit_code == 3
    assert "pip install 'mercer[duckdb]'" in result.stderr


@pytest.mark.parametrize(
    "command", ["compare --folds few", "compare --folds 1", "compare --seed -1", "compare --task guess", "nonsense"]
)
def test_invalid_options_are_reported(run: Run, command: str) -> None:
    assert run(*command.split()).exit_code == 2


OF_OTHERS = {
    "unfitted": (mercer.GaussianNB, "that is not fitted. Fit it before saving it, or use `mercer fit`."),
    "density": (lambda: mercer.KernelDensity().fit([[0.0], [1.0]]), "holds a KernelDensity, which has no predictions."),
    "kernel": (mercer.kernels.RBF, "holds a RBF, which has no predictions."),
    "unnamed": (
        lambda: mercer.GaussianNB().fit([[0.0, 1.0], [1.0, 0.0], [5.0, 1.0], [6.0, 0.0]], ["a", "a", "b", "b"]),
        "fitted to 2 columns without names, but the table has 4: 'id', 'height', 'city', 'size'.",
    ),
}
ASKED = ["predict {} people.csv", "explain {} 0 --data people.csv", "explain {}", "export {} --to sql"]


@pytest.mark.parametrize(
    ("name", "command"),
    [
        *((name, command) for name in ("unfitted", "density", "kernel") for command in ASKED),
        ("unfitted", "merge {0} {0} -o a.mercer"),
        ("unfitted", "forget {} people.csv --target size -o a.mercer"),
        *(("unnamed", command) for command in ASKED[:2]),
    ],
)
def test_models_that_a_command_cannot_use_are_rejected(run: Run, folder: Path, name: str, command: str) -> None:
    made, sentence = OF_OTHERS[name]
    mercer.save(made(), folder / "other.mercer")
    result = run(*command.format("other.mercer").split())
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", ["a.db", "a.sqlite", "a.sqlite3"])
def test_tables_of_a_database_are_listed(run: Run, folder: Path, name: str) -> None:
    with sqlite3.connect(folder / name) as connection:
        connection.execute("CREATE TABLE people (height, size)")
        connection.execute("CREATE TABLE visits (height, size)")
    connection.close()
    for options, sentence in {
        "": f"{name!r} has several tables: 'people', 'visits'. Name one of them (on the command line with --sql",
        "--sql poeple": f"There is no table 'poeple' in {name!r}. Did you mean 'people'?",
        "--sql people": f"{name!r} has column names, but no rows.",
    }.items():
        result = run("fit", name, "--target", "size", "-o", "a.mercer", *options.split())
        assert result.exit_code == 2
        assert sentence in result.stderr.splitlines()[-1]


def test_svmlight_files_are_rejected_with_a_remedy(run: Run, folder: Path) -> None:
    (folder / "a.svm").write_text("1 1:0.5\n0 2:1.5\n")
    result = run("fit", "a.svm", "--target", "y", "-o", "a.mercer")
    assert result.exit_code == 2
    assert "'a.svm' is an svmlight file" in result.stderr.splitlines()[-1]
    assert "write the rows as CSV" in run("fit", "a.svm", "--target", "y", "--stream", "-o", "a.mercer").stderr
