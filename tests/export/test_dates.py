"""Dates: the same days, weekdays, months and hours in every language."""

from __future__ import annotations

import datetime
import sqlite3
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import mercer as m
from mercer.export import to_python, to_sql
from tests.export._languages import check

RNG = np.random.default_rng(0)
ROWS = 3000
WHEN = pd.Series(pd.Timestamp("1899-12-31") + pd.to_timedelta(RNG.integers(0, 210 * 365 * 86400, ROWS), unit="s"))
Y = WHEN.dt.month + 3 * (WHEN.dt.weekday == 2) + np.sin(WHEN.dt.hour / 4) + WHEN.dt.year / 100


def fitted(frame: pd.DataFrame, missing: str = "indicator") -> Any:
    features = m.TableFeatures(kinds={"when": "date"}, missing=missing)
    return make_pipeline(features, m.Ridge()).fit(frame, Y)


@pytest.mark.parametrize(
    "when",
    [
        WHEN,
        WHEN.dt.normalize(),
        WHEN.mask(RNG.random(ROWS) < 0.1),
        WHEN.dt.strftime("%Y-%m-%d"),
        WHEN.dt.strftime(" %Y-%m-%dT%H:%MZ ").mask(RNG.random(ROWS) < 0.1),
        WHEN.dt.strftime("%Y-%m-%d %H:%M:%S+0200"),
    ],
    ids=["times", "days", "gaps", "strings", "strings with gaps", "strings with a zone"],
)
def test_features_of_dates(when: pd.Series) -> None:
    frame = pd.DataFrame({"when": when})
    check(fitted(frame), frame)


def test_leap_years() -> None:
    days = pd.date_range("1896-01-01", "2104-12-31", freq="D")
    frame = pd.DataFrame({"when": days})
    model = fitted(pd.DataFrame({"when": WHEN}))
    check(model, frame[(days.day < 3) | (days.day > 27)].reset_index(drop=True))


def test_gaps_in_dates_are_kept_for_models_that_integrate_them_out() -> None:
    frame = pd.DataFrame({"when": WHEN.mask(RNG.random(ROWS) < 0.1)})
    check(make_pipeline(m.TableFeatures(missing="keep", output="array"), m.GaussianNB()).fit(frame, Y > 25), frame)


def test_dates_in_sqlite() -> None:
    frame = pd.DataFrame({"when": WHEN.dt.strftime("%Y-%m-%d %H:%M:%S")})
    model = fitted(frame)
    with sqlite3.connect(":memory:") as connection:
        frame.to_sql("data", connection, index=False)
        table = pd.read_sql(to_sql(model, dialect="sqlite"), connection)
    np.testing.assert_allclose(table["prediction"], model.predict(frame), rtol=1e-9)


def test_python_accepts_datetimes_and_strings_as_dates() -> None:
    module: dict[str, Any] = {}
    exec(to_python(fitted(pd.DataFrame({"when": WHEN}))), module)
    moment = datetime.datetime(2024, 2, 29, 17, 30, 1, 500_000)
    values = [module["predict"]({"when": when}) for when in (moment, moment.isoformat(), "2024-02-29 17:30:01.5Z")]
    assert values[1:] == values[:1] * 2
    day = datetime.date(2024, 2, 29)
    assert module["predict"]({"when": day}) == module["predict"]({"when": "2024-02-29"})
    with pytest.raises(ValueError, match="is not a date"):
        module["predict"]({"when": "yesterday"})
