"""Errors about input that scikit-learn rejects: its sentence, then the row or column and the remedy."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mercer
from mercer._errors import ColumnTypeError, DataError, NonFiniteError
from mercer.data.sources.memory import MemorySource

# LogisticRegressionCV announces future defaults
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

X = np.abs(np.random.default_rng(0).normal(size=(20, 2))).round()
LABELS = np.tile([0.0, 1.0], 10)
FRAME = pd.DataFrame({"a": X[:, 0], "kind": ["typical", "odd"] * 10, "b": X[:, 1]})
CLASSIFIERS = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianDiscriminant",
    "GaussianNB",
    "LinearDiscriminantAnalysis",
    "LinearThreshold",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MultinomialNB",
    "Perceptron",
    "QuadraticDiscriminantAnalysis",
]
REGRESSORS = [
    "ElasticNet",
    "ElasticNetCV",
    "GammaRegressor",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "LogNormalRegressor",
    "PoissonRegressor",
    "Ridge",
    "RidgeCV",
    "TweedieRegressor",
]


def with_a_gap(value: object, dtype: type = float) -> np.ndarray:
    y = LABELS.astype(dtype)
    y[3] = value
    return y


GAPS = {
    "NaN": with_a_gap(np.nan),
    "NaN among objects": with_a_gap(np.nan, object),
    "None": with_a_gap(None, object),
    "a list": with_a_gap(None, object).tolist(),
    "a nullable integer": pd.Series(with_a_gap(np.nan), dtype="Int64"),
}
TEXT_GAPS = {
    "None": np.array(["a", "b", "a", None] * 5, dtype=object),
    "a string column": pd.Series(["a", "b", "a", None] * 5, dtype="string"),
    "a category": pd.Series(["a", "b", "a", None] * 5, dtype="category"),
}


@pytest.mark.parametrize("y", GAPS.values(), ids=GAPS)
@pytest.mark.parametrize("name", CLASSIFIERS + REGRESSORS)
def test_a_missing_y_is_named_by_its_row(name: str, y: object) -> None:
    with pytest.raises(NonFiniteError, match=r"^Input y contains NaN\. .*[Rr]ow 3.*drop"):
        getattr(mercer, name)().fit(X, y)


@pytest.mark.parametrize("y", TEXT_GAPS.values(), ids=TEXT_GAPS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_missing_label_is_named_by_its_row(name: str, y: object) -> None:
    with pytest.raises(NonFiniteError, match=r"^Input y contains NaN\. .*row 3; drop"):
        getattr(mercer, name)().fit(X, y)


@pytest.mark.parametrize("name", CLASSIFIERS + REGRESSORS)
def test_an_infinite_y_is_named_by_its_row(name: str) -> None:
    with pytest.raises(NonFiniteError, match=r"^Input y contains infinity or a value too large .*[Rr]ow 3"):
        getattr(mercer, name)().fit(X, with_a_gap(np.inf))


TEXT = {
    "pandas": (FRAME, "kind"),
    "pandas category": (FRAME.astype({"kind": "category"}), "kind"),
    "polars": (pl.from_pandas(FRAME), "kind"),
    "objects": (FRAME.to_numpy(), "x1"),
    "a list": (FRAME.to_numpy().tolist(), "x1"),
}


@pytest.mark.parametrize(("table", "column"), TEXT.values(), ids=TEXT)
@pytest.mark.parametrize("name", CLASSIFIERS + REGRESSORS)
def test_a_column_of_text_is_named(name: str, table: object, column: str) -> None:
    with pytest.raises(
        ColumnTypeError,
        match=rf"^(could not convert|dtype='numeric').*\. Column '{column}' holds.*{name}.*CategoryFeatures.*GLM",
    ):
        getattr(mercer, name)().fit(table, LABELS + 1)


@pytest.mark.parametrize("name", ["GaussianNB", "LogisticRegression", "Ridge"])
def test_a_column_of_text_is_named_when_predicting(name: str) -> None:
    model = getattr(mercer, name)().fit(FRAME.assign(kind=X[:, 1]), LABELS)
    with pytest.raises(ColumnTypeError, match=r"Column 'kind' holds text or categories such as '(typical|odd)'"):
        model.predict(FRAME)


@pytest.mark.parametrize("name", ["GaussianNB", "Ridge"])
def test_text_that_spells_numbers_is_read_as_numbers(name: str) -> None:
    spelt = FRAME.assign(a=[str(value) for value in FRAME["a"]])
    with pytest.raises(ColumnTypeError, match="Column 'kind'"):
        getattr(mercer, name)().fit(spelt, LABELS)
    getattr(mercer, name)().fit(spelt.drop(columns="kind"), LABELS)
    with pytest.raises(DataError, match=r"^dtype='numeric' is not compatible.*astype\(float\)"):
        getattr(mercer, name)().fit(X.astype(str), LABELS)


@pytest.mark.parametrize("name", ["GaussianNB", "LogisticRegression", "Ridge"])
def test_dates_are_named(name: str) -> None:
    with pytest.raises(ColumnTypeError, match=r"Column 'kind' has the type datetime64.*days since"):
        getattr(mercer, name)().fit(FRAME.assign(kind=pd.date_range("2020-01-01", periods=20)), LABELS)


@pytest.mark.parametrize("dtype", [object, str])
@pytest.mark.parametrize("name", REGRESSORS)
def test_labels_are_not_numbers(name: str, dtype: type) -> None:
    y = np.array(["a", "b"] * 10, dtype=dtype)
    with pytest.raises(
        DataError, match=rf"^could not convert string to float: .*'a'\)?\. y holds 'a', but {name}.*classifier"
    ):
        getattr(mercer, name)().fit(X, y)


def test_a_polars_frame_of_several_types_is_read_as_numbers() -> None:
    frame = pl.DataFrame({"a": LABELS, "b": LABELS > 0, "c": LABELS.astype(int)})
    expected = mercer.MultinomialNB().fit(frame.to_pandas().astype(float), LABELS)
    np.testing.assert_array_equal(mercer.MultinomialNB().fit(frame, LABELS).feature_count_, expected.feature_count_)


@pytest.mark.parametrize("name", ["GaussianNB", "LogisticRegression", "Ridge", "PoissonRegressor", "LinearThreshold"])
def test_only_models_that_forget_mention_forgetting(name: str) -> None:
    model = getattr(mercer, name)()
    with pytest.raises(DataError, match="Row 0 has the weight -1; give 0 or more to each row") as rejection:
        model.fit(X, LABELS, sample_weight=-np.ones(20))
    assert ("forget" in str(rejection.value)) == hasattr(model, "forget")


@pytest.mark.parametrize("name", [*CLASSIFIERS, *REGRESSORS, "NaiveBayes", "GLM", "SVC", "KernelRidge"])
def test_duplicate_names_are_rejected(name: str) -> None:
    twice = pd.DataFrame(X, columns=["a", "a"])
    with pytest.raises(DataError, match=r"column 'a' 2 times\. Rename its columns"):
        getattr(mercer, name)().fit(twice, LABELS + 1)


def test_more_classes_than_half_the_rows_of_a_tensor() -> None:
    torch = pytest.importorskip("torch")
    rows = torch.tensor(np.random.default_rng(1).normal(size=(30, 2)))
    with pytest.warns(UserWarning, match="16 classes among 30 rows"):
        mercer.LogisticRegression().fit(rows, torch.arange(30) % 16)


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("name", ["LinearSVC", "LogisticRegression", "LogisticRegressionCV", "SVC"])
def test_more_classes_than_half_the_rows_may_be_numbers(name: str) -> None:
    rows = np.random.default_rng(1).normal(size=(30, 2))
    options = {"Cs": 2, "cv": 2, "scoring": "accuracy"} if name == "LogisticRegressionCV" else {}
    model = getattr(mercer, name)(**options)
    many = (
        r"^The number of unique classes is greater than 50% of the number of samples\. .* 16 classes among 30 rows\.$"
    )
    with pytest.warns(UserWarning, match=many):
        model.fit(rows, np.arange(30) % 16)
    with pytest.warns(UserWarning, match=many):
        model.fit(MemorySource(rows, np.arange(30) % 16, rows=7))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "The number of unique classes")
        model.fit(rows, np.arange(30) % 15)
        model.fit(rows[:20], np.arange(20) % 16)
