"""A training table selects and converts columns for models."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from mercer.application.training_table import TrainingTable
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


def training(*columns: str) -> TrainingTable:
    return TrainingTable.of(Table.of(FRAME[list(columns)] if columns else FRAME, dates=True))


def test_selected_columns_have_a_distribution() -> None:
    table = training().select_described()
    assert table is not None
    assert table.names == ("n", "city")
    assert training("key", "text").select_described() is None


def test_codes_are_not_treated_as_numbers() -> None:
    frame = FRAME.assign(ward=np.arange(ROWS) % 4, smoker=np.arange(ROWS) % 2)
    found = TrainingTable.of(Table.of(frame[["n", "ward", "smoker"]], dates=True))
    assert found.codes == ["ward", "smoker"]
    assert not found.has_only_amounts
    assert training("n").has_only_amounts
    assert training("n", "day").has_only_amounts  # the day has no distribution
    with_counts = Table.of(FRAME[["n"]].assign(visits=np.arange(ROWS) % 17))
    assert not TrainingTable.of(with_counts).has_only_amounts  # counts have a distribution of their own


def test_numbers_are_standardized_and_gaps_are_kept() -> None:
    frame = FRAME[["key", "n"]].assign(m=1e6 * np.arange(ROWS))
    values = TrainingTable.of(Table.of(frame)).with_scaled_numbers(StandardScaler())[0].fit_transform(frame)
    assert values.shape == (ROWS, 2)
    np.testing.assert_array_equal(np.isnan(values), frame[["n", "m"]].isna())
    np.testing.assert_allclose(values[:, 1].std(), 1.0)


def test_columns_as_numbers() -> None:
    assert not training("n", "city").is_numeric
    table = training("key", "n", "day").to_numbers()
    assert training("key", "n", "day").is_numeric
    assert table.names == ("n", "day")
    assert np.isnan(table.numbers()).any()


def test_notes_on_missing_values_and_identifiers() -> None:
    assert training().has_gaps
    assert not training("city", "text").has_gaps
    assert training().notes() == ["Columns left out: 'key' (identifier: every value is different)."]
    assert training("n").notes() == []


def test_features_of_all_columns_or_of_text() -> None:
    names = training().with_features(LogisticRegression()).fit(FRAME, Y)[0].get_feature_names_out()
    assert {"n", "n[missing]", "city[Ulm]", "day[days]", "text[say]"} <= set(names)
    words = training().with_features(LogisticRegression(), text_only=True, text="counts").fit(FRAME, Y)[0]
    assert all(name.startswith("text[") for name in words.get_feature_names_out())


def test_kinds_are_fixed_for_all_folds() -> None:
    """Six rows alone would not be read as text."""
    features = training("text", "n").with_features(LogisticRegression()).fit(FRAME[["text", "n"]][:6], Y[:6])[0]
    assert "text[say]" in features.get_feature_names_out()
