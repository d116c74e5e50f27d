"""Support vector classification: the optimum and its proof, scikit-learn's numbers, and what is new."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_circles, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from mercer import SVC
from mercer._errors import (
    AsymmetricKernelError,
    ColumnTypeError,
    DataError,
    FitInterrupted,
    IndefiniteKernelWarning,
    KernelShapeError,
    NonFiniteError,
)
from mercer.kernels import RBF, FromFunction, Linear, Polynomial, Spectrum, WeisfeilerLehman
from tests._ctrl_c import stop_at_iteration
from tests.svm._sets import XOR, real, two_moons

Array = np.ndarray


def dual_objective(K: Array, y: Array, beta: Array) -> float:
    return float(y @ beta - 0.5 * beta @ K @ beta)


# The optimum.


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_optimality_conditions_hold_at_the_returned_point(kernel: str, fit_intercept: bool) -> None:
    X, labels = two_moons()
    y = np.where(labels == 1, 1.0, -1.0)
    model = SVC(kernel=kernel, C=2.0, gamma=1.0, coef0=1.0, fit_intercept=fit_intercept, tol=1e-5).fit(X, labels)
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.dual_coef_[0] * y[model.support_]
    assert alpha.min() >= 0
    assert alpha.max() <= 2.0
    margin = y * model.decision_function(X)
    inside = (alpha > 0) & (alpha < 2.0)
    assert np.all(margin[alpha == 0] >= 1 - 1e-4)
    assert np.all(margin[alpha == 2.0] <= 1 + 1e-4)
    np.testing.assert_allclose(margin[inside], 1, atol=1e-4)
    if fit_intercept:
        assert abs(alpha @ y) < 1e-10
    else:
        assert model.intercept_ == 0
    assert model.certificate_.holds
    assert model.certificate_.kind == "KKT"


def test_primal_equals_dual_at_the_optimum() -> None:
    X, labels = two_moons()
    y = np.where(labels == 1, 1.0, -1.0)
    model = SVC(C=3.0, gamma=1.0, tol=1e-6).fit(X, labels)
    beta = np.zeros(len(X))
    beta[model.support_] = model.dual_coef_[0]
    K = RBF(gamma=1.0)(X)
    primal = 0.5 * beta @ K @ beta + 3.0 * np.maximum(0, 1 - y * model.decision_function(X)).sum()
    dual = dual_objective(K, y, beta)
    assert primal == pytest.approx(dual, rel=1e-4)
    assert model.certificate_.dual == pytest.approx(dual, rel=1e-9)
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-9)
    assert 0 <= model.certificate_.gap < 1e-3


@pytest.mark.compiled("takes minutes as plain Python")
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("seed", [0, 4, 11])
def test_the_optimum_is_found_with_weights_over_twelve_decades(seed: int, fit_intercept: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y, weight = X[:, 0] + rng.normal(size=60) > 0, 10.0 ** rng.uniform(-6, 6, size=60)
    model = SVC(kernel="linear", C=406, tol=1e-6, fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    margin = np.where(y, 1.0, -1.0) * model.decision_function(X)
    primal = 0.5 * float(np.sum(model.coef_**2)) + 406 * float(weight @ np.maximum(0, 1 - margin))
    assert model.certificate_.holds
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-6)
    assert model.certificate_.gap <= 1e-5 * primal
    assert model.n_iter_[0] < 100_000


def test_coefficients_of_columns_agree_with_the_support_vectors() -> None:
    X, y = load_iris(return_X_y=True)
    for labels in (y, y == 0):
        model = SVC(kernel="linear", decision_function_shape="ovo").fit(X, labels)
        scores = X @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(scores.squeeze(), model.decision_function(X), atol=1e-10)
    np.testing.assert_allclose(model.coef_, model.dual_coef_ @ model.support_vectors_)
    same = SVC(kernel=Linear()).fit(X, y == 0)
    np.testing.assert_allclose(same.coef_, model.coef_, atol=1e-8)


# scikit-learn's numbers.


@pytest.mark.parametrize("name", ["digits", "breast_cancer", "ionosphere", "pima-indians-diabetes"])
@pytest.mark.parametrize("options", [{}, {"kernel": "linear", "C": 0.1}, {"C": 50.0}], ids=str)
def test_results_on_real_data_agree_with_scikit_learn(name: str, options: dict[str, Any], real_data: Any) -> None:
    X, y = real(name, real_data)
    ours, theirs = SVC(**options).fit(X, y), sklearn.svm.SVC(**options).fit(X, y)
    assert np.mean(ours.predict(X) == theirs.predict(X)) >= 0.999
    K = Linear()(X) if options.get("kernel") == "linear" else RBF(gamma=1 / (X.shape[1] * X.var()))(X)
    codes = np.searchsorted(ours.classes_, y)
    n_classes = len(ours.classes_)
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    for p, (i, j) in enumerate(pairs):
        values = []
        for model in (ours, theirs):
            ends = np.concatenate([[0], np.cumsum(model.n_support_)])
            beta = np.zeros(len(X))
            for k, row in ((i, j - 1), (j, i)):
                of_class = slice(ends[k], ends[k + 1])
                beta[model.support_[of_class]] = np.asarray(model._dual_coef_)[row, of_class]
            sign = np.where(codes == i, 1.0, np.where(codes == j, -1.0, 0.0))
            values.append(dual_objective(K, sign, beta))
        assert values[0] == pytest.approx(values[1], rel=1e-5)
        assert ours.certificates_[p].dual == pytest.approx(values[0], rel=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_rows_in_single_precision_agree_with_scikit_learn(n_classes: int) -> None:
    X, y = make_classification(2400, 8, n_informative=6, n_classes=n_classes, flip_y=0.05, random_state=4)
    ours, theirs = SVC(cache_size=20).fit(X, y), sklearn.svm.SVC().fit(X, y)
    assert ours.plan_.dtype == "float32"
    assert np.mean(ours.predict(X) == theirs.predict(X)) >= 0.999
    assert ours.certificate_.holds
    K = RBF(gamma=ours._gamma)(X)
    values = []
    for model in (ours, theirs):
        beta = np.zeros(len(X))
        of_first_pair = np.isin(y[model.support_], (0, 1))
        beta[model.support_[of_first_pair]] = np.asarray(model._dual_coef_)[0, of_first_pair]
        values.append(dual_objective(K, np.where(y == 0, 1.0, np.where(y == 1, -1.0, 0.0)), beta))
    assert values[0] == pytest.approx(values[1], rel=1e-5)


@pytest.mark.parametrize("labels", [2, 3])
def test_the_cache_does_not_change_the_result(labels: int) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y < labels], y[y < labels]
    expected = SVC(tol=1e-6).fit(X, y).decision_function(X)
    for size in (1e-6, 0.02, 1.0):
        np.testing.assert_allclose(SVC(tol=1e-6, cache_size=size).fit(X, y).decision_function(X), expected, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("sparse", [True, False])
def test_layout_signs_and_shapes_agree_with_scikit_learn(n_classes: int, sparse: bool) -> None:
    X, y = make_classification(150, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=1)
    X = sp.csr_matrix(X) if sparse else X
    options = {"tol": 1e-6, "class_weight": "balanced", "C": 0.7, "decision_function_shape": "ovo"}
    ours, theirs = SVC(**options).fit(X, y), sklearn.svm.SVC(**options).fit(X, y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    assert ours.shape_fit_ == theirs.shape_fit_
    for name in ("dual_coef_", "support_vectors_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert type(mine) is type(other)
        dense = (mine.toarray(), other.toarray()) if sparse else (mine, other)
        np.testing.assert_allclose(*dense, atol=1e-3)
    for name in ("support_", "n_support_", "intercept_", "n_iter_"):
        assert getattr(ours, name).dtype == getattr(theirs, name).dtype
        assert getattr(ours, name).shape == getattr(theirs, name).shape


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("break_ties", [True, False])
def test_votes_agree_with_scikit_learn(shape: str, break_ties: bool) -> None:
    X, y = load_digits(return_X_y=True)
    options = {"decision_function_shape": shape, "break_ties": break_ties and shape == "ovr", "gamma": 0.01}
    ours, theirs = SVC(**options).fit(X[:500], y[:500]), sklearn.svm.SVC(**options).fit(X[:500], y[:500])
    assert np.mean(ours.predict(X) == theirs.predict(X)) >= 0.999
    assert ours.decision_function(X).shape == theirs.decision_function(X).shape


@pytest.mark.parametrize("name", ["sigmoid", "poly"])
@pytest.mark.filterwarnings("ignore::mercer._errors.IndefiniteKernelWarning")
def test_a_negative_constant_is_treated_as_in_scikit_learn(name: str) -> None:
    X, y = two_moons()
    options = {"kernel": name, "gamma": 0.5, "coef0": -0.5, "degree": 2}
    ours, theirs = SVC(**options).fit(X, y), sklearn.svm.SVC(**options).fit(X, y)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.95


# What the lectures separate.


def test_xor_is_learnt() -> None:
    X, y = XOR
    assert SVC(kernel=Polynomial(degree=2), C=1e3).fit(X, y).score(X, y) == 1
    assert SVC(kernel="rbf", C=1e3).fit(X, y).score(X, y) == 1
    assert SVC(kernel="linear", C=1e3).fit(X, y).score(X, y) < 1


def test_circles_by_a_kernel_and_by_its_feature_map() -> None:
    X, y = make_circles(200, noise=0.03, factor=0.5, random_state=0)
    assert SVC(kernel="rbf").fit(X, y).score(X, y) == 1
    mapped = np.column_stack([X, (X**2).sum(axis=1)])  # (x₁, x₂, x₁² + x₂²) of lecture 1
    assert SVC(kernel="linear", C=10).fit(mapped, y).score(mapped, y) == 1
    assert (
        SVC(kernel=Linear().of(lambda rows: np.column_stack([rows, (rows**2).sum(axis=1)])), C=10).fit(X, y).score(X, y)
        == 1
    )


def test_a_quadratic_boundary_is_learnt(rng: np.random.Generator) -> None:
    X = rng.uniform(-1, 1, size=(300, 2))
    y = X[:, 1] > X[:, 0] ** 2
    assert SVC(kernel="poly", degree=2, coef0=1, gamma=1.0, C=1e4).fit(X, y).score(X, y) == 1


# Kernels of all kinds.


def test_names_objects_functions_and_matrices_agree() -> None:
    X, y = load_iris(return_X_y=True)
    K = RBF(gamma=0.5)(X)
    expected = SVC(gamma=0.5, tol=1e-6).fit(X, y).decision_function(X)
    for kernel in (RBF(gamma=0.5), lambda A, B: RBF(gamma=0.5)(A, B), lambda x, z: np.exp(-0.5 * ((x - z) ** 2).sum())):
        model = SVC(kernel=kernel, tol=1e-6).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-4)
    model = SVC(kernel="precomputed", tol=1e-6).fit(K, y)
    np.testing.assert_allclose(model.decision_function(K), expected, atol=1e-4)
    np.testing.assert_array_equal(model.predict_proba(K).argmax(axis=1), model.predict(K))


def test_texts_are_compared_by_a_kernel_of_texts() -> None:
    words, y = ["aab", "aba", "aaa", "bcc", "ccb", "ccc"], [0, 0, 0, 1, 1, 1]

    def shared(x: str, z: str) -> float:
        return float(sum(x.count(letter) * z.count(letter) for letter in "abc"))

    for kernel in (shared, FromFunction(shared), Spectrum(1)):
        model = SVC(kernel=kernel).fit(words, y)
        assert model.predict_proba(words).argmax(axis=1).tolist() == y
        assert model.predict(["baa", "cbc"]).tolist() == [0, 1]


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(), "weisfeiler_lehman"])
def test_graphs_are_compared_by_a_kernel_of_graphs(kernel: Any) -> None:
    sizes = [*range(4, 12)] * 2
    paths = [np.array([[i, i + 1] for i in range(n - 1)]) for n in sizes]
    rings = [np.vstack([path, [[n - 1, 0]]]) for n, path in zip(sizes, paths, strict=True)]
    graphs = [(edges, np.zeros(n, dtype=int)) for n, edges in zip(2 * sizes, paths + rings, strict=True)]
    y = np.repeat([0, 1], len(sizes))
    model = SVC(kernel=kernel).fit(graphs, y)
    np.testing.assert_array_equal(model.predict(graphs), y)
    assert model.predict_proba(graphs).shape == (len(y), 2)


def test_texts_may_be_compared_by_name() -> None:
    texts, y = ["abab", "aabb", "cdcd", "ccdd"] * 3, [0, 0, 1, 1] * 3
    assert SVC(kernel="spectrum").fit(texts, y).score(texts, y) == 1.0


def test_parameters_of_a_kernel_can_be_searched() -> None:
    X, y = two_moons()
    search = GridSearchCV(SVC(kernel=RBF(gamma=1)), {"kernel__gamma": [1e-4, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel__gamma": 1.0}


# What is new.


def test_a_path_of_prices_begins_where_the_last_fit_ended() -> None:
    X, y = load_iris(return_X_y=True)
    warm = SVC(C=1.0, warm_start=True, tol=1e-5).fit(X, y)
    again = clone(warm).fit(X, y).fit(X, y)
    assert again.n_iter_.sum() == 0
    for C in (3.0, 0.5):
        warm.set_params(C=C).fit(X, y)
        cold = SVC(C=C, tol=1e-5).fit(X, y)
        np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-3)
        assert warm.certificate_.holds
    warm.fit(X[:100], y[:100])
    np.testing.assert_array_equal(warm.predict(X[:100]), SVC(C=0.5).fit(X[:100], y[:100]).predict(X[:100]))


def test_a_warm_start_at_an_infinite_price_stays_at_the_optimum() -> None:
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), [0, 0, 1, 1]
    model = SVC(kernel="linear", C=np.inf, warm_start=True).fit(X, y)
    np.testing.assert_allclose(model.fit(X, y).dual_coef_, [[-0.5, 0.5]])
    assert model.certificate_.holds


def test_rounding_of_a_warm_start_does_not_affect_the_intercept() -> None:
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(300, 5)), rng.integers(0, 30, 300)
    warm = SVC(C=1.0, warm_start=True, tol=1e-8).fit(X, y).set_params(C=0.01).fit(X, y)
    np.testing.assert_allclose(warm.intercept_, SVC(C=0.01, tol=1e-8).fit(X, y).intercept_, atol=1e-6)


def test_a_fit_out_of_time_is_feasible_and_reports_its_gap() -> None:
    X, y = two_moons(400)
    with pytest.warns(ConvergenceWarning, match="time_limit.*KKT.*gap"):
        model = SVC(C=100.0, gamma=3.0, time_limit=0.0).fit(X, y)
    assert not model.certificate_.holds
    assert model.fit_status_ == 1
    assert abs(model.dual_coef_.sum()) < 1e-9
    assert np.abs(model.dual_coef_).max(initial=0) <= 100
    assert model.predict(X).shape == (400,)


def test_a_callback_receives_the_gap_and_may_end_the_fit() -> None:
    X, y = two_moons(400)
    reports: list[Any] = []
    SVC(C=100.0, callback=reports.append).fit(X, y)
    assert reports[-1].violation <= 1e-3
    assert reports[-1].gap >= -1e-9
    assert reports[-1].iterations >= reports[0].iterations
    with pytest.warns(ConvergenceWarning, match="stopped"):
        model = SVC(C=100.0, callback=lambda progress: True).fit(X, y)
    assert not model.certificate_.holds


def test_an_interruption_keeps_the_best_point_so_far() -> None:
    X, y = load_iris(return_X_y=True)
    model = SVC(C=10.0, callback=stop_at_iteration(6))
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert not model.certificate_.holds
    assert len(model.certificates_) == 3
    assert all(hasattr(certificate, "gap") for certificate in model.certificates_)
    assert model.predict(X).shape == (150,)


def test_progress_is_shown_only_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = two_moons()
    SVC().fit(X, y)
    assert capsys.readouterr().out == ""
    SVC(verbose=True).fit(X, y)
    assert "gap" in capsys.readouterr().out


def test_frames_single_precision_and_memory_order_do_not_matter() -> None:
    X, y = two_moons()
    X = X.astype(np.float32)
    expected = SVC().fit(X.astype(float), y).decision_function(X)
    frame = pd.DataFrame(X, columns=["a", "b"])
    read_only = np.asfortranarray(X, dtype=float)
    read_only.flags.writeable = False
    for rows in (X, frame, read_only):
        np.testing.assert_allclose(SVC().fit(rows, y).decision_function(rows), expected, atol=1e-6)
    assert SVC().fit(frame, y).feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize(("offset", "scale"), [(1e8, 1.0), (0.0, 1e140), (0.0, 1e-140)])
def test_offsets_and_units_do_not_matter_to_distances(offset: float, scale: float) -> None:
    X, y = two_moons()
    X = np.round(X, 6)
    expected = SVC(gamma=1.0).fit(X, y).predict(X)
    moved = X * scale + offset
    assert np.mean(SVC(gamma=1.0 / scale**2).fit(moved, y).predict(moved) == expected) > 0.99


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("labels", [2, 3])
def test_a_linear_machine_far_from_the_origin_agrees_with_the_centred_one(labels: int, sparse: bool) -> None:
    X, y = make_classification(150, 4, n_informative=4, n_redundant=0, n_classes=labels, random_state=0)
    X = np.round(X, 6)
    moved = sp.csr_matrix(X + 1e8) if sparse else X + 1e8
    original, away = SVC(kernel="linear", tol=1e-6).fit(X, y), SVC(kernel="linear", tol=1e-6).fit(moved, y)
    assert away.certificate_.holds
    np.testing.assert_allclose(away.decision_function(moved), original.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(away.predict_proba(moved), original.predict_proba(X), atol=1e-4)
    if labels == 2 and not sparse:
        np.testing.assert_allclose(moved @ away.coef_[0] + away.intercept_, away.decision_function(moved), atol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("scale", [2.0**-500, 2.0**-30, 2.0**500])
def test_units_of_a_linear_kernel_scale_the_price(scale: float, fit_intercept: bool) -> None:
    X, y = two_moons()
    options: dict[str, Any] = {"kernel": "linear", "fit_intercept": fit_intercept}
    original = SVC(**options).fit(X, y)
    scaled = SVC(C=1 / scale**2, **options).fit(X * scale, y)
    assert scaled.n_iter_ == original.n_iter_
    np.testing.assert_allclose(scaled.decision_function(X * scale), original.decision_function(X))
    np.testing.assert_allclose(scaled.predict_proba(X * scale), original.predict_proba(X))


def test_it_can_be_pickled_before_and_after_computing_probabilities() -> None:
    X, y = load_iris(return_X_y=True)
    model = SVC().fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


# Bad input.


def test_invalid_parameters_are_rejected() -> None:
    X, y = XOR
    for options in ({"C": 0.0}, {"C": -1.0}, {"tol": 0.0}, {"kernel": "rfb"}, {"scaling": "median"}, {"gamma": "wide"}):
        with pytest.raises(ValueError, match=next(iter(options))):
            SVC(**options).fit(X, y)


def test_lengths_of_texts_and_labels_are_compared() -> None:
    for kernel in (Spectrum(2), "spectrum"):
        with pytest.raises(DataError, match="one y for each"):
            SVC(kernel=kernel).fit(["ab", "cd", "ef"], [0, 1])
        with pytest.raises(DataError, match="0 sample"):
            SVC(kernel=kernel).fit([], [])


def test_gaps_and_text_are_named() -> None:
    X, y = two_moons(20)
    X[3, 1] = np.nan
    with pytest.raises(NonFiniteError, match=r"NaN.*'x1'.*row 3"):
        SVC().fit(X, y)
    with pytest.raises(NonFiniteError, match=r"'x1'.*row 3"):
        SVC().fit(np.nan_to_num(X), y).predict(X)
    with pytest.raises(NonFiniteError, match="row 2"):
        SVC().fit(np.nan_to_num(X), y, sample_weight=np.where(np.arange(20) == 2, np.nan, 1.0))
    with pytest.raises(ColumnTypeError, match=r"'a'.*'red'"):
        SVC().fit(pd.DataFrame({"a": ["red", "blue"]}), [0, 1])


def test_invalid_kernel_matrices_are_rejected() -> None:
    with pytest.raises(DataError, match="square"):
        SVC(kernel="precomputed").fit(np.ones((2, 3)), [0, 1])
    with pytest.raises(AsymmetricKernelError, match="rows 0 and 1"):
        SVC(kernel="precomputed").fit(np.array([[1.0, 0.5], [0.0, 1.0]]), [0, 1])
    with pytest.raises(AsymmetricKernelError):
        SVC(kernel=lambda A, B: A @ np.array([[0.0, 1.0], [0.0, 0.0]]) @ B.T).fit(*XOR)
    with pytest.raises(KernelShapeError):
        SVC(kernel=lambda A, B: A).fit(*XOR)
    with pytest.raises(TypeError, match="Sparse precomputed"):
        SVC(kernel="precomputed").fit(sp.eye(2).tocsr(), [0, 1])
    fitted = SVC(kernel="precomputed").fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="3 features, but SVC is expecting 4"):
        fitted.predict(np.eye(3))


def test_a_kernel_matrix_may_be_of_single_precision() -> None:
    X, y = two_moons()
    K = RBF(gamma=1.0)(X)
    K = K * (1 + 1e-7 * np.random.default_rng(0).normal(size=K.shape))  # not quite symmetric, nor quite definite
    expected = SVC(gamma=1.0).fit(X, y).predict(X)
    assert np.array_equal(SVC(kernel="precomputed").fit(K.astype(np.float32), y).predict(K), expected)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_an_indefinite_kernel_is_explained_and_the_fit_ends(fit_intercept: bool) -> None:
    X, y = two_moons(60)
    K = -RBF(gamma=1.0)(X) + 0.1 * np.eye(60)
    with pytest.warns(IndefiniteKernelWarning, match="not positive definite.*use a positive definite kernel"):
        model = SVC(kernel="precomputed", fit_intercept=fit_intercept).fit(K, y)
    assert not model.diagnosis_.holds
    assert model.predict(K).shape == (60,)
    assert SVC().fit(X, y).diagnosis_.kind == "by construction"


def test_a_failed_fit_leaves_the_old_model() -> None:
    X, y = two_moons()
    model = SVC().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(DataError, match="greater than one"):
        model.fit(X, np.zeros(len(X)))
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_sparse_rows_need_a_sparse_fit() -> None:
    X, y = two_moons()
    with pytest.raises(DataError, match="cannot use sparse input in 'SVC' trained on dense data"):
        SVC().fit(X, y).predict(sp.csr_matrix(X))
    both = SVC().fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(both.decision_function(X), both.decision_function(sp.csr_matrix(X)))
