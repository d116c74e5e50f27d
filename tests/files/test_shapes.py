"""Arrays that compiled loops trust: one that is shorter than the others is found when the file is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer
from mercer._errors import ModelFileError
from mercer.features.directions import Hadamard
from mercer.features.fourier import FourierMap
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


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (FourierMap(np.ones((3, 8)), np.ones(7), 1.0), "offset of a FourierMap has the wrong size"),
        (FourierMap(np.ones((3, 8)), np.ones(8), 1.0, np.ones(2)), "shift of a FourierMap has the wrong size"),
        (Hadamard(np.ones((1, 3, 12)), np.ones(8), 3), "a Hadamard in it contradicts itself"),
        (Hadamard(np.ones((1, 3, 4)), np.ones(8), 3), "a Hadamard in it contradicts itself"),
        (Hadamard(np.ones((2, 3, 4)), np.ones(8), 5), "a Hadamard in it contradicts itself"),
    ],
)
def test_random_features_that_do_not_fit_are_refused(broken: Any, why: str, tmp_path: Path) -> None:
    save(broken, tmp_path / "features.mercer")
    with pytest.raises(ModelFileError, match=why):
        load(tmp_path / "features.mercer")


def test_random_features_that_fit_are_loaded(tmp_path: Path) -> None:
    chain = Hadamard(np.ones((2, 3, 4)), np.ones(8), 3)
    save(FourierMap(np.ones((3, 8)), np.ones(8), 1.0, np.ones(3), chain), tmp_path / "features.mercer")
    assert load(tmp_path / "features.mercer").chain.columns == 3


def test_all_that_is_checked_is_in_the_table() -> None:
    assert set(SHAPES) <= {name.rpartition(".")[2] for name in names("class")}
