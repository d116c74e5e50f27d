"""Commands on models in files: explain, describe, merge, forget, export, serve; and outliers."""

from __future__ import annotations

import re
import signal
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline

import mercer
from mercer.data import read_table
from tests.cli._program import PROGRAM, Run


def split(people: Path) -> tuple[Path, Path]:
    head, *rows = people.read_text().splitlines()
    halves = people.with_name("north.csv"), people.with_name("south.csv")
    for path, part in zip(halves, (rows[:40], rows[40:]), strict=True):
        path.write_text("\n".join([head, *part]))
    return halves


class TestExplain:
    def test_likelihoods_of_naive_bayes(self, run: Run, model: Path) -> None:
        result = run("explain", model).stdout
        assert re.search(r"height +1\.\d+ ± 0\.\d+ +1\.\d+ ± 0\.\d+", result)
        assert re.search(r"city +Jena +0\.\d+ +0\.\d+", result)
        assert len(re.findall("^ +city", run("explain", model, "--most", 1).stdout, re.MULTILINE)) == 1

    def test_coefficients(self, run: Run, people: Path, tmp_path: Path) -> None:
        run("fit", people, "--target", "size", "-o", tmp_path / "m", "-q")
        result = run("explain", tmp_path / "m").stdout
        assert re.search(r"height +\d\.\d+", result)
        assert "Intercept: " in result

    def test_contributions_of_columns_add_up(self, run: Run, model: Path, people: Path) -> None:
        result = run("explain", model, 3, "--data", people).stdout
        numbers = [float(number) for number in re.findall(r"[+-]\d+\.\d{4}", result)]
        assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=3e-4)
        share = float(re.search(r"tall: (0\.\d+|1\.0+)\)", result).group(1))  # type: ignore[union-attr]
        assert share == pytest.approx(1 / (1 + np.exp(-numbers[-1])), abs=2e-4)

    def test_a_row_as_json_is_the_row_of_a_table(self, run: Run, model: Path, people: Path) -> None:
        height, city = people.read_text().splitlines()[4].split(",")[1:3]
        written = run("explain", model, f'{{"city": "{city}", "height": {height}}}')
        assert written.exit_code == 0, written.output
        assert written.stdout == run("explain", model, 3, "--data", people).stdout
        assert not written.stderr

    def test_columns_absent_from_json_are_missing(self, run: Run, model: Path, people: Path) -> None:
        result = run("explain", model, '{"height": 1.9}')
        assert "Not given, and so missing: 'city'." in result.stderr
        assert run("explain", model, '{"height": 1.9, "city": null}').stdout == result.stdout
        assert "city" not in result.stdout

    def test_a_row_of_a_pipeline_as_json(self, run: Run, people: Path, tmp_path: Path) -> None:
        run("fit", people, "--target", "size", "-o", tmp_path / "m", "-q")
        result = run("explain", tmp_path / "m", '{"height": 1.9, "city": "Ulm"}')
        assert re.search(r"height +1\.9 +\+\d", result.stdout)

    def test_conformal_intervals_do_not_change_the_explanation(self, run: Run, people: Path, tmp_path: Path) -> None:
        run("fit", people, "--target", "id", "--model", "Ridge", "--conformal", "0.9", "-o", tmp_path / "m", "-q")
        result = run("explain", tmp_path / "m", '{"height": 1.9, "city": "Ulm", "size": "tall"}')
        assert result.exit_code == 0, result.output
        assert "What adds to the prediction" in result.stdout

    def test_a_calibrated_model(self, run: Run, people: Path, tmp_path: Path) -> None:
        run("fit", people, "--target", "size", "--calibrate", "platt", "-o", tmp_path / "m", "-q")
        result = run("explain", tmp_path / "m", 0, "--data", people)
        total = float(re.search(r"all together\) +([+-][\d.]+)", result.stdout)[1])
        predicted = run("predict", tmp_path / "m", people, "-q").stdout.splitlines()[1].split(",")[-1]
        assert f"tall: {float(predicted):.4f})" in result.stdout
        assert 1 / (1 + np.exp(-total)) == pytest.approx(float(predicted), abs=1e-4)

    def test_a_model_that_decides_by_costs(self, run: Run, tmp_path: Path) -> None:
        rows = np.arange(6.0)[:, None]
        decides = mercer.Decision(mercer.GaussianNB().fit(rows, [0, 0, 0, 1, 1, 1]), priors={0: 0.2, 1: 0.8})
        mercer.save(decides, tmp_path / "m")
        result = run("explain", tmp_path / "m", '{"x0": 2}')
        assert result.exit_code == 0, result.output
        assert "Contributions are computed before costs and priors, the prediction after them." in result.stderr
        assert "What adds to the log odds" in result.stdout

    @pytest.mark.filterwarnings("always::mercer._errors.UnseenCategoryWarning")
    def test_a_model_of_a_formula_and_a_warning_printed_once(self, run: Run, people: Path, tmp_path: Path) -> None:
        pytest.importorskip("formulaic")
        frame = read_table(people)
        features = mercer.TableFeatures(formula="scale(height) + C(size)").fit(frame)
        model = make_pipeline(features, mercer.Ridge()).fit(frame, frame["id"].to_numpy())
        mercer.save(model, tmp_path / "m")
        assert run("predict", tmp_path / "m", people, "-q").stdout.count("\n") == 81
        result = run("explain", tmp_path / "m", '{"height": 1.9, "size": "huge"}')
        assert result.stderr.count("'huge', which did not occur in the fit") == 1
        assert "scale(height)" in result.stdout

    def test_a_kernel_machine_has_drivers_and_shapley_values(self, run: Run, people: Path, tmp_path: Path) -> None:
        run("fit", people, "--target", "size", "--model", "SVC", "-o", tmp_path / "m", "-q")
        learnt = run("explain", tmp_path / "m").stdout
        assert re.search(r"height +higher values make tall more likely", learnt)
        assert "drawn column by column from the model card" in learnt
        ranked = run("explain", tmp_path / "m", "--data", people).stdout
        assert re.search(r"height +higher values make tall more likely", ranked)
        result = run("explain", tmp_path / "m", 3, "--data", people).stdout
        assert "Contributions are Shapley values" in result
        adds = [float(text) for text in re.findall(r" ([+-]\d+\.\d{4})", result)]
        assert sum(adds[:-1]) == pytest.approx(adds[-1], abs=1e-3)

    def test_without_a_card_the_table_of_the_row_is_the_background(
        self, run: Run, people: Path, tmp_path: Path
    ) -> None:
        frame = read_table(people).select(["height"])
        mercer.save(mercer.SVC().fit(frame, read_table(people)["size"].to_numpy()), tmp_path / "m")
        assert "Shapley values" in run("explain", tmp_path / "m", 3, "--data", people).stdout
        result = run("explain", tmp_path / "m", '{"height": 1.9}')
        assert result.exit_code == 2
        assert "no model card to draw usual rows from" in result.stderr
        assert "SVC has neither coefficients nor tables of its columns" in run("explain", tmp_path / "m").stderr


def test_describe(run: Run, model: Path) -> None:
    result = run("describe", model).stdout
    assert "Classes: 'short', 'tall'" in result
    assert "height  number" in result
    assert f"written by mercer {mercer.__version__}" in result


class TestMerge:
    @pytest.mark.parametrize("name", ["NaiveBayes", "GaussianNB", "GaussianDiscriminant"])
    def test_merged_halves_agree_with_the_whole(self, run: Run, people: Path, name: str) -> None:
        saved = [path.with_suffix(".mercer") for path in (*split(people), people)]
        for path in saved:
            data = path.with_suffix(".csv")
            assert run("fit", data, "--target", "size", "--model", name, "-o", path, "-q").exit_code == 0
        merged = people.with_name("merged.mercer")
        result = run("merge", saved[0], saved[1], "-o", merged)
        assert result.exit_code == 0, result.output
        first, second = (run("predict", path, people, "-q").stdout.splitlines()[1:] for path in (merged, saved[2]))
        numbers = [[[float(n) for n in row.split(",")[1:]] for row in rows] for rows in (first, second)]
        np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-8)

    def test_models_that_cannot_be_merged(self, run: Run, people: Path, model: Path, tmp_path: Path) -> None:
        run("fit", people, "--target", "size", "-o", tmp_path / "m", "-q")
        result = run("merge", tmp_path / "m", tmp_path / "m", "-o", tmp_path / "c")
        assert result.exit_code == 2
        assert "LogisticRegression with features before it cannot be merged" in result.stderr
        result = run("merge", model, tmp_path / "m", "-o", tmp_path / "c")
        assert "holds a NaiveBayes, but" in result.stderr

    def test_columns_that_are_described_differently(self, run: Run, people: Path, model: Path, tmp_path: Path) -> None:
        fit = ("fit", people, "--target", "size", "--model", "NaiveBayes", "--kind", "height=category")
        run(*fit, "-o", tmp_path / "m", "-q")
        result = run("merge", model, tmp_path / "m", "-o", tmp_path / "c")
        assert result.exit_code == 2
        assert "column 'height' differently" in result.stderr
        assert "fit all with --kind height=KIND" in result.stderr


class TestForget:
    def test_forgetting_leaves_the_model_of_the_remaining_rows(self, run: Run, people: Path, model: Path) -> None:
        north, south = split(people)
        left, direct = people.with_name("left.mercer"), people.with_name("direct.mercer")
        assert run("forget", model, south, "--target", "size", "-o", left).exit_code == 0
        run("fit", north, "--target", "size", "--model", "NaiveBayes", "-o", direct, "-q")
        frame = read_table(people).select(["height", "city"])
        np.testing.assert_allclose(
            mercer.load(left).predict_proba(frame), mercer.load(direct).predict_proba(frame), rtol=1e-8
        )

    def test_models_that_cannot_forget_are_rejected(self, run: Run, people: Path, tmp_path: Path) -> None:
        run("fit", people, "--target", "size", "-o", tmp_path / "m", "-q")
        result = run("forget", tmp_path / "m", people, "--target", "size", "-o", tmp_path / "c")
        assert result.exit_code == 2
        assert "LogisticRegression with features before it cannot forget rows exactly" in result.stderr


class TestExport:
    def test_exported_sql_gives_the_same_predictions(self, run: Run, model: Path, people: Path) -> None:
        duckdb: Any = pytest.importorskip("duckdb")
        query = run("export", model, "--to", "sql", "--table", "people").stdout
        table = read_table(people)
        with duckdb.connect() as connection:
            connection.register("people", table)
            said = connection.execute(query).fetchall()
        expected = mercer.load(model).predict_proba(table.select(["height", "city"]))
        np.testing.assert_allclose([probabilities for _, *probabilities in said], expected, atol=1e-9)

    def test_keys_are_kept_with_the_predictions(self, run: Run, model: Path) -> None:
        query = run("export", model, "--to", "sql", "--keep", "id", "--keep", "name", "--dialect", "sqlite").stdout
        assert 'k1 AS "id",\n    k2 AS "name",' in query
        assert "AS MATERIALIZED" in query
        rejected = run("export", model, "--to", "python", "--keep", "id")
        assert rejected.exit_code == 2
        assert "--keep is for --to sql" in rejected.stderr

    def test_rows_that_an_export_cannot_predict_are_named(self, run: Run, tmp_path: Path) -> None:
        table = tmp_path / "wine.csv"
        load_wine(as_frame=True).frame.to_csv(table, index=False)
        model = "LinearDiscriminantAnalysis"
        fitted = run("fit", table, "--target", "target", "--model", model, "-o", tmp_path / "m", "-q")
        assert fitted.exit_code == 0, fitted.stderr
        for language in ("sql", "python"):
            result = run("export", tmp_path / "m", "--to", language, "-o", tmp_path / language)
            assert result.exit_code == 0, result.stderr
            assert "Rows with missing values have no prediction." in result.stderr
            assert "Rows with missing values have no prediction." in (tmp_path / language).read_text()

    def test_python_is_text_and_onnx_a_file(self, run: Run, model: Path) -> None:
        assert "def " in run("export", model, "--to", "python").stdout
        pytest.importorskip("onnx")
        path = model.with_suffix(".onnx")
        assert run("export", model, "--to", "onnx", "-o", path).exit_code == 0
        assert path.stat().st_size > 100


def test_outliers(run: Run, people: Path, tmp_path: Path) -> None:
    with people.open("a") as file:
        file.write("80,9.5,Ulm,tall\n")
    result = run("outliers", people, "--most", "1", "--keep", "city")
    assert result.exit_code == 0, result.output
    assert re.search(r"80 +Ulm +0\.\d+ .* height", result.stdout)
    assert run("outliers", people, "--drop", "size", "-o", tmp_path / "odd.csv").exit_code == 0
    assert read_table(tmp_path / "odd.csv")["row"].to_pylist()[0] == 80
    printed = run("outliers", people, "--drop", "size", "-o", "-", "-q")
    assert printed.stdout == (tmp_path / "odd.csv").read_text()
    held = run("outliers", people, "--usual", people, "--fdr", "0.2", "--most", "3")
    assert "flagged" in held.stdout


def test_a_missing_value_kept_with_outliers_stays_missing(run: Run, people: Path) -> None:
    with people.open("a") as file:
        file.write("80,9.5,,tall\n")
    ask = ("outliers", people, "--most", "1", "--keep", "city")
    assert run(*ask, "-o", "-", "-q").stdout.splitlines()[1].startswith("80,,")
    assert "None" not in run(*ask).stdout


def test_outliers_are_found_in_the_common_columns(run: Run, people: Path) -> None:
    (usual := people.with_name("usual.csv")).write_text(
        "".join(f"{line},{'more' if k == 0 else k}\n" for k, line in enumerate(people.read_text().splitlines()))
    )
    people.write_text("".join(f"{line.rpartition(',')[0]}\n" for line in people.read_text().splitlines()))
    result = run("outliers", people, "--usual", usual, "--drop", "id", "--kind", "city=category", "--keep", "id")
    assert result.exit_code == 0, result.output
    assert "Columns left out because only one of the tables has them: 'size', 'more'." in result.stderr
    assert len(result.stdout.split()) > 80
    dropped = run(
        "outliers", usual, "--usual", usual, "--drop", "more", "--drop", "id", "--kind", "size=category", "-q"
    )
    assert (dropped.exit_code, dropped.stderr) == (0, "")
    assert "more" not in dropped.stdout
    twice = run("outliers", people, "--keep", "city", "--keep", "city", "-o", "-", "-q")
    assert twice.stdout.splitlines()[0].count("city") == 1


def test_a_column_of_lists_can_be_dropped(run: Run, tmp_path: Path) -> None:
    table = pa.table({"l": [[1, 2]] * 40, "x": np.arange(40.0), "y": ["a", "b"] * 20})
    parquet.write_table(table, tmp_path / "a.parquet")
    fit = ("fit", tmp_path / "a.parquet", "--target", "y", "--model", "NaiveBayes", "-o", tmp_path / "m", "-q")
    result = run(*fit)
    assert result.exit_code == 2
    assert "Column 'l' has the type list" in result.stderr
    assert "leave it out (on the command line with --drop)." in result.stderr
    assert run(*fit, "--drop", "l").exit_code == 0


def test_serve(model: Path) -> None:
    pytest.importorskip("uvicorn")
    process = subprocess.Popen([*PROGRAM, "serve", str(model), "--port", "0"], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        address = re.search(r"http://\S+", process.stderr.readline()).group(0)  # type: ignore[union-attr]
        assert _answer(f"{address}health") == 200
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "Stopped.\n")


def _answer(address: str) -> int:
    """Return the status of a request, which is repeated until the server answers."""
    for _ in range(100):
        try:
            with urllib.request.urlopen(address, timeout=10) as response:
                return int(response.status)
        except OSError:
            time.sleep(0.1)
    raise AssertionError(address)
