"""Every model accepts encoded rows, and agrees with the model of one-hot columns."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

import mercer
from mercer import GLM, LogisticRegression, LogisticRegressionCV, PoissonRegressor, Ridge, summary
from mercer._errors import ColumnMismatchError, DataError, EmptyDataError, NonFiniteError, TooLargeError
from mercer.families import L1, L2
from mercer.matrices import CategoricalMatrix, Encoded
from mercer.matrices.encoded import CodePart, NumberPart, SparsePart
from tests.base._estimators import estimator_classes

N = 150
NAMES = [f"column {j}" for j in range(11)]


def rows(seed: int = 0, n: int = N) -> Encoded:
    rng = np.random.default_rng(seed)
    return Encoded.of(
        [
            NumberPart(rng.normal(3.0, 1.0, (n, 2))),
            CodePart(rng.integers(0, 3, n), 3),
            SparsePart(sparse.random(n, 2, 0.5, format="csr", random_state=seed)),
            CodePart(rng.integers(-1, 4, n), 4),
        ],
        names=NAMES,
    )


X = rows()
NEW = rows(1, 20)
ETA = X.toarray() @ np.random.default_rng(2).normal(0.0, 0.5, 11)
TARGETS = {
    "numbers": ETA + np.random.default_rng(3).normal(size=N),
    "classes": (ETA + np.random.default_rng(4).logistic(size=N) > 1).astype(int),
    "three": np.digitize(ETA + np.random.default_rng(5).logistic(size=N), [0.5, 2.0]),
    "counts": np.random.default_rng(6).poisson(np.exp(0.3 * ETA)),
    "positive": np.random.default_rng(7).gamma(2.0, np.exp(0.3 * ETA)),
}

BY_DESIGN: dict[str, tuple[Any, str]] = {
    "GLM gaussian": (GLM("gaussian"), "numbers"),
    "GLM gaussian L2": (GLM("gaussian", penalty=L2(3.0)), "numbers"),
    "GLM bernoulli": (GLM("bernoulli"), "classes"),
    "GLM bernoulli L1": (GLM("bernoulli", penalty=L1(1.0), tol=1e-12), "classes"),
    "GLM categorical L2": (GLM("categorical", penalty=L2(1.0)), "three"),
    "GLM poisson": (GLM("poisson"), "counts"),
    "GLM gamma no intercept": (GLM("gamma", link="log", fit_intercept=False), "positive"),
    "logistic": (LogisticRegression(tol=1e-10), "classes"),
    "logistic of three": (LogisticRegression(tol=1e-10), "three"),
    "logistic without penalty": (LogisticRegression(C=np.inf, tol=1e-10), "classes"),
    "logistic L1": (LogisticRegression(l1_ratio=1.0, solver="saga", tol=1e-12, max_iter=1000), "classes"),
    "logistic by liblinear": (LogisticRegression(solver="liblinear", tol=1e-10), "classes"),
    "logistic CV": (
        LogisticRegressionCV(Cs=3, cv=3, tol=1e-10, l1_ratios=(0,), use_legacy_attributes=False, scoring="accuracy"),
        "classes",
    ),
    "Poisson": (PoissonRegressor(tol=1e-10), "counts"),
    "Poisson without penalty": (PoissonRegressor(alpha=0.0, tol=1e-10), "counts"),
    "Gamma": (mercer.GammaRegressor(tol=1e-10), "positive"),
    "Tweedie": (mercer.TweedieRegressor(power=1.5, tol=1e-10), "counts"),
    "least squares": (mercer.LinearRegression(), "numbers"),
    "Ridge": (Ridge(), "numbers"),
    "Ridge without intercept": (Ridge(fit_intercept=False), "numbers"),
    "Ridge CV": (mercer.RidgeCV(), "numbers"),
    "Lasso": (mercer.Lasso(alpha=0.05, tol=1e-12), "numbers"),
    "elastic net": (mercer.ElasticNet(alpha=0.05, tol=1e-12), "numbers"),
}


@pytest.mark.filterwarnings("ignore::mercer._errors.MercerWarning")  # levels and intercept are collinear
@pytest.mark.parametrize("name", list(BY_DESIGN))
def test_coefficients_agree_with_those_of_one_hot_columns(name: str) -> None:
    model, target = BY_DESIGN[name]
    ours, dense = (clone(model).fit(given, TARGETS[target]) for given in (X, X.toarray()))
    assert_allclose(ours.coef_, dense.coef_, rtol=1e-8, atol=1e-8)
    assert_allclose(ours.intercept_, dense.intercept_, rtol=1e-8, atol=1e-8)
    for method in {"predict", "predict_proba", "decision_function"} & set(dir(ours)):
        expected = getattr(dense, method)(NEW.toarray())
        assert_allclose(getattr(ours, method)(NEW), expected, rtol=1e-7, atol=1e-7)
        assert_allclose(getattr(dense, method)(NEW), expected, rtol=1e-9, atol=1e-9)  # a fit to an array reads codes
        assert_allclose(
            getattr(clone(model).fit(X, TARGETS[target]), method)(NEW[:1]), expected[:1], rtol=1e-7, atol=1e-7
        )
    assert_allclose(ours.score(X, TARGETS[target]), dense.score(X.toarray(), TARGETS[target]), rtol=1e-8)


SUITED: dict[str, dict[str, Any]] = {
    "GaussianDiscriminant": {"covariance": "shared full", "shrinkage": 0.1},
    "KernelBayes": {"bandwidth": 1.0},
    "KernelDensity": {"bandwidth": 1.0},
    "LocalLinear": {"bandwidth": 3.0},
    "LogisticRegressionCV": {"cv": 3},
    "NadarayaWatson": {"bandwidth": 1.0},
    "NadarayaWatsonClassifier": {"bandwidth": 1.0},
    "QuadraticDiscriminantAnalysis": {"reg_param": 0.1},
    "Nystroem": {"random_state": 0, "n_components": 20},
    "RBFSampler": {"random_state": 0},
    "RandomFourierFeatures": {"random_state": 0},
}
#: whose rows are not numbers, or have at most three columns
OTHER_ROWS = {"HistogramDensity", "CategoryFeatures", "TableFeatures"}


def estimators() -> list[Any]:
    classes = [made for made in estimator_classes() if made.__name__ not in OTHER_ROWS]
    suited = [made(**SUITED.get(made.__name__, {})) for made in classes]
    return [made for made in suited if made.__sklearn_tags__().input_tags.two_d_array]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", estimators(), ids=lambda model: type(model).__name__)
def test_every_model_takes_encoded_rows(model: Any) -> None:
    """Convert to a sparse matrix if the model accepts it (results may differ by rounding), else to an array."""
    given, new = (Encoded.of([_positive(part) for part in some.parts], names=NAMES) for some in (X, NEW))
    # columns of a sparse matrix are counts to NaiveBayes, those of an array are whatever they look like
    as_sparse = model.__sklearn_tags__().input_tags.sparse and not isinstance(model, mercer.NaiveBayes)
    plain, plain_new = (some.tocsr() if as_sparse else some.toarray() for some in (given, new))
    y = TARGETS["classes"] + 1
    ours, other = clone(model).fit(given, y), clone(model).fit(plain, y)
    assert ours.n_features_in_ == 11
    for method in ("predict", "predict_proba", "decision_function", "transform", "score_samples"):
        if hasattr(ours, method):
            result, expected = (
                _array(getattr(fitted, method)(some)) for fitted, some in ((ours, new), (other, plain_new))
            )
            assert_allclose(result, expected, rtol=1e-6, atol=1e-6)


def _positive(part: Any) -> Any:
    return NumberPart(np.abs(part.X).round()) if isinstance(part, NumberPart) else part


def _array(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else values


def test_codes_are_never_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither to fit nor to predict: a million rows of a thousand levels would not fit."""

    def fail(*_: Any) -> None:
        raise AssertionError("written out")

    monkeypatch.setattr(Encoded, "toarray", fail)
    monkeypatch.setattr(Encoded, "__array__", fail)
    monkeypatch.setattr(Encoded, "tocsr", fail)
    monkeypatch.setattr(CategoricalMatrix, "dense", fail)
    many = Encoded.of([CodePart(np.arange(1000) % 300, 300), CodePart(np.arange(1000) % 7, 7)])
    y = (np.arange(1000) % 3 == 0).astype(int)
    for model in (LogisticRegression(), GLM("poisson", penalty="l2"), PoissonRegressor(), Ridge(), Ridge(alpha="gcv")):
        assert np.isfinite(model.fit(many, y).predict(many)).all()


# Names and rejections.


def test_models_have_the_names_of_the_columns() -> None:
    for model in (LogisticRegression(), Ridge(), GLM("bernoulli", penalty="l2"), mercer.GaussianNB(), mercer.SVC()):
        model.fit(X, TARGETS["classes"])
        assert model.feature_names_in_.tolist() == NAMES
        assert model.n_features_in_ == 11
        other = Encoded.of(NEW.parts, names=[*NAMES[:-1], "another"])
        with pytest.raises(ColumnMismatchError, match="Column 10 is 'another', but was 'column 10'"):
            model.predict(other)
        with pytest.raises(ColumnMismatchError, match=r"2 features, but .* expecting 11 features"):
            model.predict(Encoded.of(NEW.parts[:1]))
        unnamed = Encoded.of(NEW.parts)
        assert_array_equal(model.predict(unnamed), model.predict(NEW))
    assert not hasattr(Ridge().fit(X, ETA).fit(Encoded.of(X.parts), ETA), "feature_names_in_")


def test_summaries_name_the_columns() -> None:
    y = TARGETS["counts"]
    columns = Encoded.of([X.parts[0], X.parts[3]], names=[*NAMES[:2], *NAMES[7:]])
    ours = summary(GLM("poisson").fit(columns, y), columns, y)
    dense = summary(GLM("poisson").fit(columns.toarray(), y), columns.toarray(), y)
    assert NAMES[7] in str(ours)
    assert_allclose(ours.frame()["standard_error"], dense.frame()["standard_error"], rtol=1e-6)


@pytest.mark.parametrize("model", [LogisticRegression(), PoissonRegressor(), GLM("bernoulli", penalty="l2"), Ridge()])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_that_is_not_finite_is_named(model: Any, bad: float) -> None:
    numbers = X.parts[0].X.copy()
    numbers[17, 1] = bad
    spoilt = Encoded.of([NumberPart(numbers), *X.parts[1:]], names=NAMES)
    with pytest.raises(NonFiniteError, match=r"Column 'column 1'.* row 17"):
        clone(model).fit(spoilt, TARGETS["classes"])
    with pytest.raises(NonFiniteError, match=r"Column 'column 1'.* row 17"):
        clone(model).fit(X, TARGETS["classes"]).predict(spoilt)


def test_rows_and_responses_are_checked() -> None:
    for model in (LogisticRegression(), PoissonRegressor(), GLM("bernoulli", penalty="l2"), Ridge(), mercer.SVC()):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model.fit(X, TARGETS["classes"][:-1])
        with pytest.raises(ValueError, match="requires y to be passed"):
            model.fit(X, None)
        with pytest.raises(EmptyDataError, match="0 sample"):
            model.fit(X[:0], [])
        with pytest.raises(EmptyDataError, match="0 feature"):
            model.fit(Encoded.of([CodePart(np.full(3, -1), 0)]), [0, 1, 0])
    with pytest.raises(DataError, match="NaN"):
        PoissonRegressor().fit(X, np.where(np.arange(N) == 3, np.nan, 1.0))
    with pytest.raises(DataError, match="weight"):
        LogisticRegression().fit(X, TARGETS["classes"], sample_weight=-np.ones(N))


def test_expansion_beyond_memory_is_rejected() -> None:
    n = 1_000_000
    huge = Encoded.of([CodePart(np.zeros(n, dtype=np.int32), n)])
    for model in (mercer.KernelDensity(), mercer.NaiveBayes()):
        with pytest.raises(TooLargeError, match="1,000,000 rows × 1,000,000 columns"):
            model.fit(huge, np.arange(n) % 2)


def test_a_failed_fit_leaves_the_old_model() -> None:
    model = LogisticRegression().fit(X, TARGETS["classes"])
    before = model.predict_proba(NEW)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(Encoded.of(X.parts[:1]), TARGETS["classes"][:-1])
    assert_array_equal(model.predict_proba(NEW), before)


# In company.


def test_folds_and_searches_split_encoded_rows() -> None:
    y = TARGETS["classes"]
    for model in (LogisticRegression(), GLM("bernoulli", penalty="l2"), TheirLogisticRegression(max_iter=1000)):
        assert_allclose(cross_val_score(model, X, y, cv=2), cross_val_score(model, X.toarray(), y, cv=2))
    ours, dense = (
        GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, cv=2).fit(some, y) for some in (X, X.toarray())
    )
    assert ours.best_params_ == dense.best_params_
    forest = RandomForestClassifier(10, random_state=0)
    assert_array_equal(clone(forest).fit(X, y).predict(NEW), clone(forest).fit(X.toarray(), y).predict(NEW.toarray()))


def test_weights_and_offsets_are_used_with_encoded_rows() -> None:
    weight, offset = np.linspace(0.0, 2.0, N), np.linspace(-1.0, 1.0, N)
    ours, dense = (
        GLM("poisson", penalty="l2").fit(some, TARGETS["counts"], sample_weight=weight, offset=offset)
        for some in (X, X.toarray())
    )
    assert_allclose(ours.coef_, dense.coef_, rtol=1e-8, atol=1e-10)


def test_a_model_of_codes_is_pickled() -> None:
    model = LogisticRegression().fit(X, TARGETS["classes"])
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(NEW), model.predict_proba(NEW))


def test_a_split_keeps_rows_encoded() -> None:
    train, test, y, _ = train_test_split(X, TARGETS["classes"], random_state=0)
    assert isinstance(train, Encoded)
    assert train.shape[0] + test.shape[0] == N
    assert_array_equal(np.sort(np.concatenate([train @ np.ones(11), test @ np.ones(11)])), np.sort(X @ np.ones(11)))
    assert LogisticRegression().fit(train, y).predict(test).shape == (len(test),)
