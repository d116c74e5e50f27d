"""Drivers are ranked by size, with the direction in which they move the output."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from mercer import GLM, SVC, KernelRidge, LogisticRegression, MultinomialNB, Ridge, TableFeatures, drivers, explain_rows
from mercer.application.model_cards import make_card
from mercer.data import Table
from mercer.files import attach_card


def table(n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "noise": random.normal(size=n),
            "price": random.normal(10, 3, n),
            "shelf": random.choice(["good", "bad", "medium"], n),
            "hour": random.uniform(0, 24, n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, n), unit="D"),
        }
    )
    shelf = frame["shelf"].map({"good": 2.0, "medium": 0.0, "bad": -2.0})
    middle = np.where(np.abs(frame["hour"] - 12) < 5, 1.2, -1.2)
    days = (frame["since"] - frame["since"].min()).dt.days
    frame.loc[::9, "price"] = np.nan
    y = -1.5 * frame["price"].fillna(10) + shelf + middle + 0.004 * days
    return frame, y.to_numpy()


@pytest.mark.parametrize("model", [Ridge(), KernelRidge(kernel="rbf", gamma=0.05, alpha=0.1)], ids=["exact", "sampled"])
def test_drivers_of_numbers_levels_and_dates(model: object) -> None:
    frame, y = table()
    fitted = make_pipeline(TableFeatures(output="array"), model).fit(frame, y - y.mean())
    found = {driver.column: driver for driver in drivers(fitted, frame)}
    assert next(iter(found)) == "price"
    assert found["price"].direction == "higher values lower the prediction"
    assert found["price"].sign == -1
    assert found["shelf"].direction == "'good' raises the prediction most, 'bad' lowers it most"
    assert found["since"].direction == "later dates raise the prediction"
    sizes = [driver.size for driver in found.values()]
    assert sizes == sorted(sizes, reverse=True)
    assert found["price"].size == pytest.approx(3.3, abs=1.2)
    assert 0 < found["price"].error < 1


def test_a_curve_has_no_direction() -> None:
    frame, y = table()
    fitted = make_pipeline(TableFeatures(output="array"), KernelRidge(kernel="rbf", gamma=0.5, alpha=0.01))
    found = {driver.column: driver for driver in drivers(fitted.fit(frame[["hour"]], y - y.mean()), frame[["hour"]])}
    assert (found["hour"].direction, found["hour"].sign) == ("middle values raise the prediction", 0)


@pytest.mark.parametrize("model", [LogisticRegression(), SVC()], ids=["exact", "sampled"])
def test_drivers_name_the_class_that_becomes_more_likely(model: object) -> None:
    frame, y = table()
    fitted = make_pipeline(TableFeatures(output="array"), model).fit(frame, np.where(y > np.median(y), "yes", "no"))
    first, second = drivers(fitted, frame, most=2)
    assert str(first) == "price: higher values make yes less likely"
    assert str(second) == "shelf: 'good' makes yes most likely, 'bad' least likely"


def test_words_of_a_text_count_as_one_column() -> None:
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 80)
    words = [" ".join(random.choice(["fine", "nice", "so"] if each else ["poor", "sad", "so"], 5)) for each in y]
    frame = pd.DataFrame({"said": words})
    fitted = make_pipeline(TableFeatures(kinds={"said": "text"}, text="counts"), MultinomialNB()).fit(frame, y)
    (driver,) = drivers(fitted, frame)
    assert driver.column == "said"
    raising, lowering = driver.direction.split("; ")
    assert raising.endswith(" make 1 more likely")
    assert {"'fine'", "'nice'"} <= set(raising.replace(",", "").split())
    assert {"'poor'", "'sad'"} <= set(lowering.replace(",", "").split())


def test_raising_the_logarithm_raises_the_prediction() -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(200, 2))
    counts = random.poisson(np.exp(0.8 * X[:, 0]))
    (first, _) = drivers(GLM("poisson").fit(X, counts), X)
    assert (first.direction, first.of) == ("higher values raise the prediction", "log of the prediction")


def test_numbers_and_dates_stored_as_text_are_explained() -> None:
    random = np.random.default_rng(3)
    price = random.normal(1500, 400, 150)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 700, 150), unit="D")
    spelled = [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in price]
    frame = pd.DataFrame({"price": spelled, "day": day.strftime("%d.%m.%Y")})
    model = make_pipeline(TableFeatures(output="array"), KernelRidge(kernel="rbf", gamma=0.1)).fit(frame, price / 100)
    attach_card(model, make_card(model, Table.of(frame, dates=True), price, task="regression"))
    assert str(drivers(model, frame)[0]) == "price: higher values raise the prediction"
    found = explain_rows(model, frame[:1])  # against rows of the card
    assert found.totals[0, 0] == pytest.approx(model.predict(frame[:1])[0])
    given = explain_rows(model, frame[:1], background=frame)
    assert np.sign(given.contributions[0, 0, 0]) == np.sign(price[0] - price.mean())


def test_columns_of_wide_tables_that_count_together_come_last() -> None:
    random = np.random.default_rng(4)
    X = random.normal(size=(60, 150))
    model = KernelRidge(kernel="rbf", gamma=0.002, alpha=0.1).fit(X, 3 * X[:, 7] - 2 * X[:, 90])
    found = drivers(model, X, max_evaluations=8_000)
    assert {driver.column for driver in found[:2]} == {"x7", "x90"}
    assert [driver.column.startswith("(") for driver in found].index(True) == len(found) - 1


def test_codes_have_a_direction_only_if_their_levels_are_ordered() -> None:
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"grade": random.choice([1, 2, 3, 4, 5], 300), "zone": random.choice([1, 2, 3, 4, 5], 300)})
    y = 2.0 * frame["grade"] + frame["zone"].map({1: 9.0, 2: -3.0, 3: 1.0, 4: -2.0, 5: 0.0})
    kinds = {"grade": "category", "zone": "category"}
    model = make_pipeline(TableFeatures(kinds=kinds), Ridge(alpha=1e-6)).fit(frame, y)
    found = {driver.column: driver for driver in drivers(model, frame)}
    assert found["grade"].direction == "higher values raise the prediction"
    assert found["zone"].direction == "'1' raises the prediction most, '2' lowers it most"
