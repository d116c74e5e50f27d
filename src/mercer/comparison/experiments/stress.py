"""What becomes of models when values are missing or noisy (lecture 2's claims, measured)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from mercer._errors import DataError
from mercer._typing import Array
from mercer.comparison.experiments._corruption import Corruptible
from mercer.comparison.experiments._experiment import (
    Progress,
    by_name,
    check_among,
    classes_of,
    repeated,
    untold,
)
from mercer.comparison.experiments.stress_result import DAMAGES, MEASURES, PLACES, Stress
from mercer.comparison.experiments.subsets import train_rows
from mercer.comparison.measuring.splits import check_repeats
from mercer.comparison.racing.crossvalidation import described
from mercer.decide import calibration_error
from mercer.using.metrics import Outcome, accuracy, log_loss
from mercer.using.tasks import Classification


def stress(
    models: Any,
    X: Any,
    y: Any,
    *,
    missing: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    noise: Sequence[float] = (0.0, 0.25, 0.5, 1.0, 2.0),
    where: Literal["test", "train", "both"] = "test",
    repeats: int = 5,
    test_size: float = 1 / 3,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Stress:
    """Accuracy, log loss and calibration on held-out rows from which values are removed, or to which noise is added.

    By default models are fitted to rows as they are, and asked about the same held-out rows in worse and worse
    condition. Generative models integrate missing values out. A model that refuses them gets a `TableFeatures` in
    front, which fills them, and a note says so.

    Parameters
    ----------
    models : estimator, sequence of estimators, or mapping from name to estimator
        Classifiers; they are copied, not changed.
    X : array-like or data frame of shape (n_samples, n_features)
        Numbers, categories, missing values.
    y : array-like of shape (n_samples,)
        Class labels of any type.
    missing : sequence of float, default=(0, 0.1, …, 0.5)
        Probabilities with which a value is removed, whatever it is.
    noise : sequence of float, default=(0, 0.25, 0.5, 1, 2)
        Standard deviations of normal noise, in those of each column of amounts; classes stay.
    where : {"test", "train", "both"}, default="test"
        Which rows are damaged: those that models are asked about, those that they are fitted to, or both.
    repeats : int, default=5
        How many times rows are held out, and damaged.
    test_size : float or int, default=1/3
        Share of the rows to hold out, or their number.
    random_state : int, default=0
        Fixes how rows are dealt and damaged; all models meet the same damage.
    progress : callable, default=None
        Called as `progress(done, total, model)` before every fit, and after the last.

    Returns
    -------
    stress : Stress
        `.frame()`, `.plot()`, `.chart()`.

    Raises
    ------
    ExperimentInterrupted
        On Ctrl-C (it is a `KeyboardInterrupt`): its `result` has the repeats that were done.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import GaussianNB, stress
    >>> result = stress([GaussianNB()], *load_iris(return_X_y=True), missing=[0, 0.5], noise=[], repeats=2)
    >>> result.frame("pyarrow").column_names
    ['model', 'damage', 'amount', 'accuracy', 'log_loss', 'calibration']
    """
    named, rows = _named(models), Corruptible.of(X)
    task = classes_of(y, rows.table.n_rows)
    amounts = {"missing": _shares(missing), "noise": _deviations(noise)}
    n_test = len(task.codes) - train_rows(task.codes, test_size)
    check_among(where, tuple(PLACES), "where")
    check_repeats(repeats)
    if not any(map(len, amounts.values())):
        raise DataError("There must be an amount of missing values or of noise; both are empty.")
    trials = _Trials(rows, task, named, amounts, where, repeats, n_test, progress or untold)
    return repeated(trials, repeats, task.codes, test_size, random_state)


def _named(models: Any) -> dict[str, Any]:
    named = by_name([models] if hasattr(models, "get_params") or isinstance(models, str) else models)
    if not named:
        raise DataError("There is no model to put under stress; give one or more.")
    return named


def _shares(missing: Sequence[float]) -> Array:
    shares = np.asarray(missing, dtype=float).ravel()
    if not ((shares >= 0) & (shares <= 1)).all():
        raise DataError(f"missing are probabilities from 0 to 1, not {shares.tolist()}.")
    return shares


def _deviations(noise: Sequence[float]) -> Array:
    amounts = np.asarray(noise, dtype=float).ravel()
    if not ((amounts >= 0) & np.isfinite(amounts)).all():
        raise DataError(f"noise are numbers of standard deviations, 0 or more, not {amounts.tolist()}.")
    return amounts


class _Trials:
    """All models, fitted and asked in every condition."""

    def __init__(
        self,
        rows: Corruptible,
        task: Classification,
        models: dict[str, Any],
        amounts: dict[str, Array],
        where: str,
        repeats: int,
        n_test: int,
        tell: Progress,
    ) -> None:
        self.rows, self.task, self.models = rows, task, models
        self.amounts, self.where, self.n_test, self.tell = amounts, where, n_test, tell
        self.measured: dict[str, Array] = {
            damage: np.full((len(models), len(amounts[damage]), repeats, len(MEASURES)), np.nan) for damage in DAMAGES
        }
        self.told: dict[str, list[str]] = {}
        conditions = sum(map(len, amounts.values())) if where != "test" else 1
        self.total, self.done = repeats * len(models) * conditions, 0

    def run(self, repeat: int, train: Array, test: Array, rng: np.random.Generator) -> None:
        known, truth = self.task.y[train], self.task.codes[test]
        clean, scale = self.rows.rows(train), self.rows.scale(train)
        models = {} if self.where != "test" else {name: self._fitted(name, clean, known) for name in self.models}
        for damage in DAMAGES:
            for place, amount in enumerate(self.amounts[damage].tolist()):
                fitted_to = clean if self.where == "test" else self.rows.damaged(damage, train, amount, scale, rng)
                as_it_is = self.where == "train"
                X = self.rows.rows(test) if as_it_is else self.rows.damaged(damage, test, amount, scale, rng)
                for position, name in enumerate(self.models):
                    model = models[name] if self.where == "test" else self._fitted(name, fitted_to, known)
                    self.measured[damage][position, place, repeat] = self._measured(name, model, X, truth)

    def result(self, repeats: int) -> Stress:
        """What came of so many repeats."""
        notes = [f"{name}: {words}" for name, sentences in self.told.items() for words in dict.fromkeys(sentences)]
        if len(self.amounts["noise"]) and not self.rows.measured:
            notes.append("No column is an amount that noise could be added to.")
        measured = {damage: values[:, :, :repeats] for damage, values in self.measured.items()}
        return Stress(tuple(self.models), self.amounts, measured, self.where, self.n_test, tuple(notes))

    def _fitted(self, name: str, X: Any, y: Array) -> Any:
        """The model, or None with a note if it cannot be fitted."""
        self.tell(self.done, self.total, name)
        self.done += 1
        model, filled = _accepting_gaps(self.models[name])
        if filled:
            self._note(name, "missing values are filled by TableFeatures")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return model.fit(X, y)
        except Exception as failure:
            self._note(name, f"not fitted: {described(failure)}")
            return None

    def _measured(self, name: str, model: Any, X: Any, truth: Array) -> tuple[float, float, float]:
        if model is None:
            return np.nan, np.nan, np.nan
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                forecast = self.task.forecast(model, X)
        except Exception as failure:
            self._note(name, described(failure))
            return np.nan, np.nan, np.nan
        outcome, calibration = Outcome(truth, forecast), np.nan
        if forecast.log_proba is not None:
            calibration = calibration_error(np.exp(forecast.log_proba), truth, repeats=0).error
        return accuracy(outcome), log_loss(outcome), calibration

    def _note(self, name: str, sentence: str) -> None:
        self.told.setdefault(name, []).append(sentence)


def _accepting_gaps(model: Any) -> tuple[Any, bool]:
    """A copy of a model, with something in front that fills missing values if it would refuse them."""
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline
    from sklearn.utils import get_tags

    from mercer.models import TableFeatures

    steps = [step for _, step in getattr(model, "steps", [("", model)]) if step not in (None, "passthrough")]
    first = steps[0] if steps else model
    if isinstance(first, TableFeatures) or get_tags(first).input_tags.allow_nan:
        return clone(model), False
    return make_pipeline(TableFeatures(unseen="ignore"), clone(model)), True
