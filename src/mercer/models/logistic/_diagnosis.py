"""What a logistic regression without a penalty has to say about its data: collinear columns, and separated classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mercer.families.penalties import Strengths
from mercer.families.softmax import SoftmaxResponse
from mercer.models.diagnosis import Diagnosis, Finding
from mercer.models.glm.rank import Dependence, find_dependence
from mercer.models.glm.separation import examine, examine_classes
from mercer.models.glm.settle import dependent
from mercer.models.logistic._path import LogisticPath, PathInterrupted, Point

REMEDY = "Leave the columns out, or give C a finite value, under which there is one answer."


def settled(path: LogisticPath, point: Point, names: Sequence[str], classes: Sequence[str]) -> tuple[Point, Diagnosis]:
    """The fit with the smallest of all coefficients that are as good, as scikit-learn's lbfgs has, and findings.

    On Ctrl-C, a `PathInterrupted` has the fit as it was.
    """
    if path.intercept_scaling is not None or point.penalised:
        return point, Diagnosis()
    try:
        return _examined(path, point, names, classes)
    except KeyboardInterrupt:
        raise PathInterrupted("stopped by the user after the search; its coefficients are kept.", point) from None


def _examined(
    path: LogisticPath, point: Point, names: Sequence[str], classes: Sequence[str]
) -> tuple[Point, Diagnosis]:
    terms = [*names, "the intercept"] if path.observations.design.coordinates.intercept else list(names)
    dependence = find_dependence(path.observations, Strengths.none(len(terms)))
    separation = _separation(path, point, terms, classes)
    findings: list[Finding] = [] if separation is None else [replace(separation, remedy=REMEDY)]
    if dependence is not None:
        found, _ = dependent(terms, dependence.columns(), dependence.constant)
        findings += [replace(finding, remedy=REMEDY) for finding in found]
        point = _smallest(path, point, dependence)
    return point, Diagnosis(tuple(findings))


def _smallest(path: LogisticPath, point: Point, dependence: Dependence) -> Point:
    value = dependence.smallest(point.solution.value, path.observations.design.coordinates)
    return replace(point, solution=replace(point.solution, value=value), coefficients=path.coefficients(value))


def _separation(path: LogisticPath, point: Point, names: Sequence[str], classes: Sequence[str]) -> Finding | None:
    if len(classes) == 2:
        return examine(path.problem(np.inf, 0.0), point.solution, names)
    return examine_classes(path.observations, SoftmaxResponse(len(classes)), point.solution, names, classes)
