"""A model by its name, ready for the columns of a table."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sklearn.pipeline import Pipeline

import mercer
from mercer._errors import DataError, SupportError
from mercer.application.preparing import make_model, prepare_named
from mercer.base import estimator_named, model_names, traits_of

MIXED = pa.table(
    {
        "id": [f"p{i}" for i in range(40)],
        "x": [i / 7 for i in range(40)],
        "city": ["Ulm", "Bonn", None, "Jena"] * 10,
        "day": [f"2024-01-{i % 28 + 1:02}" for i in range(40)],
    }
)
NUMBERS = pa.table({"x": [i / 7 for i in range(40)], "n": [i % 3 for i in range(40)], "one": [1] * 40})
Y = ["a", "b"] * 20


def test_naive_bayes_uses_the_columns_that_have_a_family() -> None:
    ready = prepare_named("NaiveBayes", MIXED)
    assert ready.frame.column_names == ["x", "city"]
    assert ready.model.families.names == ("x", "city")
    assert ready.notes == ("The model does not use 'id', 'day'.",)
    assert prepare_named("NaiveBayes", MIXED, settings={"families": "gaussian"}).model.families == "gaussian"


def test_numerical_models_receive_numbers_unchanged() -> None:
    ready = prepare_named("GaussianNB", NUMBERS)
    assert not isinstance(ready.model, Pipeline)
    assert ready.frame.column_names == ["x", "n"]
    assert isinstance(prepare_named("KernelBayes", MIXED).model, Pipeline)


@pytest.mark.parametrize("name", ["GaussianNB", "GaussianDiscriminant"])
def test_gaussian_models_use_the_numerical_columns(name: str) -> None:
    """Such models merge and forget, which features of other columns, computed from all rows, would prevent."""
    ready = prepare_named(name, MIXED)
    assert (type(ready.model).__name__, ready.frame.column_names) == (name, ["x"])
    assert ready.notes == ("The model does not use 'id', 'city', 'day'.",)
    assert isinstance(prepare_named(name, MIXED.select(["city"])).model, Pipeline)


@pytest.mark.parametrize("name", model_names())
def test_every_model_has_a_name_and_parameters(name: str) -> None:
    assert type(make_model(name, {})).__name__ == name
    with pytest.raises(DataError, match=f"{name} has no parameter 'nonsense'"):
        make_model(name, {"nonsense": 1})


@pytest.mark.parametrize(
    "name", ["LogisticRegression", "KernelBayes", "SVC", "NadarayaWatsonClassifier", "BernoulliNB"]
)
def test_models_of_features_are_fitted_to_mixed_columns(name: str) -> None:
    ready = prepare_named(name, MIXED)
    assert ready.model.fit(ready.frame, Y).predict(ready.frame).shape == (40,)


PATIENTS = pa.table(
    {
        "age": [None if i % 6 == 5 else 31 + (7 * i) % 40 for i in range(40)],
        "sex": ["male", "female", "female", "male", "male"] * 8,
        "ward": [10 + 10 * ((3 * i) % 4) for i in range(40)],
        "city": ["Ulm", "Bonn", "Jena", "Kiel"] * 10,
    }
)
ILL = [(5 * i) % 7 < 3 for i in range(40)]


def test_discriminants_receive_linearly_independent_features() -> None:
    ready = prepare_named("QuadraticDiscriminantAnalysis", PATIENTS)
    assert ready.notes == ("The model does not use 'city'.",)
    model = ready.model.fit(ready.frame, ILL)
    assert list(model[0].get_feature_names_out()) == ["age", "age[missing]", "sex", "ward"]
    assert model.predict(ready.frame).shape == (40,)
    alone = prepare_named("QuadraticDiscriminantAnalysis", PATIENTS.select(["city"]))
    assert list(alone.model[0].exclude) == []


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "CategoricalNB"])
def test_models_of_counts_receive_unscaled_numbers(name: str) -> None:
    ready = prepare_named(name, PATIENTS)
    model = ready.model.fit(ready.frame, ILL)
    assert "sex[female]" in model[-1].feature_names_in_
    below = PATIENTS.set_column(0, "age", pa.array([-1.0, *range(39)]))
    with pytest.raises(SupportError, match=r"Column 'age' is -1\.0 in row 0"):
        prepare_named(name, below).model.fit(below, ILL)


def test_words_are_counted_for_models_of_counts() -> None:
    frame = pa.table({"mail": [f"win a prize now {i}" for i in range(30)], "x": [0.5, 1.5] * 15})
    ready = prepare_named("MultinomialNB", frame)
    assert ready.notes == ("The model does not use 'x'.",)
    assert all(name.startswith("mail[") for name in ready.model[0].fit(frame).get_feature_names_out())


def test_a_table_without_usable_columns_is_rejected() -> None:
    with pytest.raises(DataError, match="no family for text and dates"):
        prepare_named("NaiveBayes", MIXED.select(["day"]))


def test_names_are_public() -> None:
    for name in model_names():
        assert traits_of(estimator_named(name)).tasks[0] in ("classification", "regression")
    assert {*model_names()} <= {*mercer.__all__}
    with pytest.raises(DataError, match="Did you mean 'GaussianNB'"):
        make_model("GausianNB", {})
    with pytest.raises(DataError, match="The 'C' parameter of SVC must be"):
        make_model("SVC", {"C": "large"})
