"""Every model that streams × every kind of source: the same answer as in memory, however the rows are cut and ordered.

Weights, gaps and categories are among them, blocks that weigh nothing, and levels and words that first appear in the
last rows. Models that learn from one row after another (`LinearThreshold`, `Perceptron`) are not: their answer is
that of an order.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mercer.data
from tests.data.sources.conftest import postgresql as postgresql  # a fixture
from tests.laws import _sources
from tests.laws._models import MODELS, Case
from tests.laws._sources import ARRAYS, KINDS, ROWS, TABLE, Shuffled, supports

#: what runs in `make test`: every model on these kinds, and these models on every kind
FEW_KINDS = ("Parquet file", "CSV", "DuckDB file")
FEW_MODELS = ("GaussianNB", "Ridge", "table")


@functools.cache
def in_memory(case: str, numbers: bool) -> Any:
    return (MODELS[case].as_numbers if numbers else MODELS[case]).held()


def case_for(name: str, kind: str) -> Case:
    return MODELS[name].as_numbers if kind == "svmlight" else MODELS[name]


#: not of sparse rows: splines have none, landmarks are drawn from rows in memory, and columns are not shifted, so that
#: steps of the lasso have no digits left in one that is 10⁶ of its deviations from zero
NOT_SPARSE = ("Nystroem", "SplineFeatures", "logistic, L1")


def pairs(*, few: bool) -> Iterator[tuple[str, str]]:
    for name, case in MODELS.items():
        for kind in KINDS:
            if kind == "svmlight" and name in NOT_SPARSE:
                continue
            if supports(kind, case.inputs) and few == (name in FEW_MODELS or kind in FEW_KINDS):
                yield name, kind


def check(name: str, kind: str, folder: Path) -> None:
    case = case_for(name, kind)
    streamed = case.of(KINDS[kind](folder, case.inputs, 37))
    held = in_memory(name, kind == "svmlight")
    assert case.distance(streamed, held, as_array=kind in ARRAYS) <= case.precision


@pytest.mark.parametrize(("name", "kind"), pairs(few=True))
def test_a_model_of_a_source_agrees_with_its_rows_in_memory(name: str, kind: str, folder: Path) -> None:
    check(name, kind, folder)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), pairs(few=False))
def test_models_of_every_kind_of_source_agree_with_rows_in_memory(name: str, kind: str, folder: Path) -> None:
    check(name, kind, folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW_MODELS)
def test_a_model_of_a_database_server_agrees_with_rows_in_memory(
    name: str, request: pytest.FixtureRequest, folder: Path
) -> None:
    opened = _sources.postgresql(request.getfixturevalue("postgresql"))
    case = MODELS[name]
    assert case.distance(case.of(opened(folder, case.inputs, 37)), in_memory(name, False)) <= case.precision


def sizes() -> Iterator[Any]:
    """Vary the size of chunks; one row at a time takes long."""
    for name in MODELS:
        yield name, ROWS
        yield pytest.param(name, 5, marks=pytest.mark.slow)
        yield pytest.param(name, 1, marks=() if name in FEW_MODELS else pytest.mark.slow)


@pytest.mark.parametrize(("name", "rows"), sizes())
def test_the_size_of_chunks_does_not_matter(name: str, rows: int, folder: Path) -> None:
    case = MODELS[name]
    streamed = case.of(KINDS["Parquet file"](folder, case.inputs, rows))
    assert case.distance(streamed, in_memory(name, False)) <= case.precision


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MODELS)
def test_the_order_of_pieces_does_not_matter(name: str, seed: int, folder: Path) -> None:
    case = MODELS[name]
    source = Shuffled(KINDS["CSV folder"](folder, case.inputs, 37), seed)
    assert [piece.name for piece in source.pieces()] != [piece.name for piece in source.source.pieces()]
    assert case.distance(case.of(source), in_memory(name, False)) <= case.precision


@pytest.mark.parametrize("name", MODELS)
def test_classes_and_levels_may_appear_in_later_chunks(name: str) -> None:
    """In a table sorted by classes or levels, a block contains one of each if it has any weight."""
    case = MODELS[name]
    by_class = TABLE.sort_by([("three", "ascending"), ("city", "descending"), ("weight", "ascending")])
    streamed = case.of(mercer.data.open(by_class, rows=9, **case.inputs.columns))
    assert case.distance(streamed, in_memory(name, False)) <= case.precision


def test_levels_of_the_last_rows_are_learnt(folder: Path) -> None:
    for kind in FEW_KINDS:
        case = MODELS["GLM"]
        assert "city[Zell]" in case.of(KINDS[kind](folder, case.inputs, 37)).coefficient_names_
        case = MODELS["CountVectorizer"]
        assert "thunder" in case.of(KINDS[kind](folder, case.inputs, 37)).vocabulary_
