"""Arrays that compiled loops trust: one that is shorter than the others is found when the file is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mercer
from mercer._errors import ModelFileError
from mercer.files import load, save
from mercer.files._shapes import SHAPES
from mercer.files._table import names
from tests.files._cases import numbers, sparse


def cut(model: Any, holder: str, part: str) -> Any:
    """The model with the last row of a part of a part missing."""
    value = getattr(model, holder)
    setattr(model, holder, replace(value, **{part: getattr(value, part)[:-1]}))
    return model


@pytest.mark.parametrize(
    ("model", "holder", "part"),
    [
        (mercer.GaussianNB(), "_scores", "mean"),
        (mercer.GaussianNB(), "_scores", "constants"),
        (mercer.GaussianDiscriminant(), "_densities", "centre"),
        (mercer.GaussianDiscriminant(), "_densities", "seen"),
        (mercer.LinearDiscriminantAnalysis(), "_decision", "centre"),
    ],
)
def test_a_part_that_is_too_short_is_refused(model: Any, holder: str, part: str, tmp_path: Path) -> None:
    save(cut(model.fit(numbers().X, numbers().y), holder, part), tmp_path / "model.mercer")
    with pytest.raises(ModelFileError, match=r"of a \w+ has the wrong size"):
        load(tmp_path / "model.mercer")


def test_fewer_rows_of_words_than_columns_are_refused(tmp_path: Path) -> None:
    model = mercer.MultinomialNB().fit(sparse().X, sparse().y)
    save(cut(model, "_product", "logs"), tmp_path / "model.mercer")
    with pytest.raises(ModelFileError, match="logs of a MultinomialNB has the wrong size"):
        load(tmp_path / "model.mercer")


def test_all_that_is_checked_is_in_the_table() -> None:
    assert set(SHAPES) <= {name.rpartition(".")[2] for name in names("class")}
