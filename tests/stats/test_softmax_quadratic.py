"""Loss, gradient and Hessian of softmax as a statistic: known values, finite differences, adding up in any cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mercer.engines.reducing import reduce
from mercer.families.response import SoftmaxResponse
from mercer.matrices import (
    DenseMatrix,
    Matrix,
    Observations,
    SparseMatrix,
    SplitMatrix,
    TensorMatrix,
    TensorObservations,
)
from mercer.stats.quadratic import GRADIENT, HESSIAN, LOSS, SoftmaxExpansion

DESIGNS = ("one pass", "tiles", "far", "sparse")


def design(name: str, n: int) -> Matrix:
    X = np.random.default_rng(0).normal(size=(n, 3))
    return {
        "one pass": lambda: DenseMatrix.of(X),
        "tiles": lambda: DenseMatrix.of(np.asfortranarray(X)),
        "far": lambda: DenseMatrix.of(X + 1e6),
        "sparse": lambda: SplitMatrix.of(sparse=SparseMatrix.of(sparse.csr_array(X)), intercept=True),
    }[name]()


def observations(name: str) -> Observations:
    rng, n = np.random.default_rng(1), 90
    return Observations(design(name, n), rng.integers(0, 4, n).astype(np.int32), rng.uniform(size=n))


@pytest.mark.parametrize("reference", [None, 0, 2])
@pytest.mark.parametrize("name", DESIGNS)
def test_gradient_and_hessian_are_slopes_of_the_loss(name: str, reference: int | None) -> None:
    data, response = observations(name), SoftmaxResponse(4, reference)
    W = np.random.default_rng(2).normal(size=(4, response.columns)) / 2

    def at(W: np.ndarray, order: int) -> SoftmaxExpansion:
        return reduce(SoftmaxExpansion.at(response, W, order), data)

    terms, step = at(W, HESSIAN), 1e-5
    for place in np.ndindex(W.shape):
        move = np.zeros_like(W)
        move[place] = step
        ahead, behind = at(W + move, GRADIENT), at(W - move, GRADIENT)
        assert terms.gradient[place] == pytest.approx((ahead.loss - behind.loss) / (2 * step), rel=1e-6, abs=1e-6)
        slopes = ((ahead.gradient - behind.gradient) / (2 * step)).T.ravel()
        np.testing.assert_allclose(terms.hessian[place[1] * len(W) + place[0]], slopes, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(at(W, GRADIENT).gradient, terms.gradient, rtol=1e-12, atol=1e-12)
    assert at(W, LOSS).loss == pytest.approx(terms.loss, rel=1e-14)


def test_coefficients_of_zero() -> None:
    """Every class has probability 1/K: the loss is n log K, the Hessian (I/K − 11ᵀ/K²) ⊗ XᵀX."""
    data = Observations(design("one pass", 50), np.arange(50, dtype=np.int32) % 3)
    terms = reduce(SoftmaxExpansion.at(SoftmaxResponse(3), np.zeros((4, 3))), data)
    assert terms.loss == pytest.approx(50 * np.log(3))
    classes = np.eye(3) / 3 - np.full((3, 3), 1 / 9)
    np.testing.assert_allclose(terms.hessian, np.kron(classes, data.design.gram(np.ones(50))), atol=1e-12)


@given(cut=st.integers(0, 90), order=st.sampled_from([LOSS, GRADIENT, HESSIAN]), name=st.sampled_from(DESIGNS))
def test_parts_add_up(cut: int, order: int, name: str) -> None:
    data = observations(name)
    zero = SoftmaxExpansion.at(SoftmaxResponse(4), np.full((4, 4), 0.1), order)
    whole = zero.update(*data.batch(slice(0, 90)))
    parts = [zero.empty().update(*data.batch(rows)) for rows in (slice(0, cut), slice(cut, 90))]
    merged = parts[0].merge(parts[1])
    assert merged.loss == pytest.approx(whole.loss, rel=1e-12)
    np.testing.assert_allclose(merged.gradient, whole.gradient, atol=1e-10)
    np.testing.assert_allclose(merged.hessian, whole.hessian, atol=1e-10)


def test_offsets_add_to_the_predictors() -> None:
    data, offset = observations("one pass"), np.random.default_rng(5).normal(size=(90, 4))
    W = np.random.default_rng(2).normal(size=(4, 4))
    shifted = SoftmaxExpansion.at(SoftmaxResponse(4), W, GRADIENT).update(data.design, data.y, None, offset)
    eta = data.design.matvec(W) + offset
    loss, slopes = SoftmaxResponse(4).slopes(data.y, eta.copy())
    assert shifted.loss == pytest.approx(loss)
    np.testing.assert_allclose(shifted.gradient, data.design.rmatvec(slopes), atol=1e-12)


def test_nearly_certain_probabilities_keep_their_curvature() -> None:
    """p (1 − p) for 1 − p = e⁻⁵⁰, which p − p² has no digits of."""
    one = DenseMatrix.of(np.ones((1, 1)), intercept=False)
    terms = SoftmaxExpansion.at(SoftmaxResponse(2), np.array([[50.0, 0.0]])).update(one, np.zeros(1, dtype=np.int32))
    np.testing.assert_allclose(terms.hessian.diagonal(), np.exp(-50), rtol=1e-10)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("reference", [None, 0, 2])
def test_steps_of_tensors_agree_with_arrays(reference: int | None, weighted: bool) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    response, X = SoftmaxResponse(4, reference), rng.normal(size=(60, 3))
    given = [rng.integers(0, 4, 60).astype(np.int32), *([rng.random(60)] if weighted else [])]
    W = rng.normal(size=(4, response.columns)) / 2
    arrays = Observations(DenseMatrix.of(X), *given)
    tensors = TensorObservations.of(TensorMatrix.of(torch.as_tensor(X)), *map(torch.as_tensor, given))
    expected, found = (reduce(SoftmaxExpansion.at(response, W), data) for data in (arrays, tensors))
    assert found.loss == pytest.approx(expected.loss, rel=1e-12)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(found.hessian, expected.hessian, rtol=1e-10, atol=1e-11)
