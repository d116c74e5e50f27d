"""`mercer predict` predicts as in Python, from files of all formats and of several blocks."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import mercer
from mercer.data import read_table
from mercer.data.readers import open_rows
from tests.cli._program import Run


def predicted(path: Path) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = read_table(path).to_pydict()
    return found


def expected(model: Path, people: Path) -> np.ndarray[Any, Any]:
    frame = read_table(people).select(["height", "city"])
    return np.asarray(mercer.load(model).predict_proba(frame))


def widen(path: Path, padding: int = 100_000) -> None:
    """Add a column of long texts, which models ignore, so that a file of few rows has several blocks."""
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([f"{head},padding", *(f"{row},{'x' * padding}" for row in rows)]) + "\n")


def write_as(people: Path, name: str) -> Path:
    table, path = read_table(people), people.with_name(name)
    match path.suffix:
        case ".parquet":
            parquet.write_table(table, path)
        case ".feather":
            feather.write_feather(table, str(path))
        case ".jsonl":
            path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
        case ".csv":  # other columns first, others besides, and another separator
            rows = [["more", "city", "height"], *([7, row["city"] or "", row["height"]] for row in table.to_pylist())]
            with path.open("w", newline="") as file:
                csv.writer(file, delimiter=";").writerows(rows)
        case _:
            duckdb = pytest.importorskip("duckdb")
            with duckdb.connect(str(path)) as connection:
                connection.register("rows", table)
                connection.execute("CREATE TABLE people AS SELECT * FROM rows")
    return path


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.jsonl", "a.csv", "a.duckdb"])
@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
def test_files_of_every_format_are_written(run: Run, model: Path, people: Path, name: str, output: str) -> None:
    path = people.with_name(output)
    result = run("predict", model, write_as(people, name), "-o", path)
    assert result.exit_code == 0, result.output
    result = predicted(path)
    probabilities = np.column_stack([result["probability[short]"], result["probability[tall]"]])
    np.testing.assert_allclose(probabilities, expected(model, people), rtol=1e-12)


def test_predictions_by_parts_agree_with_the_whole(run: Run, model: Path, people: Path) -> None:
    whole = run("predict", model, people, "--keep", "id", "-q").stdout
    widen(people)
    assert run("predict", model, people, "--keep", "id", "-q").stdout == whole
    assert whole.splitlines()[0] == '"id","prediction","probability[short]","probability[tall]"'
    assert [row.split(",")[0] for row in whole.splitlines()[1:]] == [str(i) for i in range(80)]


KEPT = [
    "zip,bigid,when,na,note,height,city",
    "00001,12345678901234567890,2024-01-01 10:00:00+02:00,NA, a ,1.7,Ulm",
    'A1,12345678901234567891,2024-01-01 10:00:00+02:00,?,"a,""b""",1.9,NA',
    ",0,2024-01-01 10:00:00Z,NULL,c,1.9,Bonn",
]


@pytest.mark.parametrize("padding", [1, 2_000_000])
def test_kept_columns_are_copied_unchanged(run: Run, model: Path, people: Path, padding: int) -> None:
    people.write_text("\n".join(KEPT) + "\n")
    widen(people, padding)
    keep = [word for name in ("zip", "bigid", "when", "na", "note") for word in ("--keep", name)]
    result = run("predict", model, people, *keep, "--missing", "A1", "--no-probabilities", "-q")
    assert result.exit_code == 0, result.output
    kept = [",".join(line.split(",")[:-1]) for line in result.stdout.splitlines()[1:]]
    assert kept == [",".join(line.split(",")[:-2]) for line in KEPT[1:]]


def test_kept_columns_of_typed_formats_keep_their_types(run: Run, model: Path, people: Path) -> None:
    path, out = people.with_name("a.parquet"), people.with_name("out.parquet")
    table = read_table(people).append_column("zip", pa.array(range(80), pa.int16()))
    parquet.write_table(table, path)
    assert run("predict", model, path, "--keep", "zip", "--missing", "7", "-o", out).exit_code == 0
    assert read_table(out)["zip"].combine_chunks() == table["zip"].combine_chunks()


@pytest.fixture
def typed(run: Run, people: Path) -> tuple[Path, list[str]]:
    """Return a model of a boolean and a date, and rows of which the first ones do not determine the types."""
    rows = [f"{('true', 'false')[i % 2]},2024-01-{1 + i % 28:02},{'ab'[i % 2 if i % 5 else 0]}" for i in range(80)]
    people.write_text("\n".join(["flag,day,y", *rows]))
    assert run("fit", people, "--target", "y", "-o", people.with_suffix(".mercer"), "-q").exit_code == 0
    return people.with_suffix(".mercer"), [",2024-01-01"] * 30 + ["true,2024-01-02 10:00:00", "False,2024-01-03"]


def test_the_first_rows_do_not_determine_the_types_of_columns(
    run: Run, people: Path, typed: tuple[Path, list[str]]
) -> None:
    model, rows = typed
    people.write_text("\n".join(["flag,day", *rows]))
    whole = run("predict", model, people, "-q")
    widen(people, 300_000)
    parts = run("predict", model, people, "-q")
    assert (parts.exit_code, parts.stdout) == (0, whole.stdout), parts.output
    assert len({line.split(",")[-1] for line in whole.stdout.splitlines()[1:]}) == 3


@pytest.mark.parametrize("name", ["LogisticRegression", "NaiveBayes"])
def test_codes_keep_their_leading_zeros(run: Run, people: Path, name: str) -> None:
    rows = [f"{('00501', '10001', '90210')[i % 3]},{i % 7}.5,{'ab'[(i * i) % 3 % 2]}" for i in range(90)]
    people.write_text("\n".join(["zip,x,y", *rows]))
    saved = people.with_suffix(".mercer")
    options = ("--kind", "zip=code", "--model", name, "-o", saved, "-q")
    assert run("fit", people, "--target", "y", *options).exit_code == 0
    result = run("predict", saved, people)
    assert result.exit_code == 0, result.output
    assert "no row of the fit had" not in result.stderr


@pytest.mark.parametrize("padding", [1, 100_000])
def test_a_word_among_numbers_is_named_with_its_column_and_line(
    run: Run, model: Path, people: Path, padding: int
) -> None:
    with people.open("a") as file:
        file.write("80,not known,Ulm,tall\n")
    widen(people, padding)
    result = run("predict", model, people)
    assert result.exit_code == 2
    sentence = "Column 'height' of 'people.csv' must hold numbers, but is 'not known' in line 82."
    assert sentence in result.stderr
    assert "--missing 'not known'" in result.stderr
    assert run("predict", model, people, "--missing", "not known").exit_code == 0


def test_clock_times_are_rejected_if_they_could_not_be_read_back(run: Run, people: Path) -> None:
    rows = [f"{6 + i % 12:02}:{i % 60:02},{i % 7}.5,{'ab'[i % 2]}" for i in range(60)]
    people.write_text("\n".join(["dep,x,y", *rows]))
    fit = ("fit", people, "--target", "y", "-o", people.with_suffix(".mercer"), "-q")
    for how in ("--in-memory", "--stream"):
        result = run(*fit, how)
        assert result.exit_code == 2
        assert "Column 'dep' holds times of day" in result.stderr
        assert "--drop dep" in result.stderr
        assert run(*fit, how, "--drop", "dep").exit_code == 0
    assert run("predict", people.with_suffix(".mercer"), people, "-q").exit_code == 0
    found = run("compare", people, "--target", "y", "--models", "NaiveBayes", "--save", people.with_suffix(".best"))
    assert "Columns left out: 'dep' (times of day). Write them as numbers, e.g. as hours, to use them." in found.stdout
    assert run("predict", people.with_suffix(".best"), people, "-q").exit_code == 0


def test_a_baseline_accepts_columns_of_any_kind(run: Run, people: Path) -> None:
    words = [f"a long remark on row {i} and nothing else,{'uv'[i % 2]},{'abb'[i % 3]}" for i in range(60)]
    people.write_text("\n".join(["remark,code,y", *words]))
    model = people.with_suffix(".mercer")
    assert run("fit", people, "--target", "y", "--model", "DummyClassifier", "-o", model, "-q").exit_code == 0
    found = run("predict", model, people, "-q")
    assert found.exit_code == 0
    assert {line.split(",")[0] for line in found.stdout.splitlines()[1:]} == {"b"}


def test_a_rejected_row_is_named_by_its_number_in_the_file(run: Run, people: Path, tmp_path: Path) -> None:
    run("fit", people, "--target", "size", "--drop", "city", "-o", tmp_path / "m", "-q")
    rows = people.read_text().splitlines()
    rows[71] = "70,inf,Ulm,tall"
    people.write_text("\n".join(rows))
    whole = run("predict", tmp_path / "m", people, "-q").stderr
    widen(people)
    assert "row 70" in whole
    assert run("predict", tmp_path / "m", people, "-q").stderr == whole


def test_a_column_kept_twice_is_written_once(run: Run, model: Path, people: Path) -> None:
    result = run("predict", model, people, "--keep", "id", "--keep", "id", "-q").stdout
    assert result.splitlines()[0].replace('"', "").split(",")[:2] == ["id", "prediction"]


def test_fields_that_first_appear_in_later_lines_are_columns(run: Run, model: Path, people: Path) -> None:
    late, out = people.with_name("late.jsonl"), people.with_name("out.parquet")
    padding = "x" * 200_000  # several blocks
    first, last = {"height": 1.7, "city": "Ulm", "padding": padding}, {"height": 1.9, "city": "Bonn", "note": "late"}
    late.write_text("".join(f"{json.dumps(row)}\n" for row in [*[first] * 30, last]))
    result = run("predict", model, late, "--keep", "note", "-o", out)
    assert result.exit_code == 0, result.output
    assert predicted(out)["note"] == [None] * 30 + ["late"]
    assert "There is no column 'nota'" in run("predict", model, late, "--keep", "nota").stderr


def test_fit_names_the_options_that_predict_needs(run: Run, people: Path, tmp_path: Path) -> None:
    fit = ("fit", people, "--target", "size", "-o", tmp_path / "m")
    assert "give `mercer predict` --missing 999 --only-missing, too" in (
        run(*fit, "--missing", "999", "--only-missing").stderr
    )
    assert "mercer predict" not in run(*fit).stderr


def test_a_folder_is_predicted(run: Run, model: Path, people: Path, tmp_path: Path) -> None:
    head, *rows = people.read_text().splitlines()
    (folder := tmp_path / "days").mkdir()
    for number in range(4):
        (folder / f"{number}.csv").write_text("\n".join([head, *rows[20 * number : 20 * number + 20]]))
    assert run("predict", model, folder, "-q").stdout == run("predict", model, people, "-q").stdout


def test_an_unseen_level_is_named(run: Run, model: Path, people: Path) -> None:
    assert "no row of the fit had" not in run("predict", model, people).stderr
    people.write_text(people.read_text().replace("Jena", "Jenna"))
    result = run("predict", model, people).stderr
    assert "Column 'city' has 'Jenna', which no row of the fit had. Did you mean 'Jena'?" in result
    assert result.count("Jenna") == 1
    assert "Jenna" not in run("predict", model, people, "-q").stderr


def test_uncertain_rows_are_left_undecided(run: Run, model: Path, people: Path) -> None:
    out = people.with_name("out.parquet")
    assert run("predict", model, people, "--abstain", "0.9", "-o", out).exit_code == 0
    result = predicted(out)
    sure = [max(pair) >= 0.9 for pair in zip(result["probability[short]"], result["probability[tall]"], strict=True)]
    assert [label is not None for label in result["prediction"]] == sure
    assert 0 < sum(sure) < 80


def test_costs_and_priors_change_decisions(run: Run, model: Path, people: Path) -> None:
    costs = json.dumps({"tall": {"short": 50}, "short": {"tall": 1}})
    out = people.with_name("out.parquet")
    run("predict", model, people, "--costs", costs, "-o", out)
    result = predicted(out)
    cheaper = ["tall" if 50 * p > 1 - p else "short" for p in result["probability[tall]"]]
    assert result["prediction"] == cheaper
    assert max(result["expected cost"]) <= 1
    (people.with_name("costs.json")).write_text(costs)
    run("predict", model, people, "--costs", people.with_name("costs.json"), "-o", out)
    assert predicted(out) == result
    run("predict", model, people, "--priors", '{"tall": 0.001, "short": 0.999}', "-o", out)
    assert np.mean(predicted(out)["probability[tall]"]) < 0.2
    assert "expected cost" not in predicted(out)


def test_priors_of_a_model_without_training_priors_need_an_option(run: Run, people: Path) -> None:
    fitted, out = people.with_name("logistic.mercer"), people.with_name("out.parquet")
    run("fit", people, "--target", "size", "--model", "LogisticRegression", "-o", fitted)
    command = ("predict", fitted, people, "--priors", '{"tall": 0.001, "short": 0.999}', "-o", out)
    assert "--trained-priors" in run(*command).stderr
    assert run(*command, "--trained-priors", '{"tall": 0.5, "short": 0.5}').exit_code == 0
    assert np.mean(predicted(out)["probability[tall]"]) < 0.2
    assert "expected cost" not in predicted(out)


def test_probabilities_can_be_left_out(run: Run, model: Path, people: Path) -> None:
    assert run("predict", model, people, "--no-probabilities", "-q").stdout.splitlines()[0] == '"prediction"'


def test_a_failure_leaves_the_old_file(run: Run, model: Path, people: Path) -> None:
    widen(people)
    (out := people.with_name("out.csv")).write_text("old")
    with people.open("a") as file:
        file.write("80,1.7\n")
    result = run("predict", model, people, "-o", out)
    assert (result.exit_code, out.read_text()) == (2, "old")
    assert "Line 82 of 'people.csv' has 2 fields" in result.stderr
    assert {file.name for file in people.parent.iterdir()} == {"people.csv", "people.mercer", "out.csv"}


def test_memory_is_bounded(tmp_path: Path) -> None:
    """Rows are read in parts of a few megabytes."""
    largest = []
    for times in (400_000, 800_000):
        path = tmp_path / f"{times}.csv"
        path.write_text("height,city\n" + "1.7,Ulm\n1.9,Bonn\n" * times)
        sizes = [part.frame.num_rows for part in open_rows(path).parts(["height", "city"])]
        assert sum(sizes) == 2 * times
        largest.append(max(sizes))
    assert largest[1] < 1.01 * largest[0] < 600_000


def test_a_column_without_values_is_missing(run: Run, model: Path, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"height": pa.nulls(3), "city": ["Ulm", None, "Jena"]}), tmp_path / "a.parquet")
    assert run("predict", model, tmp_path / "a.parquet", "-q").exit_code == 0


def test_text_is_never_a_formula_in_a_spreadsheet(run: Run, tmp_path: Path) -> None:
    rows = tmp_path / "t.csv"
    lines = [f"{i % 7},{'=1+1' if i % 2 else 'no'},{'@x' if i % 3 else '-y'}" for i in range(40)]
    rows.write_text("\n".join(["-a,y,+note", *lines]) + "\n")
    model = tmp_path / "m.mercer"
    result = run("fit", rows, "--target", "y", "--drop", "+note", "--model", "NaiveBayes", "-o", model)
    assert result.exit_code == 0, result.stderr
    keep = ["--keep", "+note", "--no-probabilities", "-q"]
    plain, safe = (run("predict", model, rows, *keep, *more).stdout for more in ([], ["--spreadsheet"]))
    assert plain.splitlines()[0] == '"+note","prediction"'
    assert safe.splitlines()[0] == '"\'+note","prediction"'
    assert [line.split(",")[0] for line in safe.splitlines()[1:3]] == ["'-y", "'@x"]
    assert "'=1+1" in safe
    assert "'no" not in safe
    assert safe.replace("'", "") == plain
    rejected = run("predict", model, rows, *keep, "--spreadsheet", "-o", tmp_path / "p.parquet")
    assert "is for .csv and .tsv files" in rejected.stderr
