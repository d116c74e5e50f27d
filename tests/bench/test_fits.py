"""Tests of races between models, in which either the fit or a later call is timed."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.fits import Entrant, asked_race, fit_race, transform_race
from bench.harness import measure
from bench.rows import Responses

DATA = Responses(np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0, 6.0]))


class Mean:
    """A model that counts how often it is fitted."""

    fits = 0

    def fit(self, X: Any, y: Any) -> Mean:
        type(self).fits += 1
        self.columns, self.mean = X.shape[1], float(y.mean())
        return self

    def fit_transform(self, X: Any) -> Any:
        return X - X.mean(axis=0)


def fresh() -> type[Mean]:
    return type("Fresh", (Mean,), {"fits": 0})


def means(model: Any, data: Responses) -> dict[str, Any]:
    return {"mean": np.asarray(model.mean)}


def test_every_call_of_a_fit_race_fits_a_new_model() -> None:
    made = fresh()
    race = fit_race(Entrant(made), {"rival": Entrant(made, reach=2)}, means, parity=0.0)
    assert [(one.name, one.reach) for one in (race.ours, *race.rivals)] == [("mercer", None), ("rival", 2)]
    measured = measure(race.ours, DATA)
    assert made.fits == 6
    assert race.results(measured.returned, DATA) == {"mean": 3.0}


def test_an_entrant_may_receive_rows_in_another_form() -> None:
    race = fit_race(Entrant(fresh(), see=lambda data: data.X[:, :1]), {}, means)
    assert race.ours.prepare(DATA)().columns == 1


def test_a_prediction_race_fits_the_model_once_beforehand() -> None:
    made = fresh()
    race = asked_race(
        Entrant(made), {}, lambda model, data: model.mean, lambda mean, data: {"mean": mean}, task="predict"
    )
    assert measure(race.ours, DATA).returned == 3.0
    assert made.fits == 1


def test_features_are_computed_for_all_rows() -> None:
    race = transform_race(Entrant(fresh()), {}, task="transform")
    features = race.results(race.ours.prepare(DATA)(), DATA)["features"]
    np.testing.assert_array_equal(features.sum(axis=0), 0.0)
