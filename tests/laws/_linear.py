"""Rows with responses of every kind, the linear models that are fitted to them, and when two fits are the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from mercer import (
    GLM,
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeCV,
    TweedieRegressor,
)
from mercer._threads import row_blocks
from mercer.data.sources.base import Chunk, Piece, Source, SourceColumns
from mercer.data.sources.memory import HeldPiece, MemorySource
from mercer.families import L1, L2

Array = np.ndarray

N, D = 1500, 5


def _drawn() -> dict[str, Array]:
    """Columns of very different size, one far from zero, with responses of each kind, weights and offsets."""
    rng = np.random.default_rng(0)
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


DATA = _drawn()

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


def table() -> Any:
    """Numbers and categories, one level of which is first seen at the end."""
    rng = np.random.default_rng(1)
    city = rng.choice(["Ulm", "Bonn", "Kiel", "Rom"], N)
    city[-60:] = rng.choice(["Ulm", "Zell"], 60)
    return pa.table({"a": DATA["X"][:, 0], "city": city, "b": DATA["X"][:, 2], "plan": rng.choice(["x", "y", "z"], N)})


class SampledRows(MemorySource):
    """Rows in memory, of which solvers start from a few."""

    sample_rows = 400


class Tables(Source):
    """Rows of a pyarrow table, 419 at a time."""

    sample_rows = 400

    def __init__(self, table: Any, y: Array, weight: Array | None = None, offset: Array | None = None) -> None:
        self._all, self.columns = (table, y, weight, offset), SourceColumns(tuple(table.column_names))

    def pieces(self) -> Iterator[Piece]:
        table, *others = self._all
        for rows in row_blocks(table.num_rows, 419):
            cut = (None if values is None else values[rows] for values in others)
            yield HeldPiece(Chunk(table.slice(rows.start, rows.stop - rows.start), *cut), f"rows from {rows.start}")

    @property
    def described(self) -> str:
        return "a table"
