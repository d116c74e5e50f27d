"""Kernel discriminant analysis: Bayes' rule over kernels around the rows of each class."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from scipy.special import logsumexp
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score

import mercer
from mercer import KernelBayes
from mercer._errors import BandwidthError, DataError, NonFiniteError, UnseenRowsError
from mercer.density import Bandwidth, Gaussian, Scott, bandwidth_from, smoothing_kernel_from


def rings(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A ring around a blob: neither class is an ellipse's neighbour."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    angle = rng.uniform(0, 2 * np.pi, n)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * 3
    return np.where(y[:, None] == 1, ring, 0.0) + rng.normal(0, 0.5, (n, 2)), y


X, Y = rings()


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "triangular", "exponential"])
def test_the_joint_is_prior_times_mean_of_kernels(kernel):
    model = KernelBayes(kernel, bandwidth=[0.7, 0.9]).fit(X, Y)
    K = smoothing_kernel_from(kernel)
    for c in range(2):
        away = (X[:, None, :] - X[c == Y]) / [0.7, 0.9]
        with np.errstate(divide="ignore"):
            log_k = K.log_density(away)
        expected = logsumexp(log_k, axis=1) - np.log((c == Y).sum() * 0.7 * 0.9) + np.log((c == Y).mean())
        np.testing.assert_allclose(model.predict_joint_log_proba(X)[:, c], expected, rtol=1e-9)


def test_a_full_matrix_agrees_with_the_formula_of_lecture_4():
    Sigma = np.array([[0.5, 0.2], [0.2, 0.4]])
    model = KernelBayes(bandwidth=Sigma, priors=[0.5, 0.5]).fit(X, Y)
    for c in range(2):
        points = X[c == Y]
        expected = np.mean([stats.multivariate_normal(point, Sigma).pdf(X[:5]) for point in points], axis=0)
        np.testing.assert_allclose(np.exp(model.predict_joint_log_proba(X[:5])[:, c]), 0.5 * expected, rtol=1e-9)


def test_classes_of_any_shape_are_separated():
    test, labels = rings(500, seed=1)
    assert KernelBayes().fit(X, Y).score(test, labels) > 0.97
    iris = load_iris(return_X_y=True)
    assert cross_val_score(KernelBayes(), *iris, cv=5).mean() > 0.94


def test_every_class_has_its_own_bandwidth_unless_shared():
    own, shared = KernelBayes().fit(X, Y), KernelBayes(shared_bandwidth=True).fit(X, Y)
    for c in range(2):
        expected = bandwidth_from("scott-scaled", X[c == Y], None, Gaussian())
        np.testing.assert_allclose(own.bandwidths_[c].value, expected.value)
    assert shared.bandwidths_[0] is shared.bandwidths_[1]


@pytest.mark.parametrize(
    "bandwidth", ["silverman-scaled", "likelihood-cv", Scott(shape="matrix"), Bandwidth(0.4, sensitivity=0.5)], ids=str
)
def test_every_form_of_bandwidth_is_accepted(bandwidth):
    model = KernelBayes(bandwidth=bandwidth).fit(X, Y)
    assert model.score(*rings(300, seed=2)) > 0.95
    assert model.certificate_.holds
    assert "every row" in str(model.plan_)


def test_the_bandwidth_can_be_searched():
    choices = {"bandwidth": [0.01, 0.3, 30.0], "shared_bandwidth": [False, True]}
    search = GridSearchCV(KernelBayes(), choices, cv=3, scoring="neg_log_loss")
    assert search.fit(X, Y).best_params_["bandwidth"] == 0.3


def test_probabilities_far_away_are_finite():
    far = np.array([[1e3, 0.0], [-1e8, 1e8], [1e200, 0.0]])
    model = KernelBayes().fit(X, Y)
    p = model.predict_proba(far)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert p[0, 1] == pytest.approx(1.0)  # the ring is nearer
    assert np.isfinite(model.log_density(far[:2])).all()


def test_out_of_reach_the_posterior_is_the_prior():
    model = KernelBayes("biweight", priors=[0.3, 0.7]).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba([[50.0, 50.0]]), [[0.3, 0.7]])
    np.testing.assert_array_equal(model.log_density([[50.0, 50.0]]), [-np.inf])
    assert model.predict([[50.0, 50.0]]) == [1]


def test_densities_integrate_to_one_and_samples_have_their_moments():
    model = KernelBayes().fit(X, Y)
    grid = np.linspace(-14, 14, 141)
    points = np.column_stack([each.ravel() for each in np.meshgrid(grid, grid)])
    assert np.exp(model.log_density(points)).sum() * 0.04 == pytest.approx(1, abs=1e-6)
    rows, labels = model.sample(20_000, random_state=1)
    np.testing.assert_allclose((labels == 1).mean(), Y.mean(), atol=0.02)
    for c in range(2):
        inner = np.cov(X[c == Y].T, bias=True) + np.diag(np.square(model.bandwidths_[c].value))
        np.testing.assert_allclose(rows[labels == c].mean(axis=0), X[c == Y].mean(axis=0), atol=0.1)
        np.testing.assert_allclose(np.cov(rows[labels == c].T), inner, atol=0.25)


def test_the_likelihood_ratio_converges_to_the_truth():
    """Two normal classes: the posterior is a logistic function of x, which more rows approach."""
    errors = []
    for n in (100, 3000):
        rng = np.random.default_rng(n)
        y = np.arange(n) % 2
        x = rng.normal(2.0 * y)[:, None]
        grid = np.linspace(-1, 3, 41)[:, None]
        truth = 1 / (1 + np.exp(-(2 * grid[:, 0] - 2)))
        errors.append(np.abs(KernelBayes().fit(x, y).predict_proba(grid)[:, 1] - truth).max())
    assert errors[1] < 0.06 < errors[0]


def test_scale_and_origin_do_not_matter():
    model = KernelBayes().fit(X, Y)
    for scale, origin in ((1e-150, 0.0), (1e150, 0.0), (1.0, 1e8), ([1e-3, 1e5], [5.0, -1e7])):
        moved = X * scale + origin
        p = KernelBayes().fit(moved, Y).predict_proba(moved)
        np.testing.assert_allclose(p, model.predict_proba(X), rtol=1e-5, atol=1e-6)


def test_threads_do_not_matter():
    rows = np.tile(X, (40, 1))
    answers = []
    for threads in (1, 2):
        with mercer.engine(threads=threads):
            answers.append(KernelBayes(bandwidth=0.5).fit(X, Y).predict_joint_log_proba(rows))
    np.testing.assert_array_equal(*answers)


def test_a_constant_column_has_no_effect_unless_the_width_is_given():
    with_constant = pd.DataFrame({"a": X[:, 0], "same": 3.0, "b": X[:, 1]})
    model = KernelBayes().fit(with_constant, Y)
    np.testing.assert_array_equal(model.informative_, [True, False, True])
    np.testing.assert_allclose(model.predict_proba(with_constant), KernelBayes().fit(X, Y).predict_proba(X))
    assert (model.sample(4, random_state=0)[0][:, 1] == 3.0).all()
    assert KernelBayes(bandwidth=0.5).fit(with_constant, Y).informative_.all()


def test_a_constant_class_uses_the_common_bandwidth():
    rows, labels = np.concatenate([X, np.full((4, 2), 9.0)]), np.append(Y, [2, 2, 2, 2])
    model = KernelBayes().fit(rows, labels)
    shared = KernelBayes(shared_bandwidth=True).fit(rows, labels)
    np.testing.assert_array_equal(model.bandwidths_[2].value, shared.bandwidths_[2].value)
    np.testing.assert_array_equal(model.predict([[9.0, 9.1], [0.0, 0.0]]), [2, 0])


def test_an_unseen_class_has_no_density():
    model = KernelBayes().partial_fit(X, Y, classes=[0, 1, 2])
    assert (model.predict_proba(X)[:, 2] == 0).all()
    assert model.windows_[2] is None
    assert (model.with_priors([0.2, 0.2, 0.6]).predict_proba(X)[:, 2] == 0).all()


def test_invalid_input_is_named():
    gaps = pd.DataFrame(X, columns=["a", "b"])
    gaps.loc[7, "b"] = np.nan
    with pytest.raises(NonFiniteError, match="'b' has a missing value in row 7"):
        KernelBayes().fit(gaps, Y)
    model = KernelBayes().fit(gaps.fillna(0.0), Y)
    with pytest.raises(NonFiniteError, match="'b' has a missing value in row 7"):
        model.predict(gaps)
    with pytest.raises(NonFiniteError, match="'a' is inf"):
        model.predict_proba(gaps.assign(a=np.inf))
    with pytest.raises(BandwidthError, match="is constant"):
        KernelBayes().fit(np.ones((6, 2)), Y[:6])
    with pytest.raises(BandwidthError, match="above 0"):
        KernelBayes(bandwidth=-1.0).fit(X, Y)
    with pytest.raises(BandwidthError, match="3 columns"):
        KernelBayes(bandwidth=[1.0, 1.0, 1.0]).fit(X, Y)
    with pytest.raises((TypeError, DataError), match="parse"):
        KernelBayes().fit(sparse.csr_array(X), Y)
    with pytest.raises(UnseenRowsError):
        model.forget(gaps.fillna(1.0), Y)


def test_a_failed_fit_leaves_the_old_model():
    model = KernelBayes().fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(BandwidthError):
        model.fit(np.ones((6, 2)), Y[:6])
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("bandwidth", ["scott-scaled", "likelihood-cv"])
def test_the_rule_is_applied_again_after_learning_and_forgetting(bandwidth):
    """In pieces, merged, and with rows forgotten: as if all had come at once; labels are strings, rows have weights."""
    labels, weight = np.array(["blob", "ring"])[Y], np.random.default_rng(5).uniform(0.5, 2, len(Y))
    first, last = slice(0, 70), slice(70, None)

    def fitted(rows: slice, model: KernelBayes | None = None) -> KernelBayes:
        model = KernelBayes(bandwidth=bandwidth) if model is None else model
        return model.partial_fit(X[rows], labels[rows], sample_weight=weight[rows])

    whole, half = fitted(slice(None)), fitted(first)
    np.testing.assert_allclose(fitted(last, fitted(first)).predict_proba(X), whole.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(fitted(first).merge(fitted(last)).predict_proba(X), whole.predict_proba(X), rtol=1e-6)
    left = whole.forget(X[last], labels[last], sample_weight=weight[last])
    np.testing.assert_allclose(left.predict_proba(X), half.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(left.class_count_, half.class_count_)


def test_a_class_of_one_row_uses_the_common_bandwidth():
    rows, labels = np.concatenate([X, [[9.0, 9.0]]]), np.append(Y, 2)
    for bandwidth in ("scott-scaled", "plugin", "likelihood-cv"):
        model = KernelBayes(bandwidth=bandwidth).fit(rows, labels)
        np.testing.assert_array_equal(model.predict([[9.0, 8.5], [0.0, 0.0]]), [2, 0])


def test_a_class_constant_in_one_column_uses_the_common_bandwidth():
    flat = np.where((Y == 1)[:, None] & [False, True], 3.0, X)
    model = KernelBayes().fit(flat, Y)
    shared = KernelBayes(shared_bandwidth=True).fit(flat, Y)
    np.testing.assert_array_equal(model.bandwidths_[1].value, shared.bandwidths_[1].value)
    assert not np.array_equal(model.bandwidths_[0].value, shared.bandwidths_[0].value)
    assert np.isfinite(model.predict_joint_log_proba(flat)).all()


@pytest.mark.parametrize("change", [np.float32, np.asfortranarray, pd.DataFrame, lambda X: X[::-1][::-1]])
def test_the_layout_of_rows_does_not_matter(change):
    rows = X.astype(np.float32).astype(float)
    rows.flags.writeable = False
    expected = KernelBayes().fit(rows, Y).predict_proba(rows)
    np.testing.assert_allclose(KernelBayes().fit(change(rows), Y).predict_proba(change(rows)), expected, rtol=1e-6)
