"""Losses as values that compiled loops dispatch on; what they compute is tested against `families`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mercer.families import loss_loops
from tests._jit._process import printed

EVERY = [
    loss_loops.GaussianIdentity(),
    loss_loops.BernoulliLogit(),
    loss_loops.PoissonLog(),
    loss_loops.GammaLog(),
    loss_loops.NegativeBinomialLog(2.5, float(np.log(2.5))),
    loss_loops.TweedieLog.of(1.5),
]
NONE = np.zeros(0)
RUN = """
import json
import numpy as np
from mercer.families import loss_loops as losses
out = np.empty((2, 3))
total = losses.slopes(losses.TweedieLog.of({power}), np.ones(3), np.zeros(3), np.zeros(0), out[0], out[1])
print(json.dumps([total, sum(losses.slopes.dispatcher.stats.cache_hits.values())]))
"""


def test_every_loss_has_a_row_function() -> None:
    assert {type(loss) for loss in EVERY} == set(loss_loops.ROW_OF_LOSS)


@pytest.mark.parametrize("loss", EVERY, ids=lambda loss: type(loss).__name__)
def test_one_row_called_from_python_is_the_row_of_the_loop(loss: object) -> None:
    y, eta = np.array([1.0, 1.0]), np.array([0.3, -2.0])
    first, second = np.empty(2), np.empty(2)
    total = loss_loops.slopes(loss, y, eta, NONE, first, second)
    rows = [loss_loops.row(loss, y[i], eta[i]) for i in range(2)]
    assert total == pytest.approx(sum(row[0] for row in rows), rel=1e-14)
    np.testing.assert_allclose(first, [row[1] for row in rows], rtol=1e-14)
    np.testing.assert_allclose(second, [row[2] for row in rows], rtol=1e-14)
    assert loss_loops.total(loss, y, eta, NONE) == pytest.approx(total, rel=1e-14)


@pytest.mark.parametrize("loss", EVERY, ids=lambda loss: type(loss).__name__)
def test_weights_multiply(loss: object) -> None:
    y, eta, weight = np.ones(3), np.linspace(-1, 1, 3), np.array([2.0, 0.0, 0.5])
    plain, weighted = np.empty((2, 3)), np.empty((2, 3))
    loss_loops.slopes(loss, y, eta, NONE, *plain)
    total = loss_loops.slopes(loss, y, eta, weight, *weighted)
    np.testing.assert_allclose(weighted, weight * plain, rtol=1e-15)
    assert loss_loops.total(loss, y, eta, weight) == pytest.approx(total, rel=1e-14)


def test_slopes_may_overwrite_eta() -> None:
    y, eta = np.ones(5), np.linspace(-1, 1, 5)
    first, second = np.empty(5), np.empty(5)
    expected = loss_loops.slopes(loss_loops.PoissonLog(), y, eta, NONE, first, second)
    inner = np.empty(5)
    assert loss_loops.slopes(loss_loops.PoissonLog(), y, eta, NONE, inner, eta) == expected
    np.testing.assert_array_equal(inner, first)
    np.testing.assert_array_equal(eta, second)


def test_a_loss_with_another_constant_is_loaded_from_the_cache(tmp_path: Path) -> None:
    """The type of a loss decides what is compiled, not its value, and the next process need not compile."""

    def run(power: float) -> list[float]:
        return list(json.loads(printed(RUN.format(power=power), NUMBA_CACHE_DIR=str(tmp_path))))

    assert run(1.5) == [0.0, 0]
    assert run(1.25) == [0.0, 1]
