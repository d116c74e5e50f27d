"""A Newton step as a statistic: slopes by finite differences, and adding up in any cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer import _threads
from mercer._errors import TooManyColumnsError
from mercer.engines import engine
from mercer.engines.reducing import reduce
from mercer.families import IDENTITY, LOG, LOGIT, Bernoulli, Gaussian, Poisson
from mercer.families.response import Response
from mercer.matrices import (
    CategoricalMatrix,
    DenseMatrix,
    Matrix,
    Observations,
    SparseMatrix,
    SplitMatrix,
    TensorMatrix,
    TensorObservations,
)
from mercer.stats.quadratic import GRADIENT, HESSIAN, LOSS, QuadraticExpansion

RESPONSES = {
    "gaussian": Response(Gaussian(), IDENTITY),
    "logistic": Response(Bernoulli(), LOGIT),
    "poisson": Response(Poisson(), LOG),
}
DESIGNS = ("dense", "far", "sparse", "codes", "mixed")


def design(name: str, n: int) -> Matrix:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    codes = CategoricalMatrix.of([rng.integers(0, k, n) for k in (2, 4)], [2, 4], drop_first=True)
    return {
        "dense": lambda: DenseMatrix.of(X),
        "far": lambda: DenseMatrix.of(X + 1e6),
        "sparse": lambda: SparseMatrix.of(sparse.csr_array(np.where(X > 0, X, 0.0))),
        "codes": lambda: codes,
        "mixed": lambda: SplitMatrix.of(DenseMatrix.of(X, intercept=False), codes=codes, intercept=True),
    }[name]()


def observations(name: str, n: int = 80) -> Observations:
    rng = np.random.default_rng(1)
    return Observations(design(name, n), rng.integers(0, 2, n).astype(float), rng.uniform(size=n), rng.normal(size=n))


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
@pytest.mark.parametrize("name", DESIGNS)
def test_gradient_and_hessian_are_slopes_of_the_loss(name: str, response: Response) -> None:
    data = observations(name)
    w = np.random.default_rng(2).normal(size=data.design.n_columns) / 4

    def at(w: np.ndarray, order: int) -> QuadraticExpansion:
        return reduce(QuadraticExpansion.at(response, w, order), data)

    terms, step = at(w, HESSIAN), 1e-5
    for j, direction in enumerate(step * np.eye(len(w))):
        ahead, behind = at(w + direction, GRADIENT), at(w - direction, GRADIENT)
        assert terms.gradient[j] == pytest.approx((ahead.loss - behind.loss) / (2 * step), rel=1e-6, abs=1e-7)
        # these links are canonical: the curvature that is expected is the one that is seen
        np.testing.assert_allclose(
            terms.hessian[j], (ahead.gradient - behind.gradient) / (2 * step), rtol=1e-6, atol=1e-7
        )


@given(st.sampled_from(DESIGNS), st.integers(0, 80), st.integers(0, 80), st.sampled_from([LOSS, GRADIENT, HESSIAN]))
@settings(max_examples=30)
def test_merged_parts_agree_with_one_pass(name: str, a: int, b: int, order: int) -> None:
    data = observations(name)
    zero = QuadraticExpansion.at(RESPONSES["logistic"], np.full(data.design.n_columns, 0.1), order)
    whole = zero.update(*data.batch(slice(0, 80)))
    cuts = [0, *sorted((a, b)), 80]
    parts = [zero.update(*data.batch(slice(*cut))) for cut in itertools.pairwise(cuts)]
    merged = parts[2].merge(parts[0].merge(parts[1]))
    after = zero.update(*data.batch(slice(0, a))).update(*data.batch(slice(a, 80)))
    for same in (merged, after):
        assert same.loss == pytest.approx(whole.loss, rel=1e-12)
        np.testing.assert_allclose(same.gradient, whole.gradient, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(same.hessian, whole.hessian, rtol=1e-10, atol=1e-12)


def test_an_update_does_not_modify_the_original() -> None:
    data = observations("dense")
    first = QuadraticExpansion.at(RESPONSES["logistic"], np.zeros(4)).update(*data.batch(slice(0, 40)))
    gradient, hessian = first.gradient.copy(), first.hessian.copy()
    first.update(*data.batch(slice(40, 80)))
    first.merge(first)
    np.testing.assert_array_equal(first.gradient, gradient)
    np.testing.assert_array_equal(first.hessian, hessian)


@pytest.mark.parametrize("name", DESIGNS)
def test_threads_give_identical_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "available_cores", lambda: 4)
    data = observations(name, 200_000)
    found = []
    for threads in (1, 3):
        with engine(threads=threads):
            found.append(reduce(QuadraticExpansion.at(RESPONSES["poisson"], np.full(data.design.n_columns, 0.1)), data))
    one, several = found
    assert one.loss == several.loss
    np.testing.assert_array_equal(one.gradient, several.gradient)
    np.testing.assert_array_equal(one.hessian, several.hessian)


def test_derivatives_beyond_the_order_are_empty() -> None:
    data = observations("dense")
    at = {order: reduce(QuadraticExpansion.at(RESPONSES["logistic"], np.zeros(4), order), data) for order in (0, 1, 2)}
    assert [(s.gradient.size, s.hessian.size) for s in at.values()] == [(0, 0), (4, 0), (4, 16)]
    assert at[LOSS].loss == at[GRADIENT].loss
    assert at[HESSIAN].loss == pytest.approx(at[LOSS].loss, rel=1e-14)


@pytest.mark.parametrize("name", ["dense", "sparse", "mixed"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("start", [0.0, 0.3, -0.3])
def test_a_value_that_is_not_finite_makes_the_gradient_not_finite(name: str, value: float, start: float) -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[11, 0] = value
    spoilt: Matrix = {
        "dense": lambda: DenseMatrix.of(X),
        "sparse": lambda: SparseMatrix.of(sparse.csr_array(X)),
        "mixed": lambda: SplitMatrix.of(DenseMatrix.of(X, intercept=False), intercept=True),
    }[name]()
    data = Observations(spoilt, np.tile([0.0, 1.0], 15))
    for response in RESPONSES.values():
        step = reduce(QuadraticExpansion.at(response, np.full(spoilt.n_columns, start), GRADIENT), data)
        assert not np.isfinite(step.gradient).all()


def test_a_hessian_too_large_to_form_is_rejected_before_any_work() -> None:
    wide = SparseMatrix.of(sparse.csr_array((5, 50_000)))
    with pytest.raises(TooManyColumnsError, match="50000 columns"):
        reduce(QuadraticExpansion.at(RESPONSES["logistic"], np.zeros(50_000)), Observations(wide, np.zeros(5)))


@pytest.mark.parametrize("order", [LOSS, GRADIENT, HESSIAN])
@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
@pytest.mark.parametrize("with_offset", [True, False])
def test_steps_of_tensors_agree_with_arrays(order: int, response: Response, with_offset: bool) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X, point = rng.normal(size=(50, 3)), rng.normal(size=4)
    given = [rng.integers(0, 2, 50) * 1.0, rng.random(50), *([rng.normal(size=50)] if with_offset else [])]
    arrays = Observations(DenseMatrix.of(X), *given)
    tensors = TensorObservations.of(TensorMatrix.of(torch.as_tensor(X)), *map(torch.as_tensor, given))
    expected, found = (reduce(QuadraticExpansion.at(response, point, order), data) for data in (arrays, tensors))
    assert found.loss == pytest.approx(expected.loss, rel=1e-12)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(found.hessian, expected.hessian, rtol=1e-10, atol=1e-11)
