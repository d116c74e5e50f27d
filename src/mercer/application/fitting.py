"""One model, fitted to all rows, with what it needs to take a table as it comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer._errors import DataError
from mercer.application.preparing import PreparedModel, model_named, prepared, prepared_source
from mercer.application.task import task_for
from mercer.application.tasks import ClassificationTask
from mercer.base import estimator_named, model_names, traits_of
from mercer.base.pipelines import last_step
from mercer.data.coding import code_array, trim_labels
from mercer.data.formats import NumberFormat, read_labels
from mercer.data.infer import number_format
from mercer.data.sources.base import Chunk, Source
from mercer.data.storages.time_columns import refuse_clock_times


def fitted(
    name: str,
    X: Any,
    y: Any,
    *,
    settings: Mapping[str, Any] | None = None,
    calibrate: str | None = None,
    conformal: float | None = None,
    seed: int = 0,
    ready: PreparedModel | None = None,
) -> PreparedModel:
    """Return the model of that name, or the one that is `ready`, fitted to a frame as it comes."""
    refuse_clock_times(X)
    if ready is None:
        ready = prepared(name, X, settings=settings)
    classes = is_classifier(ready.model) or _asks_for_classes(name, y)
    question = task_for(y, len(y), "classification" if classes else "regression")
    question.check()
    target = np.asarray(y) if classes else question.y
    model = wrapped(ready.model, classes=classes, calibrate=calibrate, conformal=conformal, seed=seed)
    notes = (*ready.notes, *(_remark_on_amounts(name, y) if classes else ()))
    return replace(ready, model=model.fit(ready.frame, target), notes=(*notes, *certificate_note(model)))


def fitted_source(name: str, source: Source, *, settings: Mapping[str, Any] | None = None) -> PreparedModel:
    """The model of that name, fitted to a source, which is read as often as it takes."""
    refuse_clock_times(source.head().X)
    if not _classifies(name) and (form := number_format(source.head().y)) is not None:
        source = source.map(partial(_with_numbers, form))
    ready = prepared_source(name, source, settings=settings)
    _asks_for_classes(name, source.head().y)
    model = ready.model.fit(ready.frame)
    if len(labels := getattr(last_step(model), "classes_", ())) == 1:  # nobody knew before the end of the pass
        ClassificationTask(np.asarray(labels), np.zeros(1, dtype=np.intp)).check()
    return replace(
        ready, model=model, notes=(*ready.notes, *certificate_note(model), f"How: {last_step(model).plan_}.")
    )


def _with_numbers(form: NumberFormat, chunk: Chunk) -> Chunk:
    """A chunk whose target, written as strings, is numbers."""
    return chunk._replace(y=read_labels(trim_labels(code_array(np.asarray(chunk.y))), form, "target"))


def expected(name: str, source: Source, settings: Mapping[str, Any]) -> Any:
    """What the fit will cost, about: features of the columns are the most that may have to be made."""
    from sklearn.pipeline import make_pipeline

    from mercer.cost import estimate_cost
    from mercer.preprocessing import TableFeatures

    return estimate_cost(make_pipeline(TableFeatures(unseen="ignore"), model_named(name, settings)), source)


def _asks_for_classes(name: str, y: Any) -> bool:
    """Whether classes are to be named: by a classifier, or by a GLM (of any family) whose target is no number."""
    if _classifies(name) or (_may_classify(name) and np.asarray(y).dtype.kind not in "iufb"):
        return True
    if isinstance(first := next(iter(y), None), str):
        raise DataError(
            f"{name} predicts numbers, but the target holds names such as {first!r}. Take a classifier, e.g. "
            "LogisticRegression or NaiveBayes, or another target."
        )
    return False


def _classifies(name: str) -> bool:
    """Whether classes are what a model is for."""
    return name in model_names() and traits_of(estimator_named(name)).classifies


def _may_classify(name: str) -> bool:
    """Whether classes are among what a model is for."""
    return name in model_names() and "classification" in traits_of(estimator_named(name)).tasks


def _remark_on_amounts(name: str, y: Any) -> tuple[str, ...]:
    """Return a remark where a classifier is fitted to numbers that are not read as classes by themselves."""
    values = np.asarray(y)
    if values.dtype.kind not in "iuf" or isinstance(question := task_for(y, len(y)), ClassificationTask):
        return ()
    suits = {"counts": "PoissonRegressor", "amounts": "LogNormalRegressor or GammaRegressor"}.get(
        question.name, "Ridge"
    )
    kind = {"counts": "counts", "amounts": "positive amounts"}.get(question.name, "numbers")
    remark = (
        f"The target holds {len(np.unique(values))} numbers, each of which is a class to {name}; they look like "
        f"{kind}, for which {suits} is a model."
    )
    return (remark,)


def wrapped(model: Any, *, classes: bool, calibrate: str | None, conformal: float | None, seed: int) -> Any:
    """Return a model with calibrated probabilities, or with intervals or sets of classes around its predictions."""
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
    """Return a sentence on the evidence that the fit is optimal, where the model has a certificate."""
    certificate = getattr(last_step(model), "certificate_", None)
    return () if certificate is None else (f"Certificate: {certificate.sentence}",)
