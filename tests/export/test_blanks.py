"""A model has one answer: spaces around strings and words for missing values mean the same in every language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

from mercer import LogisticRegression, NaiveBayes, TableFeatures, save
from mercer.cli.app import app
from mercer.data import read_table
from tests.export._languages import check

ROWS = 240
RNG = np.random.default_rng(0)
JOBS, MARITAL = ["private firm", "state", "self employed not inc", "farm"], ["single", "married"]
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, ROWS).astype(float),
        "job": RNG.choice(JOBS, ROWS),
        "marital": RNG.choice(MARITAL, ROWS),
        "sex": RNG.choice(["f", "m"], ROWS),
    }
).mask(RNG.random((ROWS, 4)) < 0.05)
Y = np.where((FRAME["job"] == "state") | (FRAME["age"] > 50), "yes", "no")
MODELS = [make_pipeline(TableFeatures(unseen="ignore"), LogisticRegression()), NaiveBayes()]
WORDS = ["job", "marital", "sex"]


def padded(frame: pd.DataFrame, gap: str) -> pd.DataFrame:
    """Strings with spaces around them, and a word in the place of missing ones."""
    words = frame[WORDS].fillna(gap).map(lambda word: f"  {word} ")
    return frame.assign(**{name: words[name] for name in WORDS})


@pytest.mark.parametrize("model", MODELS, ids=["features", "naive Bayes"])
@pytest.mark.parametrize("gap", ["", "?", "NA"])
def test_all_languages_and_libraries_read_strings_alike(model: Any, gap: str) -> None:
    model.fit(FRAME, Y)
    rows = padded(FRAME, gap)
    np.testing.assert_array_equal(model.predict_proba(rows), model.predict_proba(FRAME))
    check(model, rows)


@pytest.mark.parametrize("model", MODELS, ids=["features", "naive Bayes"])
def test_a_fit_to_strings_with_spaces_is_the_same(model: Any) -> None:
    plain = model.fit(FRAME, Y).predict_proba(FRAME)
    np.testing.assert_array_equal(model.fit(padded(FRAME, ""), Y).predict_proba(FRAME), plain)


@pytest.mark.parametrize("model", MODELS, ids=["features", "naive Bayes"])
def test_a_word_that_is_a_level_is_not_taken_for_missing(model: Any, tmp_path: Path) -> None:
    """Not even in a file of text, where it would be."""
    frame = padded(FRAME, "?")
    model.fit(frame, Y)
    check(model, frame)
    save(model, tmp_path / "it.mercer")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    places = [str(tmp_path / name) for name in ("it.mercer", "rows.csv", "out.csv")]
    assert CliRunner().invoke(app, ["predict", *places[:2], "-o", places[2]]).exit_code == 0
    shares = read_table(tmp_path / "out.csv")["probability[yes]"].to_numpy()
    np.testing.assert_allclose(shares, model.predict_proba(frame)[:, 1], rtol=1e-12)


@pytest.mark.parametrize("model", MODELS[:1], ids=["features"])
def test_a_new_number_counts_as_the_nearest_of_a_scale(model: Any) -> None:
    scale = np.arange(ROWS) % 5 + 1
    frame = FRAME.assign(scale=scale, ward=np.where(scale < 3, scale, 7 * scale))
    model.fit(frame, np.where(scale > 3, "yes", "no"))
    assert model[0].schema_["scale"].kind.value == "code"
    rows = frame.assign(scale=9)
    np.testing.assert_array_equal(model.predict_proba(rows), model.predict_proba(frame.assign(scale=5)))
    beyond = frame.assign(scale=scale * 3.0 - 4)
    check(model, beyond)
    check(model, frame.assign(ward=99))  # not a scale: nothing is known of a new ward
    stores = frame.rename(columns={"scale": "store_id"})
    model.fit(stores, np.where(scale > 3, "yes", "no"))
    new = model.predict_proba(stores.assign(store_id=9))
    assert not np.allclose(new, model.predict_proba(stores.assign(store_id=5)))
