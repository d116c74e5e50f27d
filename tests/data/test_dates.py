"""Dates as numbers, weekdays and months."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer._errors import ColumnTypeError
from mercer.data import Kind, Table
from mercer.data.coding import Coded
from mercer.data.dates import Calendar, are_dates, days_of_labels

MOMENT = datetime.datetime(2024, 1, 5, 6)


@given(st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)))
def test_the_calendar_agrees_with_python(moment: datetime.datetime) -> None:
    days = (moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
    weekday, month, hour = Calendar.of(np.array([days, np.nan]))
    assert (weekday[0], month[0] + 1) == (moment.weekday(), moment.month)
    assert hour[0] == pytest.approx(moment.hour + moment.minute / 60 + moment.second / 3600, abs=1e-3)
    assert np.isnan([weekday[1], month[1], hour[1]]).all()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_time_are_numbers(make: Any) -> None:
    frame = make({"at": [MOMENT, None], "took": [datetime.timedelta(hours=12), None]})
    table = Table.of(frame, dates=True)
    assert table.kinds == (Kind.DATE, Kind.NUMBER)
    assert_allclose(table.numbers(), [[19727.25, 0.5], [np.nan, np.nan]])
    assert_allclose(table.take(np.array([0])).numbers(), [[19727.25, 0.5]])
    with pytest.raises(ColumnTypeError, match=r"'at'.*turn it into numbers"):
        Table.of(frame)


def test_dates_and_times_of_day() -> None:
    table = Table.of(pa.table({"day": [MOMENT.date()], "time": [datetime.time(18, 30)]}), dates=True)
    assert table.kinds == (Kind.DATE, Kind.NUMBER)
    assert_allclose(table.numbers(), [[19727, 18.5]])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_hours_are_in_local_time(make: Any) -> None:
    frame = pd.DataFrame({"at": pd.to_datetime([MOMENT]).tz_localize("Europe/Berlin")})
    assert Calendar.of(Table.of(make(frame), dates=True).numbers()[:, 0]).hour == 6


def test_units_do_not_matter() -> None:
    found = [
        Table.of(pa.table({"at": pa.array([MOMENT], pa.timestamp(unit))}), dates=True).numbers()
        for unit in ("s", "ms", "us", "ns")
    ]
    assert_array_equal(found, np.full((4, 1, 1), 19727.25))


def test_labels_that_spell_dates() -> None:
    assert are_dates(["2024-01-05", "2024-01-05T06:00"])
    assert are_dates(["2024-01-05T06:00Z", "2024-01-05 06:00:00.5+01:00", "2024-01-05T06:00-0500"])
    assert not are_dates(["2024-01-05-05"])
    assert not are_dates([])
    assert not are_dates(["2024-01-05", 20240105])
    assert not are_dates(["2024-13-05"])
    assert not are_dates(["05.01.2024"])
    coded = Coded(np.array([1, 0, -1]), np.array(["2024-01-05", "2024-01-05 06:00"], dtype=object))
    assert_array_equal(days_of_labels(coded), [19727.25, 19727, np.nan])


def test_hours_of_spelled_dates_are_in_local_time() -> None:
    coded = Coded(np.array([0, 1]), np.array(["2024-01-05T06:00+01:00", "2024-01-05T06:00Z"], dtype=object))
    assert_array_equal(days_of_labels(coded), [19727.25, 19727.25])


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_arrays_of_dates_and_of_durations(unit: str) -> None:
    times = np.array([["2024-01-05", "NaT"]], dtype=f"M8[{unit}]")
    table = Table.of(times, dates=True)
    assert table.kinds == (Kind.DATE, Kind.DATE)
    assert_array_equal(table.numbers(), [[19727, np.nan]])
    assert table.coded(0).labels.tolist() == [19727]
    durations = Table.of(times - np.datetime64("2024-01-01"), dates=True)
    assert durations.kinds == (Kind.NUMBER, Kind.NUMBER)
    assert_array_equal(durations.take(np.array([0])).numbers(), [[4, np.nan]])
    with pytest.raises(ColumnTypeError, match="datetime64"):
        Table.of(times)
