"""A model in a few lines."""

from __future__ import annotations

import pyarrow as pa

from mercer import NaiveBayes, Schema
from mercer.application.fitting import fitted
from mercer.explanation.tables import described
from mercer.families import Poisson
from mercer.kernels import RBF
from tests.explanation._table import CLASSES, FRAME


def test_described() -> None:
    lines = list(described(fitted("LogisticRegression", FRAME, CLASSES).model))
    assert lines[0] == "LogisticRegression()"
    assert "Classes: 'a', 'b'" in lines
    assert "x       number" in lines[-1]


def test_what_is_around_a_model_is_described_in_a_line() -> None:
    lines = list(described(fitted("LogisticRegression", FRAME, CLASSES, settings={"C": 3}, conformal=0.8).model))
    assert lines[:2] == ["LogisticRegression(C=3)", "within Pipeline, within ConformalClassifier"]
    lines = list(described(fitted("NaiveBayes", FRAME, CLASSES).model))
    assert lines[0] == "NaiveBayes()"  # whose families are the table below
    assert "c       category" in lines[-1]


def test_levels_that_a_merge_brought_are_shown() -> None:
    other = pa.table({"x": FRAME["x"], "c": ["u", "w", "w"] * 20})
    first, second = (NaiveBayes(Schema.infer(part)) for part in (FRAME, other))
    assert "c       category  u, v" in list(described(first))[-1]  # not fitted yet
    assert "c       category  u, v   " in list(described(first.fit(FRAME, CLASSES)))[-1]
    assert "c       category  u, v, w" in list(described(first.merge(second.fit(other, CLASSES))))[-1]


def test_what_is_no_model_is_written_as_it_is() -> None:
    """Files hold families and kernels, too."""
    assert list(described(Poisson())) == ["Poisson()"]
    assert next(described(RBF(gamma=0.5))).startswith("RBF(gamma=0.5")
    assert len(next(described(list(range(1000))))) == 200
