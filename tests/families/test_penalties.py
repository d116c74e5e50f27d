"""Penalties: negative log priors, one number for all coefficients or one for each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mercer import families as f
from mercer._errors import PenaltyError

coefficients = st.lists(st.floats(-5, 5), min_size=1, max_size=5).map(np.array)
strengths = st.floats(0.1, 10)


def up_to_a_constant(value: float, prior: float, at_zero: float) -> None:
    assert value == pytest.approx(at_zero - prior, abs=1e-8)


@settings(max_examples=40)
@given(beta=coefficients, strength=strengths, mean=st.floats(-2, 2))
def test_l2_is_a_normal_prior_and_l1_a_laplace(beta: np.ndarray, strength: float, mean: float) -> None:
    normal, laplace = stats.norm(mean, strength**-0.5), stats.laplace(mean, 1 / strength)
    l2, l1 = (penalty.strengths(len(beta)).value(beta) for penalty in (f.L2(strength, mean), f.L1(strength, mean)))
    up_to_a_constant(l2, normal.logpdf(beta).sum(), len(beta) * normal.logpdf(mean))
    up_to_a_constant(l1, laplace.logpdf(beta).sum(), len(beta) * laplace.logpdf(mean))


@settings(max_examples=40)
@given(beta=coefficients, strength=strengths, ratio=st.floats(0, 1))
def test_an_elastic_net_mixes_both(beta: np.ndarray, strength: float, ratio: float) -> None:
    def value(penalty: f.Penalty) -> float:
        return penalty.strengths(len(beta)).value(beta)

    mixed = ratio * value(f.L1(strength)) + (1 - ratio) * value(f.L2(strength))
    assert value(f.ElasticNet(strength, l1_ratio=ratio)) == pytest.approx(mixed)


def test_strengths_and_means_may_differ_by_coefficient() -> None:
    penalty = f.L2(np.array([1.0, 0.0, 4.0]), mean=np.array([0.0, 5.0, 1.0]))
    assert penalty.strengths(3).value(np.array([2.0, -9.0, 0.0])) == 2.0 + 0.0 + 2.0
    l1, l2, mean = penalty.strengths(3)
    assert l1.tolist() == [0.0, 0.0, 0.0]
    assert l2.tolist() == [1.0, 0.0, 4.0]
    assert mean.tolist() == [0.0, 5.0, 1.0]


def test_penalties_are_classified_as_smooth_or_absent() -> None:
    assert f.L2().strengths(2).smooth
    assert not f.ElasticNet().strengths(2).smooth
    assert f.ElasticNet(l1_ratio=0.0).strengths(2).smooth
    assert not f.Strengths.none(3).any
    assert f.L1().strengths(3).any
    assert not f.L2(0.0).strengths(3).any


@pytest.mark.parametrize("strength", [-1.0, np.nan, np.inf, np.array([1.0, -2.0])])
def test_a_negative_strength_is_rejected(strength: float) -> None:
    with pytest.raises(PenaltyError, match="must be 0 or more"):
        f.L2(strength).strengths(2)


def test_infinite_means_and_wrong_shapes_are_rejected() -> None:
    with pytest.raises(PenaltyError, match="must be finite"):
        f.L1(mean=np.nan).strengths(2)
    with pytest.raises(PenaltyError, match=r"strength of L2 has shape \(3,\), but there are 2 coefficients"):
        f.L2(np.ones(3)).strengths(2)
    with pytest.raises(PenaltyError, match="one number, or one for each"):
        f.L2(np.ones((1, 2))).strengths(2)
    with pytest.raises(PenaltyError, match=r"between 0 \(L2\) and 1"):
        f.ElasticNet(l1_ratio=1.5)


def test_penalties_by_name() -> None:
    assert f.penalty_from("l1") == f.L1()
    assert f.penalty_from("l2") == f.L2()
    assert f.penalty_from("elasticnet") == f.ElasticNet()
    assert f.penalty_from(None) is None
    given_ = f.L2(3.0)
    assert f.penalty_from(given_) is given_


@pytest.mark.parametrize("wrong", [3, ["l2"]])
def test_an_invalid_penalty_is_rejected_with_the_known_names(wrong: object) -> None:
    with pytest.raises(PenaltyError, match="l1, l2, elasticnet"):
        f.penalty_from(wrong)


@pytest.mark.parametrize(
    ("wrong", "answer"),
    [
        ("ridge", "There are 'l1', 'l2', 'elasticnet'"),
        ("L2", "Did you mean 'l2'"),
        ("elastic_net", "Did you mean 'elasticnet'"),
    ],
)
def test_a_misspelt_penalty_is_recognised(wrong: str, answer: str) -> None:
    with pytest.raises(PenaltyError, match=f"no penalty is called '{wrong}'. {answer}"):
        f.penalty_from(wrong)
