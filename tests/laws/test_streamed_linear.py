"""Linear models of a source are those of the same rows in memory: for any blocks, in any order, in few passes."""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

from mercer import (
    GLM,
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LinearThreshold,
    LogisticRegression,
    Perceptron,
    PoissonRegressor,
    Ridge,
    RidgeCV,
    TableFeatures,
    TweedieRegressor,
)
from mercer._errors import (
    DataError,
    FitInterrupted,
    NonFiniteError,
    SeparationError,
    SeparationWarning,
    SupportError,
    UnsuitableSolverError,
)
from mercer._threads import row_blocks
from mercer.data.sources.base import Chunk, Columns, Piece, Source
from mercer.data.sources.memory import HeldPiece, InMemory
from mercer.designs import survey
from mercer.families import L1, L2
from mercer.models.streaming import _observe as _streamed_problem

Array = np.ndarray

N, D = 1500, 5
BLOCKS = (311, 4000)


class Shuffled(Source):
    """The pieces of a source in another order."""

    def __init__(self, source: Source, seed: int = 0) -> None:
        self.source, self.seed, self.columns = source, seed, source.columns

    def pieces(self) -> Iterator[Piece]:
        pieces = list(self.source.pieces())
        return (pieces[j] for j in np.random.default_rng(self.seed).permutation(len(pieces)))

    @property
    def described(self) -> str:
        return f"{self.source.described}, shuffled"


class Tables(Source):
    """Rows of a pyarrow table."""

    def __init__(self, table: Any, y: Array, weight: Array | None = None, offset: Array | None = None, rows: int = 419):
        self._all, self._rows, self.columns = (table, y, weight, offset), rows, Columns(tuple(table.column_names))

    def pieces(self) -> Iterator[Piece]:
        table, *beside = self._all
        for rows in row_blocks(table.num_rows, self._rows):
            cut = (None if values is None else values[rows] for values in beside)
            yield HeldPiece(Chunk(table.slice(rows.start, rows.stop - rows.start), *cut), f"rows from {rows.start}")

    @property
    def described(self) -> str:
        return "a table"


@pytest.fixture(autouse=True)
def _small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a fit begins with far fewer rows than there are."""
    monkeypatch.setattr(survey, "SAMPLE_ROWS", 400)


def drawn(seed: int = 0) -> dict[str, Array]:
    """Columns of very different size, one far from zero, with responses of each kind, weights and offsets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * [1.0, 1e-6, 1.0, 1e3, 1.0] + [1e8, 0.0, 0.0, 0.0, 3.0]
    eta = 0.5 * (X[:, 2] + 1e-3 * X[:, 3]) + 0.3 * (X[:, 4] - 3)
    noisy = eta + rng.logistic(size=N)
    return {
        "X": X,
        "weight": rng.integers(0, 4, N).astype(float),
        "offset": 0.1 * rng.normal(size=N),
        "number": eta + rng.normal(size=N),
        "numbers": np.column_stack([eta, -eta, eta**2]) + rng.normal(size=(N, 3)),
        "count": rng.poisson(np.exp(eta)).astype(float),
        "positive": rng.gamma(2.0, np.exp(eta)) + 1e-3,
        "two": np.where(noisy > 0, "yes", "no"),
        "three": np.array(["a", "bb", "ccc"])[np.digitize(noisy, [-1.0, 1.0])],
    }


DATA = drawn()

#: models, the response that each is fitted to, and the most passes that it may need
MODELS: dict[str, tuple[Any, str, int]] = {
    "least squares": (LinearRegression(), "number", 2),
    "several targets": (LinearRegression(), "numbers", 2),
    "nonnegative": (LinearRegression(positive=True), "number", 2),
    "ridge": (Ridge(2.0), "number", 1),
    "ridge of several targets": (Ridge([1.0, 2.0, 3.0]), "numbers", 1),
    "ridge by orthogonal factors": (Ridge(2.0, solver="svd"), "number", 4),
    "ridge, left one out": (Ridge("loo"), "number", 3),
    "ridge, cross-validated": (Ridge("gcv"), "number", 1),
    "RidgeCV": (RidgeCV([0.1, 1.0, 10.0]), "number", 3),
    "lasso": (Lasso(0.05, tol=1e-10), "number", 1),
    "lasso of several targets": (Lasso(0.05, tol=1e-10), "numbers", 1),
    "nonnegative lasso": (Lasso(0.05, tol=1e-10, positive=True), "number", 1),
    "elastic net": (ElasticNet(0.1, tol=1e-10), "number", 1),
    "elastic net without absolute values": (ElasticNet(0.1, l1_ratio=0.0), "number", 1),
    "Poisson": (PoissonRegressor(tol=1e-10), "count", 7),
    "Poisson without a penalty": (PoissonRegressor(alpha=0.0, tol=1e-10), "count", 7),
    "gamma": (GammaRegressor(tol=1e-10), "positive", 14),
    "Tweedie": (TweedieRegressor(power=1.5, tol=1e-10), "count", 10),
    "logistic": (LogisticRegression(tol=1e-10), "two", 7),
    "logistic without a penalty": (LogisticRegression(C=np.inf, tol=1e-10), "two", 7),
    "logistic, balanced": (LogisticRegression(class_weight="balanced", tol=1e-10), "two", 7),
    "logistic without an intercept": (LogisticRegression(fit_intercept=False, tol=1e-10), "two", 7),
    "lasso of labels": (LogisticRegression(C=0.05, l1_ratio=1.0, solver="saga", tol=1e-10), "two", 7),
    "elastic net of labels": (LogisticRegression(C=0.05, l1_ratio=0.5, solver="saga", tol=1e-10), "two", 7),
    "softmax": (LogisticRegression(tol=1e-10), "three", 8),
    "lasso of classes": (LogisticRegression(C=0.05, l1_ratio=1.0, solver="saga", tol=1e-10), "three", 8),
    "GLM, normal": (GLM("gaussian"), "number", 5),
    "GLM, normal, with a prior": (GLM("gaussian", penalty=L2(0.5, mean=1.0)), "number", 6),
    "GLM, Poisson": (GLM("poisson", tol=1e-10), "count", 8),
    "GLM, Poisson, penalised": (GLM("poisson", penalty=L2(0.5), tol=1e-10), "count", 8),
    "GLM, Poisson, lasso": (GLM("poisson", penalty=L1(20.0), tol=1e-10), "count", 8),
    "GLM, gamma": (GLM("gamma", "log", tol=1e-10), "positive", 14),
    "GLM, gamma, canonical": (GLM("gamma", tol=1e-10), "positive", 16),
    "GLM, labels": (GLM("bernoulli", "probit", tol=1e-10), "two", 12),
    "GLM, classes": (GLM("categorical", tol=1e-10), "three", 9),
    "GLM, classes, with a reference": (GLM("categorical", reference="bb", tol=1e-10), "three", 9),
    "GLM, classes, lasso": (GLM("categorical", penalty=L1(20.0), tol=1e-10), "three", 9),
}
FITTED = (
    "coef_",
    "intercept_",
    "alpha_",
    "rank_",
    "dispersion_",
    "deviance_",
    "null_deviance_",
    "df_residual_",
    "log_likelihood_",
)


def assert_same(streamed: Any, held: Any, *, precision: float = 1e-8) -> None:
    for name in FITTED:
        if hasattr(held, name):
            mine, theirs = np.asarray(getattr(streamed, name)), np.asarray(getattr(held, name))
            scale = np.abs(theirs).max(initial=1e-300)
            np.testing.assert_allclose(mine, theirs, rtol=precision, atol=1e-9 * scale + 1e-13, err_msg=name)
    assert streamed.n_features_in_ == held.n_features_in_
    assert streamed.certificate_.holds


@pytest.mark.parametrize("rows", BLOCKS)
@pytest.mark.parametrize("name", MODELS)
def test_streamed_is_in_memory(name: str, rows: int) -> None:
    model, response, passes = MODELS[name]
    X, y, weight = DATA["X"], DATA[response], DATA["weight"]
    if name == "GLM, gamma, canonical":
        X = X[:, [2]]  # few columns leave every mean above 0
    held = clone(model).fit(X, y, weight)
    source = InMemory(X, y, weight, rows=rows)
    for each in (source, Shuffled(source)) if rows < N else (source,):
        streamed = clone(model).fit(each)
        assert_same(streamed, held)
        assert streamed.plan_.passes <= passes
        assert streamed.plan_.blocks == len(list(source.pieces()))


@pytest.mark.parametrize("name", ["least squares", "lasso", "logistic", "softmax", "GLM, Poisson"])
def test_one_row_at_a_time(name: str) -> None:
    model, response, _ = MODELS[name]
    X, y = DATA["X"][:200], DATA[response][:200]
    assert_same(clone(model).fit(InMemory(X, y, rows=1)), clone(model).fit(X, y))


@pytest.mark.parametrize("form", [np.float32, sparse.csr_array, np.asfortranarray])
@pytest.mark.parametrize(
    "name", ["least squares", "ridge", "elastic net", "Poisson", "logistic", "softmax", "GLM, Poisson"]
)
def test_in_every_form(name: str, form: Callable[[Array], Any]) -> None:
    model, response, _ = MODELS[name]
    X, y = DATA["X"][:, 2:], DATA[response]
    X = form(np.where(np.abs(X) < 1, 0.0, X) if form is sparse.csr_array else X)
    held, streamed = clone(model).fit(X, y), clone(model).fit(InMemory(X, y, rows=113))
    assert_same(streamed, held, precision=1e-6 if X.dtype == np.float32 else 1e-8)
    assert streamed.coef_.dtype == held.coef_.dtype
    assert streamed.plan_.dtype == held.plan_.dtype


def table(n: int = N) -> Any:
    """Numbers and categories, one level of which is first seen at the end."""
    rng = np.random.default_rng(1)
    city = rng.choice(["Ulm", "Bonn", "Kiel", "Rom"], n)
    city[-60:] = rng.choice(["Ulm", "Zell"], 60)
    return pa.table(
        {"a": DATA["X"][:n, 0], "city": city, "b": DATA["X"][:n, 2], "plan": rng.choice(["x", "y", "z"], n)}
    )


@pytest.mark.parametrize("penalty", [None, L2(0.5), L1(5.0)])
@pytest.mark.parametrize("family", ["gaussian", "poisson", "bernoulli", "categorical"])
def test_categories_and_offsets(family: str, penalty: Any) -> None:
    y = DATA[{"gaussian": "number", "poisson": "count", "bernoulli": "two", "categorical": "three"}[family]]
    beside = {} if family == "categorical" else {"offset": DATA["offset"]}
    model = GLM(family, penalty=penalty, tol=1e-10)
    held = clone(model).fit(table(), y, DATA["weight"], **beside)
    streamed = clone(model).fit(Shuffled(Tables(table(), y, DATA["weight"], **beside)))
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
    held, streamed = clone(model).fit(rows, y), clone(model).fit(InMemory(rows, y, rows=113))
    assert_same(streamed, held)


def test_collinear_and_constant_columns() -> None:
    X = np.column_stack([DATA["X"][:, 2:], DATA["X"][:, 2] + DATA["X"][:, 4], np.full(N, 7.0)])
    for model, response in ((LinearRegression(), "number"), (Ridge(1.0), "number"), (Lasso(0.1, tol=1e-10), "number")):
        held, streamed = clone(model).fit(X, DATA[response]), clone(model).fit(InMemory(X, DATA[response], rows=113))
        assert_same(streamed, held, precision=1e-7)
        assert [finding.columns for finding in streamed.diagnosis_] == [finding.columns for finding in held.diagnosis_]
    for model, response in ((GLM("poisson"), "count"), (LogisticRegression(C=np.inf, tol=1e-9), "two")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            held = clone(model).fit(X, DATA[response])
            streamed = clone(model).fit(InMemory(X, DATA[response], rows=113))
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
    streamed = clone(model).fit(InMemory(X, y, rows=300))
    assert_same(streamed, clone(model).fit(X, y))


def test_many_coefficients_of_classes() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 80))
    y = np.argmax(X[:, :6] + rng.gumbel(size=(3000, 6)), axis=1)
    model = LogisticRegression(C=0.02, tol=1e-9)
    streamed = clone(model).fit(InMemory(X, y, rows=300))
    assert_same(streamed, clone(model).fit(X, y), precision=1e-6)
    assert streamed.plan_.path.startswith("L-BFGS")


def test_more_columns_than_rows() -> None:
    X, y = np.random.default_rng(0).normal(size=(20, 30)), DATA["number"][:20]
    assert_same(Ridge().fit(InMemory(X, y, rows=7)), Ridge().fit(X, y))


# Mistakes.


@pytest.mark.parametrize("name", ["ridge", "lasso", "logistic", "Poisson", "GLM, Poisson"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_named(name: str, value: float) -> None:
    model, response, _ = MODELS[name]
    X = DATA["X"].copy()
    X[300, 2] = value
    with pytest.raises(NonFiniteError, match=r"rows 226 to 338.*'?x2'?.*row 74"):
        clone(model).fit(InMemory(X, DATA[response], rows=113))


@pytest.mark.parametrize("name", ["ridge", "logistic", "Poisson", "GLM, Poisson"])
def test_what_is_no_response_is_named(name: str) -> None:
    model, response, _ = MODELS[name]
    y = DATA[response].astype(object if name == "logistic" else float)
    y[300] = None if name == "logistic" else np.nan
    with pytest.raises(NonFiniteError, match=r"In rows 226 to 338: .*y contains NaN"):
        clone(model).fit(InMemory(DATA["X"], y, rows=113))


@pytest.mark.parametrize("model", [PoissonRegressor(), GLM("poisson")])
def test_what_the_family_does_not_know_is_named(model: Any) -> None:
    y = DATA["count"].copy()
    y[300] = -1
    with pytest.raises(SupportError, match=r"In rows 226 to 338: .*row 74"):
        clone(model).fit(InMemory(DATA["X"], y, rows=113))


def test_a_missing_level_is_named() -> None:
    data = pa.table({"city": ["a", "b", None] * 100})
    with pytest.raises(NonFiniteError, match=r"In rows from 0: .*'city'.*row 2"):
        GLM().fit(Tables(data, DATA["number"][:300]))


def test_one_class_is_refused() -> None:
    with pytest.raises(DataError, match="one class"):
        LogisticRegression().fit(InMemory(DATA["X"], np.zeros(N), rows=100))


def test_offsets_are_refused_by_who_has_no_use_for_them() -> None:
    for model in (Ridge(), LogisticRegression(), PoissonRegressor(), Perceptron()):
        with pytest.raises(DataError, match="takes no offset"):
            model.fit(InMemory(DATA["X"], DATA["two"], None, DATA["offset"]))


def test_separation_is_told_though_not_proved() -> None:
    X, y = np.linspace(-1, 1, 200)[:, None], np.repeat(["a", "b"], 100)
    with pytest.warns(SeparationWarning, match="not looked for"):
        model = GLM("bernoulli").fit(InMemory(X, y, rows=30))
    assert [finding.code for finding in model.diagnosis_] == ["separation"]
    with pytest.raises(SeparationError):
        GLM("bernoulli", on_separation="error").fit(InMemory(X, y, rows=30))
    with pytest.raises(UnsuitableSolverError, match="ridge"):
        GLM("bernoulli", on_separation="firth").fit(InMemory(X, y, rows=30))
    ridge = GLM("bernoulli", on_separation="ridge", tol=1e-10)
    assert_same(clone(ridge).fit(InMemory(X, y, rows=30)), clone(ridge).fit(X, y))


def test_separated_classes_are_told_too() -> None:
    X, y = np.linspace(-1, 1, 300)[:, None], np.repeat(["a", "b", "c"], 100)
    with pytest.warns(SeparationWarning, match="not looked for"):
        GLM("categorical").fit(InMemory(X, y, rows=70))
    model = LogisticRegression(C=np.inf).fit(InMemory(X, y, rows=70))
    assert [finding.code for finding in model.diagnosis_] == ["separation"]


def test_a_strong_effect_is_no_separation() -> None:
    """Some rows tell nothing of η, though no hyperplane separates all of them."""
    X = np.linspace(-30, 30, 600)[:, None]
    y = np.where(X[:, 0] + np.random.default_rng(0).logistic(size=600) > 0, "b", "a")
    model = GLM("bernoulli", tol=1e-10)
    streamed = clone(model).fit(InMemory(X, y, rows=70))
    assert not list(streamed.diagnosis_)
    assert_same(streamed, clone(model).fit(X, y))


# How a fit goes.


def test_what_needs_all_rows_has_them() -> None:
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
        held, streamed = clone(model).fit(X, response), clone(model).fit(InMemory(X, response, rows=100))
        np.testing.assert_array_equal(streamed.coef_, held.coef_)


@pytest.mark.parametrize("name", ["logistic", "lasso of labels", "GLM, Poisson", "Poisson"])
def test_a_stopped_fit_keeps_what_it_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, response, _ = MODELS[name]
    passes = 0

    def interrupted(batch: Any) -> Any:
        nonlocal passes
        passes += 1
        if passes > 20:
            raise KeyboardInterrupt
        return batch

    original = _streamed_problem.StreamedObservations.of

    def watched(*arguments: Any) -> Any:
        made = original(*arguments)
        prepare = made.prepare
        object.__setattr__(made, "prepare", lambda chunk: interrupted(prepare(chunk)))
        return made

    monkeypatch.setattr(_streamed_problem.StreamedObservations, "of", watched)
    monkeypatch.setattr(_streamed_problem.StreamedObservations, "responses_as", lambda self, dtype: self)
    model = clone(model)
    with pytest.raises(FitInterrupted, match="kept"):
        model.fit(InMemory(DATA["X"], DATA[response], rows=113))
    assert np.isfinite(model.coef_).all()
    assert not model.certificate_.holds


def test_a_failed_fit_leaves_the_model_that_was_there() -> None:
    model = LogisticRegression().fit(DATA["X"][:, 2:], DATA["two"])
    before = model.coef_.copy()
    with pytest.raises(DataError):
        model.fit(InMemory(DATA["X"], np.zeros(N), rows=100))
    np.testing.assert_array_equal(model.coef_, before)


def test_a_warm_start_begins_where_the_last_fit_ended() -> None:
    source = InMemory(DATA["X"], DATA["two"], rows=113)
    model = LogisticRegression(tol=1e-10, warm_start=True).fit(source)
    assert model.fit(source).plan_.passes <= 3


@pytest.mark.parametrize("name", MODELS)
def test_signatures_stay(name: str) -> None:
    parameters = list(inspect.signature(type(MODELS[name][0]).fit).parameters)
    assert parameters[:4] in (["self", "X", "y", "sample_weight"], ["self", "X", "y", "coef_init"])


def test_what_travels_can_be_pickled() -> None:
    """Everything that a pass is given, of the model with most of it."""
    sent = []

    original = _streamed_problem.fold

    def fold(summarise: Any, source: Source, merge: Any) -> Any:
        sent.append(len(pickle.dumps((summarise, merge))))
        return original(pickle.loads(pickle.dumps(summarise)), source, pickle.loads(pickle.dumps(merge)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_streamed_problem, "fold", fold)
        patch.setattr("mercer.engines.reducing.fold", fold)
        streamed = GLM("poisson", tol=1e-10).fit(Tables(table(), DATA["count"]))
    assert_same(streamed, GLM("poisson", tol=1e-10).fit(table(), DATA["count"]))
    assert max(sent) < 20_000  # a few numbers for each column, and no rows


# Learning in one pass.


@pytest.mark.parametrize("model", [Perceptron(), LinearThreshold("logistic", mode="incremental", random_state=0)])
@pytest.mark.parametrize("response", ["two", "three"])
def test_online_rules_learn_chunk_after_chunk(model: Any, response: str) -> None:
    X, y, weight = DATA["X"][:, 2:] / [1.0, 1e3, 3.0], DATA[response], DATA["weight"]
    source = InMemory(X, y, weight, rows=113)
    streamed, by_hand = clone(model).fit(source), clone(model)
    for chunk in source:
        by_hand.partial_fit(chunk.X, chunk.y, classes=np.unique(y), sample_weight=chunk.weight)
    np.testing.assert_array_equal(streamed.coef_, by_hand.coef_)
    np.testing.assert_array_equal(streamed.intercept_, by_hand.intercept_)
    np.testing.assert_array_equal(streamed.classes_, np.unique(y))
    assert streamed.plan_.passes <= 3
    wrong = streamed.predict(X) != y
    assert streamed.certificate_.value >= wrong[weight > 0].sum() > 0


def test_batch_rules_need_all_rows_together() -> None:
    X, y = DATA["X"][:100, [2, 4]], DATA["two"][:100]
    held = LinearThreshold("logistic", max_iter=5, tol=None).fit(X, y)
    streamed = LinearThreshold("logistic", max_iter=5, tol=None).fit(InMemory(X, y, rows=30))
    np.testing.assert_array_equal(streamed.coef_, held.coef_)
