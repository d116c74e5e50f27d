"""The description of a model in a few lines."""

from __future__ import annotations

import pyarrow as pa

from mercer import NaiveBayes, Schema
from mercer.application.fitting import fit_model
from mercer.explanation.tables import describe_model
from mercer.families import Poisson
from mercer.kernels import RBF
from tests.explanation._table import CLASSES, FRAME


def test_models_are_described() -> None:
    lines = list(describe_model(fit_model("LogisticRegression", FRAME, CLASSES).model))
    assert lines[0] == "LogisticRegression()"
    assert "Classes: 'a', 'b'" in lines
    assert "x       number" in lines[-1]


def test_wrappers_of_a_model_are_listed_on_one_line() -> None:
    lines = list(
        describe_model(fit_model("LogisticRegression", FRAME, CLASSES, settings={"C": 3}, conformal=0.8).model)
    )
    assert lines[:2] == ["LogisticRegression(C=3)", "within Pipeline, within ConformalClassifier"]
    lines = list(describe_model(fit_model("NaiveBayes", FRAME, CLASSES).model))
    assert lines[0] == "NaiveBayes()"  # whose families are the table below
    assert "c       category" in lines[-1]


def test_levels_added_by_a_merge_are_shown() -> None:
    other = pa.table({"x": FRAME["x"], "c": ["u", "w", "w"] * 20})
    first, second = (NaiveBayes(Schema.infer(part)) for part in (FRAME, other))
    assert "c       category  u, v" in list(describe_model(first))[-1]  # not fit_model yet
    assert "c       category  u, v   " in list(describe_model(first.fit(FRAME, CLASSES)))[-1]
    assert "c       category  u, v, w" in list(describe_model(first.merge(second.fit(other, CLASSES))))[-1]


def test_families_kernels_and_numbers_are_written_by_repr() -> None:
    assert list(describe_model(Poisson())) == ["Poisson()"]
    assert next(describe_model(RBF(gamma=0.5))).startswith("RBF(gamma=0.5")
    assert len(next(describe_model(list(range(1000))))) == 200
