"""Formulas in files: what they learnt is kept, and nothing that a file says is run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from mercer import LogisticRegression, TableFeatures, load, save
from mercer._errors import ColumnMismatchError, FormulaError, MissingDependencyError, ModelFileError, UnsavableError
from tests.files._again import again
from tests.files._forged import forged, octets_of, read, record_of

pytest.importorskip("formulaic")

ROWS = pd.DataFrame(
    {
        "age": [31.5, 40.0, 28.0, 25.0, 61.0, 33.0, 47.0, 52.0],
        "visits": [1, 2, 3, 1, 2, 3, 1, 2],
        "home town": ["Ulm", "Bonn", "Ulm", "Rom", "Bonn", "Ulm", "Rom", "Ulm"],
        "open": [3.0, 1.0, 2.0, 5.0, 4.0, 8.0, 7.0, 6.0],
    }
)


@pytest.mark.parametrize(
    "formula",
    [
        "log(age) + C(`home town`) * age",
        "`home town`:age + 0",
        "bs(age, df=4) + open",
        "cr(age, df=4, constraints='center') + cc(open, df=3)",
        "poly(age, 2) + poly(open, 2, raw=True)",
        "scale(age) + center(visits) + standardize(open)",
        "C(visits, Treatment(2)) + C(`home town`, contr.sum) + C(visits, Helmert):age",
        "C(visits > 1) + np.sqrt(age) + {age ** 2} + I(-age / open)",
        "C(visits, {'rise': [-1, 0, 1]})",
        "(age + visits + open)**2 - age:open",
        "I((age + 1)**2 / log(open + 1)**2) + bs(age, None, [30, 45])",
        ".",
    ],
)
def test_a_formula_reads_rows_as_before_it_was_saved(formula: str, tmp_path: Path) -> None:
    features = TableFeatures(formula=formula).fit(ROWS)
    loaded = again(features, tmp_path)
    assert loaded.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()
    np.testing.assert_array_equal(loaded.transform(ROWS), features.transform(ROWS))
    for row in range(len(ROWS)):  # which say nothing of levels, knots and means by themselves
        one = ROWS[row : row + 1]
        np.testing.assert_allclose(loaded.transform(one), features.transform(ROWS)[row : row + 1], rtol=1e-12)


def test_a_loaded_pipeline_with_a_formula_can_be_refitted(tmp_path: Path) -> None:
    y = [0, 1, 0, 1, 1, 0, 1, 0]
    model = make_pipeline(TableFeatures(formula="scale(age) + `home town`"), LogisticRegression()).fit(ROWS, y)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(ROWS), model.predict_proba(ROWS))
    for each in (loaded, model):
        each.fit(ROWS[:5], y[:5])
    np.testing.assert_array_equal(loaded.predict_proba(ROWS[:5]), model.predict_proba(ROWS[:5]))


def test_numbers_where_the_fit_had_text_are_rejected() -> None:
    features = TableFeatures(formula="`home town` + age").fit(ROWS)
    with pytest.raises(FormulaError, match=r"other features here than in the fit.*text as text"):
        features.transform(ROWS.assign(**{"home town": 1.0}))


@pytest.mark.parametrize(
    ("formula", "what"),
    [
        ("age.fillna(0)", "a call of 'age.fillna'"),
        ("lag(age)", "a call of 'lag'"),
        ("{(lambda: age)()}", "a call of 'lambda: age'"),
        ("np.load('x')", "a call of 'np.load'"),
        ("np.random.normal(age)", "a call of 'np.random.normal'"),
        ("I(open('x').read())", "a call of"),
        ("C(age, levels=[x for x in (1, 2)])", "'\\[x for x in"),
        ("I(age[0])", "'age\\[0\\]'"),
        ("{age if visits else open}", "'age if"),
        ("bs(age, df=10000)", "a degree beyond 1,000"),
        ("poly(age, 10000)", "a degree beyond 1,000"),
        ("bs(age, df=999*999)", "a degree that is not written as a number"),
        ("poly(age, 999*999)", "a degree that is not written as a number"),
        ("poly(age, visits)", "a degree that is not written as a number"),
        ("I(9**9**9)", "a power"),
        ("I(age**visits)", "a power"),
        ("I(((9*9)**100)**100)", "a power that is not one of a column"),
        ("I(I(I(9)**100)**100)", "a power that is not one of a column"),
        ("I(np.abs(9)**100)", "a power that is not one of a column"),
        ("I('a' * 9999999999)", "arithmetic on a list or a string"),
        ("I(1 << 9999999999)", "'LShift'"),
        ("scale(age, _state={})", "internal to formulaic"),
        ("bs(age, **{})", "internal to formulaic"),
        # which leads out of a string in the code that formulaic makes of calls with a state
        ("bs(age, extrapolation='\"')", "the constant"),
        ("I(" + "-" * 9000 + "age)", "cannot be read"),
        ("age + " * 5000 + "age", "10,000 characters"),
        ("log(", "cannot be read"),
    ],
)
def test_formulas_that_call_python_are_neither_saved_nor_loaded(formula: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(UnsavableError, match=rf"model\.formula is a formula with .*{what}.*; write it with columns"):
        save(TableFeatures(formula=formula), tmp_path / "model.mercer")
    octets = octets_of(TableFeatures(formula="age"), tmp_path)
    with pytest.raises(ModelFileError, match=f"tampered with: .formula is a formula with .*{what}"):
        read(forged(octets, lambda d: d["objects"][-1]["state"].update(formula=formula)), tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda state, code: state.update(terms=terms((code, "python"))),
        lambda state, code: state.update(terms=terms((code, "literal"))),
        lambda state, code: state.update(terms=terms((code, "exec"))),
        lambda state, code: state.update(terms=terms(("`age` if " + code + " else age", "python"))),
        lambda state, code: state.update(terms=terms(("open", "lookup"))),
        lambda state, code: state.update(terms=terms(("C(age, open)", "python"))),
        lambda state, code: state.update(terms=terms((3, "python"))),
        lambda state, code: state.update(terms=terms(("np", "lookup"))),
        lambda state, code: state.update(terms=3),
        lambda state, code: state.pop("terms"),
    ],
)
def test_a_forged_term_is_not_run(change: Callable[[Any, str], None], tmp_path: Path) -> None:
    octets = octets_of(TableFeatures(formula="log(age)").fit(ROWS), tmp_path)
    trace = tmp_path / "trace"

    def forge(described: Any) -> None:
        change(record_of(described, "FormulaFeatures")["state"], f"__import__('pathlib').Path({str(trace)!r}).touch()")

    with pytest.raises(ModelFileError, match="tampered with"):
        read(forged(octets, forge), tmp_path)
    assert not trace.exists()


def test_a_forged_column_must_exist_in_the_rows(tmp_path: Path) -> None:
    """Otherwise Python would look up the name elsewhere."""
    octets = octets_of(TableFeatures(formula="log(age)").fit(ROWS), tmp_path)

    def forge(described: Any) -> None:
        state = record_of(described, "FormulaFeatures")["state"]
        state.update(terms=terms(("C(age, eval)", "python")), variables={"tuple": ["age", "eval"]})

    with pytest.raises(ColumnMismatchError, match="eval"):
        read(forged(octets, forge), tmp_path).transform(ROWS)


def terms(*factors: tuple[Any, str]) -> Any:
    """Return a term of these factors, as in a file."""
    return {"tuple": [{"tuple": [{"tuple": list(factor)} for factor in factors]}]}


def test_a_missing_formulaic_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(TableFeatures(formula="log(age)").fit(ROWS), tmp_path / "model.mercer")
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'mercer\[formula\]'"):
        load(tmp_path / "model.mercer")
