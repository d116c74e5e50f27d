"""Every drop-in of scikit-learn from a hundred rows to a million: the fit, the prediction of one row and of all rows.

The options of both libraries are their defaults, except for penalties that leave coefficients other than zero.
Compiled code comes from the cache of the user, because only warm calls count.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn import (
    discriminant_analysis,
    kernel_approximation,
    kernel_ridge,
    linear_model,
    naive_bayes,
    neighbors,
    svm,
)
from sklearn.feature_extraction import text
from threadpoolctl import threadpool_limits

import mercer
from bench.classifiers import correlated_classes
from bench.harness import Options, largest_difference, timed
from bench.machine import describe_environment
from bench.results import PARITY, Cell, Report
from bench.rows import Responses

ROWS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
COLUMNS = 10
#: seconds for the repeated calls of one contender in one cell, and how many calls there are at least
BUDGET, REPEATS = 0.05, 3
#: a call of so many seconds is made once
LONG_CALL = 0.5
#: iterative solvers of both libraries stop at a tolerance; their predictions differ by no more than this
STOPPED = 1e-2
#: liblinear often stops at its thousand passes
LIBLINEAR = 0.1


# ---------------------------------------------------------------------------------------------------------------------
# Arrays
# ---------------------------------------------------------------------------------------------------------------------


def numbers(rows: int) -> Responses:
    """A linear trend with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, COLUMNS))
    return Responses(X, X @ rng.standard_normal(COLUMNS) + rng.standard_normal(rows))


def means(rows: int, *, draw: Callable[[np.random.Generator, Any], Any]) -> Responses:
    """Responses drawn with the mean exp(η)."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, COLUMNS))
    return Responses(X, draw(rng, np.exp(0.3 * X @ rng.standard_normal(COLUMNS) / np.sqrt(COLUMNS))))


def counts(rows: int) -> Responses:
    """Three classes of counts."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=rows)
    return Responses(rng.poisson(rng.gamma(2.0, size=(3, COLUMNS))[y]), y)


def levels(rows: int) -> Responses:
    """Three classes of categorical columns with four levels each, all of which occur."""
    data = counts(rows)
    X = np.minimum(data.X, 3)
    X[:4] = np.arange(4)[:, None]
    return Responses(X, data.y)


def points(rows: int) -> Responses:
    """Normal points in three columns."""
    return Responses(np.random.default_rng(0).standard_normal((rows, 3)), np.zeros(rows))


def documents(rows: int) -> Responses:
    """Documents of fifty words, of which some are frequent and most are rare."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(5_000)])
    chosen = (len(words) * np.square(rng.random((rows, 50)))).astype(np.intp)
    return Responses([" ".join(document) for document in words[chosen]], np.zeros(rows))


def word_counts(rows: int) -> Responses:
    """The counts of the words of documents."""
    data = documents(rows)
    return Responses(text.CountVectorizer().fit_transform(data.X), data.y)


two_classes = partial(correlated_classes, columns=COLUMNS)
three_classes = partial(correlated_classes, columns=COLUMNS, classes=3)
poisson_counts = partial(means, draw=lambda rng, mean: rng.poisson(mean))
gamma_amounts = partial(means, draw=lambda rng, mean: mean * rng.gamma(2.0, 0.5, len(mean)))

# ---------------------------------------------------------------------------------------------------------------------
# The drop-ins
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DropIn:
    """An estimator of both libraries, and how its answers are compared."""

    module: Any  # scikit-learn's
    name: str
    make_arrays: Callable[[int], Responses]
    largest: int = 1_000_000  # the number of rows for which scikit-learn takes some seconds
    predict: str = "predict"  # the method that is timed
    compare: str | None = None  # the method whose values have to agree; None: the one that is timed
    parity: float = PARITY
    options: dict[str, Any] = field(default_factory=dict)

    def make(self, library: Any) -> Any:
        return getattr(library, self.name)(**self.options)


classifier = partial(DropIn, compare="decision_function", make_arrays=two_classes)
regressor = partial(DropIn, make_arrays=numbers)
transformer = partial(DropIn, predict="transform")

DROP_INS = (
    regressor(linear_model, "LinearRegression"),
    regressor(linear_model, "Ridge"),
    regressor(linear_model, "RidgeCV"),
    regressor(linear_model, "Lasso", options={"alpha": 0.1}, parity=STOPPED),
    regressor(linear_model, "LassoCV", parity=STOPPED, largest=100_000),
    regressor(linear_model, "ElasticNet", options={"alpha": 0.1}, parity=STOPPED),
    regressor(linear_model, "ElasticNetCV", parity=STOPPED, largest=100_000),
    regressor(linear_model, "PoissonRegressor", make_arrays=poisson_counts, parity=STOPPED),
    regressor(linear_model, "GammaRegressor", make_arrays=gamma_amounts, parity=STOPPED),
    regressor(linear_model, "TweedieRegressor", make_arrays=gamma_amounts, options={"power": 1.5}, parity=STOPPED),
    classifier(linear_model, "LogisticRegression", parity=STOPPED),
    classifier(linear_model, "LogisticRegressionCV", parity=0.1, largest=100_000),
    classifier(linear_model, "Perceptron"),
    classifier(discriminant_analysis, "LinearDiscriminantAnalysis", make_arrays=three_classes),
    classifier(discriminant_analysis, "QuadraticDiscriminantAnalysis", make_arrays=three_classes),
    classifier(naive_bayes, "GaussianNB", make_arrays=three_classes, compare="predict_proba"),
    classifier(naive_bayes, "BernoulliNB", make_arrays=counts, compare="predict_proba"),
    classifier(naive_bayes, "CategoricalNB", make_arrays=levels, compare="predict_proba"),
    classifier(naive_bayes, "MultinomialNB", make_arrays=counts, compare="predict_proba"),
    classifier(naive_bayes, "ComplementNB", make_arrays=counts, compare="predict_proba"),
    classifier(svm, "SVC", parity=STOPPED, largest=10_000),
    regressor(svm, "SVR", parity=STOPPED, largest=10_000),
    classifier(svm, "LinearSVC", parity=LIBLINEAR, largest=300_000),
    regressor(svm, "LinearSVR", parity=LIBLINEAR, largest=100_000),
    regressor(kernel_ridge, "KernelRidge", options={"kernel": "rbf"}, largest=3_000),
    DropIn(neighbors, "KernelDensity", points, predict="score_samples", parity=1e-4, largest=10_000),
    transformer(kernel_approximation, "RBFSampler", numbers, options={"random_state": 0}, largest=100_000),
    transformer(kernel_approximation, "Nystroem", numbers, options={"random_state": 0}, largest=30_000),
    transformer(text, "CountVectorizer", documents, largest=30_000),
    transformer(text, "HashingVectorizer", documents, largest=30_000),
    transformer(text, "TfidfVectorizer", documents, largest=30_000),
    transformer(text, "TfidfTransformer", word_counts, largest=30_000),
)

# ---------------------------------------------------------------------------------------------------------------------
# Measurements
# ---------------------------------------------------------------------------------------------------------------------


def cells(one: DropIn, rows: int) -> Iterator[Cell]:
    """Yield the three cells of a number of rows."""
    data = one.make_arrays(rows)
    ours, theirs = one.make(mercer), one.make(one.module)
    calls = {"fit": [partial(model.fit, data.X, data.y) for model in (ours, theirs)]}
    for task, asked in (("predict one row", data.X[:1]), ("predict all rows", data.X)):
        calls[task] = [partial(ask, asked) for ask in (getattr(model, one.predict) for model in (ours, theirs))]
    seconds = {task: shortest(*pair) for task, pair in calls.items()}
    compare = one.compare or one.predict
    difference = largest_difference(answers(ours, compare, data.X), answers(theirs, compare, data.X))
    for task, (own, rival) in seconds.items():
        yield Cell(one.name, task, rows, own, rival, difference, one.parity)


def answers(model: Any, method: str, X: Any) -> dict[str, Any]:
    """Return what a method answers, sparse matrices as their sorted entries."""
    found = getattr(model, method)(X)
    if not hasattr(found, "tocsr"):
        return {method: np.asarray(found)}
    found = found.tocsr(copy=True)
    found.sort_indices()
    return {"indptr": found.indptr, "indices": found.indices, "data": found.data}


def shortest(*calls: Callable[[], Any]) -> tuple[float, ...]:
    """Return the seconds of the shortest warm call of each contender.

    They take turns, so that a disturbance hits both. The first call of ours, which may compile, does not count.
    """
    first = [timed(call)[0] for call in calls]
    found = [[timed(call)[0]] for call in calls[:1]] + [[seconds] for seconds in first[1:]]
    begun = time.perf_counter()
    for _ in range(1_000):
        for call, seconds in zip(calls, found, strict=True):
            if min(seconds) < LONG_CALL:
                seconds.append(timed(call)[0])
        enough = len(found[0]) > REPEATS and time.perf_counter() - begun > BUDGET * len(calls)
        if enough or all(min(seconds) >= LONG_CALL for seconds in found):
            break
    return tuple(min(seconds) for seconds in found)


@dataclass(frozen=True)
class Sizes:
    """All drop-ins at all sizes; the option `rows` is the largest number of rows."""

    drop_ins: Sequence[DropIn] = DROP_INS
    name: str = "sizes"

    def run(self, options: Options) -> Report:
        sizes = [rows for rows in ROWS if rows <= (options.rows or ROWS[-1])]
        found: list[Cell] = []
        with threadpool_limits(options.threads), mercer.engine(threads=options.threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for one in self.drop_ins:
                for rows in sizes:
                    if rows <= one.largest:
                        found += cells(one, rows)
        size = f"{sizes[0]:,} to {sizes[-1]:,} × {COLUMNS}"
        return Report(self.name, size, describe_environment(options.threads), cells=tuple(found))


WORKLOAD = Sizes()
