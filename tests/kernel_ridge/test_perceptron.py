"""The perceptron with a kernel: the steps of the linear rule on a linear kernel, and what only kernels can separate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_circles
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import LinearThreshold, Perceptron, kernelize
from mercer._errors import DataError, FitInterrupted, NotConvergedWarning
from mercer.kernel_ridge.perceptron_solver import KernelUnit
from mercer.kernels import RBF, Linear
from tests._ctrl_c import interrupted_at

#: no product of weights with a row is 0, but for rounding, which would decide whether it is a mistake
X = np.random.default_rng(0).normal(size=(150, 3)) + 0.5
THREE = np.digitize(X @ [1.0, -0.5, 0.2] + 0.3 * np.random.default_rng(1).normal(size=150), [0.0, 0.7])
TWO = np.where(THREE == 1, "inside", "outside")

THRESHOLDS: dict[str, dict[str, Any]] = {
    "batch": {},
    "incremental": {"mode": "incremental"},
    "in order": {"mode": "incremental", "shuffle": False},
    "another seed": {"mode": "incremental", "random_state": 5},
    "averaged": {"mode": "incremental", "average": True},
    "batch averaged": {"average": True},
    "falling rate": {"mode": "incremental", "rate": 0.5, "decay": 0.1},
    "no intercept": {"mode": "incremental", "fit_intercept": False},
    "every pass": {"mode": "incremental", "tol": None},
    "every step": {"tol": None},
}
PERCEPTRONS: dict[str, dict[str, Any]] = {
    "default": {},
    "in order": {"shuffle": False},
    "another seed": {"random_state": 5},
    "rate": {"eta0": 0.1},
    "no intercept": {"fit_intercept": False},
    "every pass": {"tol": None, "max_iter": 9},
    "balanced": {"class_weight": "balanced"},
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", THRESHOLDS)
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("weighted", [False, True])
def test_on_a_linear_kernel_it_takes_the_steps_of_linear_threshold(name: str, y: Any, weighted: bool) -> None:
    model = LinearThreshold(**{"max_iter": 9} | THRESHOLDS[name])  # before the linear model tests separability
    weight = np.arange(150) % 3 if weighted else None
    ours, linear = kernelize(model, Linear()).fit(X, y, weight), model.fit(X, y, weight)
    assert ours.n_iter_ == linear.n_iter_
    np.testing.assert_allclose(ours.decision_function(X), linear.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), linear.predict(X))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", PERCEPTRONS)
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_on_a_linear_kernel_it_takes_the_steps_of_perceptron(name: str, y: Any, kind: Any) -> None:
    model, rows, weight = Perceptron(**PERCEPTRONS[name]), kind(X), np.arange(150) % 3 + 1.0
    ours, linear = kernelize(model, Linear()).fit(rows, y, weight), model.fit(rows, y, sample_weight=weight)
    assert ours.n_iter_ == linear.n_iter_
    np.testing.assert_allclose(ours.decision_function(rows), linear.decision_function(rows), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(rows), linear.predict(rows))


@pytest.mark.parametrize("mode", ["batch", "incremental"])
def test_it_converges_if_the_kernel_separates(mode: str) -> None:
    corners, odd = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    model = kernelize(LinearThreshold(mode=mode), RBF(gamma=1)).fit(corners, odd)
    assert model.predict(corners).tolist() == odd
    assert model.certificate_.holds
    circles, y = make_circles(200, noise=0.05, factor=0.5, random_state=0)
    model = kernelize(LinearThreshold(mode=mode), RBF(gamma=1)).fit(circles, y)
    assert model.score(circles, y) == 1
    assert model.certificate_.value == 0


def test_coefficients_count_mistakes() -> None:
    circles, y = make_circles(100, noise=0.05, factor=0.5, random_state=0)
    model = kernelize(Perceptron(), RBF(gamma=1)).fit(circles, y)
    assert np.array_equal(model.dual_coef_, np.round(model.dual_coef_))
    assert (np.sign(model.dual_coef_[y == 1]) >= 0).all()
    assert (np.sign(model.dual_coef_[y == 0]) <= 0).all()
    assert model.intercept_ == model.dual_coef_.sum()
    assert 0 < np.count_nonzero(model.dual_coef_) < 100


def test_classes_that_cannot_be_separated_give_a_warning() -> None:
    with pytest.warns(NotConvergedWarning, match="mistakes"):
        model = kernelize(LinearThreshold(max_iter=5), Linear()).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    assert not model.certificate_.holds
    assert model.certificate_.value == 1  # the best, not the last


def test_after_all_passes_the_mistakes_of_the_last_function_are_counted() -> None:
    rows = np.random.default_rng(7).normal(size=(8, 2))
    y = (rows[:, 0] + 0.3 * rows[:, 1] > 0.1).astype(int)
    threshold = LinearThreshold(tol=None, max_iter=3, average=True, mode="incremental")
    model = kernelize(threshold, "linear").fit(rows, y)
    assert (model.predict(rows) != y).sum() == model.certificate_.value == 1  # a function before it had none


@pytest.mark.parametrize("model", [LinearThreshold(verbose=1), Perceptron(verbose=1)], ids=["lecture", "scikit-learn"])
def test_progress_shows_the_mistakes(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    corners = [[0, 0], [0, 1], [1, 0], [1, 1]]
    for y in ([0, 1, 1, 0], [0, 1, 2, 0]):
        fitted = kernelize(model, RBF(gamma=1)).fit(corners, y)
        assert "KernelPerceptron: " in (shown := capsys.readouterr().out)
        assert f" passes, {fitted.certificate_.value:g} mistakes left" in shown
    kernelize(model, RBF(gamma=1)).set_params(model__verbose=0).fit(corners, y)
    assert capsys.readouterr().out == ""


def test_kernel_rows_that_do_not_fit_into_memory_are_recomputed(monkeypatch: pytest.MonkeyPatch) -> None:
    model = kernelize(Perceptron(), RBF(gamma=1))
    expected = model.fit(X, THREE).dual_coef_
    monkeypatch.setattr("mercer._memory.available_bytes", lambda: 1000)
    np.testing.assert_allclose(model.fit(X, THREE).dual_coef_, expected)


def test_ctrl_c_keeps_what_was_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelUnit, "step_over", interrupted_at(4, KernelUnit.step_over))
    model = kernelize(LinearThreshold(), Linear())
    with pytest.raises(FitInterrupted):
        model.fit(X, TWO)
    assert model.score(X, TWO) > 0.3


def test_ctrl_c_in_a_pass_keeps_the_finished_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelUnit, "pass_over", interrupted_at(2, KernelUnit.pass_over))
    model = kernelize(Perceptron(), Linear())
    with pytest.raises(FitInterrupted):
        model.fit(X, TWO)
    assert model.dual_coef_.any()
    assert model.n_iter_ == 1


def test_invalid_data_are_rejected() -> None:
    model = kernelize(Perceptron(), "rbf")
    with pytest.raises(DataError, match="greater than one"):
        model.fit(X, np.zeros(150))
    with pytest.raises(DataError, match="NaN"):
        model.fit(np.full((4, 2), np.nan), [0, 1, 0, 1])
    with pytest.raises(DataError, match="weight"):
        model.fit(X, THREE, sample_weight=-np.ones(150))
    with pytest.raises(ValueError, match="max_iter"):
        kernelize(Perceptron(max_iter=0), "rbf").fit(X, THREE)


ONE_BY_ONE = "a row learnt twice is not a row of twice the weight: there are two updates, as in scikit-learn"


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@parametrize_with_checks(
    [kernelize(Perceptron(), "rbf"), kernelize(LinearThreshold(max_iter=50), "rbf")],
    expected_failed_checks=lambda estimator: (
        dict.fromkeys(
            ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
            ONE_BY_ONE,
        )
        if isinstance(estimator.model, Perceptron)
        else {}
    ),
)
def test_follows_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
