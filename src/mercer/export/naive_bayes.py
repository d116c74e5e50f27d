"""Naive Bayes: the sum of the log densities of all columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._errors import ExportError
from mercer._typing import Array
from mercer.base.posterior import log
from mercer.export import gaussians
from mercer.export.expression import (
    ONE_VALUE,
    ZERO_VALUE,
    Above,
    Conditional,
    Expression,
    NumberValue,
    SumOf,
    clip_to,
    fill_gap,
    may_be_missing,
    name_value,
    weighted_sum,
)
from mercer.export.families import finite, log_densities, table_of
from mercer.export.formula import ModelOutput, plain_labels
from mercer.families.multivariate import cholesky
from mercer.naive_bayes.parts import (
    CategoryConditional,
    CountsConditional,
    GaussianConditional,
    GaussianVectorConditional,
    NumbersConditional,
)


def bayes(model: Any, columns: Sequence[list[Expression]]) -> ModelOutput:
    """Return p(y|x) from the contributions of columns to the score of every class."""
    prior = finite(model._log_prior()).tolist()
    joint = [
        weighted_sum([1.0] * len(of_class), of_class, constant)
        for constant, of_class in zip(prior, zip(*columns, strict=True), strict=True)
    ]
    return ModelOutput.of_joint(plain_labels(model), joint, prior)


def gaussian_nb(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    return bayes(model, [normal_columns(model._scores, inputs)])


def normal_columns(scores: Any, inputs: Sequence[Expression]) -> list[Expression]:
    return gaussians.independent(
        inputs, np.nan_to_num(scores.mean), np.square(scores.inverse_deviation), scores.constants
    )


def bernoulli_nb(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    present, absent = model.feature_log_prob_, _log_absent(model)
    if model.binarize is None:
        return bayes(model, [_shares(x, present[:, j], absent[:, j]) for j, x in enumerate(inputs)])
    columns = []
    for j, x in enumerate(inputs):
        one = name_value(
            fill_gap(x, x, Conditional(Above(x, NumberValue(float(model.binarize))), ONE_VALUE, ZERO_VALUE))
        )
        columns.append(
            [
                table_of(one, [0.0, 1.0], logs, missing=0.0, other=math.nan)
                for logs in np.column_stack([absent[:, j], present[:, j]]).tolist()
            ]
        )
    return bayes(model, columns)


def _log_absent(model: Any) -> Array:
    finite_part, impossible = model._scores.finite.absent.T, model._scores.impossible
    return finite_part if impossible is None else np.where(impossible.absent.T > 0, -np.inf, finite_part)


def _shares(x: Expression, present: Array, absent: Array) -> list[Expression]:
    """Return x · present + (1 − x) · absent, for values between 0 and 1."""
    _check_no_infinity([*present, *absent], "BernoulliNB")
    return [
        fill_gap(x, ZERO_VALUE, weighted_sum([p - a], [x], a))
        for p, a in zip(present.tolist(), absent.tolist(), strict=True)
    ]


def _check_no_infinity(logs: Sequence[float], model: str) -> None:
    if not np.isfinite(logs).all():
        raise ExportError(
            f"{model} cannot be exported: a value has probability 0 in some class. Fit it with alpha above 0."
        )


def multinomial_nb(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    return bayes(model, [[weighted_sum(row, inputs) for row in finite(model.feature_log_prob_).tolist()]])


def complement_nb(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    _check_no_infinity(model.feature_log_prob_.ravel().tolist(), "ComplementNB")
    scores = [weighted_sum(row, inputs) for row in model.feature_log_prob_.tolist()]
    return ModelOutput.of_scores(plain_labels(model), scores)


def categorical_nb(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    return bayes(
        model,
        [
            [table_of(x, range(len(logs)), logs, missing=0.0, other=math.nan) for logs in table.tolist()]
            for x, table in zip(inputs, model.feature_log_prob_, strict=True)
        ],
    )


def mixed(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return the formula of `NaiveBayes`, part by part."""
    parts = []
    for conditional in model._conditionals:
        columns = [inputs[j] for j in conditional.part.columns]
        parts.append(_part(conditional, columns))
    return bayes(model, parts)


def _part(conditional: Any, x: list[Expression]) -> list[Expression]:
    match conditional:
        case CategoryConditional():
            return _category(conditional, x[0])
        case GaussianConditional():
            return normal_columns(conditional.scores, x)
        case NumbersConditional():
            return _numbers(conditional, x)
        case CountsConditional():
            return _counts(conditional, x)
        case GaussianVectorConditional():
            return _vector(conditional, x)
    names, family = conditional.part.names, conditional.part.family
    raise ExportError(
        f"NaiveBayes cannot be exported while {', '.join(map(repr, names[:3]))} is described by {family!r}. Describe "
        "it by Gaussian() or Histogram() and fit again; or keep the model in a file with mercer.save."
    )


def _category(conditional: CategoryConditional, x: Expression) -> list[Expression]:
    tables = log(conditional.parameters.probabilities).tolist()
    unseen = [math.nan] * len(tables) if conditional.strict else conditional.unseen.tolist()
    levels = conditional.levels.tolist()
    x = clip_to(conditional.ends, x)
    return [table_of(x, levels, logs, missing=0.0, other=new) for logs, new in zip(tables, unseen, strict=True)]


def _numbers(conditional: NumbersConditional, x: list[Expression]) -> list[Expression]:
    names, family = conditional.part.names, conditional.part.family
    informative = np.flatnonzero(conditional.informative).tolist()
    columns = [log_densities(names[j], family, x[j], conditional._column(j)) for j in informative]
    classes = len(conditional.parameters[0])
    return [weighted_sum([1.0] * len(informative), [column[k] for column in columns]) for k in range(classes)]


def _counts(conditional: CountsConditional, x: list[Expression]) -> list[Expression]:
    """Return Σ x log p; 0 for a row whose values are all missing."""
    scores = [weighted_sum(row, x) for row in finite(log(conditional.parameters.probabilities)).tolist()]
    if not any(map(may_be_missing, x)):
        return scores
    known = name_value(SumOf(tuple((1.0, fill_gap(each, ZERO_VALUE, ONE_VALUE)) for each in x)))
    return [Conditional(Above(known, NumberValue(0.5)), score, ZERO_VALUE) for score in scores]


def _vector(conditional: GaussianVectorConditional, x: list[Expression]) -> list[Expression]:
    mean, covariance = conditional._known
    known = [each for each, is_observed in zip(x, conditional.observed.tolist(), strict=True) if is_observed]
    roots = np.linalg.inv(cholesky(covariance))
    precision = np.swapaxes(roots, 1, 2) @ roots
    centre = mean.mean(axis=0)
    constants = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    complete = gaussians.quadratic(known, centre, mean - centre, precision, constants)
    return gaussians.with_gaps(known, complete, centre, mean - centre, covariance)
