"""Probabilities of a support vector classifier: in agreement with its predictions, and calibrated by rows left out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from mercer import SVC
from mercer.kernels import RBF
from tests.svm._sets import real, two_moons


@pytest.mark.parametrize("break_ties", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_most_probable_class_is_predicted(break_ties: bool, kernel: str, rng: np.random.Generator) -> None:
    X, y = make_classification(
        300, 5, n_informative=4, n_redundant=0, n_classes=6, n_clusters_per_class=1, random_state=2
    )
    model = SVC(break_ties=break_ties, kernel=kernel).fit(X, y)
    far = np.vstack([rng.normal(size=(2000, 5)), np.zeros((1, 5)), 100 * rng.normal(size=(500, 5))])
    log, p = model.predict_log_proba(far), model.predict_proba(far)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(far))
    np.testing.assert_array_equal(log.argmax(axis=1), model.predict(far))
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(np.exp(log), p, atol=1e-12)


def test_on_the_boundary_two_classes_are_equally_likely() -> None:
    X, y = np.array([[-1.0], [1.0]]), [0, 1]
    model = SVC(kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[0.0]]), 0.5, atol=1e-12)
    assert model.predict_proba([[0.0]]).argmax() == model.predict([[0.0]])[0]


@pytest.mark.parametrize("name", ["breast_cancer", "digits", "ionosphere", "pima-indians-diabetes"])
def test_probabilities_are_calibrated_on_rows_held_out(name: str, real_data: Any) -> None:
    X, y = real(name, real_data)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    model = SVC().fit(X, y)
    found = log_loss(y_test, model.predict_proba(X_test))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        platt = sklearn.svm.SVC(probability=True, random_state=0).fit(X, y).predict_proba(X_test)
    scale = model._calibration.found["scale"]
    for other in (0.5, 2.0):
        model._calibration.found["scale"] = other * scale
        assert found < log_loss(y_test, model.predict_proba(X_test))
    assert found < log_loss(y_test, platt) + 0.01


def test_leave_one_out_decisions_agree_with_refits() -> None:
    X, y = two_moons(60)
    model = SVC(gamma=1.0, C=1.0, tol=1e-6).fit(X, y)
    left_out = -model._calibration._decisions(model._comparison.among)[:, 0]
    refitted = np.array(
        [
            SVC(gamma=1.0, tol=1e-6).fit(np.delete(X, i, axis=0), np.delete(y, i)).decision_function(X[[i]])[0]
            for i in range(60)
        ]
    )
    trained, sign = model.decision_function(X), np.where(y == 1, 1.0, -1.0)
    alpha = np.zeros(60)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    little = alpha < 0.1  # those hardly change what the others do, as the formula takes for granted
    np.testing.assert_allclose(left_out[little], refitted[little], atol=5e-3)
    assert (alpha[little] > 0).any()
    flattered, left = (sign * (scores - refitted) for scores in (trained, left_out))
    assert abs(left.mean()) < 0.3 * flattered.mean()


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_probabilities_of_many_classes_agree_with_the_kernel_matrix(C: float, rng: np.random.Generator) -> None:
    X, kernel = rng.normal(size=(60, 4)), RBF(gamma=0.3)
    y = np.argmax(X[:, :3] + rng.normal(size=(60, 3)), axis=1)
    by_rows = SVC(C=C, kernel=kernel, tol=1e-8).fit(X, y)
    by_matrix = SVC(C=C, kernel="precomputed", tol=1e-8).fit(kernel(X, X), y)
    np.testing.assert_allclose(by_rows.predict_proba(X), by_matrix.predict_proba(kernel(X, X)), rtol=1e-6)
