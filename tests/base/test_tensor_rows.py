"""Generative classifiers of tensors are those of arrays: the same attributes, predictions and errors."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.covariance import OAS
from sklearn.exceptions import NotFittedError

from mercer import GaussianDiscriminant, GaussianNB, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mercer._errors import (
    ColumnMismatchError,
    DataError,
    DeviceError,
    DeviceMemoryError,
    EmptyDataError,
    NonFiniteError,
    UnseenRowsError,
)
from mercer._gpu import chunks
from mercer.base import generative

torch = pytest.importorskip("torch")

MODELS: dict[str, Callable[[], Any]] = {
    "GaussianNB": GaussianNB,
    "GaussianNB shared": lambda: GaussianNB(shared_variance=True, var_smoothing=0.01),
    "GaussianNB priors": lambda: GaussianNB(priors=[0.2, 0.3, 0.5]),
    "LDA": LinearDiscriminantAnalysis,
    "LDA one direction": lambda: LinearDiscriminantAnalysis(n_components=1, store_covariance=True),
    "LDA eigen": lambda: LinearDiscriminantAnalysis(solver="eigen", priors=[0.2, 0.3, 0.5]),
    "LDA lsqr": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1),
    "LDA auto": lambda: LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    "QDA": lambda: QuadraticDiscriminantAnalysis(reg_param=0.01, store_covariance=True),
    "QDA auto": lambda: QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    "GaussianDiscriminant": GaussianDiscriminant,
    "GaussianDiscriminant diagonal": lambda: GaussianDiscriminant("diagonal"),
    "GaussianDiscriminant shared full": lambda: GaussianDiscriminant("shared full", shrinkage="oas"),
    "GaussianDiscriminant shared spherical": lambda: GaussianDiscriminant("shared spherical"),
}
FOUR = ("GaussianNB", "LDA", "QDA", "GaussianDiscriminant")
METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_joint_log_proba",
    "log_density",
    "decision_function",
    "transform",
)
each = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
each_of_four = pytest.mark.parametrize("make", [MODELS[name] for name in FOUR], ids=FOUR)


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(3, size=400)
    return rng.normal(size=(400, 4)) * [1.0, 5.0, 0.5, 30.0] + np.outer(y, [1.0, -2.0, 0.3, 10.0]), y


def tensors(*arrays: Any) -> list[Any]:
    return [None if a is None else torch.as_tensor(a) for a in arrays]


def methods(model: Any) -> list[str]:
    cannot = ("transform",) if getattr(model, "solver", "") == "lsqr" else ()
    return [name for name in METHODS if hasattr(model, name) and name not in cannot]


def attributes(model: Any) -> dict[str, Any]:
    known = {name: value for name, value in vars(model).items() if name.endswith("_")}
    return {name: value for name, value in known.items() if name not in ("statistic_", "plan_", "certificate_")}


def assert_same_model(mine: Any, theirs: Any, rtol: float = 1e-9):
    expected = attributes(theirs)
    assert attributes(mine).keys() == expected.keys()
    for name, value in expected.items():
        for got, wanted in zip(
            *(v if isinstance(v, list) else [v] for v in (attributes(mine)[name], value)), strict=True
        ):
            assert type(got) is type(wanted), name
            if isinstance(wanted, np.ndarray):
                assert got.dtype == wanted.dtype, name
            if np.asarray(wanted).dtype.kind == "U":
                np.testing.assert_array_equal(got, wanted)
            else:
                np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * np.abs(wanted).max(), err_msg=name)
    assert mine.certificate_.holds


def assert_same_answers(fitted: Any, X: Any, rtol: float = 1e-9):
    """Compare results for rows as an array and as a tensor; `fitted` on either."""
    (rows,) = tensors(X)
    for name in methods(fitted):
        expected, got = getattr(fitted, name)(X), getattr(fitted, name)(rows)
        assert isinstance(got, torch.Tensor), name
        assert got.shape == expected.shape
        assert got.dtype == (torch.as_tensor(expected).dtype if name == "predict" else rows.dtype), name
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol, err_msg=name)


@each
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-9), (np.float32, 1e-5)])
def test_tensors_agree_with_arrays(make, weighted, dtype, rtol, data, rng):
    X, y = data[0].astype(dtype), data[1]
    weight = np.where(rng.random(len(y)) < 0.1, 0.0, rng.random(len(y))) if weighted else None
    of_arrays, of_tensors = make().fit(X, y, weight), make().fit(*tensors(X, y, weight))
    assert_same_model(of_tensors, of_arrays, rtol)
    for model in (of_arrays, of_tensors):
        assert_same_answers(model, X, rtol)
    np.testing.assert_array_equal(of_tensors.predict(X), of_arrays.predict(X))
    assert of_tensors.score(*tensors(X, y, weight)) == of_arrays.score(X, y, weight)
    assert of_tensors.plan_.device == "cpu"
    assert of_tensors.plan_.dtype == np.dtype(dtype).name


@each
def test_two_classes_have_one_decision(make, data):
    X, y = data[0], data[1] > 0
    if getattr(make(), "priors", None) is not None:
        pytest.skip("has priors for three")
    of_tensors = make().fit(*tensors(X, y))
    assert_same_model(of_tensors, make().fit(X, y))
    assert_same_answers(of_tensors, X)
    assert of_tensors.predict(*tensors(X)).dtype == torch.bool


@each
def test_many_chunks_agree_with_one(make, data, monkeypatch):
    X, y = tensors(*data)
    one = make().fit(X, y)
    monkeypatch.setattr(generative, "tile_size", lambda X: 21 * 60)
    many = make().fit(X, y)
    assert many.plan_.blocks > 4
    assert_same_model(many, one)
    for name in methods(one):
        expected = getattr(one, name)(X)
        np.testing.assert_allclose(getattr(many, name)(X), expected, rtol=1e-9, atol=1e-9, err_msg=name)


@each
def test_partial_fits_of_arrays_and_tensors_agree_with_one_fit(make, data, rng):
    X, y = data
    weight = rng.random(len(y))
    pieces = make().partial_fit(
        *tensors(X[:50], y[:50]), classes=torch.arange(3), sample_weight=torch.as_tensor(weight[:50])
    )
    pieces.partial_fit(X[50:200], y[50:200], sample_weight=weight[50:200])
    pieces.partial_fit(*tensors(X[200:], y[200:]), sample_weight=torch.as_tensor(weight[200:]))
    assert_same_model(pieces, make().fit(X, y, weight))


@each_of_four
def test_models_fitted_to_tensors_merge_and_forget(make, data):
    X, y = data
    first, second = make().fit(*tensors(X[:200], y[:200])), make().fit(X[200:], y[200:])
    whole = make().fit(X, y)
    assert_same_model(first.merge(second), whole)
    assert_same_model(first.forget(*tensors(X[200:], y[200:])), make().fit(X[:200], y[:200]), rtol=1e-8)
    with pytest.raises(UnseenRowsError):
        first.forget(*tensors(100 * X, y))


@each_of_four
def test_labels_may_be_text_and_lists(make, data):
    X, y = data[0], np.array(["red", "green", "blue"])[data[1]]
    (rows,) = tensors(X)
    model = make().fit(rows, y.tolist())
    assert_same_model(model, make().fit(X, y))
    predicted = model.predict(rows)
    assert isinstance(predicted, np.ndarray)
    np.testing.assert_array_equal(predicted, model.predict(X))
    assert model.score(rows, y) == model.score(X, y)


@each_of_four
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_far_from_zero_keep_their_digits(make, weighted, data, rng):
    X, y = data[0] + 1e8, data[1]
    weight = rng.random(len(y)) if weighted else None
    near = make().fit(X - 1e8, y, weight)
    far = make().fit(*tensors(X, y, weight))
    expected = near.predict_log_proba(X - 1e8)
    np.testing.assert_allclose(far.predict_log_proba(*tensors(X)), expected, rtol=1e-6, atol=1e-6)


@each
def test_missing_values_are_integrated_out(make, data, rng):
    X, y = data[0][:120].copy(), data[1][:120]
    X[::5, 1], X[1::7, 3] = np.nan, np.nan  # few patterns of gaps, which EM is quick with
    if getattr(make(), "shrinkage", None) == "auto":
        with pytest.raises(NonFiniteError, match="contains NaN"):
            make().fit(*tensors(X, y))
        return
    of_arrays, of_tensors = make().fit(X, y), make().fit(*tensors(X, y))
    assert_same_model(of_tensors, of_arrays)
    for model in (of_arrays, of_tensors):
        assert_same_answers(model, X)


@each_of_four
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64", "int32", "uint8", "bool"])
def test_halves_and_whole_numbers(make, dtype, data):
    X, y = data
    rows = torch.as_tensor(X > 0 if dtype == "bool" else np.abs(X) * 3).to(getattr(torch, dtype))
    taken = rows.float() if rows.is_floating_point() else rows.double()
    model = make().fit(rows, torch.as_tensor(y))
    assert_same_model(model, make().fit(taken.numpy(), y), rtol=1e-5 if rows.is_floating_point() else 1e-9)
    assert torch.equal(model.predict_proba(rows), model.predict_proba(taken))
    assert model.predict_proba(rows).dtype == taken.dtype


@each_of_four
def test_layout_and_gradients_do_not_matter(make, data):
    X, y = data
    rows = torch.as_tensor(np.asfortranarray(X)).repeat_interleave(2, dim=0)[::2].requires_grad_()
    assert not rows.is_contiguous()
    model = make().fit(rows, torch.as_tensor(y)[:, None])
    assert_same_model(model, make().fit(X, y))
    said = model.predict_proba(rows)
    assert not said.requires_grad
    np.testing.assert_allclose(said, model.predict_proba(X), atol=1e-12)


def test_a_covariance_estimator_receives_the_rows(data):
    def make() -> Any:
        return LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=OAS())

    assert_same_model(make().fit(*tensors(*data)), make().fit(*data))


def test_an_announced_class_without_rows(data):
    X, y = data
    of_tensors = GaussianDiscriminant().partial_fit(*tensors(X[y > 0], y[y > 0]), classes=[0, 1, 2])
    assert_same_answers(of_tensors, X)
    assert (of_tensors.predict_proba(*tensors(X))[:, 0] == 0).all()


# Errors.


BROKEN: dict[str, tuple[Callable[[Any, Any], tuple[Any, ...]], type[Exception]]] = {
    "infinite": (lambda X, y: (X.masked_fill(X.abs() > 90, torch.inf), y), NonFiniteError),
    "no labels": (lambda X, y: (X, None), DataError),
    "continuous labels": (lambda X, y: (X, y + 0.5), DataError),
    "missing label": (lambda X, y: (X, (y + 0.0).masked_fill(y == 1, torch.nan)), NonFiniteError),
    "fewer labels": (lambda X, y: (X, y[1:]), DataError),
    "two columns of labels": (lambda X, y: (X, torch.stack([y, y], dim=1)), DataError),
    "no rows": (lambda X, y: (X[:0], y[:0]), EmptyDataError),
    "no columns": (lambda X, y: (X[:, :0], y), EmptyDataError),
    "one row alone": (lambda X, y: (X[0], y), DataError),
    "negative weight": (lambda X, y: (X, y, -torch.ones(len(X))), DataError),
    "missing weight": (lambda X, y: (X, y, torch.full((len(X),), torch.nan)), ValueError),
    "no weight at all": (lambda X, y: (X, y, torch.zeros(len(X))), ValueError),
    "fewer weights": (lambda X, y: (X, y, torch.ones(3)), ValueError),
    "square of weights": (lambda X, y: (X, y, torch.ones(len(X), 2)), ValueError),
    "elsewhere": (lambda X, y: (X, y.to("meta")), DeviceError),
    "weights elsewhere": (lambda X, y: (X, y, torch.ones(len(X), device="meta")), DeviceError),
    "sparse": (lambda X, y: (X.to_sparse(), y), DeviceError),
    "complex": (lambda X, y: (X + 0j, y), DeviceError),
}


@each_of_four
@pytest.mark.parametrize(("breaking", "error"), BROKEN.values(), ids=BROKEN)
def test_bad_tensors_are_rejected_and_leave_the_old_model(make, breaking, error, data):
    X, y = tensors(*data)
    model = make().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(error):
        model.fit(*breaking(X, y))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@each_of_four
def test_invalid_values_are_named(make, data):
    X, y = tensors(*data)
    X[7, 2] = torch.inf
    model = make()
    with pytest.raises(NonFiniteError, match="Column 'x2' is inf in row 7"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X[8:], y[8:])
    for name in methods(model):
        with pytest.raises(NonFiniteError, match="Column 'x2' is inf in row 7"):
            getattr(model, name)(X)
        with pytest.raises(ColumnMismatchError, match="3 features"):
            getattr(model, name)(X[:, :3])


EXTREMES: dict[str, Callable[[Any, Any], Any]] = {
    "huge": lambda X, y: 1e150 * X,
    "too large": lambda X, y: 1e155 * X,
    "tiny": lambda X, y: 1e-150 * X,
    "wide": lambda X, y: np.tile(X, 30) + np.sin(np.arange(len(X) * 120.0)).reshape(len(X), 120),
    "constant": lambda X, y: np.column_stack([X, np.full(len(X), 0.1)]),
    "constant in a class": lambda X, y: np.column_stack([X, y / 3]),
    "collinear": lambda X, y: np.column_stack([X, X[:, 0] + X[:, 1]]),
}


@each_of_four
@pytest.mark.parametrize("extreme", EXTREMES.values(), ids=EXTREMES)
def test_extreme_values_give_the_result_or_the_error_of_arrays(make, extreme, data):
    def answer(X: Any, y: Any) -> Any:
        try:
            return np.asarray(make().fit(X, y).predict_proba(X))
        except DataError as rejection:
            return f"{type(rejection).__name__}: {rejection}"

    X, y = extreme(data[0][:100], data[1][:100]), data[1][:100]
    expected, got = answer(X, y), answer(*tensors(X, y))
    if isinstance(expected, str):
        assert got == expected
    else:
        np.testing.assert_allclose(got, expected, atol=1e-9)


def test_one_class_is_rejected_as_for_arrays(data):
    X, y = data[0], np.zeros_like(data[1])
    for make in (QuadraticDiscriminantAnalysis, GaussianDiscriminant):
        with pytest.raises(DataError) as of_tensors:
            make().fit(*tensors(X, y))
        with pytest.raises(DataError) as of_arrays:
            make().fit(X, y)
        assert str(of_tensors.value) == str(of_arrays.value)
    for make in (GaussianNB, LinearDiscriminantAnalysis):  # whose probabilities are 1 for any row, as for arrays
        assert make().fit(*tensors(X, y)).predict_proba(*tensors(X)).eq(1).all()


@each_of_four
def test_chunks_are_smaller_if_memory_is_short(make, data, monkeypatch):
    X, y = tensors(*data)
    expected = make().fit(X, y)
    said = expected.predict_proba(X)

    def limit_rows(rows: int) -> None:
        def in_chunks(count: int, step: int, work: Any, what: str) -> None:
            def or_reject(some: slice) -> None:
                if some.stop - some.start > rows:
                    raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
                work(some)

            chunks.in_chunks(count, step, or_reject, what)

        monkeypatch.setattr(generative, "in_chunks", in_chunks)
        monkeypatch.setattr(generative.device, "in_chunks", in_chunks)

    limit_rows(60)
    model = make().fit(X, y)
    assert_same_model(model, expected)
    torch.testing.assert_close(model.predict_proba(X), said, rtol=1e-9, atol=1e-9)
    limit_rows(0)
    with pytest.raises(DeviceMemoryError):
        model.fit(X, y)
    with pytest.raises(DeviceMemoryError):
        model.predict(X)


def test_models_fitted_to_tensors_are_loaded_without_torch(data, tmp_path):
    X, y = data
    models = [MODELS[name]().fit(*tensors(X, y)) for name in FOUR]
    file = tmp_path / "models.pickle"
    file.write_bytes(pickle.dumps([(model, X, model.predict_proba(X)) for model in models]))
    script = (
        "import pickle, sys\n"
        f"for model, X, expected in pickle.loads(open({str(file)!r}, 'rb').read()):\n"
        "    assert abs(model.predict_proba(X) - expected).max() < 1e-12\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
