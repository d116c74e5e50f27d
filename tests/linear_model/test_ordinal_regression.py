"""Proportional odds: the numbers of statsmodels, logistic regression for two classes, and probabilities in order."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import OrdinalRegression
from mercer._errors import DataError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4))
SCORE = X @ [1.0, -0.5, 0.0, 0.3]
Y = np.digitize(SCORE + RNG.logistic(size=600), [-2.0, -0.5, 1.0])


def test_without_a_penalty_it_agrees_with_statsmodels() -> None:
    ordinal_model = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    model = OrdinalRegression(C=np.inf).fit(X, Y)
    peer = ordinal_model.OrderedModel(Y, X, distr="logit")
    found = peer.fit(method="bfgs", gtol=1e-8, disp=0)
    np.testing.assert_allclose(model.coef_, found.params[:4], atol=1e-5)
    np.testing.assert_allclose(model.thresholds_, peer.transform_threshold_params(found.params)[1:-1], atol=1e-5)
    assert model.certificate_.holds


def test_the_penalised_likelihood_is_stationary() -> None:
    """Differentiate the objective numerically from the probabilities, which share no code with the fit's gradient."""
    weight = RNG.integers(1, 4, size=600)
    model = OrdinalRegression(C=0.05).fit(X, Y, sample_weight=weight)

    def objective(point: np.ndarray) -> float:
        below = 1 / (1 + np.exp(-(point[4:] - (X @ point[:4])[:, None])))
        probabilities = np.diff(np.hstack([np.zeros((600, 1)), below, np.ones((600, 1))]), axis=1)
        return float(-weight @ np.log(probabilities[np.arange(600), Y]) + 0.5 / 0.05 * point[:4] @ point[:4])

    best = np.concatenate([model.coef_, model.thresholds_])
    np.testing.assert_allclose(approx_fprime(best, objective, 1e-6), 0, atol=1e-2)
    assert all(objective(best) < objective(best + 0.01 * RNG.normal(size=7)) for _ in range(20))


def test_two_classes_are_logistic_regression() -> None:
    ours = OrdinalRegression(C=0.5).fit(X, Y > 1)
    theirs = LogisticRegression(C=0.5, tol=1e-10).fit(X, Y > 1)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


def test_probabilities_sum_to_one_and_rise_with_the_score() -> None:
    model = OrdinalRegression().fit(X, Y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    order = np.argsort(X @ model.coef_)
    at_most = np.cumsum(probabilities, axis=1)[order, :-1]
    assert (np.diff(at_most, axis=0) <= 1e-12).all()
    np.testing.assert_array_equal(model.predict(X), probabilities.argmax(axis=1))
    far = model.predict_log_proba(1e4 * X[:3])
    assert np.isfinite(far).all()


def test_the_reversed_order_reverses_the_model() -> None:
    names = np.array(["d", "c", "b", "a"])
    one = OrdinalRegression(order=["d", "c", "b", "a"]).fit(X, names[Y])
    other = OrdinalRegression().fit(X, names[Y])  # a to d
    np.testing.assert_allclose(one.coef_, -other.coef_, atol=1e-7)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X)[:, ::-1], atol=1e-7)
    assert one.classes_.tolist() == ["d", "c", "b", "a"]


def test_sparse_and_wide_rows_have_the_same_answer() -> None:
    dense = OrdinalRegression().fit(X, Y)
    sparse = OrdinalRegression().fit(sp.csr_array(X), Y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)
    wide = np.hstack([X, np.zeros((600, 1100))])  # more columns than are factored
    by_products = OrdinalRegression().fit(sp.csr_array(wide), Y)
    np.testing.assert_allclose(by_products.coef_[:4], dense.coef_, atol=1e-5)
    assert "conjugate gradients" in by_products.plan_.path


@pytest.mark.parametrize(("order", "words"), [(["a", "b"], "lacks the label 'c'"), (["a", "b", "c", "c"], "twice")])
def test_an_order_must_contain_every_label_once(order: list[str], words: str) -> None:
    with pytest.raises(DataError, match=words):
        OrdinalRegression(order=order).fit(X[:3], ["a", "b", "c"])


def test_models_are_exported_and_saved(tmp_path: object) -> None:
    model = OrdinalRegression().fit(X, Y)
    path = f"{tmp_path}/model.mercer"
    mercer.save(model, path)
    np.testing.assert_array_equal(mercer.load(path).predict_proba(X), model.predict_proba(X))


def test_follows_the_conventions_of_scikit_learn() -> None:
    check_estimator(OrdinalRegression())


def test_explanations_are_exact_sums_to_the_log_odds_above_the_middle() -> None:
    model = OrdinalRegression().fit(X, Y)
    explanation = mercer.explain_rows(model, X[:5])
    assert (explanation.method, explanation.what, explanation.outputs) == ("exact", "log odds", ("a class above 1",))
    above = model.predict_proba(X[:5])[:, 2:].sum(axis=1)
    np.testing.assert_allclose(explanation.totals[:, 0], np.log(above / (1 - above)), rtol=1e-9)


def test_fewer_rows_than_columns_are_fitted_in_the_space_of_the_rows() -> None:
    """The answer is that of a sparse matrix of the same rows, which keeps all columns."""
    rng = np.random.default_rng(0)
    wide, y = rng.normal(2, 3, size=(40, 330)) * np.exp(rng.normal(size=330)), rng.integers(0, 4, 40)
    weight = rng.random(40)
    for C in (0.01, 1.0):
        rows = OrdinalRegression(C=C).fit(wide, y, weight)
        whole = OrdinalRegression(C=C).fit(sp.csr_array(wide), y, weight)
        assert "space of the rows" in rows.plan_.path
        assert "space of the rows" not in whole.plan_.path
        assert rows.certificate_.holds
        np.testing.assert_allclose(rows.coef_, whole.coef_, rtol=1e-8, atol=1e-8 * np.abs(whole.coef_).max())
        np.testing.assert_allclose(rows.thresholds_, whole.thresholds_, rtol=1e-8)
