"""Categories as codes: scikit-learn's one-hot columns where the meaning is the same, and what mercer adds."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from mercer import CategoryFeatures, LogisticRegression
from mercer._errors import (
    ColumnMismatchError,
    DataError,
    EmptyDataError,
    MergeError,
    NonFiniteError,
    UnseenCategoryError,
    UnseenCategoryWarning,
)
from mercer.data.sources.memory import MemorySource
from mercer.matrices import Encoded
from mercer.matrices.encoded import CodePart

N = 60


def people(seed: int = 0, n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "city": rng.choice(["Ulm", "Bonn", "Kiel", "Köln", "Jena"], n, p=[0.5, 0.3, 0.1, 0.06, 0.04]),
            "rooms": rng.integers(1, 5, n),
            "member": rng.random(n) < 0.5,
            "size": pd.Categorical(rng.choice(["S", "L"], n), categories=["S", "M", "L"]),
        }
    )


# As in scikit-learn.

COLUMNS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["x", "y", None]), st.integers(0, 3)), min_size=1, max_size=40
)
POOLING: dict[str, dict[str, Any]] = {
    "nothing": {},
    "by count": {"min_frequency": 3},
    "by share": {"min_frequency": 0.2},
}


@settings(max_examples=25)
@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("pooling", list(POOLING))
@pytest.mark.parametrize("drop_first", [False, True])
@given(rows=COLUMNS, new=COLUMNS)
def test_columns_agree_with_scikit_learn(pooling: str, drop_first: bool, rows: Any, new: Any) -> None:
    options = POOLING[pooling]
    X, more = np.array(rows, dtype=object), np.array(new, dtype=object)
    mine = CategoryFeatures(drop_first=drop_first, **options).fit(X)
    them = OneHotEncoder(
        sparse_output=False, handle_unknown="infrequent_if_exist", drop="first" if drop_first else None, **options
    ).fit(X)
    assert_array_equal(mine.transform(X).toarray(), them.transform(X))
    assert_array_equal(mine.transform(X).tocsr().toarray(), them.transform(X))
    assert_array_equal(mine.transform(more).toarray(), them.transform(more))
    names = [name.replace("infrequent_sklearn", "infrequent") for name in them.get_feature_names_out()]
    assert [name.replace("_nan", "_None") for name in mine.get_feature_names_out()] == names


@settings(max_examples=25)
@given(rows=COLUMNS, most=st.integers(1, 6))
def test_max_levels_agrees_with_scikit_learn(rows: Any, most: int) -> None:
    """Where there are more: scikit-learn pools the last level even if there is room for it."""
    X = np.array(rows, dtype=object)
    mine = CategoryFeatures(max_levels=most).fit(X)
    for j in range(X.shape[1]):
        if len(set(X[:, j].tolist())) > most:
            theirs = OneHotEncoder(sparse_output=False, max_categories=most).fit(X[:, [j]])
            column = Encoded.of([mine.transform(X).parts[j]])
            assert_array_equal(column.toarray(), theirs.transform(X[:, [j]]))
            pooled = [None if label != label else label for label in mine.infrequent_categories_[j]]
            assert pooled == theirs.infrequent_categories_[0].tolist()
        else:
            assert mine.infrequent_categories_[j] is None


def test_categories_are_listed_as_scikit_learn_lists_them() -> None:
    X = people()[["city", "rooms"]]
    mine, them = CategoryFeatures().fit(X), OneHotEncoder().fit(X)
    for ours, theirs in zip(mine.categories_, them.categories_, strict=True):
        assert_array_equal(ours, theirs)
    assert mine.get_feature_names_out().tolist() == them.get_feature_names_out().tolist()
    assert mine.get_feature_names_out(["city", "rooms"]).tolist() == them.get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="input_features"):
        mine.get_feature_names_out(["town", "rooms"])
    assert CategoryFeatures().fit(X.to_numpy()).get_feature_names_out(["a", "b"])[0] == "a_Bonn"


# Frames.


def libraries() -> dict[str, Any]:
    X = people()
    arrow = pa.Table.from_pandas(X.astype({"size": str}))
    position = arrow.schema.get_field_index("size")
    dictionary = pa.DictionaryArray.from_arrays(X["size"].cat.codes.to_numpy(), ["S", "M", "L"])
    return {
        "pandas": X,
        "polars": pl.from_pandas(X.astype({"size": str})).with_columns(pl.col("size").cast(pl.Enum(["S", "M", "L"]))),
        "pyarrow": arrow.set_column(position, "size", dictionary),
        "nullable": X.astype({"city": "string", "rooms": "Int64", "member": "boolean"}),
    }


@pytest.mark.parametrize("library", list(libraries()))
def test_frames_of_all_libraries_have_the_same_columns(library: str) -> None:
    X, reference = libraries()[library], CategoryFeatures().fit(people())
    features = CategoryFeatures().fit(X)
    # a level that is declared and never occurs has no column, and the others come in the order that is declared
    assert features.get_feature_names_out().tolist() == reference.get_feature_names_out().tolist()
    assert features.get_feature_names_out()[-2:].tolist() == ["size_S", "size_L"]
    assert_array_equal(features.transform(X).toarray(), reference.transform(people()).toarray())
    assert_array_equal(reference.transform(X).toarray(), reference.transform(people()).toarray())


def test_frames_are_returned_on_request() -> None:
    X = people().set_index(np.arange(N) + 7)
    dense = CategoryFeatures().fit_transform(X)
    as_pandas = CategoryFeatures().set_output(transform="pandas").fit_transform(X)
    assert isinstance(as_pandas, pd.DataFrame)
    assert as_pandas.index.tolist() == X.index.tolist()
    assert as_pandas.columns.tolist() == list(dense.names)
    assert_array_equal(as_pandas.to_numpy(), dense.toarray())
    as_polars = CategoryFeatures().set_output(transform="polars").fit(X).transform(X)
    assert isinstance(as_polars, pl.DataFrame)
    assert_array_equal(as_polars.to_numpy(), dense.toarray())


def test_columns_are_matched_by_name() -> None:
    features = CategoryFeatures().fit(people())
    with pytest.raises(ColumnMismatchError, match="feature names"):
        features.transform(people()[["rooms", "city", "member", "size"]])
    with pytest.raises(ColumnMismatchError, match="3 features"):
        features.transform(people().to_numpy()[:, :3])


# Edges.


def test_strings_that_spell_numbers_stay_strings() -> None:
    X = np.array([["01"], ["1"], [1], ["1"]], dtype=object)
    features = CategoryFeatures().fit(X)
    assert features.get_feature_names_out().tolist() == ["x0_01", "x0_1", "x0_'1'"]
    assert features.transform(X).parts[0].codes.tolist() == [0, 2, 1, 2]
    assert CategoryFeatures().fit([["01"], ["1"]]).get_feature_names_out().tolist() == ["x0_01", "x0_1"]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (np.array([[2.5], [np.nan], [-1.0]]), ["x0_-1.0", "x0_2.5", "x0_nan"]),
        (np.array([[3], [1]], dtype=np.uint8), ["x0_1", "x0_3"]),
        (np.array([[True], [False]]), ["x0_False", "x0_True"]),
        (np.array([["b"], ["a"]]), ["x0_a", "x0_b"]),
        ([["b"], [None]], ["x0_b", "x0_nan"]),
        ([[1, "b"], [2.5, None]], ["x0_1.0", "x0_2.5", "x1_b", "x1_nan"]),
        (np.array([["b"], [np.nan], [None]], dtype=object), ["x0_b", "x0_nan"]),
        (np.array([[None], [None]], dtype=object), ["x0_nan"]),
        (np.array([["only"], ["only"]]), ["x0_only"]),
        (np.array([["x" * 100_000], ["y"]]), ["x0_" + "x" * 100_000, "x0_y"]),
        (np.array([["\ud800"], ["é"], [" "], ["a\0b"]], dtype=object), ["x0_a\0b", "x0_é", "x0_\ud800", "x0_nan"]),
    ],
)
def test_levels_of_any_type(values: Any, names: list[str]) -> None:
    features = CategoryFeatures()
    X = features.fit_transform(values)
    assert features.get_feature_names_out().tolist() == names
    assert (X.toarray().sum(axis=1) == features.n_features_in_).all()
    assert_array_equal(CategoryFeatures().fit(values).transform(values).toarray(), X.toarray())


@pytest.mark.parametrize("dtype", [object, None])
def test_masked_values_are_missing(dtype: Any) -> None:
    X = np.ma.array([["a"], ["b"], ["a"]], mask=[[1], [0], [0]], dtype=dtype)
    features = CategoryFeatures().fit(X)
    assert features.get_feature_names_out().tolist() == ["x0_a", "x0_b", "x0_nan"]
    assert_array_equal(features.transform(X).toarray(), [[0, 0, 1], [0, 1, 0], [1, 0, 0]])


def test_rows_of_unknown_values_are_zeros_or_rare() -> None:
    X = np.array([["a"], ["a"], ["b"]])
    new = np.array([["c"], ["d"]])
    assert not CategoryFeatures().fit(X).transform(new).toarray().any()
    assert_array_equal(CategoryFeatures(min_frequency=2).fit(X).transform(new).toarray(), [[0, 1], [0, 1]])
    assert not CategoryFeatures(min_frequency=2, handle_unknown="ignore").fit(X).transform(new).toarray().any()
    with pytest.raises(UnseenCategoryError, match=r"'c'.*column 'x0'.*row 0"):
        CategoryFeatures(handle_unknown="error").fit(X).transform(new)


@pytest.mark.parametrize("handle_unknown", ["pool", "ignore", "error"])
@pytest.mark.parametrize(("fitted", "given"), [([[1], [2], [3]], [["2"], ["1"]]), ([["1"], ["2"]], [[2], [1]])])
def test_numbers_given_as_strings_are_rejected_and_the_reverse(fitted: Any, given: Any, handle_unknown: str) -> None:
    features = CategoryFeatures(handle_unknown=handle_unknown).fit(np.array(fitted))
    with pytest.raises(UnseenCategoryError, match=r"Column 'x0' was fitted to .* but has "):
        features.transform(np.array(given))


@pytest.mark.parametrize("handle_unknown", ["pool", "ignore"])
@pytest.mark.parametrize(
    ("fitted", "given", "types"),
    [
        ([[1], [2], [3]], [["a"], ["b"]], "numbers and has only strings"),
        ([["1"], ["2"]], [[7]], "strings and has only numbers"),
    ],
)
def test_values_of_another_type_are_zeros_with_a_warning(
    fitted: Any, given: Any, types: str, handle_unknown: str
) -> None:
    features = CategoryFeatures(handle_unknown=handle_unknown).fit(np.array(fitted))
    with pytest.warns(UnseenCategoryWarning, match=f"Column 'x0' was fitted to {types} now.*Convert") as caught:
        X = features.transform(np.array(given))
    assert len(caught) == 1
    assert not X.toarray().any()


def test_columns_of_another_type_have_one_warning() -> None:
    features = CategoryFeatures().fit(np.array([[1, 4], [2, 5]]))
    with pytest.warns(UnseenCategoryWarning, match="Columns 'x0', 'x1' were fitted to numbers") as caught:
        features.transform(np.array([["a", "b"]]))
    assert len(caught) == 1


@pytest.mark.parametrize("given", [[["a"], [2]], [[None], [np.nan]], [[7], [8]]])
def test_unknown_values_of_the_same_type_or_of_both_give_no_warning(given: Any) -> None:
    features = CategoryFeatures().fit(np.array([[1], [2], [3]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features.transform(np.array(given, dtype=object))


def test_no_rows_are_rejected() -> None:
    with pytest.raises(EmptyDataError, match="0 sample"):
        CategoryFeatures().fit(np.empty((0, 2), dtype=object))
    with pytest.raises(EmptyDataError, match="0 feature"):
        CategoryFeatures().fit(np.empty((2, 0), dtype=object))


def test_a_hundred_thousand_levels_are_accepted() -> None:
    n = 100_000
    X = np.random.default_rng(0).permutation(n)[:, None]
    encoded = CategoryFeatures().fit_transform(X)
    assert encoded.shape == (n, n)
    assert encoded.nbytes == 4 * n
    assert_array_equal(encoded.parts[0].codes, X[:, 0])


@pytest.mark.parametrize("hashed", [None, 3])
def test_missing_values_are_rejected_in_the_fit_too(hashed: int | None) -> None:
    features = CategoryFeatures(missing="error", hashed=hashed)
    for learn in (features.fit, features.fit_transform, features.partial_fit):
        with pytest.raises(NonFiniteError, match=r"Column 'x0' has a missing value in row 1.*missing=\"zeros\""):
            learn([["a"], [None]])
    with pytest.raises(NonFiniteError, match="row 0"):
        features.fit([["a"]]).transform([[None]])


def test_relations_have_the_names_of_their_columns() -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = duckdb.sql("select * from (values ('Ulm', 1), ('Bonn', 2)) as t(city, rooms)")
    features = CategoryFeatures().fit(rows)
    assert features.get_feature_names_out().tolist() == ["city_Bonn", "city_Ulm", "rooms_1", "rooms_2"]
    with pytest.raises(ColumnMismatchError, match="same order"):
        features.transform(rows.project("rooms, city"))


def test_values_that_are_not_labels_are_rejected_by_column() -> None:
    X = np.empty((2, 1), dtype=object)
    X[:, 0] = [["a", "list"], ["b"]]
    with pytest.raises(DataError, match="'x0'"):
        CategoryFeatures().fit(X)


# Hashing.


def test_hashing_needs_no_levels() -> None:
    X = people()[["city", "rooms"]]
    features = CategoryFeatures(hashed=8).fit(X.iloc[:1])
    assert features.transform(X).shape == (N, 18)
    assert_array_equal(features.transform(X).toarray(), CategoryFeatures(hashed=8).fit_transform(X).toarray())
    assert features.get_feature_names_out()[[0, 8, 9]].tolist() == ["city_hash0", "city_nan", "rooms_hash0"]
    assert not features.plan_.exact
    other = CategoryFeatures(hashed=8, missing="zeros").fit(X)
    assert other.transform(X.assign(city=None)).toarray()[:, :8].sum() == 0
    same = (X.iloc[:, [0]].to_numpy() == X.iloc[:, 0].to_numpy()) <= (
        features.transform(X).parts[0].codes[:, None] == features.transform(X).parts[0].codes
    )
    assert same.all()


@pytest.mark.parametrize("also", [{"min_frequency": 2}, {"max_levels": 2}, {"drop_first": True}])
def test_hashing_excludes_counts(also: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="leave out min_frequency, max_levels and drop_first, or hashed"):
        CategoryFeatures(hashed=8, **also).fit(people())


# Learning in parts.


@pytest.mark.parametrize("options", [{}, {"min_frequency": 8}, {"max_levels": 2, "drop_first": True}, {"hashed": 3}])
def test_batches_agree_with_one_fit(options: dict[str, Any]) -> None:
    X = people()
    whole = CategoryFeatures(**options).fit(X)
    parts = CategoryFeatures(**options)
    for block in np.array_split(np.arange(N), 3):
        parts.partial_fit(X.iloc[block])
    one, other = (CategoryFeatures(**options).fit(X.iloc[rows]) for rows in (slice(0, 20), slice(20, N)))
    for same in (parts, one.merge(other), clone(whole).fit(X)):
        assert same.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
        assert_array_equal(same.transform(X).toarray(), whole.transform(X).toarray())
    assert len(other._occurrences[0].labels) <= 5


def test_other_columns_are_not_merged() -> None:
    one, other = CategoryFeatures().fit(people()), CategoryFeatures().fit(people()[["city"]])
    with pytest.raises(MergeError, match="'city'"):
        one.merge(other)
    with pytest.raises(NotFittedError):
        one.merge(CategoryFeatures())
    with pytest.raises(ColumnMismatchError):
        one.partial_fit(people()[["city"]])
    assert_array_equal(one.transform(people()).toarray(), CategoryFeatures().fit_transform(people()).toarray())


def test_a_failed_fit_leaves_the_old_transformer() -> None:
    features = CategoryFeatures().fit(people())
    features.set_params(hashed=3, drop_first=True)
    with pytest.raises(DataError, match="hashed learns no levels"):
        features.fit(people()[["rooms"]])
    assert features.n_features_in_ == 4
    assert features.transform(people()).shape[1] == len(features.get_feature_names_out())


# With other estimators.


def test_pipelines_and_searches_accept_it() -> None:
    X = people(n=200)
    y = (X["city"] == "Ulm") ^ (np.random.default_rng(1).random(200) < 0.1)
    for model in (LogisticRegression(), TheirLogisticRegression(), DecisionTreeClassifier()):
        assert cross_val_score(make_pipeline(CategoryFeatures(), model), X, y, cv=2).mean() > 0.8
        assert cross_val_score(model, CategoryFeatures().fit_transform(X), y, cv=2).mean() > 0.8
    pipeline = make_pipeline(CategoryFeatures(), LogisticRegression())
    search = GridSearchCV(pipeline, {"categoryfeatures__max_levels": [1, 4]}, cv=2)
    assert search.fit(X, y).best_params_["categoryfeatures__max_levels"] == 4


def test_a_model_of_codes_agrees_with_scikit_learn_on_one_hot_columns() -> None:
    X = people(n=300)
    y = (X["city"] == "Ulm") ^ (np.random.default_rng(1).random(300) < 0.2)
    ours = make_pipeline(CategoryFeatures(), LogisticRegression(tol=1e-10)).fit(X, y)
    theirs = make_pipeline(OneHotEncoder(), TheirLogisticRegression(tol=1e-10, max_iter=1000)).fit(X.astype(str), y)
    assert np.abs(ours.predict_proba(X) - theirs.predict_proba(X.astype(str))).max() < 1e-6
    assert ours[-1].feature_names_in_.tolist() == ours[0].get_feature_names_out().tolist()


def test_a_column_transformer_converts_codes_to_columns() -> None:
    X = people()
    columns = ColumnTransformer([("codes", CategoryFeatures(), ["city"]), ("rest", "passthrough", ["rooms"])])
    together = columns.fit_transform(X)
    assert_array_equal(together[:, :-1], CategoryFeatures().fit_transform(X[["city"]]).toarray())


def test_pickled_transformers_give_the_same_columns() -> None:
    features = CategoryFeatures(min_frequency=4).fit(people())
    again = pickle.loads(pickle.dumps(features))
    assert_array_equal(again.transform(people(1)).toarray(), features.transform(people(1)).toarray())
    assert isinstance(again.transform(people(1)).parts[0], CodePart)
    assert str(again.plan_).startswith("levels counted; exact")


@pytest.mark.parametrize("options", [{}, {"min_frequency": 3}, {"max_levels": 2}, {"hashed": 8}], ids=str)
def test_levels_of_a_source_are_collected_from_all_rows(options):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(["u", "v", "w", None], 100), "b": rng.integers(4, size=100)})
    X.loc[99, "a"] = "at the end"
    expected = CategoryFeatures(**options).fit(X)
    features = CategoryFeatures(**options).fit_transform(MemorySource(X, rows=17))
    blocks = np.vstack([chunk.X.toarray() for chunk in features])
    np.testing.assert_array_equal(blocks, expected.transform(X).toarray())
