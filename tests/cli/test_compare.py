"""`mercer compare` from the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import mercer
from mercer.comparison._cross_validation import CrossValidationRun
from mercer.comparison.sections import whole
from tests._ctrl_c import interrupt, interrupted_at
from tests.cli._program import Run

#: two models that are fitted in an instant
QUICK = ["--models", "NaiveBayes", "--models", "LogisticRegression", "--folds", "2"]


def test_without_target_a_bundled_set_is_compared(run: Run) -> None:
    result = run("compare", "iris", *QUICK)
    assert result.exit_code == 0
    assert "150 rows × 4 columns, 3 classes; 2 stratified folds" in result.stdout
    assert "log loss" in result.stdout
    assert "Differences from" in result.stdout
    assert "Use " in result.stdout
    assert "iris: comes with scikit-learn; 150 rows, target 'species'." in result.stderr
    assert "petal length (cm)  number" in result.stderr


def test_a_file_is_compared(run: Run, people: Path) -> None:
    result = run("compare", people, "--target", "-1", "--drop", "id", "--seed", "1", *QUICK)
    assert result.exit_code == 0
    assert "80 rows × 2 columns, 2 classes" in result.stdout
    assert "fields separated by commas, names in the first line; 80 rows, target 'size'" in result.stderr


def test_problems_come_first_then_the_verdict_then_the_table(run: Run, tmp_path: Path) -> None:
    rows = [f"{i % 7},{'paid' if i % 3 else ''},{'yes' if i % 3 else 'no'}" for i in range(90)]
    (tmp_path / "orders.csv").write_text("\n".join(["amount,bill,bought", *rows]))
    result = run("compare", tmp_path / "orders.csv", "--target", "bought", "--reference", *QUICK).stdout
    marks = (
        "ERROR MRC103: Column 'bill'",
        "--drop bill",
        "Use ",
        "The reference, Hist",
        "90 rows × 2 columns",
        "(reference)",
    )
    places = [result.index(mark) for mark in marks]
    assert places == sorted(places)


def test_quiet_prints_only_the_answer(run: Run, people: Path) -> None:
    result = run("compare", people, "--target", "size", "-q", *QUICK)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "NaiveBayes" in result.stdout


def test_progress_is_shown_on_request(run: Run) -> None:
    assert "4/4" in run("compare", "iris", "--progress", *QUICK).stderr
    assert "4/4" not in run("compare", "iris", *QUICK).stderr


def test_only_named_files_are_written(run: Run, people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(people.parent)
    assert run("compare", people, "--target", "size", *QUICK).exit_code == 0
    assert [file.name for file in people.parent.iterdir()] == ["people.csv"]
    places = ["--report", "report.html", "--json", "found.json", "--markdown", "found.md", "--save", "best.mercer"]
    result = run("compare", people, "--target", "size", *QUICK, *places)
    assert result.exit_code == 0
    written = {file.name for file in people.parent.iterdir()} - {"people.csv"}
    assert written == {"report.html", "found.json", "found.md", "best.mercer"}
    assert json.loads(Path("found.json").read_text())
    assert Path("report.html").read_text().startswith("<!DOCTYPE html>")
    assert "The page is report.html." in result.stderr


def test_the_best_model_accepts_the_original_table(run: Run, people: Path, tmp_path: Path) -> None:
    saved = tmp_path / "best.mercer"
    for name in ("NaiveBayes", "LogisticRegression"):
        assert run("compare", people, "--target", "size", "--models", name, "--save", saved, "-q").exit_code == 0
        result = run("predict", saved, people, "-q")
        assert result.exit_code == 0
        right = [
            truth.endswith(line.split(",")[0].strip('"'))
            for truth, line in zip(people.read_text().splitlines()[1:], result.stdout.splitlines()[1:], strict=True)
        ]
        assert sum(right) > 70


def test_json_on_standard_output_is_the_only_output(run: Run, people: Path) -> None:
    result = run("compare", people, "--target", "size", "--json", "-", *QUICK)
    assert json.loads(result.stdout)
    assert run("compare", people, "--target", "size", "--markdown", "-", *QUICK).stdout.lstrip().startswith("#")


def test_rows_without_a_label_are_left_out_and_mentioned(run: Run, people: Path) -> None:
    with people.open("a") as file:
        file.write("81,1.7,Ulm,?\n")
    result = run("compare", people, "--target", "size", *QUICK)
    assert "80 rows × 3 columns" in result.stdout
    assert "Rows left out because they have no 'size': 1." in result.stderr


def test_groups_and_times_are_not_passed_to_models(run: Run, tmp_path: Path) -> None:
    rows = [f"{i % 8},{i},{i % 7 / 7},{'a' if i % 2 else 'b'}" for i in range(80)]
    (path := tmp_path / "visits.csv").write_text("\n".join(["patient,day,x,y", *rows]))
    grouped = run("compare", path, "--target", "y", "--group", "patient", *QUICK)
    assert "80 rows × 2 columns, 2 classes; 2 folds of whole groups" in grouped.stdout
    forward = run("compare", path, "--target", "y", "--time", "day", *QUICK)
    assert "80 rows × 2 columns, 2 classes; 2 forward splits" in forward.stdout


def test_kinds_can_be_declared(run: Run, people: Path) -> None:
    result = run("compare", people, "--target", "size", "--kind", "id=number", *QUICK)
    assert "id      number" in result.stderr
    assert "identifier" not in result.stdout


def test_the_seed_determines_the_splits(run: Run) -> None:
    def found(seed: str) -> Any:
        return json.loads(run("compare", "wine", "--seed", seed, "--json", "-", *QUICK).stdout)["models"][0]["measures"]

    assert found("1") == found("1") != found("2")


def test_ctrl_c_prints_the_finished_part(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CrossValidationRun, "_run", interrupted_at(2, CrossValidationRun._run))
    result = run("compare", "iris", *QUICK)
    assert result.exit_code == 130
    assert "NaiveBayes" in result.stdout
    assert "Stopped by Ctrl-C before these were done: LogisticRegression" in result.stdout
    assert result.stderr.splitlines()[-1].startswith("mercer: stopped by Ctrl-C")


def test_ctrl_c_before_anything_is_done(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CrossValidationRun, "_run", interrupt)
    result = run("compare", "iris", *QUICK)
    assert (result.exit_code, result.stdout) == (130, "")


def test_progress_has_a_step_for_each_section_of_the_page(run: Run, tmp_path: Path) -> None:
    result = run("compare", "iris", "--progress", "--report", tmp_path / "report.html", *QUICK)
    assert f"{whole.PAGE_STEPS}/{whole.PAGE_STEPS}" in result.stderr


def test_ctrl_c_during_the_page_is_handled(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are printed, and a previous page stays as it was."""
    monkeypatch.setattr(whole, "PAGE_SECTIONS", (*whole.PAGE_SECTIONS[:1], interrupt))
    (report := tmp_path / "report.html").write_text("the page of yesterday")
    result = run("compare", "iris", "--report", report, *QUICK)
    assert result.exit_code == 130
    assert "Use " in result.stdout
    assert result.stderr.splitlines()[-2:] == [f"mercer: {report} is not written.", "mercer: stopped by Ctrl-C."]
    assert report.read_text() == "the page of yesterday"
    assert list(tmp_path.iterdir()) == [report]


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace the clock by a number that the test increases."""
    passed = [0.0]
    for module in ("time_limit.now", "_cross_validation.now"):
        monkeypatch.setattr(f"mercer.comparison.{module}", lambda: passed[0])
    monkeypatch.setattr("mercer.cli.compare.perf_counter", lambda: passed[0])
    return passed


def test_the_time_limit_covers_models_and_page_together(
    run: Run, tmp_path: Path, seconds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a report, models have three quarters of the time, and the report the rest."""
    fit = mercer.NaiveBayes.fit

    def slow(self: Any, *args: Any, **options: Any) -> Any:
        seconds[0] += 10
        return fit(self, *args, **options)

    monkeypatch.setattr(mercer.NaiveBayes, "fit", slow)
    report = tmp_path / "report.html"
    arguments = ["compare", "iris", "--models", "NaiveBayes", "--folds", "4", "--time-limit"]
    # 40 s for four fits; the page fits it to all rows, and such models to the halves of them
    enough = run(*arguments, "100", "--report", report)
    assert enough.exit_code == 0
    assert "the time limit was reached" not in report.read_text()
    seconds[0] = 0.0
    short = run(*arguments, "52", "--report", report)
    assert short.exit_code == 2
    assert "no model was done within 52 s: NaiveBayes (2 of 4 splits done; the others would take 20 s more)" in (
        short.stderr
    )
    seconds[0] = 0.0
    assert run(*arguments, "52").exit_code == 0


def test_sections_left_out_for_lack_of_time_are_named_on_the_page(
    run: Run, tmp_path: Path, seconds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(view: Any) -> Any:
        seconds[0] += 100

    monkeypatch.setattr(whole, "PAGE_SECTIONS", (slow, *whole.PAGE_SECTIONS))
    report = tmp_path / "report.html"
    assert run("compare", "iris", *QUICK, "--time-limit", "99", "--report", report).exit_code == 0
    page = report.read_text()
    note = re.search(r"([\w ,]+): not made, because the time limit was reached \(not begun\)\.", page)
    assert note is not None
    assert {"columns", "learning curves"} <= set(re.split(r", | and ", note[1]))
    assert "Which model" in page


def test_notes_about_a_wide_table_are_printed(run: Run, tmp_path: Path) -> None:
    names = ["rownames", "price", *(f"x{j}" for j in range(45)), "y"]
    rows = [[i, f"${1000 + i:,}", *((i * j) % 7 for j in range(45)), "ab"[i % 2]] for i in range(1, 41)]
    (path := tmp_path / "wide.csv").write_text("\n".join([";".join(names), *(";".join(map(str, row)) for row in rows)]))
    result = run("compare", path, "--target", "y", "--models", "NaiveBayes", "--folds", "2", "--no-progress")
    assert "'rownames': identifier: numbers the rows in file order." in result.stderr
    assert "'price': read as number: unit $" in result.stderr
