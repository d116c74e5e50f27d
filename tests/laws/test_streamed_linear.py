"""Linear models of a source are those of the same rows in memory: for any blocks, in any order, in few passes."""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

from mercer import GLM, Lasso, LinearRegression, LogisticRegression, Ridge, RidgeCV, TableFeatures
from mercer._errors import DataError, FitInterrupted
from mercer.base import sources
from mercer.data.sources.base import Source
from mercer.families import L1, L2
from mercer.matrices.streamed import StreamedObservations
from tests.laws._linear import DATA, MODELS, Array, N, SampledRows, Tables, assert_same, table
from tests.laws._sources import Shuffled

BLOCKS = (311, 4000)


@pytest.mark.parametrize("rows", BLOCKS)
@pytest.mark.parametrize("name", MODELS)
def test_streamed_fits_agree_with_fits_in_memory(name: str, rows: int) -> None:
    model, response, passes = MODELS[name]
    X, y, weight = DATA["X"], DATA[response], DATA["weight"]
    if name == "GLM, gamma, canonical":
        X = X[:, [2]]  # few columns leave every mean above 0
    held = clone(model).fit(X, y, weight)
    source = SampledRows(X, y, weight, rows=rows)
    for each in (source, Shuffled(source, seed=0)) if rows < N else (source,):
        streamed = clone(model).fit(each)
        assert_same(streamed, held)
        assert streamed.plan_.passes <= passes
        assert streamed.plan_.blocks == len(list(source.pieces()))


@pytest.mark.parametrize("name", ["least squares", "lasso", "logistic", "softmax", "GLM, Poisson"])
def test_one_row_at_a_time(name: str) -> None:
    model, response, _ = MODELS[name]
    X, y = DATA["X"][:200], DATA[response][:200]
    assert_same(clone(model).fit(SampledRows(X, y, rows=1)), clone(model).fit(X, y))


@pytest.mark.parametrize("form", [np.float32, sparse.csr_array, np.asfortranarray])
@pytest.mark.parametrize(
    "name", ["least squares", "ridge", "elastic net", "Poisson", "logistic", "softmax", "GLM, Poisson"]
)
def test_rows_of_every_container_are_streamed(name: str, form: Callable[[Array], Any]) -> None:
    model, response, _ = MODELS[name]
    X, y = DATA["X"][:, 2:], DATA[response]
    X = form(np.where(np.abs(X) < 1, 0.0, X) if form is sparse.csr_array else X)
    held, streamed = clone(model).fit(X, y), clone(model).fit(SampledRows(X, y, rows=113))
    assert_same(streamed, held, precision=1e-6 if X.dtype == np.float32 else 1e-8)
    assert streamed.coef_.dtype == held.coef_.dtype
    assert streamed.plan_.dtype == held.plan_.dtype


@pytest.mark.parametrize("penalty", [None, L2(0.5), L1(5.0)])
@pytest.mark.parametrize("family", ["gaussian", "poisson", "bernoulli", "categorical"])
def test_categories_and_offsets(family: str, penalty: Any) -> None:
    y = DATA[{"gaussian": "number", "poisson": "count", "bernoulli": "two", "categorical": "three"}[family]]
    arguments = {} if family == "categorical" else {"offset": DATA["offset"]}
    model = GLM(family, penalty=penalty, tol=1e-10)
    held = clone(model).fit(table(), y, DATA["weight"], **arguments)
    streamed = clone(model).fit(Shuffled(Tables(table(), y, DATA["weight"], **arguments), seed=0))
    assert_same(streamed, held)
    assert streamed.coefficient_names_ == held.coefficient_names_
    assert any("Zell" in name for name in streamed.coefficient_names_)
    np.testing.assert_array_equal(streamed.feature_names_in_, held.feature_names_in_)
    says = "predict_proba" if family in ("bernoulli", "categorical") else "predict"
    np.testing.assert_allclose(getattr(streamed, says)(table()), getattr(held, says)(table()), rtol=1e-7)


def test_declared_levels_keep_their_order() -> None:
    sizes = pa.DictionaryArray.from_arrays(np.random.default_rng(0).integers(0, 3, N).astype(np.int8), ["s", "m", "l"])
    data = pa.table({"size": sizes, "b": DATA["X"][:, 2]})
    held, streamed = GLM().fit(data, DATA["number"]), GLM().fit(Tables(data, DATA["number"]))
    assert streamed.coefficient_names_ == held.coefficient_names_ == ["size[m]", "size[l]", "b"]
    assert_same(streamed, held)


@pytest.mark.parametrize(
    "model", [Ridge(), Lasso(0.01, tol=1e-10), LogisticRegression(tol=1e-10), GLM("poisson", penalty=L2(1.0))]
)
def test_encoded_tables(model: Any) -> None:
    y = DATA[{"LogisticRegression": "two", "GLM": "count"}.get(type(model).__name__, "number")]
    features = TableFeatures().fit(table())
    rows = features.transform(table())
    held, streamed = clone(model).fit(rows, y), clone(model).fit(SampledRows(rows, y, rows=113))
    assert_same(streamed, held)


def test_collinear_and_constant_columns() -> None:
    X = np.column_stack([DATA["X"][:, 2:], DATA["X"][:, 2] + DATA["X"][:, 4], np.full(N, 7.0)])
    for model, response in ((LinearRegression(), "number"), (Ridge(1.0), "number"), (Lasso(0.1, tol=1e-10), "number")):
        held, streamed = (
            clone(model).fit(X, DATA[response]),
            clone(model).fit(SampledRows(X, DATA[response], rows=113)),
        )
        assert_same(streamed, held, precision=1e-7)
        assert [finding.columns for finding in streamed.diagnosis_] == [finding.columns for finding in held.diagnosis_]
    for model, response in ((GLM("poisson"), "count"), (LogisticRegression(C=np.inf, tol=1e-9), "two")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            held = clone(model).fit(X, DATA[response])
            streamed = clone(model).fit(SampledRows(X, DATA[response], rows=113))
        assert_same(streamed, held, precision=1e-6)
        assert [finding.code for finding in streamed.diagnosis_] == [finding.code for finding in held.diagnosis_]


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_many_columns(l1_ratio: float) -> None:
    """More than Hessians are formed of in each pass."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 350))
    y = np.digitize(X[:, 0] + rng.logistic(size=2000), [0.0])
    solver = "saga" if l1_ratio else "lbfgs"
    model = LogisticRegression(C=0.02, l1_ratio=l1_ratio, solver=solver, tol=1e-10)
    streamed = clone(model).fit(SampledRows(X, y, rows=300))
    assert_same(streamed, clone(model).fit(X, y))


def test_many_coefficients_of_classes() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 80))
    y = np.argmax(X[:, :6] + rng.gumbel(size=(3000, 6)), axis=1)
    model = LogisticRegression(C=0.02, tol=1e-9)
    streamed = clone(model).fit(SampledRows(X, y, rows=300))
    assert_same(streamed, clone(model).fit(X, y), precision=1e-6)
    assert streamed.plan_.path.startswith("L-BFGS")


def test_more_columns_than_rows() -> None:
    X, y = np.random.default_rng(0).normal(size=(20, 30)), DATA["number"][:20]
    assert_same(Ridge().fit(SampledRows(X, y, rows=7)), Ridge().fit(X, y))


# How a fit goes.


def test_models_that_need_all_rows_read_them_into_memory() -> None:
    """A lasso of very many columns, an r that is to be estimated, solvers that look at rows."""
    rng = np.random.default_rng(0)
    wide = sparse.random_array((300, 2500), density=0.01, format="csr", rng=rng)
    y = rng.integers(0, 2, 300)
    models = [
        (LogisticRegression(l1_ratio=1.0, solver="saga"), wide, y),
        (GLM("bernoulli", penalty=L1(0.5)), wide, y),
        (GLM("negative_binomial"), DATA["X"][:, [2]], DATA["count"]),
        (GLM("poisson", solver="newton-cg"), DATA["X"][:, [2]], DATA["count"]),
        (RidgeCV(cv=3), DATA["X"], DATA["number"]),
    ]
    for model, X, response in models:
        held, streamed = clone(model).fit(X, response), clone(model).fit(SampledRows(X, response, rows=100))
        np.testing.assert_array_equal(streamed.coef_, held.coef_)


@pytest.mark.parametrize("name", ["logistic", "lasso of labels", "GLM, Poisson", "Poisson"])
def test_an_interrupted_fit_keeps_its_best_coefficients(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, response, _ = MODELS[name]
    batches = 0

    def interrupted(batch: Any) -> Any:
        nonlocal batches
        batches += 1
        if batches > 20:
            raise KeyboardInterrupt
        return batch

    original = StreamedObservations.of

    def watched(*arguments: Any) -> Any:
        made = original(*arguments)
        prepare = made.prepare
        object.__setattr__(made, "prepare", lambda chunk: interrupted(prepare(chunk)))
        return made

    monkeypatch.setattr(StreamedObservations, "of", watched)
    monkeypatch.setattr(StreamedObservations, "responses_as", lambda self, dtype: self)
    model = clone(model)
    with pytest.raises(FitInterrupted, match="kept"):
        model.fit(SampledRows(DATA["X"], DATA[response], rows=113))
    assert np.isfinite(model.coef_).all()
    assert not model.certificate_.holds


def test_a_failed_fit_leaves_the_old_model() -> None:
    model = LogisticRegression().fit(DATA["X"][:, 2:], DATA["two"])
    before = model.coef_.copy()
    with pytest.raises(DataError):
        model.fit(SampledRows(DATA["X"], np.zeros(N), rows=100))
    np.testing.assert_array_equal(model.coef_, before)


def test_a_warm_start_begins_where_the_last_fit_ended() -> None:
    source = SampledRows(DATA["X"], DATA["two"], rows=113)
    model = LogisticRegression(tol=1e-10, warm_start=True).fit(source)
    assert model.fit(source).plan_.passes <= 3


@pytest.mark.parametrize("name", MODELS)
def test_signatures_of_fit_are_unchanged(name: str) -> None:
    parameters = list(inspect.signature(type(MODELS[name][0]).fit).parameters)
    assert parameters[:4] in (["self", "X", "y", "sample_weight"], ["self", "X", "y", "coef_init"])


def test_arguments_of_passes_can_be_pickled() -> None:
    """Everything that a pass is given, of the model with most of it."""
    sent = []

    original = sources.fold

    def fold(summarise: Any, source: Source, merge: Any) -> Any:
        sent.append(len(pickle.dumps((summarise, merge))))
        return original(pickle.loads(pickle.dumps(summarise)), source, pickle.loads(pickle.dumps(merge)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "fold", fold)
        patch.setattr("mercer.engines.reducing.fold", fold)
        streamed = GLM("poisson", tol=1e-10).fit(Tables(table(), DATA["count"]))
    assert_same(streamed, GLM("poisson", tol=1e-10).fit(table(), DATA["count"]))
    assert max(sent) < 20_000  # a few numbers for each column, and no rows
