"""The names, tests and pages that the documentation refers to exist; `test_pages_run.py` runs its code."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import mercer
from tests.docs._pages import REPOSITORY

REFERENCE = (REPOSITORY / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
LECTURES = (REPOSITORY / "docs" / "lectures.md").read_text(encoding="utf-8")
RELIABILITY = (REPOSITORY / "docs" / "reliability.md").read_text(encoding="utf-8")
PAGES = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("bench/*.md")]


def models_of_reference() -> list[str]:
    section = REFERENCE.split("## All models in one table")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def named_tests() -> list[tuple[str, str]]:
    """Return the tests named on the pages about lectures and reliability, with their files.

    `…::test_name` is in the file named before it, and a file without a folder is in the same folder.
    """
    found, last = [], Path()
    for file, name in re.findall(r"`(…|[\w/]+\.py)(?:::(\w+))?`", LECTURES + RELIABILITY):
        if not Path(file).name.startswith(("…", "test_")):
            continue
        if file != "…":
            last = last.parent / file if "/" not in file else Path(file.removeprefix("tests/"))
        found.append((str(last), name))
    return sorted(set(found))


def test_every_model_is_in_the_table_of_the_reference() -> None:
    estimators = {name for name in mercer.__all__ if hasattr(getattr(mercer, name), "fit")}
    assert set(models_of_reference()) == estimators


@pytest.mark.parametrize(("file", "name"), named_tests())
def test_every_test_that_pages_point_to_exists(file: str, name: str) -> None:
    source = (REPOSITORY / "tests" / file).read_text(encoding="utf-8")
    assert re.search(rf"^\s*def {name or 'test_.*'}\(", source, flags=re.MULTILINE)


def named_in_code() -> list[str]:
    """Return names and calls in the column "in the code" of the lectures, without attributes of fitted models."""
    rows = [line.split(" | ") for line in LECTURES.split("## Corrections")[0].splitlines()]
    cells = [row[2] for row in rows if len(row) == 4]
    return [code for cell in cells for code in re.findall(r"`([^`]+)`", cell) if not code.endswith("_")]


@pytest.mark.parametrize("code", sorted(set(named_in_code())))
def test_the_lectures_name_public_objects_and_their_parameters(code: str) -> None:
    call = ast.parse(code.replace("…", "..."), mode="eval").body
    name = ast.unparse(call.func if isinstance(call, ast.Call) else call)
    thing, public = mercer, mercer.__all__
    for part in name.split("."):
        assert part in public
        thing = getattr(thing, part)
        public = thing.__all__ if inspect.ismodule(thing) else [one for one in dir(thing) if not one.startswith("_")]
    if isinstance(call, ast.Call):
        assert {word.arg for word in call.keywords} <= set(inspect.signature(thing).parameters)


def test_every_correction_and_known_answer_of_the_lectures_has_a_test() -> None:
    for title in ("## Corrections", "## Known answers"):
        section = LECTURES.split(title)[1].split("\n## ")[0]
        rows = [line for line in section.splitlines() if line.startswith("| ")][2:]
        assert rows
        assert [row for row in rows if "::test_" not in row.rsplit(" | ", 1)[1]] == []


def test_every_claim_of_the_lectures_has_a_test_and_a_figure() -> None:
    rows = [line.split(" | ") for line in LECTURES.split("## Claims")[1].splitlines() if line.startswith("| ")][2:]
    assert rows
    assert [claim for claim, _, test, figure in rows if "::test_" not in test or "](" not in figure] == []


def test_every_test_of_scikit_learn_that_is_left_out_is_written_down() -> None:
    page = (REPOSITORY / "docs" / "scikit-learn-tests.md").read_text(encoding="utf-8")
    suites = (REPOSITORY / "tests" / "sklearn_suite").glob("test_*.py")
    left_out = [name for suite in suites for name in re.findall(r'"(test_\w+)":', suite.read_text(encoding="utf-8"))]
    assert left_out
    assert [name for name in left_out if f"`{name}`" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_have_existing_targets(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []
