"""Losses as functions of η: slopes and curvatures by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer.families import CLOGLOG, IDENTITY, LOG, LOGIT, PROBIT, Bernoulli, Gamma, Gaussian, Poisson
from mercer.families.response import Response, SoftmaxResponse
from mercer.optim.span.losses import ArrayLosses, ClassRowLosses, ResponseLosses

N = 12
RNG = np.random.default_rng(0)
ETA = 0.5 * RNG.normal(size=(N, 1))
WEIGHT = RNG.uniform(0.5, 2, size=N)
BINARY, COUNTS = (RNG.random((N, 1)) < 0.5).astype(float), RNG.poisson(2, size=(N, 1)).astype(float)
CODES = RNG.integers(0, 3, size=N)


def cases() -> dict[str, tuple[ArrayLosses, Any]]:
    numbers, pairs = RNG.normal(size=(N, 1)), RNG.normal(size=(N, 2))
    return {
        "squares": (ResponseLosses(Response(Gaussian(), IDENTITY), numbers, WEIGHT), ETA),
        "two targets": (ResponseLosses(Response(Gaussian(), IDENTITY), pairs, WEIGHT), pairs[::-1]),
        "logit": (ResponseLosses(Response(Bernoulli(), LOGIT), BINARY, WEIGHT), ETA),
        "probit": (ResponseLosses(Response(Bernoulli(), PROBIT), BINARY), ETA),
        "cloglog": (ResponseLosses(Response(Bernoulli(), CLOGLOG), BINARY), ETA),
        "poisson": (ResponseLosses(Response(Poisson(), LOG), COUNTS, offset=WEIGHT), ETA),
        "gamma": (ResponseLosses(Response(Gamma(), LOG), COUNTS + 1, WEIGHT), ETA),
        "softmax": (ClassRowLosses(SoftmaxResponse(3), CODES, WEIGHT), RNG.normal(size=(N, 3))),
        "reference": (ClassRowLosses(SoftmaxResponse(3, 1), CODES), RNG.normal(size=(N, 2))),
    }


CASES = cases()
EACH = pytest.mark.parametrize("name", CASES)


@EACH
def test_slopes_agree_with_the_value(name: str) -> None:
    losses, eta = CASES[name]
    g, _ = losses.slopes(eta)
    step = np.random.default_rng(1).normal(size=eta.shape)
    numeric = (losses.value(eta + 1e-6 * step) - losses.value(eta - 1e-6 * step)) / 2e-6
    np.testing.assert_allclose(np.vdot(g, step), numeric, rtol=1e-6)


@EACH
def test_curvatures_agree_with_the_slopes(name: str) -> None:
    losses, eta = CASES[name]
    _, bend = losses.slopes(eta)
    step = np.random.default_rng(1).normal(size=eta.shape)
    numeric = (losses.slopes(eta + 1e-6 * step)[0] - losses.slopes(eta - 1e-6 * step)[0]) / 2e-6
    np.testing.assert_allclose(bend.matvec(step), numeric, rtol=1e-5, atol=1e-8)


@EACH
def test_levels_recover_constants_from_their_sums(name: str) -> None:
    losses, eta = CASES[name]
    _, bend = losses.slopes(eta)
    level = np.arange(1.0, eta.shape[1] + 1)
    if name == "softmax":
        level -= level.mean()
    sums = bend.matvec(np.tile(level, (N, 1))).sum(axis=0)
    np.testing.assert_allclose(bend.level(sums), level, atol=1e-10)


# with an offset, or with a class that is rare, it is so only about
@pytest.mark.parametrize("name", [name for name in CASES if name not in ("poisson", "softmax")])
def test_the_start_is_the_best_constant(name: str) -> None:
    losses, _ = CASES[name]
    g, _ = losses.slopes(np.tile(losses.start(), (N, 1)))
    np.testing.assert_allclose(g.sum(axis=0), 0, atol=0.7 if name == "reference" else 1e-9)


def test_several_targets_have_one_loss_each() -> None:
    losses, eta = CASES["two targets"]
    assert isinstance(losses, ResponseLosses)
    alone = [ResponseLosses(losses.response, losses.y[:, [k]], losses.weight) for k in range(2)]
    np.testing.assert_allclose(losses.value(eta), sum(one.value(eta[:, [k]]) for k, one in enumerate(alone)))
