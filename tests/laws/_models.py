"""One model of each kind that streams, fitted to the table of `_sources`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

import mercer.data
from mercer import (
    GLM,
    CategoryFeatures,
    CountVectorizer,
    GaussianDiscriminant,
    GaussianNB,
    HistogramDensity,
    Lasso,
    LinearDiscriminantAnalysis,
    LinearRegression,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
    Nystroem,
    PoissonRegressor,
    Ridge,
    SplineFeatures,
    TableFeatures,
    TfidfVectorizer,
)
from mercer.families import L2
from mercer.preprocessing.statistics import StatisticFeatures
from tests.laws._sources import COUNTS, NUMBERS, TABLE, TableInputs

#: how far a model of a source may be from that of the rows in memory, relative to its largest number
COUNTED, SOLVED = 1e-10, 1e-8


@dataclass(frozen=True)
class Case:
    """A model, what it learns from, and how near to that in memory it has to be."""

    model: Any
    inputs: TableInputs
    precision: float = COUNTED
    #: the steps of a pipeline that take weights in memory; those of a source are with its rows
    weighted: tuple[str, ...] = field(default=())
    #: whether it chooses rows by chance: of a source by their values, of rows in memory by their numbers
    chooses: bool = False

    @property
    def as_numbers(self) -> Case:
        """The same without weights, and with numbers for labels."""
        return replace(self, inputs=self.inputs.as_numbers(), weighted=())

    def held(self, table: pa.Table = TABLE) -> Any:
        """Fitted to rows in memory."""
        inputs, weight = self.inputs, self.inputs.values(self.inputs.weight, table)
        if self.chooses:
            return self.of(mercer.data.open(table, **inputs.columns))
        arguments = {f"{step}__sample_weight": weight for step in self.weighted}
        if weight is not None and not isinstance(self.model, Pipeline):
            arguments["sample_weight"] = weight
        if inputs.offset is not None:
            arguments["offset"] = inputs.values(inputs.offset, table)
        return clone(self.model).fit(self.rows(table), inputs.values(inputs.target, table), **arguments)

    def of(self, source: Any) -> Any:
        """Fit the model to a source; solvers start from fewer rows than there are."""
        source.sample_rows = 60
        return clone(self.model).fit(source)

    def rows(self, table: pa.Table = TABLE, *, as_array: bool = False) -> Any:
        """Return the rows that the model takes in `fit` and `predict`."""
        if self.inputs.features == ("words",):
            return table["words"].to_pylist()
        return self.inputs.array() if as_array else table.select(list(self.inputs.features))

    def distance(self, one: Any, other: Any, *, as_array: bool = False) -> float:
        """Return the distance of two fitted models in parameters and predictions."""
        theirs = learnt(other, self.rows())
        # an intercept near 0 has as many digits after the point as the coefficients
        least = {"intercept_": np.abs(theirs["coef_"]).max()} if "coef_" in theirs else {}
        return max(
            _distance(mine, theirs[name], least.get(name, 0.0))
            for name, mine in learnt(one, self.rows(as_array=as_array)).items()
        )


SAID = ("predict_joint_log_proba", "predict_log_proba", "score_samples", "predict", "transform")
LEARNT = ("coef_", "intercept_", "theta_", "var_", "density_", "dispersion_", "deviance_", "idf_")


def learnt(model: Any, rows: Any) -> dict[str, Any]:
    """The numbers that a model consists of, and its answers."""
    last = model[-1] if isinstance(model, Pipeline) else model
    says = next(name for name in SAID if hasattr(model, name))
    numbers = {name: np.asarray(getattr(last, name), dtype=float) for name in LEARNT if hasattr(last, name)}
    answers = getattr(model, says)(rows)
    return numbers | {says: _dense(answers)}


def _dense(answers: Any) -> Any:
    return np.asarray(answers.toarray() if hasattr(answers, "toarray") else answers, dtype=float)


def _distance(one: Any, other: Any, least: float) -> float:
    if one.shape != other.shape:
        return np.inf
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    scale = max(np.abs(other[np.isfinite(other)]).max(initial=1e-300), least)
    return float(np.abs(one[~same] - other[~same]).max(initial=0.0) / scale)


_numbers_to_two = TableInputs(NUMBERS, "two")
_numbers_to_number = TableInputs(NUMBERS, "number")
_table = TableInputs((*NUMBERS, "gap", "n", "city"), "two")

MODELS: dict[str, Case] = {
    "GaussianNB": Case(GaussianNB(), TableInputs(NUMBERS, "three")),
    "NaiveBayes": Case(NaiveBayes(), TableInputs((*NUMBERS, "gap", "n", "city"), "three")),
    "MultinomialNB": Case(MultinomialNB(), TableInputs(COUNTS, "two")),
    "GaussianDiscriminant": Case(GaussianDiscriminant(), TableInputs(NUMBERS, "three")),
    "LDA": Case(
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"), TableInputs(NUMBERS, "three", weight=None)
    ),
    "LinearRegression": Case(LinearRegression(), _numbers_to_number),
    "Ridge": Case(Ridge(2.0), _numbers_to_number),
    "Lasso": Case(Lasso(0.05, tol=1e-10), _numbers_to_number, SOLVED),
    "PoissonRegressor": Case(PoissonRegressor(tol=1e-10), TableInputs(NUMBERS, "count"), SOLVED),
    "GLM": Case(
        GLM("poisson", penalty=L2(0.5), tol=1e-10), TableInputs(("a", "city"), "count", offset="exposure"), SOLVED
    ),
    "logistic": Case(LogisticRegression(tol=1e-10), _numbers_to_two, SOLVED),
    "softmax": Case(LogisticRegression(tol=1e-10), TableInputs(NUMBERS, "three"), SOLVED),
    "logistic, L1": Case(LogisticRegression(C=0.3, l1_ratio=1.0, solver="saga", tol=1e-10), _numbers_to_two, SOLVED),
    "table": Case(
        make_pipeline(TableFeatures(), LogisticRegression(tol=1e-10)), _table, SOLVED, ("logisticregression",)
    ),
    "table with words": Case(
        make_pipeline(TableFeatures(), LogisticRegression(tol=1e-10)),
        TableInputs(("a", "words"), "two"),
        SOLVED,
        ("logisticregression",),
    ),
    "CountVectorizer": Case(CountVectorizer(), TableInputs(("words",), weight=None)),
    "Tfidf": Case(
        make_pipeline(TfidfVectorizer(), MultinomialNB()), TableInputs(("words",), "two"), weighted=("multinomialnb",)
    ),
    "CategoryFeatures": Case(CategoryFeatures(), TableInputs(("city",), weight=None)),
    "categories": Case(
        make_pipeline(CategoryFeatures(), Ridge(1.0)), TableInputs(("city", "n"), "number"), weighted=("ridge",)
    ),
    "Nystroem": Case(
        make_pipeline(Nystroem(gamma=1.0, n_components=30, random_state=0), Ridge(1.0)),
        TableInputs(("a",), "number"),
        SOLVED,
        ("ridge",),
        chooses=True,
    ),
    "HistogramDensity": Case(HistogramDensity(7), TableInputs(("a",))),
    "StatisticFeatures": Case(
        make_pipeline(StatisticFeatures(GaussianNB()), LogisticRegression(tol=1e-10)),
        _numbers_to_two,
        SOLVED,
        ("statisticfeatures", "logisticregression"),
    ),
    "SplineFeatures": Case(
        make_pipeline(SplineFeatures(), Ridge(1.0)), TableInputs(("a", "n"), "number"), SOLVED, ("ridge",)
    ),
}
