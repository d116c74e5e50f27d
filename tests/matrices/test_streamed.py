"""Streamed observations have the interface of observations in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer._errors import UnsuitableSolverError
from mercer.base.sources import observe
from mercer.data.sources.memory import MemorySource
from mercer.engines.reducing import reduce
from mercer.families import LOG, LOGIT, Bernoulli, Poisson
from mercer.families.response import Response
from mercer.matrices import DenseMatrix, Observations
from mercer.matrices.streamed import Responses, Survey
from mercer.stats.quadratic import QuadraticExpansion
from tests.matrices._streamed import of_numbers, sample_chunk

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
W = RNG.integers(0, 3, 300).astype(float)
OFFSET = RNG.normal(size=300)
COUNTS = RNG.poisson(2.0, 300).astype(float)
LABELS = RNG.choice(["a", "b"], 300)


def of_labels(survey: Survey) -> Responses:
    return Responses(survey.labels, np.array([1.0, 3.0]))


def streamed(labels: bool) -> Any:
    y = LABELS if labels else COUNTS
    source = MemorySource(X, y, W, OFFSET, rows=70)
    return observe(source, sample_chunk, of_labels if labels else of_numbers, labels=labels, intercept=True)


def held(labels: bool, coordinates: Any) -> Observations:
    y = (LABELS == "b").astype(float) if labels else COUNTS
    weight = W * np.where(y == 1, 3.0, 1.0) if labels else W
    return Observations(DenseMatrix(X, coordinates), y, weight, OFFSET)


@pytest.mark.parametrize("labels", [False, True])
def test_streamed_problems_have_the_interface_of_problems_in_memory(labels: bool) -> None:
    mine = streamed(labels)
    theirs = held(labels, mine.design.coordinates)
    assert len(mine) == len(theirs)
    assert mine.heavy == theirs.heavy
    for name in ("total_weight", "mean_weight", "mean_response", "has_offset"):
        assert getattr(mine, name) == pytest.approx(getattr(theirs, name)), name
    assert (mine.streamed, theirs.streamed) == (True, False)
    if labels:
        np.testing.assert_allclose(mine.class_weights(2), theirs.responses_as(np.int64).class_weights(2))
    response = Response(Bernoulli(), LOGIT) if labels else Response(Poisson(), LOG)
    point = np.array([0.1, -0.2, 0.3, 0.4])
    one, other = (reduce(QuadraticExpansion.at(response, point), each) for each in (mine, theirs))
    assert one.loss == pytest.approx(other.loss, rel=1e-12)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(one.hessian, other.hessian, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("operation", ["matvec", "rmatvec", "gram", "rows", "take", "tile"])
def test_operations_that_need_rows_in_memory_name_the_remedy(operation: str) -> None:
    observations = streamed(labels=False)
    matrix = observations.design
    assert not observations.has_rows
    assert not matrix.can(operation)
    argument = {"tile": (), "rows": (slice(0, 1),)}.get(operation, (np.zeros(4),))
    remedy = "(Sum over the rows|Use the random sample)"
    with pytest.raises(UnsuitableSolverError, match=f"does not support `{operation}`. {remedy}"):
        getattr(matrix, operation)(*argument)


def test_few_rows_are_sampled_completely() -> None:
    mine = streamed(labels=False)
    sample = mine.some(10_000)
    assert len(sample) == 300
    np.testing.assert_array_equal(np.sort(sample.y), np.sort(COUNTS))
    assert len(mine.some(30)) == 30


def test_without_columns_there_is_an_intercept_alone() -> None:
    mine = streamed(labels=False).without_columns()
    assert mine.design.n_columns == 1
    sums = reduce(QuadraticExpansion.at(Response(Poisson(), LOG), np.array([0.2])), mine)
    mean = np.exp(0.2 + OFFSET)
    assert sums.gradient[0] == pytest.approx(W @ (mean - COUNTS))


def test_responses_have_the_requested_type() -> None:
    mine = streamed(labels=True)
    chunk = next(iter(mine.source))
    assert mine.prepare(chunk).y.dtype == np.float64
    assert mine.responses_as(np.int64).prepare(chunk).y.dtype == np.int64
