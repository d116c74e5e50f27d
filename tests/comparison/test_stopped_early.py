"""Fits that stop before their optimum are marked, with a remedy for Python and for the command line."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier

from mercer import LogisticRegression
from mercer.comparison import compare


def test_a_fit_that_stopped_early_is_marked() -> None:
    X, y = load_iris(return_X_y=True)
    found = compare(X, y, models={"short": LogisticRegression(max_iter=2), "long": LogisticRegression()}, cv=2)
    assert (found.entry("short").converged, found.entry("long").converged) == (False, True)
    assert {row[0] for row in found.leaderboard().rows} == {"short †", "long"}
    (note,) = found.entry("short").notes
    assert note.startswith("stopped before its optimum")
    assert note.endswith("max_iter=20 in Python, --set max_iter=20 in `mercer fit`.")
    assert dict(zip(found.frame()["model"], found.frame()["converged"], strict=True)) == {"short": False, "long": True}


def test_the_mark_reaches_terminal_page_and_verdict(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    found = compare(X, y, models={"short": LogisticRegression(max_iter=2), "guess": DummyClassifier()}, cv=2)
    assert "It stopped before its optimum in some fit; the notes say how to allow more steps." in found.sentences()
    assert "short †" in str(found)
    page = found.report(tmp_path / "page.html").read_text()
    assert "short †" in page
    assert "Allow more steps: max_iter=20 in Python" in page
