"""What models are shown of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from mercer.application.shown import Shown
from mercer.data import Table

ROWS = 40
FRAME = pd.DataFrame(
    {
        "key": [f"row {i}" for i in range(ROWS)],
        "n": np.where(np.arange(ROWS) % 7, np.linspace(0, 1, ROWS), np.nan),
        "city": ["Ulm", "Bonn"] * (ROWS // 2),
        "day": pd.date_range("2024-01-01", periods=ROWS),
        "text": [f"what there is to say about {i}" for i in range(ROWS)],
    }
)
Y = (np.arange(ROWS) % 3 == 0).astype(int)


def shown(*columns: str) -> Shown:
    return Shown.of(Table.of(FRAME[list(columns)] if columns else FRAME, dates=True))


def test_columns_as_they_are_are_those_with_a_distribution() -> None:
    table = shown().as_they_are()
    assert table is not None
    assert table.names == ("n", "city")
    assert shown("key", "text").as_they_are() is None


def test_codes_are_names() -> None:
    """Whose numbers have no normal distribution."""
    frame = FRAME.assign(ward=np.arange(ROWS) % 4, smoker=np.arange(ROWS) % 2)
    found = Shown.of(Table.of(frame[["n", "ward", "smoker"]], dates=True))
    assert found.codes == ["ward", "smoker"]
    assert not found.plain_numbers
    assert shown("n").plain_numbers
    assert shown("n", "day").plain_numbers  # the day has no distribution
    assert not Shown.of(Table.of(FRAME[["n"]].assign(visits=np.arange(ROWS) % 17))).plain_numbers  # a count has its own


def test_numbers_in_standard_units_with_their_gaps() -> None:
    frame = FRAME[["key", "n"]].assign(m=1e6 * np.arange(ROWS))
    values = Shown.of(Table.of(frame)).numbers(StandardScaler())[0].fit_transform(frame)
    assert values.shape == (ROWS, 2)
    np.testing.assert_array_equal(np.isnan(values), frame[["n", "m"]].isna())
    np.testing.assert_allclose(values[:, 1].std(), 1.0)


def test_columns_as_numbers() -> None:
    assert not shown("n", "city").all_numbers
    table = shown("key", "n", "day").as_numbers()
    assert shown("key", "n", "day").all_numbers
    assert table.names == ("n", "day")
    assert np.isnan(table.numbers()).any()


def test_gaps_and_names_are_told() -> None:
    assert shown().has_gaps
    assert not shown("city", "text").has_gaps
    assert shown().notes() == ["Columns left out: 'key' (identifier: every value is different)."]
    assert shown("n").notes() == []


def test_features_of_all_columns_or_of_text() -> None:
    names = shown().features(LogisticRegression()).fit(FRAME, Y)[0].get_feature_names_out()
    assert {"n", "n[missing]", "city[Ulm]", "day[days]", "text[say]"} <= set(names)
    words = shown().features(LogisticRegression(), text_only=True, text="counts").fit(FRAME, Y)[0]
    assert all(name.startswith("text[") for name in words.get_feature_names_out())


def test_every_fold_is_told_what_columns_are() -> None:
    """Six rows would not show that they are text."""
    features = shown("text", "n").features(LogisticRegression()).fit(FRAME[["text", "n"]][:6], Y[:6])[0]
    assert "text[say]" in features.get_feature_names_out()
