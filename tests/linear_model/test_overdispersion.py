"""Tests of overdispersion: counts that vary more than a Poisson's, or not more."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import GLM
from mercer.families import NegativeBinomial
from tests.linear_model._responses import rows_of


def test_overdispersed_counts_are_reported() -> None:
    spread, plain = rows_of("negative_binomial", n=2000), rows_of("poisson", n=2000)
    (finding,) = GLM("poisson").fit(*spread).diagnosis_
    assert finding.code == "overdispersion"
    assert "negative_binomial" in finding.remedy
    assert not GLM("poisson").fit(*plain).diagnosis_
    assert not GLM("negative_binomial").fit(*spread).diagnosis_


def test_the_test_for_overdispersion_keeps_its_level() -> None:
    found = [bool(GLM("poisson").fit(*rows_of("poisson", n=100, seed=seed)).diagnosis_) for seed in range(200)]
    assert sum(found) <= 3


def test_counts_without_overdispersion_need_no_negative_binomial() -> None:
    X = np.linspace(0, 1, 30)[:, None]
    even = np.round(np.exp(1 + X[:, 0]))
    diagnosis = GLM("negative_binomial").fit(X, even).diagnosis_
    assert diagnosis.codes == ("no overdispersion",)
    assert 'family="poisson"' in str(diagnosis)
    assert not GLM("negative_binomial").fit(X, np.where(np.arange(30) % 3, 0, 9 * even)).diagnosis_
    assert not GLM(NegativeBinomial(2.0)).fit(X, even).diagnosis_


@pytest.mark.filterwarnings("ignore::mercer.errors.NotConvergedWarning")
@pytest.mark.parametrize("size", [1e200, 1e300])
def test_counts_whose_squares_overflow_are_not_tested_for_overdispersion(size: float) -> None:
    rng = np.random.default_rng(0)
    model = GLM("poisson").fit(rng.normal(size=(9, 2)), rng.random(9) * size)
    assert "overdispersion" not in model.diagnosis_.codes
