"""Model cards: summaries of tables, drawn rows, and round trips."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline

import mercer
from mercer._errors import ModelFileError
from mercer.application.model_cards import make_card, update_card
from mercer.data import Table
from mercer.files import ModelCard, Score, card_of, describe, load, save
from mercer.files.model_card import hash_of_data, summarize_columns
from tests.files._forged import signed, taken_apart

N = 400


def shops() -> pa.Table:
    random = np.random.default_rng(0)
    return pa.table(
        {
            "area": random.gamma(4.0, 20.0, N),
            "rooms": random.integers(1, 500, N),
            "city": random.choice(["Oslo", "Rome", "Bonn"], N, p=[0.6, 0.3, 0.1]),
            "opened": [f"20{10 + j % 10}-0{1 + j % 9}-15" for j in range(N)],
            "parking": [None if j % 4 == 0 else j % 3 == 0 for j in range(N)],
        }
    )


def fitted() -> tuple[Any, Table, Any]:
    table = shops()
    y = np.asarray(table["area"]) * 2 + np.asarray(table["rooms"])
    return (
        make_pipeline(mercer.TableFeatures(unseen="ignore"), mercer.Ridge()).fit(table, y),
        Table.of(table, dates=True),
        y,
    )


@pytest.fixture(scope="module")
def card() -> ModelCard:
    model, table, y = fitted()
    return make_card(model, table, y, task="regression", target="rent", source="shops.csv")


def test_summaries_describe_the_columns(card: ModelCard) -> None:
    area = np.sort(np.asarray(shops()["area"]))
    found = card.column("area")
    assert found is not None
    assert found.quantiles is not None
    assert (found.quantiles[0], found.quantiles[-1]) == (area[0], area[-1])
    assert found.typical in area
    np.testing.assert_allclose(found.typical, np.median(area), rtol=0.02)
    city = card.column("city")
    assert city is not None
    assert city.levels is not None
    assert city.typical == "Oslo"
    assert sum(share for _, share in city.levels) == pytest.approx(1)
    opened = card.column("opened")
    assert opened is not None
    assert (opened.kind, opened.quantiles and opened.quantiles[0]) == ("date", "2010-01-15")
    parking = card.column("parking")
    assert parking is not None
    assert parking.missing == 0.25


def test_sampled_rows_have_the_distributions_of_the_columns(card: ModelCard) -> None:
    model, table, _ = fitted()
    drawn = card.sample(4000, random_state=1)
    assert model.predict(drawn).shape == (4000,)
    area = np.asarray(drawn["area"])
    assert np.median(area) == pytest.approx(np.median(table.numbers([0])), rel=0.1)
    assert area.std() == pytest.approx(table.numbers([0]).std(), rel=0.15)
    cities = drawn["city"].to_pylist()
    assert cities.count("Oslo") / 4000 == pytest.approx(shops()["city"].to_pylist().count("Oslo") / N, abs=0.03)
    assert drawn["parking"].null_count / 4000 == pytest.approx(0.25, abs=0.03)
    assert drawn.equals(card.sample(4000, random_state=1))


def test_a_typical_row_can_be_predicted(card: ModelCard) -> None:
    model, _, y = fitted()
    row = pa.table({name: [value] for name, value in card.typical().items()})
    assert y.min() < model.predict(row)[0] < y.max()


def test_a_file_stores_the_card_and_the_model(card: ModelCard, tmp_path: Path) -> None:
    model, table, _ = fitted()
    save(model, tmp_path / "m", card=card)
    assert describe(tmp_path / "m").card == card
    again = load(tmp_path / "m")
    assert card_of(again) == card
    assert describe(again).card == card
    np.testing.assert_array_equal(again.predict(table.native), model.predict(table.native))
    save(model, tmp_path / "n")
    assert describe(tmp_path / "n").card is None


def test_a_damaged_card_is_an_error_of_the_file(card: ModelCard, tmp_path: Path) -> None:
    save(fitted()[0], tmp_path / "m", card=card)
    whole = (tmp_path / "m").read_bytes()
    for broken in (
        "[]",
        '{"columns": 3}',
        '{"target": "x"',
        json.dumps({**card.to_dict(), "columns": [{"kind": "?"}]}),
    ):
        header, _, data = taken_apart(whole)
        header["__metadata__"]["card"] = broken
        (tmp_path / "m").write_bytes(signed(header, data))
        for ask in (load, describe):
            with pytest.raises(ModelFileError, match="card"):
                ask(tmp_path / "m")


def test_the_hash_depends_on_the_values_only() -> None:
    table = shops()
    y = np.arange(N)
    found = hash_of_data(Table.of(table, dates=True), y)
    frame = table.to_pandas()
    assert hash_of_data(Table.of(frame, dates=True), y) == found
    frame["city"] = pd.Categorical(frame["city"], ["Rome", "Paris", "Oslo", "Bonn"])
    assert hash_of_data(Table.of(frame, dates=True), y) == found
    assert hash_of_data(Table.of(frame, dates=True), y[::-1]) != found
    frame.loc[3, "area"] += 1
    assert hash_of_data(Table.of(frame, dates=True), y) != found


def test_free_text_and_identifiers_are_not_stored() -> None:
    secret = [f"the patient {name} came in today with pain {name}" for name in np.arange(N).astype(str)]
    table = pa.table({"note": secret, "id": [f"case-{j}" for j in range(N)]})
    written = json.dumps([str(each) for each in summarize_columns(Table.of(table, dates=True))])
    assert "patient" not in written
    assert "case-" not in written


def test_text_and_markdown_agree(card: ModelCard) -> None:
    for written in (card.text(), card.markdown()):
        assert "not measured" in written
        assert "400 rows of shops.csv" in written
        assert card.data_hash in written
        assert all(column.name in written for column in card.columns)


def test_a_changed_model_has_no_scores_and_no_hash(card: ModelCard) -> None:
    changed = update_card(card, 300, "100 rows were removed.")
    assert (changed.rows, changed.data_hash, changed.scores) == (300, "", ())
    assert changed.limits[0] == "100 rows were removed."


def test_a_comparison_writes_a_card(tmp_path: Path) -> None:
    table = shops().to_pandas()
    y = pd.Series(np.asarray(table["area"]) * 2 + np.random.default_rng(1).normal(size=N), name="rent")
    found = mercer.compare(table[["area", "city"]], y, models=["Ridge"], cv=3)
    save(found, tmp_path / "m")
    card = describe(tmp_path / "m").card
    assert card is not None
    assert card.target == "rent"
    score = card.scores[0]
    assert score.mean == pytest.approx(found.interval(card.model).mean)
    assert score.low is not None
    assert score.high is not None
    assert score.low < score.mean < score.high


def test_numbers_written_with_a_unit_keep_it() -> None:
    table = Table.of(pa.table({"rent": [f"${each:,}" for each in range(1000, 5000, 40)]}), dates=True)
    found = summarize_columns(table)[0]
    assert found.unit == "$"
    assert found.described() == "$1000 to $4960, median $3000"
    assert str(Score("MAE", 24850.3, 24256.0, 25444.0, 90000.0, "$")) == (
        "MAE $24,850 (95% interval $24,256 to $25,444); baseline $90,000"
    )
