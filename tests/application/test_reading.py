"""The columns that a model reads, and their types."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mercer import GLM, Calibrated, GaussianNB, NaiveBayes
from mercer._errors import ColumnMismatchError
from mercer.application.fitting import fit_model
from mercer.application.reading import check_columns_exist, check_table_columns, column_types, columns_of
from mercer.data import Kind
from mercer.data.declared_kinds import with_kinds

FRAME = pa.table({"n": [i % 7 for i in range(60)], "code": [1, 2, 3] * 20, "c": ["u", "v"] * 30})
Y = ["a", "b", "a", "b", "b"] * 12


@pytest.mark.parametrize("name", ["NaiveBayes", "LogisticRegression"])
def test_columns_are_read_with_the_types_of_the_fit(name: str) -> None:
    model = fit_model(name, FRAME, Y).model
    assert columns_of(model) == ["n", "code", "c"]
    assert column_types(model) == {"n": "number", "code": "number", "c": "text"}


def test_levels_determine_types_without_a_schema() -> None:
    frame = FRAME.set_column(1, "code", FRAME["code"].cast("string"))
    assert column_types(NaiveBayes().fit(frame, Y)) == {"n": "number", "code": "text", "c": "text"}


def test_the_levels_of_codes_determine_types() -> None:
    frame = pa.table({"zip": ["00501", "10001", "90210"] * 20, "flag": [True, False] * 30, "n": [0.5, 1.5] * 30})
    declared = with_kinds(frame, {"zip": Kind.CODE})
    for name in ("NaiveBayes", "LogisticRegression"):
        assert column_types(fit_model(name, declared, Y).model) == {"zip": "text", "flag": "boolean", "n": "number"}


def test_columns_of_a_wrapped_model() -> None:
    model = Calibrated(GaussianNB(), method="platt").fit(FRAME.select(["n", "code"]), Y)
    assert columns_of(model) == ["n", "code"]
    assert columns_of(GaussianNB().fit([[0.0], [1.0], [0.5], [2.0]], [0, 1, 0, 1])) is None


def test_other_tables_are_rejected() -> None:
    model = fit_model("NaiveBayes", FRAME, Y).model
    check_table_columns(model, ["c", "code", "n", "more"], "a.csv")
    with pytest.raises(
        ColumnMismatchError, match=r"'a\.csv' lacks 2 of the 3 columns that it reads: 'n', 'code'\. Give"
    ):
        check_table_columns(model, ["c", "m"], "a.csv")
    with pytest.raises(ColumnMismatchError, match=r"For 'code': did you mean 'Code'\?$"):
        check_table_columns(model, ["c", "m", "Code"], "a.csv")
    with pytest.raises(ColumnMismatchError, match="Did you mean 'code'"):
        check_columns_exist(["cods"], ["code"])


def test_an_error_about_many_columns_names_a_few_once_each() -> None:
    wide = pa.table({f"x{j}": [0.5, 1.5, 2.5, 4.0] for j in range(30)})
    with pytest.raises(ColumnMismatchError) as rejection:
        check_table_columns(GaussianNB().fit(wide, [0, 1, 0, 1]), ["other"], "a.csv")
    assert "lacks 30 of the 30 columns that it reads: 'x0', 'x1', 'x2', 'x3', 'x4' and 25 more." in str(rejection.value)
    assert str(rejection.value).count("'x0'") == 1


def test_a_glm_reads_names_as_names() -> None:
    model = GLM("bernoulli", penalty="l2").fit(FRAME.select(["n", "c"]), Y)
    assert column_types(model) == {"n": "number", "c": "text"}
