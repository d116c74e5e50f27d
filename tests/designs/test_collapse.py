"""Equal rows as one: the same slopes from fewer rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from mercer.designs import CodesDesign, DenseDesign, MixedDesign, Observations, SparseDesign, collapsed
from mercer.engines.here import reduce
from mercer.families import IDENTITY, LOG, LOGIT, Bernoulli, Gamma, Gaussian, Poisson
from mercer.families.response import Response
from mercer.stats.quadratic import Quadratic

ROWS = 40_000
RESPONSES = {
    "gaussian": Response(Gaussian(), IDENTITY),
    "logistic": Response(Bernoulli(), LOGIT),
    "poisson": Response(Poisson(), LOG),
    "gamma": Response(Gamma(), LOG),
}


def data(*, weighted: bool, offset: bool, seed: int = 0) -> Observations:
    rng = np.random.default_rng(seed)
    codes = CodesDesign.of([rng.integers(0, k, ROWS) for k in (3, 7, 400)], [3, 7, 400], drop_first=True)
    numbers = DenseDesign.of(rng.integers(0, 2, size=(ROWS, 1)) * 1.5, intercept=False)
    design = MixedDesign.of(numbers, codes=codes.rows(slice(0, ROWS)), intercept=True)
    design = design.take(rng.integers(0, 900, ROWS))
    y = rng.integers(0, 2, ROWS).astype(float)
    weight = rng.integers(0, 3, ROWS).astype(float) if weighted else None
    return Observations(design, y, weight, (design.times(np.ones(design.n_columns)) > 2.0) * 1.0 if offset else None)


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("offset", [True, False])
def test_slopes_stay_and_losses_differ_by_a_constant(name: str, weighted: bool, offset: bool) -> None:
    whole = data(weighted=weighted, offset=offset)
    if name == "gamma":
        whole = Observations(whole.design, whole.y + 0.5, whole.weight, whole.offset)
    few = collapsed(whole)
    assert len(few) <= 900
    steps = []
    for w in np.random.default_rng(1).normal(size=(2, whole.design.n_columns)) / 9:
        many, one = (reduce(Quadratic.at(RESPONSES[name], w), rows) for rows in (whole, few))
        np.testing.assert_allclose(one.gradient, many.gradient, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(one.hessian, many.hessian, rtol=1e-9, atol=1e-9)
        steps.append(many.loss - one.loss)
    # 0 where the loss is the negative log likelihood itself
    assert steps[0] == pytest.approx(steps[1], rel=1e-8, abs=1e-8)
    assert steps[0] > -1e-8


def test_rows_that_differ_are_left_alone() -> None:
    rng = np.random.default_rng(0)
    y = np.zeros(ROWS)
    codes = CodesDesign.of([np.arange(ROWS) % 3], [3])
    for design in (
        DenseDesign.of(rng.normal(size=(ROWS, 2))),
        DenseDesign.of(np.zeros((ROWS, 5))),
        SparseDesign.of(sparse.csr_array((ROWS, 2))),
        MixedDesign.of(sparse=SparseDesign.of(sparse.csr_array((ROWS, 2))), codes=codes, intercept=True),
    ):
        observations = Observations(design, y)
        assert collapsed(observations) is observations
    apart = Observations(codes, y, offset=rng.normal(size=ROWS))
    assert collapsed(apart) is apart


def test_rows_that_repeat_only_at_first_are_left_alone() -> None:
    number = np.maximum(0, np.arange(ROWS) - 10_000).astype(float)
    observations = Observations(DenseDesign.of(number[:, None]), number)
    assert collapsed(observations) is observations


def test_a_few_numbers_are_compared_too() -> None:
    number = np.arange(ROWS) % 5
    few = collapsed(Observations(DenseDesign.of(number[:, None]), number * 2.0))
    assert sorted(few.y) == [0, 2, 4, 6, 8]
    np.testing.assert_array_equal(few.weight, np.full(5, ROWS / 5))
