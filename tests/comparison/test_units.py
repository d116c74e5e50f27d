"""Rows, groups and blocks of time as the observations of a score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from mercer.application.metrics import (
    AMOUNT_METRICS,
    CLASS_METRICS,
    COUNT_METRICS,
    RANK_METRICS,
    Metric,
    Outcome,
    Prediction,
)
from mercer.application.task_choice import task_for
from mercer.comparison import compare
from mercer.comparison._splits import make_splits

RNG = np.random.default_rng(0)


def outcome_of_numbers(rows: int = 400, rng: Any = RNG) -> Outcome:
    truth = rng.poisson(3.0, size=rows).astype(float)
    return Outcome(truth, Prediction(0.5 * truth + rng.gamma(2.0, size=rows)), 3.0)


def outcome_of_classes(rows: int = 400, rng: Any = RNG, classes: int = 3) -> Outcome:
    truth = np.append(np.arange(classes), rng.integers(classes, size=rows - classes))
    proba = rng.dirichlet(np.ones(classes), size=rows) + 0.3 * np.eye(classes)[truth]
    proba /= proba.sum(axis=1, keepdims=True)
    return Outcome(truth, Prediction(proba.argmax(axis=1), np.log(proba)))


MEASURES = [
    *((metric, outcome_of_classes) for metric in (*CLASS_METRICS, *RANK_METRICS)),
    *((metric, outcome_of_numbers) for metric in (*AMOUNT_METRICS, *COUNT_METRICS)),
]


def name_of(each: Any) -> str:
    """Return the name of a metric or of a function."""
    return each.name if isinstance(each, Metric) else each.__name__


OF_ROWS = pytest.mark.parametrize(
    ("metric", "made"), [pair for pair in MEASURES if pair[0].by_row is not None], ids=name_of
)


@OF_ROWS
def test_the_mean_of_the_parts_is_the_measure_and_their_spread_gives_its_error(metric: Metric, made: Any) -> None:
    """The standard deviation of the measure over samples is that of its parts over √n."""
    samples = [made(400, np.random.default_rng(seed)) for seed in range(150)]
    values = [metric.measure(each) for each in samples]
    assert metric.by_row is not None
    parts = [metric.by_row(each) for each in samples]
    assert [float(np.mean(each)) for each in parts] == pytest.approx(values)
    errors = [np.std(each) / np.sqrt(400) for each in parts]
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.25)


@pytest.mark.parametrize(("metric", "made"), [pair for pair in MEASURES if pair[0].pairing is not None], ids=name_of)
def test_a_loss_splits_into_prediction_truth_and_product(metric: Metric, made: Any) -> None:
    """Exchanging the targets of two rows changes the loss by the products alone."""
    found = made(2 if made is outcome_of_numbers else 3)
    swapped = found._replace(truth=found.truth[::-1])
    assert metric.pairing is not None
    (Y, G), (other, _) = metric.pairing(found), metric.pairing(swapped)  # type: ignore[misc]
    sign, power = -1 if metric.larger_is_better else 1, 2 if metric.name == "rmse" else 1
    before, after = (sign * len(Y) * metric.measure(each) ** power for each in (found, swapped))
    factor = 2 if metric.name in ("rmse", "deviance") else 1  # on which no t-test depends
    assert after - before == pytest.approx(-factor * ((other - Y) * G).sum())


def test_groups_and_blocks_of_time_are_units() -> None:
    task = task_for(RNG.normal(size=60), 60)
    groups = np.arange(60) % 12
    np.testing.assert_array_equal(make_splits(task, 4, 1, 0, groups=groups).units, groups)
    np.testing.assert_array_equal(make_splits(task, 4, 1, 0).units, np.arange(60))
    forward = make_splits(task, 4, 1, 0, times=np.repeat(np.arange(20), 3))
    for _, test in forward.splits:
        assert len({*forward.units[test]}) <= 6
    blocks = [{*forward.units[test]} for _, test in forward.splits]
    assert sum(map(len, blocks)) == len(set.union(*blocks))


def test_rows_of_a_group_are_one_observation() -> None:
    """Copies of each row prove no more than the rows, once their groups are given."""
    X, noise = RNG.normal(size=(40, 1)), RNG.normal(size=40)
    y = X[:, 0] + noise
    models = {"line": LinearRegression(), "guess": DummyRegressor()}
    many, few = np.repeat(X, 10, axis=0), np.repeat(y, 10)
    alone = compare(X, y, models=models)
    grouped = compare(many, few, models=models, groups=np.repeat(np.arange(40), 10))
    copied = compare(many, few, models=models)
    widths = [found.interval("line").high - found.interval("line").low for found in (alone, grouped, copied)]
    assert widths[1] == pytest.approx(widths[0], rel=0.2)
    assert widths[2] < 0.5 * widths[0]


def test_repeats_do_not_multiply_the_rows() -> None:
    X = RNG.normal(size=(60, 2))
    y = X[:, 0] + RNG.normal(size=60)
    once, often = (compare(X, y, models={"line": LinearRegression()}, repeats=repeats) for repeats in (1, 4))
    one, four = (found.interval("line") for found in (once, often))
    assert four.high - four.low == pytest.approx(one.high - one.low, rel=0.15)
