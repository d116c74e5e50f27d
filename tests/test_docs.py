"""The documentation tells the truth: examples run, names exist, tests it points to exist, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mercer

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
LECTURES = (REPOSITORY / "docs" / "lectures.md").read_text(encoding="utf-8")
PAGES = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("bench/*.md")]


def models_of_readme() -> list[str]:
    section = README.split("## Models")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def lecture_tests() -> list[tuple[str, str]]:
    return sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", LECTURES)))


#: what comments of the example say that it prints
PRINTED = ["Encoded(6 rows × 42 columns: ", "377348994", "['spam']", "h = 0.1347, by isj"]


@pytest.mark.parametrize("rows", ["2_000", pytest.param("20_000", marks=pytest.mark.slow)])
def test_the_example_of_the_readme_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: str
) -> None:
    """As it is, and with fewer of its many rows: those take longer than all the rest."""
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert example.count("20_000") == 1
    example = example.replace("20_000", rows)
    exec(compile(example, "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert [words for words in PRINTED if words not in shown or words not in example] == []


def test_the_examples_of_the_page_of_features_run(capsys: pytest.CaptureFixture[str]) -> None:
    page = (REPOSITORY / "docs" / "features.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(compile(example, "features.md", "exec"), names)
    (printed,) = re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)
    shown = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in printed.splitlines() if line not in shown] == []


def test_the_examples_of_the_page_of_scale_run(capsys: pytest.CaptureFixture[str]) -> None:
    page = (REPOSITORY / "docs" / "scale.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(compile(example, "scale.md", "exec"), names)
    assert "pass(es) over 4 Parquet files" in capsys.readouterr().out


@pytest.mark.parametrize("name", models_of_readme())
def test_every_model_of_the_readme_can_be_imported(name: str) -> None:
    assert callable(getattr(mercer, name))


def test_the_readme_shows_every_model() -> None:
    estimators = {name for name in mercer.__all__ if hasattr(getattr(mercer, name), "fit")}
    assert set(models_of_readme()) == estimators


@pytest.mark.parametrize(("file", "name"), lecture_tests())
def test_every_test_the_lectures_point_to_exists(file: str, name: str) -> None:
    source = (REPOSITORY / "tests" / file).read_text(encoding="utf-8")
    assert re.search(rf"^\s*def {name}\(", source, flags=re.MULTILINE)


def test_every_test_of_scikit_learn_that_is_left_out_is_written_down() -> None:
    page = (REPOSITORY / "docs" / "decisions" / "0005-deviations-from-scikit-learn.md").read_text(encoding="utf-8")
    suites = (REPOSITORY / "tests" / "sklearn_suite").glob("test_*.py")
    left_out = [name for suite in suites for name in re.findall(r'"(test_\w+)":', suite.read_text(encoding="utf-8"))]
    assert left_out
    assert [name for name in left_out if f"`{name}`" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []
