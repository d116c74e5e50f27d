"""The table of what files may name: all of it is there, and nothing of ours that a model may hold is forgotten."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pytest
from sklearn.base import BaseEstimator

import mercer
from mercer import decide, families, kernels, smoothing
from mercer._errors import ModelFileError
from mercer.files._moved import MOVED, MOVED_MODULES
from mercer.files._table import constant_name, known, name_of, names
from tests.files._cases import CASES

#: why some public values are in no file
LEFT_OUT = {
    "FromFunction": "is a function",
    "HighestDensityRegion": "is an answer of a model, and no part of one",
}


@pytest.mark.parametrize("kind", ["class", "enum", "type", "constant"])
def test_every_name_of_the_table_is_there(kind: str) -> None:
    for name in names(kind):
        thing = known(kind, name)
        assert (constant_name(thing) if kind == "constant" else name_of(kind, thing)) == name


def test_every_estimator_is_in_the_table_and_tried() -> None:
    public = [getattr(mercer, name) for name in mercer.__all__]
    classes = {made for made in (*public, *map(decide.__dict__.get, decide.__all__)) if is_estimator(made)}
    assert {made.__name__ for made in classes if name_of("class", made) is None} == set()
    tried = {type(case.make()).__name__ for case in CASES}
    assert {made.__name__ for made in classes} - tried == set()


def is_estimator(made: Any) -> bool:
    return inspect.isclass(made) and issubclass(made, BaseEstimator)


@pytest.mark.parametrize("room", [families, kernels, smoothing], ids=lambda room: room.__name__)
def test_every_public_value_is_in_the_table(room: Any) -> None:
    public = [getattr(room, name) for name in room.__all__]
    values = [made for made in public if inspect.isclass(made) and dataclasses.is_dataclass(made)]
    concrete = [made for made in values if not inspect.isabstract(made)]
    assert {made.__name__ for made in concrete if name_of("class", made) is None} - set(LEFT_OUT) == set()


def test_a_class_that_moved_is_found_under_its_old_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelFileError):
        known("class", "mercer.models.old.GaussianNB")
    monkeypatch.setitem(MOVED, "mercer.models.old.GaussianNB", "mercer.models.generative.gaussian_nb.GaussianNB")
    assert known("class", "mercer.models.old.GaussianNB") is mercer.GaussianNB


def test_what_moved_is_where_it_is_said_to_be_and_nowhere_else() -> None:
    assert {old: new for old, new in MOVED.items() if new not in names("class") or old in names("class")} == {}
    modules = {name.rpartition(".")[0] for kind in ("class", "enum", "type", "constant") for name in names(kind)}
    assert {old: new for old, new in MOVED_MODULES.items() if new not in modules or old in modules} == {}
