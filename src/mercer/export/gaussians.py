"""Normal classes: quadratic forms of the columns, with missing ones integrated out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mercer._errors import SingularCovarianceError
from mercer._typing import Array
from mercer.export.expression import (
    ONE_VALUE,
    ZERO_VALUE,
    Conditional,
    Expression,
    Lacks,
    Logarithm,
    Lookup,
    NumberValue,
    ProductOf,
    Quotient,
    SumOf,
    fill_gap,
    may_be_missing,
    name_value,
    subtract,
    weighted_sum,
)
from mercer.families.multivariate import cholesky

#: maximum columns with missing values that are integrated out, because the size of the formula grows with its cube
MAX_INTEGRATED_COLUMNS = 12
#: squared distance of a class from the mean of all classes, in its own standard deviations, up to which squares are
#: centred at that mean; cancellation then leaves 10 digits
MAX_CENTRED_DISTANCE = 1e6


def independent(inputs: Sequence[Expression], mean: Array, precision: Array, constants: Array) -> list[Expression]:
    """Return Σ_j log N(x_j; μ_kj, 1/precision_kj) for each class; `constants` has shape (classes, columns)."""
    about = mean.mean(axis=0)
    away = mean - about
    if len(mean) > 1 and np.max(precision * np.square(away), initial=0.0) > MAX_CENTRED_DISTANCE:
        each = zip(mean[:, None], precision[:, None], constants[:, None], strict=True)
        return [independent(inputs, *of_class)[0] for of_class in each]
    features: list[Expression] = []
    weights: list[Array] = []
    intercept = np.zeros(len(mean))
    for j, x in enumerate(inputs):
        if not precision[:, j].any():  # the column has no effect
            continue
        z = name_value(fill_gap(x, ZERO_VALUE, subtract(x, float(about[j]))))
        features += [z, name_value(ProductOf(z, z))]
        weights += [precision[:, j] * away[:, j], -0.5 * precision[:, j]]
        constant = constants[:, j] - 0.5 * precision[:, j] * np.square(away[:, j])
        if may_be_missing(x):
            features.append(name_value(fill_gap(x, ZERO_VALUE, ONE_VALUE)))
            weights.append(constant)
        else:
            intercept += constant
    return _scores(features, np.reshape(weights, (len(weights), len(mean))).T, intercept)


def _scores(features: Sequence[Expression], weights: Array, intercept: Array) -> list[Expression]:
    return [
        weighted_sum(row, features, constant)
        for row, constant in zip(weights.tolist(), intercept.tolist(), strict=True)
    ]


def linear(inputs: Sequence[Expression], centre: Array, weights: Array, intercept: Array) -> list[Expression]:
    """Return (x − centre) · weights + intercept; `weights` has shape (columns, classes)."""
    # tables of levels stay unchanged, so that those of one column are combined
    shift = np.array([0.0 if isinstance(x, Lookup) else c for x, c in zip(inputs, centre.tolist(), strict=True)])
    centred = [
        x if isinstance(x, Lookup) else name_value(subtract(x, c)) for x, c in zip(inputs, shift.tolist(), strict=True)
    ]
    return _scores(centred, weights.T, intercept - (centre - shift) @ weights)


def quadratic(
    inputs: Sequence[Expression], centre: Array, away: Array, precision: Array, constants: Array
) -> list[Expression]:
    """Return −½ (x − c − u_k)ᵀ P_k (x − c − u_k) + constants_k."""
    if np.max(np.einsum("ki,kij,kj->k", away, precision, away)) > MAX_CENTRED_DISTANCE:  # each class about its own mean
        none = np.zeros_like(away[:1])
        each = zip(away, precision[:, None], constants[:, None], strict=True)
        return [quadratic(inputs, centre + u, none, P, constant)[0] for u, P, constant in each]
    z = [name_value(subtract(x, c)) for x, c in zip(inputs, centre.tolist(), strict=True)]
    i, j = np.triu_indices(len(z))
    products = [name_value(ProductOf(z[a], z[b])) for a, b in zip(i.tolist(), j.tolist(), strict=True)]
    slopes = np.einsum("kij,kj->ki", precision, away)
    squares = np.where(i == j, -0.5, -1.0) * precision[:, i, j]
    intercept = constants - 0.5 * np.einsum("ki,ki->k", slopes, away)
    return _scores([*z, *products], np.hstack([slopes, squares]), intercept)


def with_gaps(
    inputs: Sequence[Expression], complete: list[Expression], centre: Array, away: Array, covariance: Array
) -> list[Expression]:
    """Return scores of complete rows and, if there are densities, those of the present values of other rows."""
    lacking = [x for x in inputs if may_be_missing(x)]
    if not lacking or any(map(_singular, covariance)):
        return complete
    gap = Lacks(name_value(SumOf(tuple((1.0, x) for x in lacking))))
    marginal = _marginal(inputs, centre, away, covariance)
    return [
        Conditional(gap, name_value(part), name_value(score)) for part, score in zip(marginal, complete, strict=True)
    ]


def too_many_gaps(inputs: Sequence[Expression], covariance: Array) -> str:
    """Return why rows with missing values cannot be exported, as a sentence; "" if they can be, or are invalid."""
    lacking = sum(map(may_be_missing, inputs))
    if lacking <= MAX_INTEGRATED_COLUMNS or any(map(_singular, covariance)):
        return ""
    return (
        f"Rows with missing values cannot be exported for a full covariance of {lacking} columns, only for up to "
        f"{MAX_INTEGRATED_COLUMNS}."
    )


def _singular(covariance: Array) -> bool:
    """Return whether a class has no density, so that complete rows have scores, but others are invalid."""
    try:
        cholesky(covariance)
    except SingularCovarianceError:
        return True
    return False


def _marginal(inputs: Sequence[Expression], centre: Array, away: Array, covariance: Array) -> list[Expression]:
    """Return log N of the present columns by the chain rule, one column after the other, without the missing ones.

    Columns that are never missing come first, so that their variances and slopes are numbers, not expressions.
    """
    order = sorted(range(len(inputs)), key=lambda j: may_be_missing(inputs[j]))
    z = [name_value(subtract(inputs[j], float(centre[j]))) for j in order]
    chains = [_chain(matrix[np.ix_(order, order)], z) for matrix in covariance]
    return [
        _log_density(chains[k if len(chains) > 1 else 0], z, shift) for k, shift in enumerate(away[:, order].tolist())
    ]


class ChainLink(NamedTuple):
    """One column given those before it: its variance, and the effect of its residual on those after it."""

    variance: Expression
    slopes: list[Expression]


def _chain(covariance: Array, z: list[Expression]) -> list[ChainLink]:
    """Return each column given the present columns before it."""
    C: list[list[Expression]] = [[NumberValue(value) for value in row] for row in covariance.tolist()]
    links = []
    for j, x in enumerate(z):
        variance = C[j][j]
        slopes = [name_value(fill_gap(x, ZERO_VALUE, _quotient(C[i][j], variance))) for i in range(j + 1, len(z))]
        links.append(ChainLink(variance, slopes))
        for place, i in enumerate(range(j + 1, len(z))):
            for other in range(i, len(z)):
                C[i][other] = C[other][i] = name_value(_less(C[i][other], slopes[place], C[j][other]))
    return links


def _log_density(chain: list[ChainLink], z: list[Expression], shift: Sequence[float]) -> Expression:
    """Return −½ Σ (residual²/variance + log variance) over the present columns."""
    residuals = [subtract(x, u) for x, u in zip(z, shift, strict=True)]
    terms: list[Expression] = []
    for j, (variance, slopes) in enumerate(chain):
        residual = name_value(fill_gap(z[j], ZERO_VALUE, residuals[j]))
        terms += [_quotient(ProductOf(residual, residual), variance), fill_gap(z[j], ZERO_VALUE, _log(variance))]
        for place, i in enumerate(range(j + 1, len(z))):
            residuals[i] = name_value(_less(residuals[i], slopes[place], residual))
    return weighted_sum([-0.5] * len(terms), [name_value(term) for term in terms])


def _less(value: Expression, slope: Expression, by: Expression) -> Expression:
    """Return value − slope · by."""
    match value, slope, by:
        case NumberValue(v), NumberValue(s), NumberValue(b):
            return NumberValue(v - s * b)
        case _, NumberValue(s), _:
            return SumOf(((1.0, value), (-s, by)))
        case _, _, NumberValue(b):
            return SumOf(((1.0, value), (-b, slope)))
    return SumOf(((1.0, value), (-1.0, ProductOf(slope, by))))


def _quotient(left: Expression, right: Expression) -> Expression:
    match left, right:
        case NumberValue(above), NumberValue(below):
            return NumberValue(above / below)
        case _, NumberValue(below):
            return SumOf(((1 / below, left),))
    return Quotient(left, right)


def _log(of: Expression) -> Expression:
    return NumberValue(math.log(of.value)) if isinstance(of, NumberValue) else Logarithm(of)
