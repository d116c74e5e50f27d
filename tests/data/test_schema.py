"""Kinds of columns, by type and by value."""

from __future__ import annotations

import copy
import pickle
from typing import Any
from unittest.mock import ANY

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from mercer import NaiveBayes, TableFeatures
from mercer._errors import ColumnMismatchError
from mercer.data import Column, Kind, Schema, Table, read_table

MISSING = [np.nan]


def inferred(values: Any, **options: int) -> Column:
    return Schema.infer(pd.DataFrame({"x": values}), **options)["x"]


@pytest.mark.parametrize(
    ("values", "kind", "levels"),
    [
        ([1, 2, 3] * 5, Kind.CODE, (1, 2, 3)),
        ([1, 2, 3], Kind.COUNT, None),  # three rows do not show that there are three values
        (list(range(11)) * 5, Kind.COUNT, None),
        (list(range(90, 150)), Kind.INTEGER, None),
        (list(range(-20, 20)), Kind.INTEGER, None),
        ([0, 1, 1], Kind.BINARY, (0, 1)),
        ([9, 1, 1], Kind.BINARY, (1, 9)),
        ([1.0, 2.0, 3.0] * 5 + MISSING, Kind.CODE, (1, 2, 3)),
        ([0.0, 1.0, *MISSING], Kind.BINARY, (0, 1)),
        ([1.0, 2.0, 3.0] * 5, Kind.CODE, (1, 2, 3)),
        ([1.0, np.inf] * 5, Kind.NUMBER, None),
        ([1.5, 2.0, *MISSING], Kind.NUMBER, None),
        ([True, False], Kind.BOOLEAN, (False, True)),
        ([True, True], Kind.CONSTANT, (False, True)),
        ([True], Kind.BOOLEAN, (False, True)),  # one row does not show that it is always so
        ([0.5, 0.5, None], Kind.CONSTANT, None),
        ([None, None], Kind.CONSTANT, ()),
        ([f"u{i}" for i in range(20)], Kind.IDENTIFIER, None),
        ([f"u{i}" for i in range(19)], Kind.CATEGORY, tuple(sorted(f"u{i}" for i in range(19)))),
        (["John Smith", "Ann Lee"] + [f"Max M{i}" for i in range(20)], Kind.IDENTIFIER, None),
        ([f"a dog barks {i}" for i in range(20)], Kind.TEXT, None),
        (["free entry to win the cup", "see you at home then mum"], Kind.TEXT, None),
        (["a bus stop", "a train stop"], Kind.CATEGORY, ("a bus stop", "a train stop")),
        (["a rather long name of a class", "and another one that is long"] * 9, Kind.CATEGORY, ANY),
        ([f"the text number {i} is read often" for i in range(101)] * 3, Kind.TEXT, None),
        (pd.Categorical([f"a dog barks {i}" for i in range(20)]), Kind.CATEGORY, ANY),
        (["2024-05-31", None, "2024-06-01"], Kind.DATE, None),
        (["2024-05-31 17:00", "2024-06-01T18:30:15.25"], Kind.DATE, None),
        (["2024-02-30", "2024-06-01"], Kind.CATEGORY, ("2024-02-30", "2024-06-01")),
        (pd.to_datetime(["2024-05-31", None, "2024-06-01"]), Kind.DATE, None),
        (pd.to_datetime(["2024-05-31"] * 2), Kind.CONSTANT, None),
        (pd.to_timedelta([36, 48], unit="h"), Kind.NUMBER, None),
        (["b", "a", None], Kind.CATEGORY, ("a", "b")),
        (pd.Categorical(["b"], categories=["c", "b"]), Kind.CATEGORY, ("c", "b")),
        (pd.Series(["b", 1], dtype=object), Kind.CATEGORY, (1, "b")),
        (MISSING, Kind.NUMBER, None),
    ],
)
def test_kinds_are_inferred_from_values(values: Any, kind: Kind, levels: tuple[Any, ...] | None) -> None:
    column = inferred(values)
    assert (column.kind, column.levels) == (kind, levels)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *((name, True) for name in ("id", "ID", "user_id", "userId", "key", "Unnamed: 0")),
        *((name, False) for name in ("idea", "paid", "grid", "monkey", "year", "x0")),
    ],
)
def test_whole_numbers_are_identifiers_if_the_column_is_named_so(name: str, is_one: bool) -> None:
    frame = pd.DataFrame({name: range(100, 150)})
    assert Schema.infer(frame)[name].kind is (Kind.IDENTIFIER if is_one else Kind.INTEGER)


@pytest.mark.parametrize("name", ["n", "x", "rownames", "obs", "", "Unnamed: 0", "Nummer"])
@pytest.mark.parametrize("start", [0, 1])
def test_a_row_counter_is_an_identifier(name: str, start: int) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: np.arange(start, start + 200), "z": rng.normal(size=200)})
    kept = np.sort(rng.choice(200, 150, replace=False))
    parts = pd.concat([frame[frame.index % 4 > 0], frame[frame.index % 4 == 0]])  # train and test rows
    floats = frame.astype({name: float})
    holes = floats.assign(**{name: floats[name].where(frame.index != 17)})
    for rows in (frame, frame.iloc[kept], parts, frame[::-1], floats, floats.iloc[kept]):
        found = Schema.infer(rows)[name]
        assert found.kind is Kind.IDENTIFIER
        assert found.notes == ("identifier: numbers the rows in file order",)
        columns = TableFeatures().fit(rows).get_feature_names_out()
        assert columns.tolist() == ["z"]
    assert Schema.infer(holes)[name].kind is Kind.IDENTIFIER


@pytest.mark.parametrize("start", [1001, 30, -50])
@pytest.mark.parametrize("step", [1, 10])
def test_equal_steps_from_any_start_are_a_row_counter(start: int, step: int) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"zebra": start + step * np.arange(200), "z": rng.normal(size=200)})
    for found in (Schema.infer(frame), Schema.infer(frame.astype({"zebra": float}))):
        assert found["zebra"].kind is Kind.IDENTIFIER
        assert found["zebra"].notes == ("identifier: numbers the rows in file order",)
    jump = frame.assign(zebra=frame["zebra"] + step * (frame.index > 100))  # what an amount would do
    for other in (frame[::-1], frame.sample(frac=1, random_state=0), jump, frame[:50]):
        assert Schema.infer(other)["zebra"].kind in (Kind.INTEGER, Kind.COUNT)
    for name in ("year", "day_no", "tick", "depth_m"):
        assert Schema.infer(frame.rename(columns={"zebra": name}))[name].kind in (Kind.INTEGER, Kind.COUNT)
    alone = Schema.infer(frame[["zebra"]])  # nothing else is left to learn from
    assert alone["zebra"].kind in (Kind.INTEGER, Kind.COUNT)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("year", range(1900, 2000)),
        ("Year", range(1, 101)),
        ("time", range(1, 101)),
        ("week_no_", range(1, 101)),
        ("wavelength", range(400, 500)),
        ("income", np.random.default_rng(0).permutation(100) + 1),
        ("mileage", np.sort(np.random.default_rng(0).choice(5000, 100, replace=False))),
    ],
)
def test_measured_whole_numbers_stay_numbers(name: str, values: Any) -> None:
    frame = pd.DataFrame({name: values, "z": np.linspace(0, 1, 100) ** 2})
    assert Schema.infer(frame)[name].kind in (Kind.COUNT, Kind.INTEGER)


@pytest.mark.parametrize(
    ("name", "distinct", "kind"),
    [
        ("user_id", 60, Kind.IDENTIFIER),
        ("movieId", 60, Kind.IDENTIFIER),
        ("patientid", 60, Kind.IDENTIFIER),
        ("PID", 60, Kind.IDENTIFIER),
        ("store_id", 20, Kind.CODE),  # few, with many rows each
        ("store_id", 5, Kind.CODE),
        ("price", 60, Kind.INTEGER),
        ("key", 60, Kind.INTEGER),
    ],
)
def test_identifiers_that_recur_are_not_numbers(name: str, distinct: int, kind: Kind) -> None:
    values = 1000 + np.random.default_rng(0).integers(distinct, size=600)
    found = Schema.infer(pd.DataFrame({name: values}))[name]
    assert found.kind is kind
    assert ("--group" in "".join(found.notes)) == (kind is Kind.IDENTIFIER)


def _titles(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    jobs, ranks = ["nurse", "driver", "manager", "teacher"], ["senior", "chief", "assistant"]
    return [f"{rng.choice(ranks)} {rng.choice(jobs)} {rng.integers(10**6)}" for _ in range(n)]


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("emp_title", _titles(300), Kind.TEXT),
        ("code", [f"x{i % 200}q" for i in range(300)], Kind.IDENTIFIER),
        ("fake_first_name", [f"k{i % 150:x}" for i in range(600)], Kind.IDENTIFIER),
        ("town", [f"k{i % 150:x}" for i in range(600)], Kind.CATEGORY),
        ("rownames", [f"-Al B{chr(97 + i % 26)}{i}" for i in range(300)], Kind.IDENTIFIER),
        (
            "genres",
            [
                "|".join(
                    w
                    for j, w in enumerate(("action", "drama", "comedy", "war", "noir", "teen", "sport", "music"))
                    if (i >> j) & 1
                )
                for i in range(1, 256)
            ]
            * 8,
            Kind.TEXT,
        ),
    ],
)
def test_names_and_titles_are_text_if_they_have_words_in_common(name: str, values: list[str], kind: Kind) -> None:
    assert Schema.infer(pd.DataFrame({name: values}))[name].kind is kind


@pytest.mark.parametrize(
    ("times", "start", "kind"),
    [
        ([500, 200, 60, 20, 4], 0, Kind.COUNT),
        ([100, 300, 120, 40, 10, 2], 0, Kind.COUNT),
        ([300, 500, 200, 150, 50, 8], 1, Kind.COUNT),
        ([8000, 1500, 600, 300, 100], 1, Kind.CODE),  # codes that are numbered by frequency
        ([14, 900, 1400, 490, 12], 0, Kind.COUNT),
        ([54, 13659, 15964, 323], 0, Kind.CODE),
        ([90, 110, 95, 100, 102], 0, Kind.CODE),
        ([216, 184, 491], 1, Kind.CODE),
    ],
)
def test_few_whole_numbers_that_thin_out_are_counts(times: list[int], start: int, kind: Kind) -> None:
    values = np.repeat(np.arange(start, start + len(times)), times)
    assert inferred(np.random.default_rng(0).permutation(values)).kind is kind


def test_a_date_that_differs_in_each_row_suggests_to_split_by_it() -> None:
    days = pd.date_range("2024-01-01", periods=30)
    for column in (days, days.astype(str), days[::-1]):
        assert any("--time" in note for note in inferred(column).notes)
    assert inferred(days.repeat(2)).notes == ()


def test_levels_are_in_order_whatever_the_order_of_the_rows() -> None:
    values = ["c", "a", "b"] * 9
    assert inferred(values).levels == inferred(values[::-1]).levels == ("a", "b", "c")


def test_values_of_several_types_are_noted() -> None:
    assert "values of several types: int, str" in inferred(pd.Series(["b", 1], dtype=object)).notes


def test_the_role_of_a_column_does_not_change_its_stored_kind() -> None:
    """Naive Bayes still models identifiers and constants."""
    frame = pd.DataFrame({"id": range(1, 31), "name": [f"u{i}" for i in range(30)], "same": [2] * 30})
    schema = Schema.infer(frame)
    assert [column.stored for column in schema] == [Kind.COUNT, Kind.CATEGORY, Kind.CODE]
    assert NaiveBayes(families=schema).fit(frame, np.arange(30) % 2).predict(frame).shape == (30,)


def test_the_largest_number_of_codes_can_be_set() -> None:
    values = list(range(11)) * 5
    assert inferred(values, max_codes=11).kind is Kind.CODE
    assert inferred([1, 2, 3] * 5, max_codes=2).kind is Kind.COUNT


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ([3] * 9, "constant"),
        ([0.5] * 3, "constant"),
        (["a", None], "constant"),
        (MISSING * 3, "no values"),
        (range(1, 100), "every value is different: an identifier?"),  # there is no other column to learn from
        ([f"id {i}" for i in range(99)], "identifier: every value is different"),
        ([f"text {i % 80}" for i in range(99)], "most values are different: free text?"),
        ([1.5, np.nan], "50% missing"),
        ([1.5] * 999 + MISSING, "<1% missing"),
    ],
)
def test_unusual_columns_have_notes(values: Any, note: str) -> None:
    assert note in inferred(values).notes


@pytest.mark.parametrize("values", [["a", "b"] * 9, [1.5, 2.5], [1, 2, 3] * 9, [f"rare {i}" for i in range(5)]])
def test_ordinary_columns_need_no_note(values: Any) -> None:
    assert inferred(values).notes == ()


def test_inference_by_type_ignores_values() -> None:
    frame = pl.DataFrame({"a": [0, 1], "b": [0.5, None], "c": ["x", "y"], "d": [True, None]})
    assert Schema.of(frame) == Schema.of(frame[:1]) == Schema.of(Table.of(frame))
    assert Schema.of(frame).kinds == (Kind.INTEGER, Kind.NUMBER, Kind.CATEGORY, Kind.BOOLEAN)
    assert all(column.levels is None for column in Schema.of(frame))


def test_columns_of_a_sparse_matrix_are_counts() -> None:
    assert Schema.infer(sparse.csr_array(np.eye(2))).kinds == (Kind.COUNTS, Kind.COUNTS)


def test_schemas_are_compared_by_value() -> None:
    schema = Schema.infer(pd.DataFrame({"a": [0, 1], "b": ["x", None]}))
    assert pickle.loads(pickle.dumps(schema)) == copy.deepcopy(schema) == schema
    assert hash(schema) == hash(copy.deepcopy(schema))
    assert [column.name for column in schema] == list(schema.names) == ["a", "b"]
    assert len(schema) == 2


def test_an_unknown_column_suggests_a_similar_name() -> None:
    with pytest.raises(ColumnMismatchError, match=r"'hieght'.*'height'"):
        Schema.of(pd.DataFrame({"height": [1]}))["hieght"]


def test_long_levels_are_cut_when_printed() -> None:
    lines = str(Schema.infer(pd.DataFrame({"x": [f"category number {i}" for i in range(9)]}))).splitlines()
    assert "… (9)" in lines[-1]
    assert max(map(len, lines)) < 80


def test_frames_of_all_libraries_give_the_same_schema_of_the_heart_table(real_data: Any) -> None:
    path = real_data("heart.csv")
    frames = [read_table(path), pd.read_csv(path), pl.read_csv(path, null_values="NA")]
    first, *others = map(Schema.infer, frames)
    assert all(schema == first for schema in others)
    assert first["Thal"].levels == ("fixed", "normal", "reversable")
    assert (first["Ca"].kind, first["Ca"].levels) == (Kind.CODE, (0, 1, 2, 3))
    assert (first["Sex"].kind, first["Oldpeak"].kind, first["RestBP"].kind) == (Kind.BINARY, Kind.NUMBER, Kind.INTEGER)
    assert "identifier" in first["key"].notes[0]


def test_frames_of_all_libraries_give_the_same_schema_of_horse_colic(real_data: Any) -> None:
    path = real_data("horse-colic.csv")
    frames = [
        read_table(path),
        pd.read_csv(path, header=None, na_values="?"),
        pl.read_csv(path, has_header=False, null_values="?", infer_schema_length=None),
    ]
    schemas = [[(column.kind, column.levels) for column in Schema.infer(frame)] for frame in frames]
    assert schemas[0] == schemas[1] == schemas[2]


def test_numbers_of_groups_are_identifiers_by_their_order_or_name() -> None:
    """Group numbers in file order are identifiers, and so are sparse numbers in a column whose name ends in num."""
    groups = np.repeat(np.arange(1, 301), 4)
    providers = np.repeat(30_001 + 97 * np.arange(40), 30)
    frame = pd.DataFrame({"s": groups, "mixed": groups[::-1], "provnum": providers, "kidsnum": np.arange(1200) % 9})
    schema = Schema.infer(Table.of(frame))
    kinds = {column.name: column.kind for column in schema}
    assert kinds["s"] is Kind.IDENTIFIER
    assert "--group s keeps rows" in " ".join(schema["s"].notes)
    assert kinds["provnum"] is Kind.CODE
    assert Kind.IDENTIFIER not in (kinds["mixed"], kinds["kidsnum"])
    week = Schema.infer(Table.of(frame.rename(columns={"s": "week"})))
    assert week["week"].kind is not Kind.IDENTIFIER
