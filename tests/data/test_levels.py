"""The choice of levels, and codes of rare, missing and unknown values."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mercer._errors import NonFiniteError, UnseenCategoryError
from mercer.data.coding import Coded, code_array
from mercer.data.levels import HashedLevels, Levels, Occurrences, stable_hash

WORDS = st.lists(st.sampled_from(["Ulm", "Bonn", "Kiel", "Jena", None]), max_size=30)
MIXED = st.lists(st.one_of(st.none(), st.integers(0, 3), st.sampled_from(["0", "1", "x"]), st.booleans()), max_size=30)


def coded(values: Any) -> Coded:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return code_array(column)


def occurrences_of(values: Any) -> Occurrences:
    return Occurrences.zero().update(coded(values))


def as_dict(occurrences: Occurrences) -> dict[Any, int]:
    return dict(zip(occurrences.labels.tolist(), occurrences.counts.tolist(), strict=True))


@given(WORDS | MIXED, st.integers(0, 30))
def test_counts_of_parts_add_up_to_those_of_the_whole(values: list[Any], cut: int) -> None:
    whole, parts = occurrences_of(values), occurrences_of(values[:cut]).merge(occurrences_of(values[cut:]))
    assert as_dict(whole) == as_dict(parts)
    assert (whole.missing, whole.n_rows) == (parts.missing, parts.n_rows) == (values.count(None), len(values))
    assert whole.ordered()[0] == parts.ordered()[0]


@given(WORDS | MIXED)
def test_merging_has_a_neutral_element_and_is_commutative(values: list[Any]) -> None:
    one, other = occurrences_of(values), occurrences_of(["Ulm", "Köln", None])
    assert as_dict(Occurrences.zero().merge(one)) == as_dict(one.merge(Occurrences.zero())) == as_dict(one)
    assert as_dict(one.merge(other)) == as_dict(other.merge(one))


def test_labels_come_in_the_order_that_is_declared_or_sorted() -> None:
    sizes = Coded(np.array([2, 0, 0]), np.array(["S", "M", "L"], dtype=object))
    declared = Occurrences.zero().update(sizes, sizes.labels)
    assert declared.ordered()[0] == ["S", "L"]
    assert Occurrences.zero().update(sizes).ordered()[0] == ["L", "S"]
    other = Occurrences.zero().update(sizes, sizes.labels[::-1])
    assert declared.merge(declared).ordered()[0] == ["S", "L"]
    assert declared.merge(other).ordered()[0] == ["L", "S"]  # they disagree


@given(WORDS | MIXED, st.integers(1, 5) | st.floats(0.01, 0.9) | st.none(), st.integers(1, 6) | st.none())
def test_columns_agree_with_their_names(values: list[Any], fewest: Any, most: int | None) -> None:
    occurrences = occurrences_of(values)
    levels = Levels.of(occurrences, min_frequency=fewest, max_levels=most)
    codes = levels.codes("c", coded(values))
    counts = np.bincount(codes, minlength=levels.n_columns)
    assert len(levels.names("c")) == len(set(levels.names("c"))) == levels.n_columns
    assert codes.dtype == np.int32
    assert (codes >= 0).all()  # nothing is lost
    if most is not None:
        assert levels.n_columns <= most
    own = counts[: levels.n_columns - levels.pooled]
    if fewest is not None:
        assert (own >= (fewest if isinstance(fewest, int) else fewest * len(values))).all()
    if levels.pooled:
        pooled = [count for label, count in as_dict(occurrences).items() if label in levels.rare]
        assert max([*pooled, 0]) <= min(own, default=len(values))


@given(WORDS | MIXED)
def test_the_first_level_may_be_dropped(values: list[Any]) -> None:
    occurrences = occurrences_of(values)
    whole, dropped = Levels.of(occurrences), Levels.of(occurrences, drop_first=True)
    assert dropped.names("c") == whole.names("c")[1:]
    assert_array_equal(dropped.codes("c", coded(values)), whole.codes("c", coded(values)) - 1)


def test_levels_are_pooled_only_if_necessary() -> None:
    occurrences = occurrences_of(["a", "b", "c"])
    assert not Levels.of(occurrences, max_levels=3).pooled
    assert Levels.of(occurrences, max_levels=2).names("c") == ["c_c", "c_infrequent"]
    assert Levels.of(occurrences, max_levels=1).names("c") == ["c_infrequent"]


@pytest.mark.parametrize(
    ("handle_unknown", "min_frequency", "expected"),
    [("pool", 2, [0, 1, 1]), ("pool", None, [0, 1, -1]), ("ignore", 2, [0, 1, -1]), ("ignore", None, [0, 1, -1])],
)
def test_an_unseen_value_is_rare_or_ignored(handle_unknown: str, min_frequency: Any, expected: list[int]) -> None:
    levels = Levels.of(
        occurrences_of(["Bonn", "Bonn", "Ulm"]), handle_unknown=handle_unknown, min_frequency=min_frequency
    )
    assert levels.codes("city", coded(["Bonn", "Ulm", "Kiel"])).tolist() == expected


def test_an_unseen_value_may_be_an_error_that_names_it() -> None:
    levels = Levels.of(occurrences_of(["Bonn", "Ulm"]), handle_unknown="error")
    words = r"unknown categories \['Bon'\] in column 'city'.*row 1\. Did you mean 'Bonn'\?.*handle_unknown"
    with pytest.raises(UnseenCategoryError, match=words):
        levels.codes("city", coded(["Ulm", "Bon"]))
    with pytest.raises(NonFiniteError, match=r"Column 'city' has a missing value in row 0.*missing=\"zeros\""):
        levels.codes("city", coded([None, "Ulm"]))
    unused = Coded(np.array([0, 0]), np.array(["Ulm", "Kiel"], dtype=object))
    assert levels.codes("city", unused).tolist() == [1, 1]  # a label without a value does not count


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"missing": "level"}, [0, 2]),
        ({"missing": "zeros"}, [0, -1]),
        ({"missing": "level", "min_frequency": 2}, [0, 1]),
        ({"missing": "zeros", "min_frequency": 2}, [0, -1]),
    ],
)
def test_a_missing_value_is_a_level_or_ignored(options: dict[str, Any], expected: list[int]) -> None:
    levels = Levels.of(occurrences_of(["a", "a", "b", None]), **options)
    assert levels.codes("c", coded(["a", None])).tolist() == expected


def test_a_missing_value_may_be_an_error() -> None:
    levels = Levels.of(occurrences_of(["a", None]), missing="error")
    assert levels.names("c") == ["c_a"]
    with pytest.raises(NonFiniteError, match="Column 'c' has a missing value in row 1"):
        levels.codes("c", coded(["a", None]))


def test_missing_values_absent_from_the_fit_are_unseen() -> None:
    assert Levels.of(occurrences_of(["a"])).codes("c", coded([None, "a"])).tolist() == [-1, 0]
    assert Levels.of(occurrences_of(["a", "a", "b"]), min_frequency=2).codes("c", coded([None, "a"])).tolist() == [1, 0]


def test_labels_that_print_alike_have_different_names() -> None:
    levels = Levels.of(
        occurrences_of(["1", 1, "nan", None, "infrequent", "rare", "1", 1, "nan", None, "infrequent"]), min_frequency=2
    )
    assert levels.names("c") == ["c_1", "c_'1'", "c_'infrequent'", "c_'nan'", "c_nan", "c_infrequent"]


def test_numbers_are_equal_whatever_their_type() -> None:
    levels = Levels.of(Occurrences.zero().update(code_array(np.array([1.0, 2.5, np.nan]))))
    assert levels.names("c") == ["c_1.0", "c_2.5", "c_nan"]
    assert levels.codes("c", code_array(np.array([1, 3]))).tolist() == [0, -1]
    whole = Levels.of(Occurrences.zero().update(code_array(np.array([True, False]))))
    assert whole.names("c") == ["c_False", "c_True"]
    assert whole.codes("c", code_array(np.array([1.0, 0.0, np.nan]))).tolist() == [1, 0, -1]


def test_names_of_numbers_do_not_depend_on_batches() -> None:
    batches = [np.array([1.0, 2.0]), np.array([1.5])]
    parts = Occurrences.zero()
    for batch in batches:
        parts = parts.update(code_array(batch))
    whole = Occurrences.zero().update(code_array(np.concatenate(batches)))
    assert Levels.of(parts).names("c") == Levels.of(whole).names("c") == ["c_1.0", "c_1.5", "c_2.0"]


def test_a_column_without_values_has_no_features() -> None:
    for occurrences in (occurrences_of([]), Occurrences.zero()):
        levels = Levels.of(occurrences, min_frequency=0.5, max_levels=3, drop_first=True)
        assert levels.names("c") == []
        assert levels.codes("c", coded(["a", None])).tolist() == [-1, -1]
    assert Levels.of(occurrences_of([None, None])).names("c") == ["c_nan"]
    assert Levels.of(occurrences_of([None, None]), missing="zeros").n_columns == 0


def test_few_codes_are_looked_up_like_many() -> None:
    labels = np.array([f"l{j}" for j in range(1000)], dtype=object)
    levels = Levels.of(Occurrences.zero().update(Coded(np.arange(1000), labels)))
    for codes in ([5, -1, 999, 5], [7], [-1], []):
        few, many = (Coded(np.array(codes * times, dtype=np.int32), labels) for times in (1, 2000))
        assert levels.codes("c", few).tolist() == levels.codes("c", many).tolist()[: len(codes)]


@given(st.lists(st.one_of(st.none(), st.text(), st.integers(), st.floats(allow_nan=False), st.booleans()), max_size=20))
def test_hashes_are_columns_and_equal_values_share_theirs(values: list[Any]) -> None:
    levels = HashedLevels(7)
    codes = [levels.codes("c", coded([value]))[0] for value in values]
    assert ((np.array(codes) >= 0) & (np.array(codes) <= 7)).all()
    assert [code == 7 for code in codes] == [value is None for value in values]
    for value, code in zip(values, codes, strict=True):
        assert all(other == code for same, other in zip(values, codes, strict=True) if same == value)


def test_hashes_are_the_same_in_every_process() -> None:
    code = "from mercer.data.levels import stable_hash as h; print(h('Ulm'), h(1), h(2.5), h('\\ud800'))"
    elsewhere = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert elsewhere.split() == [str(stable_hash(label)) for label in ("Ulm", 1, 2.5, "\ud800")]
    assert stable_hash(True) == stable_hash(1) == stable_hash(1.0) != stable_hash("1")
    assert stable_hash("Ulm") == 5155246035775028332


def test_hashes_spread_evenly() -> None:
    levels, values = HashedLevels(16), [f"user {j}" for j in range(16_000)]
    counts = np.bincount(levels.codes("c", coded(values)), minlength=16)
    assert ((counts - 1000.0) ** 2 / 1000.0).sum() < 60  # χ² with 15 degrees of freedom


def test_hashed_missing_values_are_a_column_ignored_or_an_error() -> None:
    assert HashedLevels(2).names("c") == ["c_hash0", "c_hash1", "c_nan"]
    assert HashedLevels(2, "zeros").names("c") == ["c_hash0", "c_hash1"]
    assert HashedLevels(2, "zeros").codes("c", coded([None])).tolist() == [-1]
    with pytest.raises(NonFiniteError, match="row 1"):
        HashedLevels(2, "error").codes("c", coded(["a", None]))


def test_caches_of_levels_are_not_pickled() -> None:
    levels = Levels.of(occurrences_of(["a", "b", "b"]), min_frequency=2)
    before = len(pickle.dumps(levels))
    assert levels.codes("c", coded(["a", "b", "x"])).tolist() == [1, 0, 1]
    again = pickle.loads(pickle.dumps(levels))
    assert len(pickle.dumps(levels)) == before
    assert again.codes("c", coded(["a", "b", "x"])).tolist() == [1, 0, 1]
