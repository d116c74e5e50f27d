"""Numbers and dates that were strings in the fit are read alike by SQL and Python."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import mercer as m
from mercer._errors import ExportError
from mercer.export import to_sql
from tests.export._languages import check

ROWS = 80
RNG = np.random.default_rng(0)
PRICE = RNG.normal(0, 20_000, ROWS).round(2)
DAY = pd.Series(pd.Timestamp("2019-01-03") + pd.to_timedelta(RNG.integers(0, 900, ROWS), unit="D"))
TEXTS = ("sql", "python")


def american(value: float) -> str:
    return f"(${-value:,.2f})" if value < 0 else f"${value:,.2f}"


def german(value: float) -> str:
    return f"{value:,.2f} €".translate(str.maketrans(",.", ".,"))


def fitted(frame: pd.DataFrame) -> Any:
    return make_pipeline(m.TableFeatures(), m.Ridge()).fit(frame, PRICE + DAY.dt.month)


@pytest.mark.parametrize("write", [american, german], ids=["American", "German"])
def test_numbers_stored_as_text_are_exported(write: Any) -> None:
    texts = pd.Series([write(value) for value in PRICE.tolist()]).mask(RNG.random(ROWS) < 0.1, " - ")
    frame = pd.DataFrame({"price": texts, "size": RNG.normal(size=ROWS)})
    model = fitted(frame)
    assert list(model[0].formats_) == ["price"]
    check(model, frame, languages=TEXTS)


def test_a_database_may_hold_numbers_already() -> None:
    model = fitted(pd.DataFrame({"price": [german(value) for value in PRICE.tolist()]}))
    expected = model.predict(pd.DataFrame({"price": [german(value) for value in (1.5, -1234.25)]}))
    with duckdb.connect() as connection:
        connection.sql("CREATE TABLE data AS SELECT * FROM (VALUES (1.5e0), (-1234.25e0)) AS t(price)")
        said = connection.sql(to_sql(model, dialect="duckdb")).fetchall()
    np.testing.assert_allclose(np.ravel(said), expected, rtol=1e-9)
    with pytest.raises(ExportError, match="decimal commas"):
        to_sql(model)


@pytest.mark.parametrize("pattern", ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y %H:%M"])
def test_dates_stored_as_text_are_exported(pattern: str) -> None:
    frame = pd.DataFrame({"day": DAY.dt.strftime(pattern).mask(RNG.random(ROWS) < 0.1, "NA")})
    check(fitted(frame), frame, languages=TEXTS)


def test_dates_with_the_names_of_months() -> None:
    frame = pd.DataFrame({"day": DAY.dt.strftime("%d %b %Y")})
    model = fitted(frame)
    check(model, frame, languages=("python",))
    with duckdb.connect() as connection:
        connection.register("data", frame)
        said = connection.sql(to_sql(model))
        with pytest.raises(duckdb.ConversionException, match="no date: "):
            said.fetchall()
