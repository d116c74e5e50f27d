"""Results are kept per workload, and the tables in the repository are the ones the results give."""

from __future__ import annotations

from pathlib import Path

from bench import results
from bench.results import Cell, Outcome, Report, Timing


def report(name: str, seconds: float) -> Report:
    outcome = Outcome("fit", "rival", seconds, 1.0, 10 * seconds, 5.0, 1e-12, 0.05, None)
    return Report(name, "10 × 2", "somewhere", (outcome,), (Timing("start", 0.1, limit=0.3),))


def test_a_workload_run_alone_replaces_only_its_own_section(tmp_path: Path) -> None:
    store = tmp_path / "results.json"
    for one in (report("b", 1.0), report("a", 2.0), report("b", 3.0)):
        results.save(one, ("a", "b"), store)
    assert results.load(store) == [report("a", 2.0), report("b", 3.0)]


def test_a_section_describes_the_measurement_and_the_machine() -> None:
    text = results.section(report("a", 0.5))
    assert "10 × 2. somewhere." in text
    assert "| fit | rival | 0.5 | 5 | 10.0× | ≥5× | 1 | 1e-12 ≤ 1e-08 | 5% | – |" in text
    assert "| start | 0.1 | ≤0.3 |" in text


def test_peaks_of_whole_processes_are_in_bytes_and_a_first_call_may_be_absent() -> None:
    outcome = Outcome("fit", "rival", 1.0, None, 10.0, 5.0, 1e-12, 7.8e8, 1.2e9, whole_process=True)
    text = results.section(Report("a", "10 × 2", "somewhere", (outcome,)))
    assert "| ≥5× | – | 1e-12 ≤ 1e-08 | 0.78 GB | 1.20 GB |" in text


def test_limits_have_the_digits_of_seconds() -> None:
    text = results.section(Report("a", "10 × 2", "somewhere", timings=(Timing("a pass", 3.3419, limit=5.45562),)))
    assert "| a pass | 3.34 | ≤5.46 |" in text


def test_different_answers_have_no_ratio() -> None:
    wrong = Outcome("fit", "rival", 1.0, 1.0, 10.0, None, 1e-3, None, None)
    assert "answers differ" in results.section(Report("a", "10 × 2", "somewhere", (wrong,)))


def test_cells_make_a_table_for_each_task_and_name_those_that_are_slower(tmp_path: Path) -> None:
    cells = (
        Cell("Ridge", "fit", 100, 1.0, 4.0, 0.0),
        Cell("Ridge", "fit", 1_000, 1.0, 1.0, 0.0),
        Cell("Ridge", "predict one row", 100, 2.0, 1.0, 0.0),
        Cell("SVC", "fit", 100, 1.0, 3.0, 0.5, 0.1),
    )
    report = Report("sizes", "100 to 1,000", "somewhere", cells=cells)
    assert results.save(report, ("sizes",), tmp_path / "store.json") == [report]
    assert results.load(tmp_path / "store.json") == [report]
    text = results.section(report)
    assert "| Ridge | 4× | 1× |" in text
    assert "| SVC | ≠ | – |" in text
    assert "2.00× as fast as scikit-learn's in the geometric mean of 2" in text
    assert "1 of 4 cells are slower: Ridge, predict one row, 100 rows (0.50×)." in text


def test_the_readme_changes_between_its_marks_only() -> None:
    readme = "before\n<!-- speed -->\nold\n<!-- /speed -->\nafter\n"
    new = results.with_speed_table(readme, [report("svc", 1.0), report("a", 1.0)])
    assert new.startswith(
        "before\n<!-- speed -->\nAgainst the fastest rival: 10.0× faster in the geometric mean of 2 workloads"
    )
    assert "| svc | 10 × 2 | fit | 1 | – | 10.0× (rival) |" in new
    assert "| a |" not in new  # the README has some of the workloads
    assert new.endswith("|\n<!-- /speed -->\nafter\n")
    assert "old" not in new


def test_the_tables_in_the_repository_are_the_measured_ones() -> None:
    measured = results.load()
    readme = results.README.read_text(encoding="utf-8")
    assert results.with_speed_table(readme, measured) == readme
    if measured:
        assert all(results.section(one) in results.TABLE.read_text(encoding="utf-8") for one in measured)
        assert results.overall(measured) in results.TABLE.read_text(encoding="utf-8")
