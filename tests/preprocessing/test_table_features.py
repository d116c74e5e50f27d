"""Columns of any kind as features, the same in every library and at every time."""

from __future__ import annotations

import pickle
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, make_pipeline

from mercer import GaussianNB, LogisticRegression, Nystroem, RandomFourierFeatures, RBFSampler, Ridge, TableFeatures
from mercer._errors import (
    ColumnMismatchError,
    ColumnTypeError,
    DataError,
    EmptyDataError,
    NonFiniteError,
    UnseenCategoryError,
    UnseenCategoryWarning,
)
from mercer.data import Kind
from mercer.matrices import Encoded
from tests.preprocessing._frame import COLUMNS, FRAME, ROWS, START, Y

RNG = np.random.default_rng(1)
ARROW = pa.table(COLUMNS)


def frame_of(library: str) -> Any:
    match library:
        case "polars":
            return pl.DataFrame(COLUMNS)
        case "duckdb":
            return duckdb.from_arrow(ARROW)
    return ARROW


@pytest.mark.parametrize("library", ["polars", "pyarrow", "duckdb"])
def test_every_library_gives_the_same_features(library: str) -> None:
    first, other = TableFeatures().fit(FRAME, Y), TableFeatures().fit(frame_of(library), Y)
    assert first.schema_ == other.schema_
    assert_array_equal(first.get_feature_names_out(), other.get_feature_names_out())
    assert_allclose(np.asarray(first.transform(frame_of(library))), np.asarray(other.transform(FRAME)))


def test_the_grid_lists_the_treatment_of_each_column() -> None:
    features = TableFeatures().fit(FRAME)
    done = {row[0]: row[1:4] for row in features.grid().rows}
    assert done["user_id"] == ("identifier", "left out: an identifier", 0)
    assert done["age"] == ("number", "standardised, and whether it is missing", 2)
    assert done["visits"] == ("count" if FRAME.visits.min() == 1 else "integer", "standardised", 1)
    assert done["member"] == ("boolean", "1 where it is True", 1)
    assert done["city"] == ("category", "a feature for each level, and whether it is missing", 4)
    assert done["when"] == ("date", "days since the first, weekday, month, hour", 3 + 7 + 3 + 0)
    assert done["note"][:2] == ("text", "TfidfVectorizer")
    assert done["same"] == ("constant", "left out: it has one value", 0)
    assert "identifier" in str(features.schema_)
    assert str(features.plan_).startswith(f"8 columns to {len(features.get_feature_names_out())} features")


def test_numbers_levels_words_come_in_this_order() -> None:
    features = TableFeatures().fit(FRAME)
    encoded = features.transform(FRAME)
    names = features.get_feature_names_out().tolist()
    assert isinstance(encoded, Encoded)
    assert names[:3] == ["age", "age[missing]", "visits"]
    assert names[3:7] == ["member", "when[days]", "when[hour sine]", "when[hour cosine]"]
    assert names[7:11] == ["city[Bonn]", "city[Jena]", "city[Ulm]", "city[missing]"]
    assert names[11:13] == ["when[Monday]", "when[Tuesday]"]
    assert names[-1] == "note[times]"
    values = dict(zip(names, np.asarray(encoded).T, strict=True))
    columns = features.feature_columns().tolist()
    assert columns[:8] == ["age", "age", "visits", "member", "when", "when", "when", "city"]
    assert columns[-1] == "note[times]"  # a word stands for itself
    assert len(columns) == len(names)
    assert_array_equal(values["age[missing]"], FRAME.age.isna())
    assert_allclose(values["age"], ((FRAME.age - FRAME.age.mean()) / FRAME.age.std(ddof=0)).fillna(0))
    assert_array_equal(values["city[missing]"], FRAME.city.isna())
    assert_array_equal(values["when[Monday]"], FRAME.when.dt.dayofweek == 0)
    assert_allclose(values["when[hour cosine]"], np.cos(FRAME.when.dt.hour * np.pi / 12), atol=1e-12)


def test_numbers_alone_are_an_array() -> None:
    X = RNG.normal(size=(30, 3)) * [1, 1e150, 1e-150] + [1e8, 0, 0]
    found = TableFeatures().fit_transform(X)
    assert type(found) is np.ndarray
    assert_allclose(found.mean(axis=0), 0, atol=1e-7)
    assert_allclose(found.std(axis=0), 1)
    assert_array_equal(TableFeatures(scale=False).fit_transform(X), X)
    single = np.asfortranarray(X[:, :1] - 1e8).astype(np.float32)
    single.flags.writeable = False
    assert TableFeatures().fit_transform(single).dtype == np.float64


def test_a_constant_declared_as_a_number_is_centred() -> None:
    found = TableFeatures(kinds={"x": "number"}).fit(pd.DataFrame({"x": [0.1] * 7}))
    assert_allclose(found.transform(pd.DataFrame({"x": [0.1, 1.1]})), [[0.0], [1.0]])


@pytest.mark.parametrize("output", ["array", "sparse", "auto"])
def test_outputs_agree(output: str) -> None:
    found = TableFeatures(output=output).fit_transform(FRAME)
    dense = found.toarray() if sparse.issparse(found) else np.asarray(found)
    assert_array_equal(dense, np.asarray(TableFeatures().fit_transform(FRAME)))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_features_can_be_returned_as_frames(library: str) -> None:
    features = TableFeatures().set_output(transform=library).fit(FRAME)
    frame = features.transform(FRAME)
    assert list(frame.columns) == features.get_feature_names_out().tolist()
    assert_array_equal(frame["city[Ulm]"], FRAME.city == "Ulm")


def test_new_rows_may_have_other_columns_in_another_order() -> None:
    features = TableFeatures().fit(FRAME)
    shuffled = FRAME[FRAME.columns[::-1]].drop(columns=["user_id", "same"]).assign(more=[[1]] * ROWS)
    assert_array_equal(np.asarray(features.transform(shuffled)), np.asarray(features.transform(FRAME)))


def test_columns_without_names_are_found_by_their_order() -> None:
    named = FRAME[["age", "city"]]
    features = TableFeatures().fit(named)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = features.transform(named.to_numpy(dtype=object))
    assert_array_equal(np.asarray(found), np.asarray(features.transform(named)))
    with (
        pytest.warns(UserWarning, match="feature names"),
        pytest.raises(ColumnTypeError, match="'age' must hold numbers, but is 'old'"),
    ):
        features.transform(np.array([["old", "Ulm"]], dtype=object))
    X = RNG.normal(size=(9, 2))
    features = TableFeatures().fit(X)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert_array_equal(features.transform(pd.DataFrame(X, columns=["a", "b"])), features.transform(X))


def test_arrays_of_dates() -> None:
    days = np.array([["2024-01-01", "2024-02-29"], ["2024-01-02", "NaT"], ["2024-01-05", "2024-03-01"]], dtype="M8[D]")
    features = TableFeatures().fit(days)
    assert [column.kind for column in features.schema_] == [Kind.DATE, Kind.DATE]
    frame = pd.DataFrame(days, columns=["x0", "x1"])
    expected = TableFeatures().fit(frame)
    assert_array_equal(features.get_feature_names_out(), expected.get_feature_names_out())
    assert_array_equal(np.asarray(features.transform(days)), np.asarray(expected.transform(frame)))
    assert_allclose(
        TableFeatures(scale=False).fit_transform(days - days[0, 0] + np.timedelta64(12, "h"))[:, 0], [0.5, 1.5, 4.5]
    )


def test_strings_of_digits_are_not_numbers() -> None:
    codes = np.array([["01"], ["1"], ["10"]], dtype=object)
    assert TableFeatures().fit(codes).get_feature_names_out().tolist() == ["x0[01]", "x0[1]", "x0[10]"]
    assert TableFeatures().fit(np.array([[1], [2.5]], dtype=object)).get_feature_names_out().tolist() == ["x0"]


@pytest.mark.filterwarnings("error")
def test_the_largest_floats_are_standardised() -> None:
    """The differences of these values overflow."""
    shares = np.array([[1.0], [-1.0], [1.0], [0.5]])
    X = np.finfo(float).max * shares
    assert_allclose(TableFeatures().fit_transform(X), (shares - shares.mean()) / shares.std())
    assert_array_equal(TableFeatures(scale=False).fit_transform(X), X)


def test_names_of_long_levels_are_short() -> None:
    frame = pd.DataFrame({"c": ["x" * 5000 + end for end in "abc"] * 3})
    names = TableFeatures().fit(frame).get_feature_names_out().tolist()
    assert len(set(names)) == 3
    assert max(map(len, names)) < 80


def test_single_rows_agree_with_all_rows_at_once() -> None:
    features = TableFeatures().fit(FRAME)
    whole = np.asarray(features.transform(FRAME))
    for row in (0, 1, 9, 11):
        assert_allclose(np.asarray(features.transform(FRAME[row : row + 1])), whole[[row]])


def test_copies_agree() -> None:
    features = TableFeatures().fit(FRAME)
    copied = pickle.loads(pickle.dumps(features))
    assert_array_equal(np.asarray(copied.transform(FRAME)), np.asarray(features.transform(FRAME)))
    assert not hasattr(clone(features), "schema_")


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"age": None}, ColumnMismatchError, r"yet now missing: 'age'.*order does not matter"),
        ({"age": "old"}, ColumnTypeError, r"'age' must hold numbers, but is 'old' in row 0"),
        ({"age": np.inf}, NonFiniteError, r"'age' is inf in row 0"),
        ({"age": START}, ColumnTypeError, r"'age' must hold numbers, but holds dates"),
        ({"city": 3}, ColumnTypeError, r"'city' held strings when this was fitted, but is 3 in row 0"),
        ({"city": START}, ColumnTypeError, r"'city' must hold labels, but holds dates"),
        ({"note": 5}, ColumnTypeError, r"'note' must hold text, but is 5 of type int in row 0"),
        ({"member": "True"}, ColumnTypeError, r"'member' must hold numbers, but is 'True' in row 0"),
        ({"when": "soon"}, ColumnTypeError, r"'when' must hold dates, but is 'soon' in row 0"),
    ],
)
def test_changed_columns_are_named(change: dict[str, Any], error: type[Exception], words: str) -> None:
    (name, value), *_ = change.items()
    changed = FRAME.drop(columns=name) if value is None else FRAME.assign(**{name: value})
    with pytest.raises(error, match=f"(?s){words}"):
        TableFeatures().fit(FRAME).transform(changed)


def test_zero_rows_are_transformed() -> None:
    shape = rf"0 sample\(s\) \(shape=\(0, {FRAME.shape[1]}\)\)"  # with the columns that are left out
    with pytest.raises(EmptyDataError, match=shape):
        TableFeatures().fit(FRAME).transform(FRAME[:0])


def test_an_empty_column_at_predict_time_is_missing() -> None:
    features = TableFeatures().fit(FRAME)
    empty = np.asarray(features.transform(FRAME.assign(age=None, city=np.nan, when=None, note=None)))
    names = features.get_feature_names_out().tolist()
    assert_array_equal(empty[:, names.index("age[missing]")], 1)
    assert_array_equal(empty[:, names.index("city[missing]")], 1)
    assert_array_equal(empty[:, names.index("when[days]")], 0)
    assert not empty[:, names.index("note[10]") :].any()


def test_dates_may_be_spelled() -> None:
    spelled = FRAME[["when"]].assign(when=FRAME.when.dt.strftime("%Y-%m-%d %H:%M"))
    features = TableFeatures().fit(spelled)
    assert features.schema_["when"].kind is Kind.DATE
    assert_allclose(np.asarray(features.transform(FRAME)), np.asarray(TableFeatures().fit_transform(FRAME[["when"]])))


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "+05:30"])
@pytest.mark.parametrize(
    "library", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_the_same_instants_in_another_zone_are_the_same_features(zone: str, library: Any) -> None:
    local = pd.DataFrame({"t": pd.date_range("2024-06-01", periods=48, freq="h", tz="Europe/Paris")})
    abroad = local.assign(t=local.t.dt.tz_convert(zone))
    features = TableFeatures(output="array").fit(local)
    if zone != "+05:30" or library is not pl.from_pandas:  # polars has no such zone
        assert_allclose(features.transform(library(abroad)), features.transform(local))


def test_dates_of_a_zone_are_not_compared_with_dates_of_none() -> None:
    zoned = pd.DataFrame({"t": pd.date_range("2024-06-01", periods=48, freq="h", tz="Europe/Paris")})
    naive = zoned.assign(t=zoned.t.dt.tz_localize(None))
    for fitted, given in ((zoned, naive), (naive, zoned), (zoned, naive.assign(t=naive.t.astype(str)))):
        with pytest.raises(ColumnTypeError, match=r"Column 't' had .*no time zone"):
            TableFeatures().fit(fitted).transform(given)
    features = TableFeatures(output="array").fit(zoned)
    assert_array_equal(features.transform(naive.assign(t=pd.NaT)), 0)  # nothing is at no time


def test_unseen_levels_are_named_and_have_no_effect() -> None:
    features = TableFeatures().fit(FRAME[["city", "age"]])
    with pytest.warns(UnseenCategoryWarning, match=r"'city' is 'Berlin' in row 0.*unseen='ignore'"):
        found = features.transform(FRAME.assign(city="Berlin"))
    assert not np.asarray(found)[:, 2:].any()
    with pytest.raises(UnseenCategoryError, match=r"'city' is 'ulm' in row 0.*Did you mean 'Ulm'"):
        features.set_params(unseen="error").transform(FRAME.assign(city="ulm"))
    features.set_params(unseen="ignore").transform(FRAME.assign(city="Berlin"))


def test_a_third_value_of_two_is_unseen() -> None:
    features = TableFeatures().fit(pd.DataFrame({"x": [0, 1, 1, 1] * 5}))
    with pytest.warns(UnseenCategoryWarning, match="'x' is 2 in row 1"):
        assert_array_equal(features.transform(pd.DataFrame({"x": [1, 2, 0]})), [[1.0], [0.75], [0.0]])


def test_an_unseen_value_is_not_missing_where_gaps_are_rejected() -> None:
    features = TableFeatures(missing="error").fit(pd.DataFrame({"x": [0, 1, 1, 1] * 5}))
    with pytest.warns(UnseenCategoryWarning, match="'x' is 2 in row 1"):
        assert_array_equal(features.transform(pd.DataFrame({"x": [1, 2, 0]})), [[1.0], [0.75], [0.0]])
    with pytest.raises(NonFiniteError, match="'x' has a missing value in row 2"):
        features.transform(pd.DataFrame({"x": [1, 0, None]}))


def test_rare_levels_are_pooled() -> None:
    city = ["Ulm"] * 9 + ["Bonn"] * 9 + ["Jena", "Kiel"]
    features = TableFeatures(min_frequency=2).fit(pd.DataFrame({"city": city}))
    assert features.get_feature_names_out().tolist() == ["city[Bonn]", "city[Ulm]", "city[infrequent]"]
    assert "2 rare ones as one" in str(features.grid())
    with pytest.warns(UnseenCategoryWarning):
        assert_array_equal(np.asarray(features.transform(pd.DataFrame({"city": ["Rome"]}))), [[0, 0, 1]])
    assert TableFeatures(max_levels=2).fit_transform(pd.DataFrame({"city": city})).shape == (20, 2)


def test_gaps_may_be_kept_for_models_that_integrate_them_out() -> None:
    features = TableFeatures(missing="keep", output="array", exclude=["note"])
    found = features.fit_transform(FRAME)
    names = features.get_feature_names_out().tolist()
    assert_array_equal(np.isnan(found[:, names.index("age")]), FRAME.age.isna())
    assert_array_equal(np.isnan(found[:, names.index("city[Ulm]")]), FRAME.city.isna())
    assert not any("missing" in name for name in names)
    assert make_pipeline(features, GaussianNB()).fit(FRAME, Y).predict(FRAME).shape == (ROWS,)


@pytest.mark.parametrize("column", ["age", "city"])
def test_gaps_may_be_rejected(column: str) -> None:
    with pytest.raises(NonFiniteError, match=rf"{column!r} has a missing value in row 0.*missing='indicator'"):
        TableFeatures(missing="error").fit(FRAME[[column]])
    whole = FRAME.dropna()
    with pytest.raises(NonFiniteError, match=f"{column!r} has a missing value in row 0"):
        TableFeatures(missing="error").fit(whole[[column]]).transform(FRAME)


def test_gaps_of_a_column_with_a_single_value_are_a_feature() -> None:
    features = TableFeatures().fit(pd.DataFrame({"x": ["yes", None, "yes"]}))
    assert_array_equal(features.transform(pd.DataFrame({"x": [None, "yes"]})), [[1.0], [0.0]])
    assert features.get_feature_names_out().tolist() == ["x[missing]"]


def test_kinds_can_be_requested() -> None:
    frame = pd.DataFrame({"zip": np.arange(89000, 89030), "id": range(30), "x": RNG.normal(size=30)})
    assert TableFeatures().fit(frame).get_feature_names_out().tolist() == ["zip", "x"]
    requested = TableFeatures(kinds={"zip": "category", "id": "number", "x": "identifier"}).fit(frame)
    assert requested.get_feature_names_out()[:2].tolist() == ["id", "zip[89000]"]
    assert "as requested" in requested.schema_["zip"].notes
    fitted = TableFeatures(kinds={"zip": "number", "x": "number"}).fit(frame.assign(zip=frame.zip / 7))
    assert not any(column.notes for column in fitted.schema_ if column.name != "id")
    with pytest.raises(DataError, match="Did you mean 'number'"):
        TableFeatures(kinds={"zip": "nmber"}).fit(frame)
    with pytest.raises(ColumnMismatchError, match="Did you mean 'zip'"):
        TableFeatures(kinds={"zipp": "number"}).fit(frame)
    with pytest.raises(ColumnTypeError, match="'zip' must be binary, but has 30"):
        TableFeatures(kinds={"zip": "binary"}).fit(frame)


def test_columns_can_be_left_out() -> None:
    odd = FRAME.assign(odd=[[1, 2]] * ROWS)
    features = TableFeatures(exclude=["odd", "note"]).fit(odd)
    assert "odd" not in features.schema_.names
    assert_array_equal(np.asarray(features.transform(FRAME)), np.asarray(features.transform(odd)))
    with pytest.raises(ColumnMismatchError, match="Did you mean 'city'"):
        TableFeatures(exclude=["cty"]).fit(FRAME)
    with pytest.raises(EmptyDataError, match="all are in `exclude`"):
        TableFeatures(exclude=["age"]).fit(FRAME[["age"]])
    assert TableFeatures(exclude=["x1"]).fit_transform(RNG.normal(size=(5, 3))).shape == (5, 2)


@pytest.mark.parametrize(
    ("frame", "error", "words"),
    [
        (pd.DataFrame({"x": [[1], [2]] * 5}), ColumnTypeError, "'x' holds values that are not labels"),
        (pa.table({"x": [[1], [2]]}), ColumnTypeError, "'x' has the type list"),
        (pd.DataFrame({"x": [1, "a", 2.5] * 9}), ColumnTypeError, r"'x' holds values of several types.*kinds=\{'x'"),
        (pd.DataFrame({"x": [1.0, np.inf]}), NonFiniteError, "'x' is inf in row 1"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), DataError, "'x' 2 times"),
        (pd.DataFrame({"x": [None, None]}), EmptyDataError, "'x' was left out: it has no values"),
        (pd.DataFrame({"x": []}), EmptyDataError, "0 sample"),
        (pd.DataFrame(index=range(3)), EmptyDataError, "0 feature"),
        (sparse.eye_array(3), ColumnTypeError, "consists of features already"),
        (FRAME[["user_id", "same"]], EmptyDataError, "no column to learn from: 'user_id'.*'same'"),
    ],
)
def test_invalid_tables_are_rejected(frame: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        TableFeatures().fit(frame)


def test_mixed_types_can_be_requested() -> None:
    frame = pd.DataFrame({"x": [1, "a", 2.5] * 9})
    assert TableFeatures(kinds={"x": "category"}).fit_transform(frame).shape == (27, 3)


def test_a_failed_fit_leaves_the_old_transformer() -> None:
    features = TableFeatures().fit(FRAME)
    before = np.asarray(features.transform(FRAME))
    with pytest.raises(NonFiniteError):
        features.fit(pd.DataFrame({"x": [1.0, np.inf]}))
    assert_array_equal(np.asarray(features.transform(FRAME)), before)


def test_in_a_pipeline() -> None:
    model = make_pipeline(TableFeatures(unseen="ignore"), LogisticRegression())
    y = np.where(FRAME.note.str.contains("big"), "big", "small")
    scores = cross_val_score(model, FRAME, y, cv=3)
    assert scores.min() > 0.7
    assert_array_equal(cross_val_score(model, pl.DataFrame(COLUMNS), y, cv=3), scores)
    search = GridSearchCV(model, {"tablefeatures__text": ["counts", "tfidf"]}, cv=2).fit(FRAME, y)
    assert search.predict(FRAME[:3]).tolist() == y[:3].tolist()


@pytest.mark.parametrize(
    "features",
    [
        RandomFourierFeatures(n_components=100, random_state=0),
        RBFSampler(n_components=100, random_state=0),
        Nystroem(gamma=1.0, n_components=100, random_state=0),
    ],
)
def test_kernel_features_are_combined_with_features_of_a_table(features: Any) -> None:
    rng = np.random.default_rng(0)
    place, city = rng.normal(size=(400, 2)), rng.choice(["Ulm", "Bonn", "Jena"], 400)
    frame = pd.DataFrame({"east": place[:, 0], "north": place[:, 1], "city": city})
    y = (np.square(place).sum(axis=1) < 1.2) ^ (city == "Jena")
    union = FeatureUnion([("table", TableFeatures()), ("kernel", make_pipeline(TableFeatures(), features))])
    model = make_pipeline(union, LogisticRegression(C=100)).fit(frame[:300], y[:300])
    linear = make_pipeline(TableFeatures(), LogisticRegression()).fit(frame[:300], y[:300])
    assert linear.score(frame[300:], y[300:]) < 0.7
    assert model.score(frame[300:], y[300:]) > 0.85
    names = union.fit(frame).get_feature_names_out().tolist()
    assert names[:3] == ["table__east", "table__north", "table__city[Bonn]"]
    assert len(names) == 5 + 100


def test_linear_models_of_codes_agree_with_dense_features() -> None:
    frame = FRAME.drop(columns="note")
    encoded = TableFeatures().fit_transform(frame)
    expected = Ridge().fit(np.asarray(encoded), Y).predict(np.asarray(encoded))
    assert_allclose(Ridge().fit(encoded, Y).predict(encoded), expected)


def test_names_are_distinct() -> None:
    frame = pd.DataFrame({"t": [None, *(f"a dog gone missing number {i}" for i in range(30))]})
    names = TableFeatures().fit(frame).get_feature_names_out().tolist()
    assert len(set(names)) == len(names)
    assert {"t[missing]", "t[missing] (2)"} <= set(names)


def test_real_tables(real_data: Any) -> None:
    frame = pd.read_csv(real_data("heart.csv"))
    model = make_pipeline(TableFeatures(exclude=["AHD"], unseen="ignore"), LogisticRegression())
    assert cross_val_score(model, frame, frame.AHD, cv=5).mean() > 0.8
    texts = pd.read_csv(real_data("sms_spam.tsv"), sep="\t", quoting=3)
    model = make_pipeline(TableFeatures(exclude=["Label"]), LogisticRegression(C=10))
    assert cross_val_score(model, texts, texts.Label, cv=3).mean() > 0.98


def test_a_deviation_below_all_floats_is_the_smallest_one() -> None:
    assert_array_equal(TableFeatures().fit_transform(np.array([[-1e-323], [-5e-324]])).ravel(), [0.0, 1.0])


def test_many_columns_of_numbers_agree_with_single_columns() -> None:
    """Enough of them are read and computed together; gaps, huge values and labels keep their own way."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(5, 3, (40, 80))).rename(columns=lambda j: f"x{j}")
    frame.loc[3, "x7"] = np.nan
    frame["x9"] = 1.5e308 + 1e306 * rng.normal(size=40)
    frame["x11"] = ["a", "b"] * 20
    new = frame.head(10).copy()
    new.loc[5, "x20"] = np.nan
    together = TableFeatures(output="array").fit(frame)
    for rows in (frame, new):
        alone = [TableFeatures(output="array").fit(frame[[name]]).transform(rows[[name]]) for name in frame]
        found = pd.DataFrame(together.transform(rows), columns=together.get_feature_names_out())
        for name, values in zip(frame, alone, strict=True):
            own = [column for column in found.columns if column == name or column.startswith(f"{name}[")]
            assert_array_equal(found[own].to_numpy(), values)
    new.loc[2, "x30"] = np.inf
    with pytest.raises(NonFiniteError, match="Column 'x30' is inf in row 2"):
        together.transform(new)


@pytest.mark.parametrize("make", [pa.Table.from_pandas, pd.DataFrame, pl.from_pandas])
@pytest.mark.parametrize("gap", [np.nan, 1e300])
def test_many_numbers_are_treated_like_few(make: Any, gap: float) -> None:
    """Wide tables are read in blocks of columns: with gaps, huge values and whole numbers among them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 60)), columns=[f"x{j}" for j in range(60)])
    frame["whole"], frame["few"] = rng.integers(0, 90, size=30).astype(float), rng.choice([0.0, 1.0], size=30)
    frame.loc[3, "x7"], frame.loc[4:, "x9"] = gap, 2.5
    frame["x11"] = 7.25
    wide = TableFeatures().fit(make(frame))
    new = frame.sample(10, random_state=0).assign(x20=[np.nan, *range(9)])
    features = pd.DataFrame(np.asarray(wide.transform(make(new))), columns=wide.get_feature_names_out())
    for name in frame:
        if name == "x11":
            assert name not in features
            continue
        alone = TableFeatures().fit(frame[[name]])
        assert alone.schema_[name] == wide.schema_[name]
        assert alone.schema_[name].notes == wide.schema_[name].notes
        names = alone.get_feature_names_out().tolist()
        np.testing.assert_array_equal(features[names], np.asarray(alone.transform(new[[name]])))
