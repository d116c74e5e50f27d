"""Fit one model to all rows of a table, with the preprocessing that its columns require."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer._errors import DataError
from mercer.application.preparing import PreparedModel, make_model, prepare_for_source, prepare_named
from mercer.application.task_choice import task_for
from mercer.application.tasks import ClassificationTask
from mercer.base import estimator_named, model_names, traits_of
from mercer.base.pipelines import last_step
from mercer.data.coding import code_array, trim_labels
from mercer.data.formats import NumberFormat, read_labels
from mercer.data.infer import number_format
from mercer.data.sources.base import Chunk, Source
from mercer.data.storages.time_columns import check_no_clock_times


def fit_model(
    name: str,
    X: Any,
    y: Any,
    *,
    settings: Mapping[str, Any] | None = None,
    calibrate: str | None = None,
    conformal: float | None = None,
    seed: int = 0,
    prepared: PreparedModel | None = None,
) -> PreparedModel:
    """Fit the model of that name, or the `prepared` one, to a data frame."""
    check_no_clock_times(X)
    if prepared is None:
        prepared = prepare_named(name, X, settings=settings)
    classes = is_classifier(prepared.model) or _predicts_classes(name, y)
    task = task_for(y, len(y), "classification" if classes else "regression")
    task.check()
    target = np.asarray(y) if classes else task.y
    model = wrap_model(prepared.model, classes=classes, calibrate=calibrate, conformal=conformal, seed=seed)
    notes = (*prepared.notes, *(_note_numeric_classes(name, y) if classes else ()))
    return replace(prepared, model=model.fit(prepared.frame, target), notes=(*notes, *certificate_note(model)))


def fit_to_source(name: str, source: Source, *, settings: Mapping[str, Any] | None = None) -> PreparedModel:
    """Fit the model of that name to a source, in as many passes as it needs."""
    check_no_clock_times(source.head().X)
    if not _is_classifier_name(name) and (form := number_format(source.head().y)) is not None:
        source = source.map(partial(_convert_target, form))
    prepared = prepare_for_source(name, source, settings=settings)
    _predicts_classes(name, source.head().y)
    model = prepared.model.fit(prepared.frame)
    if len(labels := getattr(last_step(model), "classes_", ())) == 1:  # known only at the end of the pass
        ClassificationTask(np.asarray(labels), np.zeros(1, dtype=np.intp)).check()
    notes = (*prepared.notes, *certificate_note(model), f"How: {last_step(model).plan_}.")
    return replace(prepared, model=model, notes=notes)


def _convert_target(form: NumberFormat, chunk: Chunk) -> Chunk:
    """Convert a target that is written as strings to numbers."""
    return chunk._replace(y=read_labels(trim_labels(code_array(np.asarray(chunk.y))), form, "target"))


def estimate_fit_cost(name: str, source: Source, settings: Mapping[str, Any]) -> Any:
    """Estimate the cost of a fit, including features of all columns, the most work that may be required."""
    from sklearn.pipeline import make_pipeline

    from mercer.cost import estimate_cost
    from mercer.preprocessing import TableFeatures

    return estimate_cost(make_pipeline(TableFeatures(unseen="ignore"), make_model(name, settings)), source)


def _predicts_classes(name: str, y: Any) -> bool:
    """Return whether the model predicts classes: a classifier does, and a GLM whose target is not numeric.

    Raises
    ------
    DataError
        If a regressor is given labels.
    """
    if _is_classifier_name(name) or (_may_classify(name) and np.asarray(y).dtype.kind not in "iufb"):
        return True
    if isinstance(first := next(iter(y), None), str):
        raise DataError(
            f"{name} predicts numbers, but the target holds names such as {first!r}. Take a classifier, e.g. "
            "LogisticRegression or NaiveBayes, or another target."
        )
    return False


def _is_classifier_name(name: str) -> bool:
    """Return whether the model of that name is a classifier."""
    return name in model_names() and traits_of(estimator_named(name)).classifies


def _may_classify(name: str) -> bool:
    """Return whether classification is one of the tasks of the model."""
    return name in model_names() and "classification" in traits_of(estimator_named(name)).tasks


def _note_numeric_classes(name: str, y: Any) -> tuple[str, ...]:
    """Return a note if a classifier is fitted to numbers that would not be read as classes by default."""
    values = np.asarray(y)
    if values.dtype.kind not in "iuf" or isinstance(task := task_for(y, len(y)), ClassificationTask):
        return ()
    suitable = {"counts": "PoissonRegressor", "amounts": "LogNormalRegressor or GammaRegressor"}.get(task.name, "Ridge")
    kind = {"counts": "counts", "amounts": "positive amounts"}.get(task.name, "numbers")
    note = (
        f"The target holds {len(np.unique(values))} numbers, each of which is a class to {name}; they look like "
        f"{kind}, for which {suitable} is a model."
    )
    return (note,)


def wrap_model(model: Any, *, classes: bool, calibrate: str | None, conformal: float | None, seed: int) -> Any:
    """Wrap a model so that its probabilities are calibrated, or its predictions have intervals or sets of classes."""
    from mercer import decision

    if calibrate is not None:
        if not classes:
            raise DataError("Only the probabilities of a classifier can be calibrated; leave out --calibrate.")
        model = decision.Calibrated(model, method=calibrate)
    if conformal is not None:
        if not 0 < conformal < 1:
            raise DataError(f"A coverage lies between 0 and 1, e.g. 0.9, not {conformal:g}.")
        kind = decision.ConformalClassifier if classes else decision.ConformalRegressor
        model = kind(model, coverage=conformal, random_state=seed)
    return model


def certificate_note(model: Any) -> tuple[str, ...]:
    """Return a sentence on the certificate of the fit, if the model has one."""
    certificate = getattr(last_step(model), "certificate_", None)
    return () if certificate is None else (f"Certificate: {certificate.sentence}",)
