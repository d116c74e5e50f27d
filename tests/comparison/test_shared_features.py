"""Features that several models share: the same scores, fitted once for each split, on its training rows alone."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as ScikitLogistic
from sklearn.pipeline import make_pipeline

from mercer import LogisticRegression, TableFeatures
from mercer.application.task_choice import task_for
from mercer.comparison._cross_validation import run_trial
from mercer.comparison._entrants import Entrant
from mercer.comparison._shared_features import SharedFeatures
from mercer.data import Table

rng = np.random.default_rng(0)
N = 60
FRAME = pd.DataFrame(rng.normal(size=(N, 70)), columns=[f"x{j}" for j in range(70)])
FRAME["city"] = rng.choice(["Ulm", "Bonn", "Rom"], size=N)
FRAME.loc[::7, "x3"] = np.nan
Y = np.where(FRAME["x0"] + rng.normal(size=N) > 0, "yes", "no")
SPLITS = [(np.arange(20, N), np.arange(20)), (np.arange(40), np.arange(40, N))]


class CountedFeatures(TableFeatures):
    """Features that record the rows of each fit and transformation."""

    fits: list[int] = []  # noqa: RUF012
    transforms: list[int] = []  # noqa: RUF012

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        self.fits.append(len(X))
        return super().fit_transform(X, y)

    def transform(self, X: Any) -> Any:
        self.transforms.append(len(X))
        return super().transform(X)


@pytest.fixture(autouse=True)
def _forget() -> None:
    CountedFeatures.fits.clear()
    CountedFeatures.transforms.clear()


def pipeline(model: Any, **options: Any) -> Any:
    return make_pipeline(CountedFeatures(output="array", **options), model)


MODELS = [pipeline(LogisticRegression()), pipeline(ScikitLogistic()), pipeline(LogisticRegression(C=0.1))]


def scores(models: list[Any], shared: SharedFeatures | None, splits: Any = SPLITS) -> list[dict[str, float]]:
    table, task = Table.of(FRAME), task_for(Y, N, "classification")
    entrants = [Entrant(str(k), model, table, "discriminative") for k, model in enumerate(models)]
    return [run_trial(entrant, task, split, None, shared).scores for entrant in entrants for split in splits]


def test_shared_features_do_not_change_scores() -> None:
    assert scores(MODELS, SharedFeatures(2)) == scores(MODELS, None)


def test_features_are_fitted_once_for_each_split_to_its_training_rows() -> None:
    scores(MODELS, SharedFeatures(2))
    assert CountedFeatures.fits == [40, 40]
    assert CountedFeatures.transforms == [20, 20]


def test_the_models_have_their_features_in_front() -> None:
    table, task, shared = Table.of(FRAME), task_for(Y, N, "classification"), SharedFeatures(2)
    for model in MODELS:
        trial = run_trial(Entrant("a", model, table, "discriminative"), task, SPLITS[0], None, shared)
        rows = FRAME.iloc[SPLITS[0][1]]
        expected = model.fit(FRAME.iloc[SPLITS[0][0]], Y[SPLITS[0][0]]).predict_log_proba(rows)
        np.testing.assert_allclose(trial.model.predict_log_proba(rows), expected, rtol=1e-6, atol=1e-9)


def test_other_parameters_have_features_of_their_own() -> None:
    scores(
        [pipeline(LogisticRegression()), pipeline(LogisticRegression(), missing="indicator", scale=False)],
        SharedFeatures(2),
    )
    assert CountedFeatures.fits == [40, 40, 40, 40]


class Spoiling(LogisticRegression):
    """A model that writes into the rows that it is given."""

    def fit(self, X: Any, y: Any) -> Any:
        super().fit(X.copy(), y)
        X[:] = 0.0
        return self


def test_a_model_that_modifies_its_rows_does_not_modify_those_of_others() -> None:
    spoiling = [pipeline(Spoiling()), pipeline(LogisticRegression())]
    assert scores(spoiling, SharedFeatures(2)) == scores(copy.deepcopy(spoiling), None)


def test_only_a_few_features_are_kept_in_memory() -> None:
    one = SharedFeatures(2, most_kept=1)
    other = pipeline(LogisticRegression(), scale=False)
    scores([MODELS[0], other, MODELS[0]], one)
    assert len(CountedFeatures.fits) == 6
    CountedFeatures.fits.clear()
    scores(MODELS, SharedFeatures(2, most_values=100))
    assert len(CountedFeatures.fits) == 6


def test_every_model_receives_the_warnings() -> None:
    leaking = FRAME.assign(answer=Y)
    table, task, shared = Table.of(leaking), task_for(Y, N, "classification"), SharedFeatures(2)
    for model in MODELS:
        with pytest.warns(UserWarning, match="answer"):
            run_trial(Entrant("a", model, table, "discriminative"), task, SPLITS[0], None, shared)
    assert CountedFeatures.fits == [40]


def test_a_prediction_computes_the_features_once() -> None:
    model = MODELS[0].fit(FRAME, Y)
    CountedFeatures.transforms.clear()
    forecast = task_for(Y, N, "classification").forecast(model, FRAME)
    assert CountedFeatures.transforms == [N]
    np.testing.assert_array_equal(np.array(["no", "yes"])[forecast.decisions], model.predict(FRAME))
    np.testing.assert_array_equal(forecast.log_proba, model.predict_log_proba(FRAME))
