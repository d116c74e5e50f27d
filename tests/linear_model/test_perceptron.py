"""The perceptron has scikit-learn's numbers to the last bit, on real data of every kind."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as Theirs

from mercer import Perceptron, engine
from mercer._errors import DataError, FitInterrupted, NonFiniteError
from mercer.linear_model.perceptron import PerceptronUnit
from tests._ctrl_c import interrupted_at
from tests.base._layouts import read_only


def assert_same(ours: Any, theirs: Any) -> None:
    for name in ("coef_", "intercept_", "classes_"):
        mine, their = getattr(ours, name), getattr(theirs, name)
        assert mine.dtype == their.dtype, name
        assert_array_equal(mine, their, err_msg=name)
    assert (ours.n_iter_, ours.t_) == (theirs.n_iter_, theirs.t_)


DATA = {
    "iris, three classes": load_iris,
    "breast cancer, two classes": load_breast_cancer,
    "digits, ten classes": lambda **options: tuple(part[:400] for part in load_digits(**options)),
}
PARAMETERS: list[dict[str, Any]] = [
    {},
    {"shuffle": False},
    {"penalty": "l2"},
    {"penalty": "l2", "alpha": 1.0},
    {"penalty": "l1", "alpha": 1e-3},
    {"penalty": "elasticnet", "alpha": 0.1, "l1_ratio": 0.4},
    {"early_stopping": True, "validation_fraction": 0.2},
    {"early_stopping": True, "penalty": "l2", "n_iter_no_change": 2},
    {"class_weight": "balanced", "eta0": 0.3},
    {"fit_intercept": False, "tol": None, "max_iter": 7},
    {"random_state": 5, "n_jobs": 2},
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
@pytest.mark.parametrize("name", DATA)
def test_all_attributes_agree_with_scikit_learn(
    name: str, parameters: dict[str, Any], dtype: Any, storage: Any
) -> None:
    X, y = DATA[name](return_X_y=True)
    X = storage(X.astype(dtype))
    ours, theirs = Perceptron(**parameters).fit(X, y), Theirs(**parameters).fit(X, y)
    assert_same(ours, theirs)
    assert ours.decision_function(X).dtype == theirs.decision_function(X).dtype


def test_a_real_table_with_text_labels(real_data: Callable[[str], Path]) -> None:
    table = np.genfromtxt(real_data("ionosphere.csv"), delimiter=",", dtype=str)
    X, y = table[:, :-1].astype(float), table[:, -1].astype("U1")
    ours, theirs = Perceptron().fit(X, y), Theirs().fit(X, y)
    assert_same(ours, theirs)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-12)


def test_random_generators_are_used_as_in_scikit_learn() -> None:
    for data in (load_iris, load_breast_cancer):
        X, y = data(return_X_y=True)
        for stopping in (False, True):
            one, other = (np.random.RandomState(3) for _ in range(2))
            ours = Perceptron(random_state=one, early_stopping=stopping).fit(X, y)
            assert_same(ours, Theirs(random_state=other, early_stopping=stopping).fit(X, y))
            assert one.randint(1000) == other.randint(1000)


def test_sample_weights_and_initial_weights() -> None:
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    begin = {"coef_init": rng.normal(size=(3, 4)), "intercept_init": rng.normal(size=3)}
    kept = begin["coef_init"].copy()
    ours = Perceptron().fit(X, y, sample_weight=np.arange(150.0), **begin)
    assert_array_equal(begin["coef_init"], kept)
    assert_same(ours, Theirs().fit(X, y, sample_weight=np.arange(150.0), **begin))


def test_warm_starts_and_single_passes() -> None:
    X, y = load_iris(return_X_y=True)
    ours, theirs = Perceptron(warm_start=True, tol=None, max_iter=3), Theirs(warm_start=True, tol=None, max_iter=3)
    for _ in range(2):
        assert_same(ours.fit(X, y), theirs.fit(X, y))
    ours, theirs = Perceptron(), Theirs()
    for part in (slice(0, 60), slice(60, 150)):
        ours.partial_fit(X[part], y[part], classes=[0, 1, 2])
        assert_same(ours, theirs.partial_fit(X[part], y[part], classes=[0, 1, 2]))


def test_threads_do_not_change_the_result() -> None:
    X, y = load_digits(return_X_y=True)
    alone = Perceptron(n_jobs=1).fit(X, y)
    with engine(threads=2):
        together = Perceptron().fit(X, y)
    assert (alone.plan_.threads, together.plan_.threads) == (1, 2)
    assert_same(together, alone)


def test_warnings_agree_with_scikit_learn() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="Maximum number of iteration reached"):
        Perceptron(max_iter=2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Perceptron(max_iter=2, tol=None).fit(X, y)


def test_the_certificate_counts_rows_on_the_wrong_side() -> None:
    X, y = load_iris(return_X_y=True)
    apart = Perceptron().fit(X, y == 0)
    assert apart.certificate_.holds
    mixed = Perceptron().fit(X, y == 1)
    assert mixed.certificate_.value == (mixed.predict(X) != (y == 1)).sum()


def test_weights_can_be_stored_sparse() -> None:
    X, y = load_digits(return_X_y=True)
    model = Perceptron(penalty="l1", alpha=1e-3).fit(X, y)
    expected = model.predict(X)
    assert sparse.issparse(model.sparsify().coef_)
    assert_array_equal(model.predict(X), expected)
    assert isinstance(model.densify().coef_, np.ndarray)


def test_progress_is_printed_as_in_scikit_learn(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = load_iris(return_X_y=True)
    Perceptron(verbose=1, tol=None, max_iter=2).fit(X, y == 0)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "-- Epoch 1"
    assert printed[1].startswith("Norm: ")
    assert "NNZs: 4" in printed[1]
    assert len(printed) == 6


def test_an_interruption_keeps_the_learnt_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    monkeypatch.setattr(PerceptronUnit, "learn", interrupted_at(3, PerceptronUnit.learn))
    model = Perceptron()
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert model.n_iter_ == 2
    assert_array_equal(model.coef_, Theirs(max_iter=2, tol=None).fit(X, y).coef_)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda X, y: (np.where(np.isclose(X, X[3, 2]), np.nan, X), y), NonFiniteError, "Input X contains NaN.*'x2'"),
        (
            lambda X, y: (np.where(np.isclose(X, X[3, 2]), np.inf, X), y),
            NonFiniteError,
            "Input X contains infinity.*'x2'",
        ),
        (lambda X, y: (X, np.zeros(len(y))), DataError, "greater than one; got 1 class"),
        (lambda X, y: (X, y + 0.5), DataError, "Unknown label type"),
        (lambda X, y: (X, None), DataError, "requires y to be passed"),
    ],
)
def test_invalid_input_is_rejected_and_leaves_the_old_model(change: Any, error: Any, words: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = Perceptron().fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(error, match=words):
        model.fit(*change(X, y))
    assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("classes", [[], [0], [0, 1], [1, 2, 3]])
def test_labels_that_were_not_announced_are_rejected(classes: list[int]) -> None:
    X, y = load_iris(return_X_y=True)
    first = 1 if classes == [0] else 2 if 0 in classes else 0
    with pytest.raises(
        DataError, match=rf"^classes should include all valid labels that can be in y\. .* is {first}\."
    ):
        Perceptron().partial_fit(X, y, classes=classes)


def test_options_incompatible_with_partial_fit_are_rejected() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="early_stopping should be False with partial_fit"):
        Perceptron(early_stopping=True).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="class_weight 'balanced' is not supported for partial_fit"):
        Perceptron(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        Perceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match="is not the same as on last call"):
        Perceptron().partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="coef_init does not match dataset"):
        Perceptron().fit(X, y, coef_init=np.zeros((3, 5)))


def test_weights_that_overflow_give_the_error_of_scikit_learn() -> None:
    X = np.array([[1.0, 3.0], [2.0, -1.0]] * 3)
    for model in (Perceptron(eta0=1e308), Theirs(eta0=1e308)):
        with pytest.raises(ValueError, match="Floating-point under-/overflow occurred at epoch #1"):
            model.fit(X, [0, 1, 1, 0, 1, 0])


def test_inputs_of_other_kinds_give_the_same_weights() -> None:
    X, y = load_iris(return_X_y=True)
    expected = Perceptron().fit(X, y)
    for same in (np.asfortranarray(X), read_only(X), X.tolist()):
        assert_same(Perceptron().fit(same, y), expected)


def test_weights_too_large_for_the_type_of_the_rows_are_rejected() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(DataError, match=r"1e\+150 is too large for float32"):
        Perceptron().fit(X.astype(np.float32), y, sample_weight=np.full(len(y), 1e150))
