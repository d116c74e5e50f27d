"""Models of a comparison by name."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mercer import compare
from mercer._errors import DataError

X = pa.table({"x": np.linspace(0, 1, 40), "z": np.tile([0.5, 1.5, 0.25, 0.0], 10)})
Y = np.where(np.linspace(0, 1, 40) > 0.5, "b", "a")


def test_models_are_chosen_by_class_or_by_listed_name() -> None:
    found = compare(X, Y, models=["gaussiandiscriminant", "NaiveBayes", "LinearSVC", "NaiveBayes"], cv=2)
    names = {entry.name for entry in found.entries}
    assert {"NaiveBayes", "LinearSVC"} < names
    assert all(name.startswith(("NaiveBayes", "LinearSVC", "GaussianDiscriminant")) for name in names)
    assert not any("SVC," in note for note in found.notes)


def test_names_are_case_insensitive() -> None:
    rows, labels = [[0.0], [1.0], [0.2], [1.1]] * 5, [0, 1, 0, 1] * 5
    found = compare(rows, labels, models=["gaussiannb", "LinearSVC"], cv=2)
    assert {entry.name for entry in found.entries} == {"GaussianNB", "LinearSVC"}


def test_a_single_name_is_a_list_of_one() -> None:
    one, listed = (compare(X, Y, models=models, cv=2) for models in ("NaiveBayes", ["NaiveBayes"]))
    assert one.names == listed.names
    with pytest.raises(DataError, match="There is no model 'NaiveBase'"):
        compare(X, Y, models="NaiveBase")


def test_unsuitable_and_unknown_models_are_rejected() -> None:
    with pytest.raises(DataError, match="Lasso is not a model for the task classification"):
        compare(X, Y, models=["Lasso"])
    with pytest.raises(DataError, match="There is no model 'Laso'"):
        compare(X, Y, models=["Laso"])
    with pytest.raises(DataError, match="models is empty"):
        compare(X, Y, models=[])
