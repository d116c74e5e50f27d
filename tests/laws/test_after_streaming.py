"""Streamed models forget, merge and are saved like any other, and do not contain skipped rows."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import mercer
import mercer.data
from mercer import HistogramDensity, TfidfVectorizer
from mercer._errors import DataError
from tests.laws._models import MODELS, Case, learnt
from tests.laws._sources import ROWS, TABLE, TableInputs

COUNTING = ("GaussianNB", "NaiveBayes", "MultinomialNB", "GaussianDiscriminant", "LDA")
#: what forgets and merges only by itself: bins whose edges are given, a vectorizer outside of a pipeline
ALONE = {
    "HistogramDensity": Case(HistogramDensity(np.linspace(-5, 5, 9)), TableInputs(("a",))),
    "TfidfVectorizer": Case(TfidfVectorizer(), TableInputs(("words",), weight=None)),
}
GROUP = 40


def few_then_slow() -> Iterator[Any]:
    """All models; in `make test` those whose passes and parts are unlike."""
    few = ("GaussianNB", "NaiveBayes", "Ridge", "GLM", "softmax", "table", "Tfidf", "Nystroem")
    return (pytest.param(name, marks=() if name in few else pytest.mark.slow) for name in MODELS)


def streamed(case: Case, what: Any, **more: Any) -> Any:
    return case.of(mercer.data.open(what, rows=17, **case.inputs.columns, **more))


def forgotten(case: Case, model: Any, table: pa.Table) -> Any:
    inputs = case.inputs
    weight = {} if inputs.weight is None else {"sample_weight": inputs.values(inputs.weight, table)}
    return model.forget(case.rows(table), inputs.values(inputs.target, table), **weight)


@pytest.mark.parametrize("name", [*COUNTING, "HistogramDensity"])
def test_rows_are_forgotten(name: str) -> None:
    case = (MODELS | ALONE)[name]
    left = forgotten(case, streamed(case, TABLE), TABLE.slice(0, 50))
    assert case.distance(left, case.held(TABLE.slice(50))) <= case.precision
    again = forgotten(case, case.held(), TABLE.slice(0, 50))
    assert case.distance(left, again) <= case.precision


@pytest.mark.parametrize("name", [*COUNTING, "CountVectorizer", "CategoryFeatures", *ALONE])
def test_models_of_two_shards_merge(name: str) -> None:
    case = (MODELS | ALONE)[name]
    cut = ROWS - 60  # the last level is in one of them only
    first, last = streamed(case, TABLE.slice(0, cut)), streamed(case, TABLE.slice(cut))
    for both in (copy.deepcopy(first).merge(last), last.merge(first)):
        assert case.distance(both, case.held()) <= case.precision


@pytest.mark.parametrize("name", few_then_slow())
def test_a_saved_model_predicts_the_same(name: str, tmp_path: Path) -> None:
    case = MODELS[name]
    model = streamed(case, TABLE)
    mercer.save(model, tmp_path / "a.mercer")
    before, after = learnt(model, case.rows()), learnt(mercer.load(tmp_path / "a.mercer"), case.rows())
    assert before.keys() == after.keys()
    for what, values in before.items():
        np.testing.assert_array_equal(after[what], values, err_msg=what)


def fit_and_stop(case: Case, folder: Path) -> None:
    with mercer.checkpointed(folder):
        streamed(case, TABLE)
        raise KeyboardInterrupt


@pytest.mark.parametrize("name", few_then_slow())
def test_stored_passes_give_identical_results(name: str, tmp_path: Path) -> None:
    case = MODELS[name]
    plain = learnt(streamed(case, TABLE), case.rows())
    with pytest.raises(KeyboardInterrupt):
        fit_and_stop(case, tmp_path)
    assert len(list(tmp_path.glob("pass-*"))) > 0
    with mercer.checkpointed(tmp_path):
        kept = learnt(streamed(case, TABLE), case.rows())
    np.testing.assert_equal(kept, plain)


def damaged(folder: Path) -> Path:
    """A Parquet file whose third row group cannot be read, whichever column is inputs for."""
    path = folder / "a.parquet"
    parquet.write_table(TABLE, path, row_group_size=GROUP, use_dictionary=False, write_page_checksum=True)
    group, content = parquet.ParquetFile(path).metadata.row_group(2), bytearray(path.read_bytes())
    for j in range(group.num_columns):
        column = group.column(j)
        content[column.data_page_offset + column.total_compressed_size - 2] ^= 0xFF
    path.write_bytes(content)
    return path


def ragged(folder: Path) -> Path:
    """A CSV file with a field too many in lines of the third group."""
    path = folder / "a.csv"
    csv.write_csv(TABLE, path)
    lines = path.read_text("utf-8").splitlines()
    for j in range(2 * GROUP, 3 * GROUP):
        lines[1 + j] += ",1"
    path.write_text("\n".join(lines), "utf-8")
    return path


@pytest.mark.parametrize("spoil", [damaged, ragged])
@pytest.mark.parametrize("name", ["GaussianNB", "NaiveBayes", "Ridge", "logistic", "table", "Tfidf"])
def test_skipped_rows_are_not_in_the_model(name: str, spoil: Any, tmp_path: Path) -> None:
    case, path = MODELS[name], spoil(tmp_path)
    model = streamed(case, path, on_error="skip")
    whole = pa.concat_tables([TABLE.slice(0, 2 * GROUP), TABLE.slice(3 * GROUP)])
    assert case.distance(model, case.held(whole)) <= case.precision
    last = model[-1] if hasattr(model, "steps") else model
    assert len(last.plan_.skipped) == (1 if spoil is damaged else GROUP)
    fitted = case.held()
    before = learnt(fitted, case.rows())
    with pytest.raises(DataError, match=re.escape(path.name)):
        fitted.fit(mercer.data.open(path, **case.inputs.columns))
    if not hasattr(fitted, "steps"):  # the steps of a pipeline are fitted one by one
        np.testing.assert_equal(learnt(fitted, case.rows()), before)


def test_rows_of_weight_zero_have_no_effect_in_any_chunk() -> None:
    nothing = TABLE.set_column(TABLE.column_names.index("weight"), "weight", pa.array(np.zeros(ROWS)))
    for name in ("GaussianNB", "Ridge", "Lasso", "PoissonRegressor", "GLM", "logistic", "HistogramDensity"):
        with pytest.raises(ValueError, match=r"non-zero|weight above 0"):
            streamed(MODELS[name], nothing)
