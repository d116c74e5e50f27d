"""Changed class priors without a refit, and priors estimated from unlabelled rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import kstest
from sklearn.linear_model import LogisticRegression as ScikitLogistic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    Calibrated,
    ComplementNB,
    Decision,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    MultinomialNB,
    kernelize,
)
from mercer._errors import EmptyDataError, PriorError
from mercer.decision._priors import estimate_priors, find_trained_priors, reweight

MEANS = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
LABELS = np.array(["a", "b", "c"])


def draw(n: int, priors, rng: np.random.Generator):
    y = rng.choice(3, p=priors, size=n)
    return MEANS[y] + rng.normal(size=(n, 2)), LABELS[y]


def truth(X: np.ndarray, priors) -> np.ndarray:
    with np.errstate(divide="ignore"):
        joint = np.log(priors) - ((X[:, None] - MEANS) ** 2).sum(axis=2) / 2
    return joint - logsumexp(joint, axis=1, keepdims=True)


EVEN = np.full(3, 1 / 3)


@pytest.mark.parametrize("priors", [[0.7, 0.2, 0.1], [1 / 3, 1 / 3, 1 / 3], [0.98, 0.01, 0.01], [0.5, 0.5, 0.0]])
def test_known_priors_are_recovered(priors):
    X, _ = draw(4000, priors, np.random.default_rng(0))
    found = estimate_priors(truth(X, EVEN), EVEN, LABELS)
    assert found.priors.sum() == pytest.approx(1)
    assert (np.abs(found.priors - priors) < 4 * found.standard_errors + 0.004).all()
    assert found.certificate.holds
    assert found.shifted == (priors[0] != priors[1] or priors[2] != priors[1])
    assert ("shifted" in found.sentence()) == found.shifted


@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000), n=st.integers(1, 40), trained=st.lists(st.floats(0.01, 1), min_size=3, max_size=3),
    sharp=st.floats(0.0, 50.0),
)  # fmt: skip
def test_the_likelihood_never_falls_and_ends_at_its_maximum(seed, n, trained, sharp):
    rng = np.random.default_rng(seed)
    trained = np.array(trained) / np.sum(trained)
    scores = sharp * rng.normal(size=(n, 3))
    log_p = scores - logsumexp(scores, axis=1, keepdims=True)
    found = estimate_priors(log_p, trained, LABELS)
    assert (np.diff(found.trace) >= 0).all()

    def likelihood(pi):
        with np.errstate(divide="ignore"):
            return logsumexp(log_p - np.log(trained) + np.log(pi), axis=1).mean()

    best = likelihood(found.priors)
    for rival in rng.dirichlet([0.5] * 3, 20):
        assert likelihood(rival) <= best + max(found.certificate.value, 1e-8) + 1e-12
    assert found.certificate.holds


def test_one_step_of_saerens_is_the_mean_posterior():
    """At the maximum, the priors are the mean of the posteriors under them."""
    X, _ = draw(500, [0.6, 0.3, 0.1], np.random.default_rng(1))
    log_p = truth(X, EVEN)
    found = estimate_priors(log_p, EVEN, LABELS)
    again = np.exp(reweight(log_p, EVEN, found.priors, LABELS)).mean(axis=0)
    np.testing.assert_allclose(again, found.priors, atol=1e-6)


def test_without_a_shift_p_values_are_uniform():
    p = []
    for seed in range(150):
        X, _ = draw(200, [0.5, 0.3, 0.2], np.random.default_rng(seed))
        p.append(estimate_priors(truth(X, [0.5, 0.3, 0.2]), np.array([0.5, 0.3, 0.2]), LABELS).p_value)
    assert kstest(p, "uniform").pvalue > 0.01


def test_reweighting_is_bayes_rule_with_other_priors():
    X, _ = draw(50, EVEN, np.random.default_rng(2))
    for priors in ([0.7, 0.2, 0.1], [0.5, 0.5, 0.0]):
        np.testing.assert_allclose(
            reweight(truth(X, EVEN), EVEN, np.array(priors), LABELS), truth(X, np.array(priors)), atol=1e-12
        )


def test_a_row_that_new_priors_make_impossible_gets_the_new_priors():
    log_p = np.array([[0.0, -np.inf, -np.inf], [-np.inf, 0.0, -np.inf]])
    found = np.exp(reweight(log_p, EVEN, np.array([0.0, 0.5, 0.5]), LABELS))
    np.testing.assert_allclose(found, [[0, 0.5, 0.5], [0, 1, 0]])
    with pytest.raises(PriorError, match="prior of 0 for the class 'b'"):
        reweight(log_p, np.array([0.5, 0.0, 0.5]), EVEN, LABELS)


def test_a_model_fitted_with_other_priors_agrees_with_one_whose_priors_were_changed():
    X, y = draw(300, [0.6, 0.3, 0.1], np.random.default_rng(3))
    new = [0.1, 0.1, 0.8]
    for make in (LinearDiscriminantAnalysis, GaussianNB):
        changed = Decision(make().fit(X, y), priors=new)
        np.testing.assert_allclose(changed.predict_proba(X), make(priors=new).fit(X, y).predict_proba(X), atol=1e-10)
        by_label = Decision(make().fit(X, y), priors={"c": 0.8, "a": 0.1, "b": 0.1})
        np.testing.assert_array_equal(by_label.predict_proba(X), changed.predict_proba(X))


def test_training_priors_are_found_inside_wrappers():
    rng = np.random.default_rng(4)
    X, y = draw(200, [0.6, 0.3, 0.1], rng)
    shares = np.array([np.mean(y == label) for label in LABELS])
    counts = rng.poisson(3.0, (200, 4))
    for model in (
        GaussianNB().fit(X, y),
        LinearDiscriminantAnalysis().fit(X, y),
        make_pipeline(StandardScaler(), GaussianNB()).fit(X, y),
        Calibrated(GaussianNB(priors=EVEN), method="platt").fit(X, y),
        Calibrated(ScikitLogistic(), method="isotonic").fit(X, y),
        Decision(GaussianNB(priors=EVEN).fit(X, y), priors=shares),
        MultinomialNB().fit(counts, y),
    ):
        np.testing.assert_allclose(find_trained_priors(model, None), shares)
    np.testing.assert_allclose(find_trained_priors(MultinomialNB(fit_prior=False).fit(counts, y), None), EVEN)
    np.testing.assert_allclose(find_trained_priors(ComplementNB().fit(counts, y), None), EVEN)  # it uses none
    logistic = ScikitLogistic().fit(X, y)
    with pytest.raises(PriorError, match=r"LogisticRegression has no class priors.*trained_priors"):
        Decision(logistic, priors=EVEN).predict(X)
    decision = Decision(logistic, priors=EVEN, trained_priors=dict(zip(LABELS, shares, strict=True)))
    np.testing.assert_allclose(find_trained_priors(logistic, decision.trained_priors), shares)
    fitted = Decision(ScikitLogistic(), priors=EVEN).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), decision.predict_proba(X))
    for model in (ScikitLogistic(class_weight="balanced"), Calibrated(ScikitLogistic(class_weight="balanced"))):
        for inside in (model, make_pipeline(StandardScaler(), model)):
            balanced = Decision(inside, priors=EVEN).fit(X, y)
            np.testing.assert_allclose(balanced.predict_proba(X), balanced.model_.predict_proba(X), atol=1e-12)


def test_class_weights_of_the_inner_model_are_used():
    """A kernelized model uses the class weights of its inner model."""
    X, y = draw(120, [0.7, 0.2, 0.1], np.random.default_rng(10))
    balanced = Decision(kernelize(LogisticRegression(class_weight="balanced"), "rbf"), priors=EVEN).fit(X, y)
    np.testing.assert_allclose(balanced.predict_proba(X), balanced.model_.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
@pytest.mark.parametrize("model", [GaussianNB(), GaussianNB(priors=[0.5, 0.5]), ScikitLogistic()], ids=str)
def test_the_priors_of_calibrated_probabilities_are_found(model, method):
    """Trained where one class is rare, and a column four times over, by which naive Bayes is too sure; used where both
    are as frequent. The mean probability tells whether the old priors were taken out, whatever the calibration did."""
    rng = np.random.default_rng(7)

    def rows(n, rare):
        y = (rng.random(n) < rare).astype(int)
        return np.tile(rng.normal(size=(n, 1)) + 1.5 * y[:, None], (1, 4)), y

    calibrated = Calibrated(model, method=method).fit(*rows(3000, 0.1))
    new, _ = rows(4000, 0.5)
    assert Decision(calibrated, priors=[0.5, 0.5]).predict_proba(new)[:, 1].mean() == pytest.approx(0.5, abs=0.05)


def test_training_priors_of_a_fitted_model_with_temperature_are_unknown():
    X, y = draw(200, [0.6, 0.3, 0.1], np.random.default_rng(8))
    model = Calibrated(ScikitLogistic().fit(X, y), cv="prefit").fit(X, y)
    assert not hasattr(model, "class_prior_")
    with pytest.raises(PriorError, match="trained_priors"):
        Decision(model, priors=EVEN).predict(X)


def test_priors_of_classes_that_the_model_does_not_separate_are_not_identified():
    """Two columns have the ratio of their priors in every row, so that only the third prior is identified."""
    third, trained = np.random.default_rng(9).random(200), np.array([0.15, 0.35, 0.5])
    found = estimate_priors(np.log(np.column_stack([0.3 * (1 - third), 0.7 * (1 - third), third])), trained, LABELS)
    assert np.isinf(found.standard_errors[:2]).all()
    assert 0 < found.standard_errors[2] < 0.2
    assert "does not separate them" in found.sentence()
    assert "'a', 'b'" in found.sentence()
    blind = estimate_priors(np.log(np.tile([0.5, 0.3, 0.2], (50, 1))), np.array([0.5, 0.3, 0.2]), LABELS)
    assert np.isinf(blind.standard_errors).all()
    assert not blind.shifted


def test_estimated_priors_improve_accuracy_on_shifted_rows():
    """If one class is rare in new rows, the estimated priors recover most of the accuracy."""
    rng = np.random.default_rng(5)
    X, y = draw(1500, EVEN, rng)
    new, truly = draw(3000, [0.9, 0.08, 0.02], rng)
    decision = Decision(LinearDiscriminantAnalysis().fit(X, y))
    before = decision.score(new, truly)
    decision.set_params(priors=decision.estimate_priors(new).priors)
    best = np.mean(LABELS[truth(new, [0.9, 0.08, 0.02]).argmax(axis=1)] == truly)
    assert before + 0.03 < decision.score(new, truly)
    assert decision.score(new, truly) > best - 0.01


def test_invalid_priors_are_named():
    X, y = draw(50, EVEN, np.random.default_rng(6))
    model = LinearDiscriminantAnalysis().fit(X, y)
    for priors, match in (([0.5, 0.5], "2 priors"), ([0.5, 0.2, 0.2], "0.9"), ({"d": 1.0}, "'d'")):
        with pytest.raises(PriorError, match=match):
            Decision(model, priors=priors).predict(X)
    with pytest.raises(EmptyDataError, match="no rows"):
        estimate_priors(np.zeros((0, 3)), EVEN, LABELS)
