"""A tensor as a design: the products of the same array, whatever its type, layout and chunks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._errors import DeviceMemoryError
from mercer.families import LOGIT, Bernoulli
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.matrices import DenseMatrix, Observations, TensorMatrix, TensorObservations, tensor
from mercer.optim.problem import Problem
from tests._gpu._devices import card

torch = pytest.importorskip("torch")


def columns(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(60, 4)) * [1.0, 1e-3, 1e5, 1.0] + [0.0, 1e8, -3.0, 2.0]


@given(seed=st.integers(0, 99), intercept=st.booleans(), single=st.booleans(), chunk=st.sampled_from([1, 7, 1000]))
@settings(max_examples=30)
def test_products_agree_with_the_array(seed, intercept, single, chunk):
    X = columns(seed).astype(np.float32 if single else np.float64)
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensor, "tile_size", lambda X: 4 * 5 * chunk)
        arrays, given = (kind(X, intercept) for kind in (_dense, _tensor))
        np.testing.assert_array_equal(arrays.coordinates.shift, given.coordinates.shift)
        np.testing.assert_array_equal(arrays.coordinates.scale, given.coordinates.scale)
        w, W = rng.normal(size=arrays.n_columns), rng.normal(size=(arrays.n_columns, 3))
        r, h = rng.normal(size=60), rng.normal(size=60)
        close = {"rtol": 1e-11, "atol": 1e-9}
        np.testing.assert_allclose(given.matvec(w).numpy(), arrays.matvec(w), **close)
        np.testing.assert_allclose(given.matvec(W).numpy(), arrays.matvec(W), **close)
        np.testing.assert_allclose(given.rmatvec(torch.as_tensor(r)), arrays.rmatvec(r), **close)
        np.testing.assert_allclose(given.rmatvec(r), arrays.rmatvec(r), **close)
        np.testing.assert_allclose(given.gram(h), arrays.gram(h), **close)
        np.testing.assert_allclose(given.squares(h * h), arrays.squares(h * h), **close)
        np.testing.assert_allclose(given.dense() if chunk > 60 else given.tile().dense(), arrays.dense(), **close)


def _dense(X, intercept):
    return DenseMatrix.of(X, intercept=intercept)


def _tensor(X, intercept):
    return TensorMatrix.of(torch.as_tensor(X), intercept=intercept)


def test_rows_are_indexed_like_those_of_arrays():
    X = columns(0)
    design, places = _tensor(X, True), np.array([3, 1, 50])
    np.testing.assert_array_equal(design.take(places).X.numpy(), X[places])
    np.testing.assert_array_equal(design.rows(slice(2, 5)).X.numpy(), X[2:5])
    assert len(design.blocks()) == 1


def test_results_per_row_are_tensors_and_results_per_column_arrays():
    design = _tensor(columns(1).astype(np.float32), True)
    assert design.matvec(np.zeros(5)).dtype == torch.float64
    assert isinstance(design.rmatvec(np.ones(60)), np.ndarray)
    assert isinstance(design.gram(np.ones(60)), np.ndarray)


def test_a_column_constant_in_the_pilot_sample_is_checked_in_full():
    X = np.zeros((5000, 2))
    X[4321, 1] = 3.0
    arrays, given = _dense(X, True), _tensor(X, True)
    np.testing.assert_array_equal(arrays.coordinates.scale, given.coordinates.scale)


def test_sums_and_means_of_observations_agree_with_arrays():
    X, rng = columns(2), np.random.default_rng(2)
    codes, weight = rng.integers(0, 3, 60), rng.random(60)
    arrays = Observations(_dense(X, True), codes, weight)
    given = TensorObservations.of(_tensor(X, True), torch.as_tensor(codes), weight)
    np.testing.assert_allclose(given.class_weights(4), arrays.class_weights(4))
    for name in ("mean_response", "mean_weight", "total_weight", "heavy"):
        assert getattr(given, name) == pytest.approx(getattr(arrays, name), rel=1e-14), name
    back = given.take(np.array([5, 2])).in_memory()
    np.testing.assert_array_equal(back.design.X, X[[5, 2]])
    np.testing.assert_array_equal(back.y, codes[[5, 2]])
    np.testing.assert_array_equal(back.weight, weight[[5, 2]])


def test_other_lengths_are_rejected():
    with pytest.raises(ValueError, match="do not fit"):
        _tensor(columns(0), True).matvec(np.zeros(3))


def test_full_device_memory_gives_smaller_chunks_and_finally_an_error(monkeypatch):
    X, most = columns(0), 10
    plain, sizes = TensorMatrix._tile, []

    def tile(self, rows):
        if rows.stop - rows.start > most:
            raise torch.cuda.OutOfMemoryError("no room")
        sizes.append(rows.stop - rows.start)
        return plain(self, rows)

    monkeypatch.setattr(TensorMatrix, "_tile", tile)
    np.testing.assert_allclose(
        _tensor(X, True).gram(np.ones(60)), _dense(X, True).gram(np.ones(60)), rtol=1e-11, atol=1e-9
    )
    assert max(sizes) <= 10
    most = 0
    with pytest.raises(DeviceMemoryError, match="no room"):
        _tensor(X, True).gram(np.ones(60))


@card
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 5, 40, 130, 700, 3000])
def test_products_on_a_device_agree_with_the_array(dtype, width):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(1003, width)) + rng.choice([0.0, 3.0, 1e4], size=width)).astype(dtype)
    for intercept in (True, False):
        arrays, given = _dense(X, intercept), TensorMatrix.of(torch.as_tensor(X, device="cuda"), intercept=intercept)
        given = replace(given, coordinates=arrays.coordinates)
        w, r = rng.normal(size=arrays.n_columns), rng.normal(size=1003)
        close = {"rtol": 1e-9, "atol": 1e-7}
        np.testing.assert_allclose(given.matvec(w).cpu().numpy(), arrays.matvec(w), **close)
        np.testing.assert_allclose(given.rmatvec(r), arrays.rmatvec(r), **close)
        np.testing.assert_allclose(given.gram(r * r), arrays.gram(r * r), **close)
        if given.in_one_pass:
            y = (r > 0).astype(float)
            problem = Problem(Observations(arrays, y, r * r), Response(Bernoulli(), LOGIT), Strengths.none(len(w)))
            slope = problem.at(w / width, 1)
            loss, gradient = given.logistic(w / width, *(torch.as_tensor(part, device="cuda") for part in (y, r * r)))
            assert loss == pytest.approx(slope.value, rel=1e-9)
            np.testing.assert_allclose(gradient, slope.gradient, **close)
