"""Validation of tensors: rows, targets, weights and labels."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from mercer import SVC, LinearSVC, LinearThreshold, MultinomialNB, NaiveBayes
from mercer._errors import ColumnMismatchError, DataError, DeviceError, EmptyDataError, NonFiniteError
from mercer._gpu import is_tensor, like, namespace, to_numpy
from mercer.base.validation import (
    align_with_rows,
    check_finite,
    check_tensor,
    check_tensor_weight,
    decode_labels,
    encode_tensor_labels,
    tensor_plan,
)
from mercer.data.labels import encode_labels

torch = pytest.importorskip("torch")

X = torch.arange(12.0).reshape(6, 2)


class Model(SimpleNamespace):
    """Object with attributes."""


def test_tensors_are_recognised():
    assert is_tensor(X)
    assert is_tensor(torch.nn.Parameter(X))
    assert not any(map(is_tensor, (X.numpy(), [1.0], None, "tensor")))
    assert namespace(X) is torch
    assert namespace(X.numpy()) is np


def test_arrays_in_any_memory_order_become_tensors_without_a_warning():
    numbers = np.arange(3.0)
    numbers.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert like(numbers[::-1], X).tolist() == [2.0, 1.0, 0.0]
        assert like(numbers, X).dtype == torch.float32
        assert like(numbers, X, dtype=torch.int64).tolist() == [0, 1, 2]
    np.testing.assert_array_equal(like(numbers, numbers), numbers)
    np.testing.assert_array_equal(to_numpy(torch.ones(2, requires_grad=True)), np.ones(2))


@pytest.mark.parametrize(
    ("given_type", "taken"),
    [("float64", "float64"), ("float32", "float32"), ("float16", "float32"), ("bfloat16", "float32")]
    + [(whole, "float64") for whole in ("int64", "int32", "uint8", "bool")],
)
def test_rows_become_floats_and_nothing_else_changes(given_type, taken):
    model = Model(feature_names_in_=np.array(["a", "b", "c"]))
    rows = X.to(getattr(torch, given_type))
    got = check_tensor(model, rows, reset=True)
    assert got.dtype == getattr(torch, taken)
    assert torch.equal(got, rows.to(got.dtype))
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")


def test_rows_that_need_no_change_are_not_copied():
    own = X.clone().requires_grad_()
    assert check_tensor(Model(), own, reset=True).data_ptr() == own.data_ptr()
    assert not check_tensor(Model(), own, reset=True).requires_grad


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        (X[0], DataError, "Expected 2D array, got 1D"),
        (X[:0], EmptyDataError, r"0 sample\(s\)"),
        (X[:, :0], EmptyDataError, r"0 feature\(s\)"),
        (X[:, :1], ColumnMismatchError, "1 features, but Model is expecting 2"),
        (X.to_sparse(), DeviceError, "dense"),
        (X + 1j, DeviceError, "real"),
    ],
)
def test_invalid_rows_are_rejected(rows, error, words):
    model = Model(n_features_in_=2)
    with pytest.raises(error, match=words):
        check_tensor(model, rows, reset=False)
    assert model.n_features_in_ == 2


def test_values_are_aligned_with_rows():
    for values in (range(6), np.arange(6), np.arange(6, dtype=object), torch.arange(6), torch.arange(6.0).double()):
        got = align_with_rows(values, X, "y")
        assert got.tolist() == [0, 1, 2, 3, 4, 5]
        assert got.dtype == X.dtype
    assert align_with_rows(0.1 * np.arange(6), X, "y", dtype=torch.float64)[1] == 0.1
    for values, words in (([1.0], "one entry of y"), (3.0, "one entry of y"), (["a"] * 6, "y holds <U1")):
        with pytest.raises(DataError, match=words):
            align_with_rows(values, X, "y")
    with pytest.raises(DeviceError, match=r"give y\.to\(X\.device\)"):
        align_with_rows(torch.zeros(6, device="meta"), X, "y")


def test_weights_are_checked():
    assert check_tensor_weight(None, X) is None
    for weight in (2, np.full(6, 2), [2.0] * 6, torch.full((6,), 2, dtype=torch.int32)):
        got = check_tensor_weight(weight, X)
        assert got.dtype == torch.float64
        assert got.tolist() == [2.0] * 6
    negative = torch.tensor([1.0, 1.0, -0.5, 1.0, 1.0, 1.0])
    with pytest.raises(DataError, match=r"Row 2 has the weight -0\.5"):
        check_tensor_weight(negative, X)
    for weight, words in (
        (negative * torch.nan, "contains"),
        (0 * negative, "non-zero"),
        (negative[:, None], "1D array"),
    ):
        with pytest.raises(ValueError, match=words):
            check_tensor_weight(weight, X)


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=30),
    st.sampled_from(["int64", "int8", "float32", "float16", "bool"]),
)
def test_labels_are_coded_as_for_arrays(labels, dtype):
    rows = torch.zeros(len(labels), 1)
    y = torch.tensor(labels).to(getattr(torch, dtype))
    expected, places = encode_labels((y.float() if dtype == "float16" else y).numpy())
    for given_labels in (y, y[:, None]):
        classes, codes = encode_tensor_labels(given_labels, rows)
        np.testing.assert_array_equal(classes, expected)
        assert classes.dtype == expected.dtype
        np.testing.assert_array_equal(codes, places)
        assert torch.equal(decode_labels(classes, codes), y.to(torch.as_tensor(expected).dtype))


def test_labels_of_other_types_are_coded():
    classes, codes = encode_tensor_labels(["b", "a", "b", "c", "a", "a"], X)
    assert classes.tolist() == ["a", "b", "c"]
    assert codes.tolist() == [1, 0, 1, 2, 0, 0]
    assert decode_labels(classes, codes).tolist() == ["b", "a", "b", "c", "a", "a"]
    with pytest.warns(DataConversionWarning):
        assert encode_tensor_labels(np.arange(6)[:, None] % 2, X)[1].tolist() == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("y", "error", "words"),
    [
        (torch.tensor([0.0, 1.0, torch.nan, 0, 1, 1]), NonFiniteError, "contains NaN"),
        (torch.arange(6) / 4, DataError, "Unknown label type: continuous"),
        (np.arange(6) / 4, DataError, "Unknown label type: continuous"),
        (torch.zeros(6, 2), DataError, "1d array"),
        (torch.zeros(5), DataError, "inconsistent numbers of samples"),
        (["a"] * 7, DataError, "inconsistent numbers of samples"),
        (torch.zeros(6) + 0j, DataError, "Unknown label type"),
        (torch.zeros(6, device="meta"), DeviceError, "y is on meta"),
    ],
)
def test_invalid_labels_are_rejected(y, error, words):
    with pytest.raises(error, match=words):
        encode_tensor_labels(y, X)


def test_values_that_are_not_finite_are_named():
    model = Model(n_features_in_=2)
    check_finite(model, X)
    check_finite(model, torch.full((2, 2), 1.5e308, dtype=torch.float64))  # whose sum is not finite
    for value, words in ((torch.nan, "NaN"), (torch.inf, "infinity"), (-torch.inf, "infinity")):
        broken = X.detach().clone()
        broken[3, 1] = value
        with pytest.raises(NonFiniteError, match=rf"contains {words}\. Column 'x1' is {value} in row 3"):
            check_finite(model, broken)


def test_a_plan_names_the_device():
    plan = tensor_plan("one pass", X, blocks=3)
    assert str(plan) == "one pass; exact, float32, 3 blocks on 1 thread, cpu"


@pytest.mark.parametrize("model", [LinearSVC(), LinearThreshold(), MultinomialNB(), NaiveBayes(), SVC()], ids=repr)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_models_of_arrays_take_tensors_of_main_memory_and_reject_others(model, dtype):
    rows, y = X.to(dtype, copy=True).requires_grad_(), torch.tensor([0, 1, 0, 1, 1, 1])
    taken = rows.detach().double()
    said = model.fit(rows, y, sample_weight=torch.ones(6)).predict(rows)
    np.testing.assert_array_equal(said, model.fit(taken.numpy(), y.numpy()).predict(taken.numpy()))
    with pytest.raises(DeviceError, match=r"X is on meta: .*; give X\.cpu\(\)"):
        model.fit(rows.to("meta"), y)
    with pytest.raises(DeviceError, match=r"y is on meta: .*; give y\.cpu\(\)"):
        model.fit(rows, y.to("meta"))


def test_linear_threshold_predicts_tensors_as_arrays():
    model = LinearThreshold("logistic", tol=0.1).fit(X.numpy(), [0, 1, 0, 1, 1, 1])
    for method in (model.predict, model.predict_proba, model.predict_log_proba):
        assert is_tensor(method(X))
        np.testing.assert_allclose(method(X), method(X.numpy()), rtol=1e-5)
