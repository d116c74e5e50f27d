"""Every script of the gallery and of the tutorials runs in an empty folder and draws something."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs._pages import REPOSITORY

plt = pytest.importorskip("matplotlib.pyplot", reason="scripts draw with matplotlib")

SCRIPTS = sorted([*REPOSITORY.glob("docs/gallery/*.py"), *REPOSITORY.glob("docs/tutorials/*.py")])


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Yield the list of figures that a script creates, also closed ones."""
    plt.switch_backend("Agg")
    made: list[Any] = []
    figure = plt.figure

    def counted(*arguments: Any, **options: Any) -> Any:
        made.append(figure(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(plt, "figure", counted)
    with plt.rc_context():
        yield made
    plt.close("all")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.relative_to(REPOSITORY).as_posix())
def test_a_script_runs_and_draws(
    script: Path, figures: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert figures


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.relative_to(REPOSITORY).as_posix())
def test_lines_that_begin_a_section_contain_no_text(script: Path) -> None:
    """Such text would be missing from the page of sphinx-gallery."""
    assert re.findall(r"^# ?%%[ \t]+\S.*", script.read_text(encoding="utf-8"), flags=re.MULTILINE) == []
