"""Columns that a model reads, alone or within wrappers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as m
from mercer._errors import ColumnMismatchError, DataError
from mercer.decision import Calibrated, Decision
from mercer.serve.inputs import Inputs, model_name
from tests.serve._server import served

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "id": [f"row {j}" for j in range(40)],
        "size": RNG.normal(size=40),
        "city": RNG.choice(["Ulm", "Bonn"], 40),
        "code": RNG.integers(0, 3, 40),
        "day": pd.date_range("2024-01-01", periods=40).astype(str),
        "constant": 1.0,
    }
)
Y = np.where(FRAME["size"] > 0, "a", "b")
TABLE = make_pipeline(m.TableFeatures(), m.LogisticRegression())


def test_columns_of_a_table() -> None:
    inputs = Inputs.of(TABLE.fit(FRAME, Y))
    assert inputs.has_names
    types = {each.name: (each.type, each.required) for each in inputs}
    assert types == {
        "id": ("any", False),
        "size": ("number", True),
        "city": ("string", True),
        "code": ("number", True),
        "day": ("string", True),
        "constant": ("any", False),
    }


def test_unused_columns_are_optional() -> None:
    rows = FRAME.to_dict("records")
    bare = [{name: row[name] for name in ("size", "city", "code", "day")} for row in rows]
    with served(TABLE.fit(FRAME, Y)) as client:
        assert client.post("/predict", json=rows).json() == client.post("/predict", json=bare).json()


def test_models_around_others() -> None:
    calibrated = Calibrated(TABLE, cv=2).fit(FRAME, Y)
    assert model_name(calibrated) == "Calibrated(LogisticRegression)"
    assert Inputs.of(calibrated).names == list(FRAME.columns)
    decision = Decision(calibrated, reject=0.1)
    with served(decision) as client:
        answers = client.post("/predict", json=FRAME.to_dict("records")).json()["predictions"]
    assert [row["prediction"] for row in answers] == decision.predict(FRAME).tolist()
    search = GridSearchCV(m.GaussianNB(), {"var_smoothing": [0.1]}, cv=2).fit(FRAME[["size", "code"]], Y)
    assert Inputs.of(search).names == ["size", "code"]
    turned = TransformedTargetRegressor(m.Ridge(), func=np.log, inverse_func=np.exp).fit([[1.0], [2.0]], [1.0, 2.0])
    assert [each.name for each in Inputs.of(turned)] == ["x0"]
    assert not Inputs.of(turned).has_names


def test_a_schema_adds_to_the_model() -> None:
    model = m.GaussianNB().fit(FRAME[["size", "code"]], Y)
    inputs = Inputs.of(model, m.Schema.infer(FRAME[["size", "code"]]))
    assert [each.column.levels for each in inputs] == [None, (0, 1, 2)]


def test_codes_may_be_missing() -> None:
    frame = FRAME[["size", "city", "code"]]
    model = m.NaiveBayes(m.Schema.infer(frame)).fit(frame, Y)
    with served(model) as client:
        answer = client.post("/predict", json=[{"size": None, "city": None, "code": None}]).json()["predictions"][0]
        known = client.post("/predict", json=[{"size": None, "city": None, "code": code} for code in (1, 1.0)]).json()
    np.testing.assert_allclose(list(answer["probabilities"].values()), model.class_prior_)
    assert known["predictions"][0] == known["predictions"][1]


def test_columns_are_put_into_the_order_of_the_fit() -> None:
    model = m.GaussianNB().fit(FRAME[["size", "code"]], Y)
    inputs = Inputs.of(model, m.Schema.infer(FRAME[["code", "size"]]))
    assert inputs.names == ["size", "code"]


def test_a_schema_of_another_table_is_rejected() -> None:
    model = m.GaussianNB().fit(FRAME[["size", "code"]], Y)
    with pytest.raises(ColumnMismatchError, match="lacks 'size', which the model reads"):
        Inputs.of(model, m.Schema.infer(FRAME.rename(columns={"size": "sizes"})))


def test_models_that_cannot_be_served_are_rejected() -> None:
    texts = make_pipeline(m.CountVectorizer(), m.MultinomialNB()).fit(["a dog", "the cat"], [0, 1])
    for model, words in (
        (m.GaussianNB(), "not fitted"),
        (make_pipeline(m.TableFeatures(), m.Ridge()), "not fitted"),
        (texts, "reads texts"),
        (m.TableFeatures().fit(FRAME), "no predictions"),
    ):
        with pytest.raises(DataError, match=words):
            Inputs.of(model)


def test_each_of_several_transformers_has_its_own_columns() -> None:
    parts = make_column_transformer((m.TableFeatures(), ["city"]), (StandardScaler(), ["size"]))
    model = make_pipeline(parts, m.LogisticRegression()).fit(FRAME, Y)
    rows = FRAME.to_dict("records")
    with served(model) as client:
        answers = client.post("/predict", json=rows).json()["predictions"]
        wrong = client.post("/predict", json=[rows[0] | {"size": "large"}])
    assert [row["prediction"] for row in answers] == model.predict(FRAME).tolist()
    assert wrong.status_code == 422


def test_requests_cannot_open_files() -> None:
    words = make_column_transformer((m.CountVectorizer(input="content"), "note"), remainder="drop")
    frame = pd.DataFrame({"note": ["a bad day", "a good day"] * 3})
    model = make_pipeline(words, m.MultinomialNB()).fit(frame, [0, 1] * 3)
    assert Inputs.of(model).names == ["note"]
    model.set_params(columntransformer__countvectorizer__input="filename")
    with pytest.raises(DataError, match="CountVectorizer opens the files that rows name"):
        Inputs.of(model)
