"""An exported model agrees with the original: every model, in every language, on real rows with gaps."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import mercer as m
from mercer import families as f
from mercer._errors import ExportError
from mercer.export import obstacle, to_onnx, to_python, to_sql
from mercer.export.lower import lower
from mercer.export.obstacle import remark_on
from mercer.kernels import Laplacian
from tests.export._languages import LANGUAGES, check

IRIS = load_iris(as_frame=True)
SPECIES = IRIS.target.map({0: "setosa", 1: "versicolor", 2: "virginica"})


def with_gaps(X: pd.DataFrame, share: float = 0.2) -> pd.DataFrame:
    return X.mask(np.random.default_rng(0).random(X.shape) < share)


CLASSIFIERS = {
    "logistic": m.LogisticRegression(),
    "ordinal": m.OrdinalRegression(),
    "boundary": m.LinearSVC(),
    "perceptron": m.Perceptron(),
    "rule": make_pipeline(StandardScaler(), m.LinearThreshold("lms", max_iter=5000)),
    "logistic rule": make_pipeline(StandardScaler(), m.LinearThreshold("logistic", tol=0.1)),
    "categorical GLM": m.GLM("categorical", penalty="l2"),
    "GaussianNB": m.GaussianNB(),
    "shared variance": m.GaussianNB(shared_variance=True),
    "NaiveBayes": m.NaiveBayes(),
    "LDA": m.LinearDiscriminantAnalysis(),
    "LDA, eigen": m.LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
    "QDA": m.QuadraticDiscriminantAnalysis(),
    **{
        f"discriminant, {name}": m.GaussianDiscriminant(name)
        for name in ("full", "shared full", "diagonal", "shared spherical")
    },
    "scaled": make_pipeline(StandardScaler(), m.LogisticRegression()),
    "squares": make_pipeline(StandardScaler(), m.MonomialFeatures(2), m.LogisticRegression()),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_of_iris(name: str) -> None:
    check(CLASSIFIERS[name].fit(IRIS.data, SPECIES), IRIS.data)


@pytest.mark.parametrize(
    "name", ["GaussianNB", "NaiveBayes", "LDA", "QDA", "discriminant, shared full", "discriminant, full"]
)
def test_missing_values_are_integrated_out(name: str) -> None:
    X = with_gaps(IRIS.data)
    check(CLASSIFIERS[name].fit(X, SPECIES), X)
    check(CLASSIFIERS[name].fit(IRIS.data, SPECIES), X)  # those that the fit did not know either


def test_two_classes_and_columns_without_names() -> None:
    rows = IRIS.target < 2
    X, y = IRIS.data[rows].to_numpy(), IRIS.target[rows].to_numpy()
    rule = make_pipeline(StandardScaler(), m.LinearThreshold("logistic", tol=0.1))
    for model in (m.LogisticRegression(), m.LinearSVC(), m.QuadraticDiscriminantAnalysis(), rule):
        check(model.fit(X, y), X)
    check(m.LogisticRegression().fit(X, y == 1), X)  # labels that are true and false


@pytest.mark.parametrize("rule", ["perceptron", "logistic"])
def test_a_row_on_the_boundary_belongs_to_the_second_class_of_a_rule(rule: str) -> None:
    X = np.array([[1.0, 1.0], [-1.0, -1.0]])
    model = m.LinearThreshold(rule, fit_intercept=False).fit(X, ["yes", "no"])
    assert model.predict([[0.0, 0.0]]) == ["yes"]
    check(model, np.array([[0.0, 0.0], [1.0, 2.0], [-1.0, 0.0]]))


@pytest.mark.parametrize("distance", [1e6, 1e8])
def test_a_distant_class_does_not_reduce_the_precision_of_others(distance: float) -> None:
    """Two classes are close to each other and the third is not: squares about one centre would cancel."""
    rng = np.random.default_rng(0)
    means, deviations = np.repeat([0.0, 1.0, distance], 50), np.repeat([1.0, 1.0, distance / 10], 50)
    X, y = rng.normal(means, deviations, (2, 150)).T, np.repeat([0, 1, 2], 50)
    for model in (m.GaussianNB(var_smoothing=0), m.NaiveBayes(), m.QuadraticDiscriminantAnalysis()):
        check(model.fit(X, y), X, off=1e-7)
    gaps = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    check(m.GaussianNB(var_smoothing=0).fit(X, y), gaps)


def test_a_class_of_much_larger_numbers_does_not_reduce_the_precision_of_others() -> None:
    rng = np.random.default_rng(0)
    means, deviations = np.repeat([0.0, 0.002, 600.0], 50), np.repeat([1e-3, 1e-3, 1.0], 50)
    X, y = np.exp(rng.normal(means, deviations, (2, 150)).T), np.repeat([0, 1, 2], 50)
    check(m.NaiveBayes("lognormal").fit(X, y), X, off=1e-8)


def test_regressions() -> None:
    X, y = IRIS.data.drop(columns="petal width (cm)"), IRIS.data["petal width (cm)"]
    for model in (
        m.LinearRegression(),
        m.Ridge(),
        m.Lasso(alpha=0.01),
        m.ElasticNet(alpha=0.01),
        m.LinearSVR(),
        m.PoissonRegressor(),
        m.GammaRegressor(),
        m.LogNormalRegressor(),
        m.TweedieRegressor(power=1.5, link="log"),
        m.TweedieRegressor(power=0),
        m.GLM("gamma", link="log"),
    ):
        check(model.fit(X, y), X)
    check(m.Ridge().fit(X, np.column_stack([y, 2 * y])), X)


def test_discrete_naive_bayes() -> None:
    rng = np.random.default_rng(1)
    counts, y = rng.poisson(1.0, (60, 4)), rng.integers(0, 3, 60)
    check(m.MultinomialNB().fit(counts, y), counts)
    check(m.ComplementNB().fit(counts, y), counts)
    check(m.BernoulliNB(binarize=1.0).fit(counts, y), with_gaps(frame_of_numbers(counts)).to_numpy())
    shares = rng.random((60, 3))
    check(m.BernoulliNB(binarize=None).fit(shares, y), shares)
    check(m.CategoricalNB(min_categories=12).fit(counts, y), with_gaps(frame_of_numbers(counts)).to_numpy())


def frame_of_numbers(values: Any) -> pd.DataFrame:
    return pd.DataFrame(np.asarray(values, dtype=float))


def test_a_row_impossible_in_every_class_has_the_prior() -> None:
    X, y = np.array([[0, 1], [0, 1], [1, 2], [2, 2.0]]), np.array([0, 0, 0, 1])
    new = np.array([[0, 1], [2, 1], [1, 2.0], [2, 2]])
    check(m.CategoricalNB(alpha=0, force_alpha=True).fit(X, y), new)
    check(m.MultinomialNB(alpha=0, force_alpha=True).fit(X, y), new)
    check(m.BernoulliNB(alpha=0, force_alpha=True).fit(X, y), new)
    check(m.NaiveBayes("categorical", smoothing=0).fit(X, y), np.array([[0, 1], [2, 1], [7.0, 7]]))
    check(m.NaiveBayes("gaussian", priors=[1.0, 0.0]).fit(IRIS.data[:100], IRIS.target[:100]), IRIS.data)


@pytest.mark.parametrize("size", [1e76, 1e150, 1e160, 1e300])
@pytest.mark.parametrize("model", [m.GaussianNB(), m.NaiveBayes(), m.QuadraticDiscriminantAnalysis()])
def test_a_row_whose_squares_overflow_has_the_prior(model: Any, size: float) -> None:
    """A row that is not quite as large is classified by the widest class as usual."""
    X, y = IRIS.data.to_numpy()[30:, :2], IRIS.target[30:]
    check(model.fit(X, y), np.array([[size, 3.0], [5.0, -size], [5.0, 3.0]]))


FAMILIES = {
    "poisson": f.Poisson(),
    "negative_binomial": f.NegativeBinomial(),
    "known r": f.NegativeBinomial(r=2.5),
    "binomial": f.Binomial(40),
    "exponential": f.Exponential(),
    "histogram": f.Histogram(bins=5),
    "normal": f.Gaussian(),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_families_of_counts(name: str) -> None:
    rng = np.random.default_rng(2)
    y = np.repeat(["a", "b", "c"], 40)
    X = np.column_stack([rng.poisson(np.repeat([2, 5, 9], 40)), rng.negative_binomial(2, 0.3, 120)]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    check(m.NaiveBayes(FAMILIES[name]).fit(X, y), X)


@pytest.mark.parametrize("family", ["gamma", "lognormal", "inverse_gaussian", "beta"])
def test_families_of_positive_numbers(family: str) -> None:
    rng = np.random.default_rng(3)
    y = np.repeat(["a", "b"], 60)
    X = rng.beta(np.repeat([2.0, 4.0], 60)[:, None], 3.0, (120, 2))
    X[rng.random(X.shape) < 0.1] = np.nan
    check(m.NaiveBayes(family).fit(X, y), X)


def test_columns_that_are_described_together() -> None:
    names = list(IRIS.data.columns)
    together = {tuple(names[:3]): f.MultivariateGaussian(), names[3]: f.Gamma()}
    X = with_gaps(IRIS.data, 0.1)
    check(m.NaiveBayes(together).fit(X, SPECIES), X)
    rng = np.random.default_rng(4)
    counts = frame_of_numbers(rng.poisson(2.0, (50, 3))).rename(columns=str)
    counts.loc[:3] = np.nan
    check(m.NaiveBayes({("0", "1", "2"): f.Multinomial()}).fit(counts, rng.integers(0, 2, 50)), counts)


def read(path: Any, **options: Any) -> pd.DataFrame:
    return pd.read_csv(path, na_values=["?"], skipinitialspace=True, **options)


def tables(real_data: Any, name: str) -> tuple[pd.DataFrame, pd.Series]:
    if name == "heart":
        frame = read(real_data("heart.csv"))
        return frame.drop(columns=["key", "AHD"]), frame["AHD"]
    if name == "horse-colic":
        frame = read(real_data("horse-colic.csv"), header=None)
        frame.columns = [f"c{j}" for j in frame.columns]
        frame = frame[frame["c22"].notna()]
        return frame.drop(columns=["c22", "c2", "c24", "c25", "c26", "c27"]), frame["c22"].astype(int)
    frame = read(real_data("adult-train.csv"), header=None, nrows=500)
    frame.columns = [f"c{j}" for j in frame.columns]
    return frame.drop(columns="c14"), frame["c14"]


@pytest.mark.parametrize("name", ["heart", "horse-colic", "adult"])
def test_tables_of_all_kinds(name: str, real_data: Any) -> None:
    X, y = tables(real_data, name)
    check(m.NaiveBayes().fit(X, y), X)
    check(m.NaiveBayes(m.Schema.infer(X)).fit(X, y), X)
    check(make_pipeline(m.TableFeatures(), m.LogisticRegression()).fit(X, y), X)
    check(make_pipeline(m.TableFeatures(min_frequency=20), m.LinearSVC()).fit(X, y), X)
    check(make_pipeline(m.TableFeatures(output="array", scale=False), m.GaussianNB()).fit(X, y), X)
    kept = make_pipeline(m.TableFeatures(output="array", missing="keep"), m.GaussianNB()).fit(X, y)
    check(kept, X)
    linear = make_pipeline(m.TableFeatures(output="array"), m.LinearDiscriminantAnalysis()).fit(X, y)
    check(linear, X)


def test_a_glm_encodes_categories(real_data: Any) -> None:
    X, y = tables(real_data, "heart")
    X = X.dropna()[["Age", "ChestPain", "Thal", "Sex"]]
    for link, off in (("logit", 1e-9), ("cloglog", 1e-9), ("cauchit", 1e-6), ("probit", 1e-6)):
        check(m.GLM("bernoulli", link=link).fit(X, y[X.index]), X, off=off)


def test_rows_that_the_model_rejects_give_null() -> None:
    """Levels never seen that the model rejects, gaps that it rejects, counts below 0."""
    X = pd.DataFrame({"size": [1.0, 2, 3, 4], "city": ["Ulm", "Bonn", "Ulm", "Bonn"]})
    y = ["a", "b", "b", "b"]
    new = pd.DataFrame({"size": [1.0, np.nan], "city": ["Kiel", "Ulm"]})
    strict = make_pipeline(m.TableFeatures(unseen="error", missing="error"), m.LogisticRegression()).fit(X, y)
    for language in LANGUAGES:
        assert np.isnan(LANGUAGES[language](strict, new).values).all()
    counts = m.NaiveBayes("poisson").fit(X[["size"]], y)
    for language in LANGUAGES:
        assert np.isnan(LANGUAGES[language](counts, pd.DataFrame({"size": [-1.0]})).values).all()


def test_unseen_levels_are_exported() -> None:
    X = pd.DataFrame({"size": [1.0, 2, 3, 4], "city": ["Ulm", "Bonn", "Ulm", "Jena"]})
    y = ["a", "b", "b", "a"]
    new = pd.DataFrame({"size": [1.0, 2.0], "city": ["Kiel", None]})
    for options in ({"unseen": "smooth"}, {"unseen": "ignore"}):
        model = m.NaiveBayes(**options).fit(X, y)
        check(model, new)
    model = make_pipeline(m.TableFeatures(unseen="ignore", min_frequency=2), m.LogisticRegression()).fit(X, y)
    check(model, new)


def test_numbers_may_be_taken_to_be_complete() -> None:
    model = m.QuadraticDiscriminantAnalysis().fit(IRIS.data, SPECIES)
    assert len(to_sql(model, missing=False)) < len(to_sql(model)) / 2
    check(model, IRIS.data, missing=False)
    for language in LANGUAGES:
        assert np.isnan(LANGUAGES[language](model, with_gaps(IRIS.data, 1.0), missing=False).values).all()


def test_columns_without_a_coefficient_are_read_only_for_their_gaps() -> None:
    X = np.column_stack([np.arange(20.0), np.random.default_rng(0).random(20)])
    model = m.Lasso(alpha=1.0).fit(X, 3 * X[:, 0])
    assert model.coef_[1] == 0
    assert [column.name for column in lower(model).columns] == ["x0", "x1"]
    assert [column.name for column in lower(model, missing=False).columns] == ["x0"]
    check(model, X)


def test_a_gap_is_rejected_whatever_its_coefficient() -> None:
    """The gap is rejected as in the model: by every class, including those that do not use the column."""
    X, y = IRIS.data.assign(city=["Ulm", "Bonn"] * 75), SPECIES
    numbers = list(IRIS.data.columns)
    sparse = m.LogisticRegression(C=0.05, l1_ratio=1.0, solver="saga").fit(X[numbers], y)
    svc = m.LinearSVC(penalty="l1", dual=False, C=0.01).fit(X[numbers], y)
    squares = make_pipeline(m.MonomialFeatures(2), m.Lasso(alpha=0.3)).fit(X[numbers], IRIS.target)
    table = make_pipeline(m.TableFeatures(missing="error", unseen="error"), m.Lasso(alpha=0.3)).fit(X, IRIS.target)
    glm = m.GLM("gaussian", penalty=f.L1(1e3)).fit(X, IRIS.target)
    for model, columns in ((sparse, numbers), (svc, numbers), (squares, numbers), (table, X), (glm, X)):
        assert (getattr(model, "steps", [(0, model)])[-1][1].coef_ == 0).any()
        whole = X[list(columns)]
        check(model, whole)
        lacking = whole[: whole.shape[1]].mask(np.eye(whole.shape[1], dtype=bool))
        for row in range(len(lacking)):
            with pytest.raises(ValueError, match=r"missing|NaN"):
                model.predict(lacking[row : row + 1])
        for language, said in LANGUAGES.items():
            assert np.isnan(said(model, lacking).values.astype(float)).all(), language


def test_rows_with_gaps_have_no_density_under_a_singular_covariance() -> None:
    X = IRIS.data.assign(total=IRIS.data.sum(axis=1))
    model = m.LinearDiscriminantAnalysis().fit(X, SPECIES)
    check(model, X)
    lacking = X[:5].assign(**{X.columns[0]: np.nan})
    for language, said in LANGUAGES.items():
        assert np.isnan(said(model, lacking).values).all(), language


SCALED = {
    "linear": m.LinearRegression(),
    "standard units": make_pipeline(StandardScaler(), m.LogisticRegression()),
    "table": make_pipeline(m.TableFeatures(), m.LogisticRegression()),
    "GaussianNB": m.GaussianNB(),
    "gamma": m.NaiveBayes("gamma"),
    "lognormal": m.NaiveBayes("lognormal"),
    "LDA": m.LinearDiscriminantAnalysis(),
    "full": m.GaussianDiscriminant("full"),
}


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("name", SCALED)
def test_numbers_of_any_size(name: str, scale: float) -> None:
    X = IRIS.data.to_numpy() * scale  # of an array, whose columns onnxruntime takes to be values like others
    check(SCALED[name].fit(X, IRIS.target), X)


@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_means_of_inverse_gaussians_whose_squares_overflow(scale: float) -> None:
    X = IRIS.data.to_numpy() * scale
    check(m.NaiveBayes("inverse_gaussian").fit(X, IRIS.target), X)


def test_numbers_whose_squares_overflow_are_rejected() -> None:
    X = IRIS.data * 1e-156
    with pytest.raises(ExportError, match=r"GaussianNB .* infinite in float64"):
        lower(m.GaussianNB().fit(X, SPECIES))


def test_a_model_that_cannot_be_exported_is_rejected_with_alternatives() -> None:
    X, y = IRIS.data, SPECIES
    for model, words in (
        (m.SVC(kernel=Laplacian()).fit(X, y), "SVC with Laplacian"),
        (m.SVC(kernel=lambda A, B: A @ B.T).fit(X, y), "a function or a matrix"),
        (m.KernelRidge(kernel="rbf", approximate="fourier").fit(X, X.iloc[:, 0]), "approximate='nystroem'"),
        (KNeighborsClassifier().fit(X, y), "KNeighborsClassifier cannot be exported"),
        (make_pipeline(MinMaxScaler(), m.LogisticRegression()).fit(X, y), "MinMaxScaler cannot be exported"),
        (m.NaiveBayes("parzen").fit(X, y), "described by Parzen"),
        (m.LocalLinear().fit(X.iloc[:, :1], X.iloc[:, 1]), "LocalLinear cannot be exported"),
        (m.QuadraticDiscriminantAnalysis().fit(*wide()), "Export with missing=False"),
        (make_pipeline(m.HashingVectorizer(), m.LogisticRegression()).fit(["a b", "c"], [0, 1]), "HashingVectorizer"),
        (
            make_pipeline(m.CountVectorizer(analyzer="char"), m.MultinomialNB()).fit(["a", "b"], [0, 1]),
            "analyzer='char'",
        ),
        (m.Decision(m.GaussianNB().fit(X, y), reject=0.1), "its `model`"),
    ):
        with pytest.raises(ExportError, match=words):
            to_sql(model)


def wide() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 14))
    X[0, 0] = np.nan
    return X, np.repeat([0, 1], 40)


def test_an_unfitted_model_is_rejected() -> None:
    with pytest.raises(ValueError, match="not fitted"):
        to_sql(m.LogisticRegression())


WINE = load_wine(as_frame=True)
FULL_COVARIANCES = {
    "LDA": m.LinearDiscriminantAnalysis(),
    "QDA": m.QuadraticDiscriminantAnalysis(),
    "shared full": m.GaussianDiscriminant("shared full"),
    "full": m.GaussianDiscriminant("full"),
    "scaled": make_pipeline(StandardScaler(), m.LinearDiscriminantAnalysis()),
    "calibrated": m.Calibrated(m.LinearDiscriminantAnalysis(), method="temperature"),
    "isotonic": m.Calibrated(m.GaussianDiscriminant("shared full"), method="isotonic"),
}


@pytest.mark.parametrize("name", FULL_COVARIANCES)
def test_wide_full_covariances_of_complete_rows_are_exported_and_reject_gaps(name: str) -> None:
    """The model integrates missing values out; the export has NULL or NaN for such rows, never another number."""
    model = FULL_COVARIANCES[name].fit(WINE.data, WINE.target)
    check(model, WINE.data, off=1e-8)
    assert obstacle(model) is None
    gaps = WINE.data.head(13).mask(np.eye(13, dtype=bool))  # each column in turn
    assert np.isfinite(model.predict_proba(gaps)).all()
    got = {language: says(model, gaps) for language, says in LANGUAGES.items()}
    for said in got.values():
        assert np.isnan(said.values).all()
    assert got["python"].prediction.tolist() == [None] * 13
    assert pd.isna(got["sql"].prediction).all()


def test_exports_state_which_rows_they_do_not_predict() -> None:
    model = m.LinearDiscriminantAnalysis().fit(WINE.data, WINE.target)
    reason = "Rows with missing values cannot be exported for a full covariance of 13 columns, only for up to 12."
    remark = f"Rows with missing values have no prediction. {reason}"
    assert remark_on(model) == remark
    assert to_sql(model).startswith(f"/* {remark} Their predictions are NULL. */\nWITH ")
    module = ast.parse(to_python(model))
    assert " ".join(str(ast.get_docstring(module)).split()).endswith(
        f"{remark} Their probabilities are NaN and their class is None."
    )
    graph = onnx.load_from_string(to_onnx(model))
    assert graph.doc_string == f"{remark} Their probabilities are NaN, and their label is meaningless."
    with pytest.raises(ExportError, match=re.escape(reason)):
        to_sql(model, missing=True)
    narrow = m.LinearDiscriminantAnalysis().fit(WINE.data.iloc[:, :12], WINE.target)
    assert remark_on(narrow) == ""
    assert to_sql(narrow).startswith("WITH ")


def test_a_wide_full_covariance_of_rows_with_gaps_is_an_obstacle() -> None:
    """The rows to predict have gaps as well, so an export without gaps must be requested explicitly."""
    X = with_gaps(WINE.data, 0.02)
    model = m.LinearDiscriminantAnalysis().fit(X, WINE.target)
    assert str(obstacle(model)).startswith("Rows with missing values cannot be exported")
    check(model, WINE.data, missing=False)
