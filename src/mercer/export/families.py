"""Log densities log p(x|y) of one column for every class, up to a constant that all classes share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._errors import ExportError
from mercer._typing import Array
from mercer.export.expression import (
    IMPOSSIBLE,
    ONE_VALUE,
    UNKNOWN,
    ZERO_VALUE,
    Above,
    Conditional,
    Expression,
    Logarithm,
    Lookup,
    NumberValue,
    ProductOf,
    Quotient,
    SumOf,
    fill_gap,
    name_value,
    subtract,
    weighted_sum,
)
from mercer.export.gaussians import quadratic
from mercer.families import (
    Bernoulli,
    Beta,
    Binomial,
    Exponential,
    Family,
    Gamma,
    Histogram,
    InverseGaussian,
    LogNormal,
    NegativeBinomial,
    Parameters,
    Poisson,
)

#: trials of a binomial up to which every count has its own entry in a table
MAX_TABLE_TRIALS = 200
#: shift of the argument of Γ before Stirling's series, which then has an error of 1e-9
GAMMA_SHIFT = 7


def log_densities(name: str, family: Family, x: Expression, parameters: Parameters) -> list[Expression]:
    """Return one expression for each class; 0 if x is missing, NaN if x is outside of the support."""
    scores = _scores(name, family, x, parameters)
    return [fill_gap(x, ZERO_VALUE, score) for score in scores]


def _scores(name: str, family: Family, x: Expression, parameters: Parameters) -> list[Expression]:
    match family:
        case Bernoulli() | Binomial() if family.n_trials <= MAX_TABLE_TRIALS:
            return _by_value(family, x, parameters)
        case Histogram():
            return _by_bin(family, x, parameters)
        case NegativeBinomial():
            count = _from_zero(x)
            return [_negative_binomial(count, mean, r) for mean, r in np.column_stack(parameters).tolist()]
        case LogNormal():
            mean, variance = parameters
            about, inverse = np.mean(mean, keepdims=True), 1 / variance[:, None, None]
            return quadratic(
                [Logarithm(x)], about, (mean - about)[:, None], inverse, -0.5 * np.log(2 * np.pi * variance)
            )
    features, weights, constants = _linear(name, family, x, parameters)
    if not np.isfinite(weights).all() or not np.isfinite(constants).all():
        raise ExportError(
            f"Column {name!r} cannot be exported: a value has probability 0 in some class. Fit with smoothing above 0."
        )
    return [
        weighted_sum(of_class, features, constant)
        for of_class, constant in zip(weights.tolist(), constants.tolist(), strict=True)
    ]


def _linear(name: str, family: Family, x: Expression, parameters: Parameters) -> tuple[list[Expression], Array, Array]:
    """Return features of x, and for each class their weights and a constant: T, η and −A."""
    if isinstance(family, InverseGaussian):
        return _inverse_gaussian(x, *parameters)
    sufficient = _sufficient(name, family, x)
    eta = family.natural(parameters)
    return sufficient, eta, -family.log_partition(eta)


def _inverse_gaussian(x: Expression, mean: Array, shape: Array) -> tuple[list[Expression], Array, Array]:
    """Return ½ log λ − λ(x − μ)²/2μ²x, with x in a unit near the means, whose squares might overflow."""
    unit = float(np.exp2(np.round(np.log2(mean).mean())))
    u = name_value(Conditional(Above(x, ZERO_VALUE), SumOf(((1 / unit, x),)), UNKNOWN))
    ratio, strength = mean / unit, shape / mean
    weights = np.column_stack([-0.5 * strength / ratio, -0.5 * strength * ratio])
    return [u, name_value(Quotient(ONE_VALUE, u))], weights, strength + 0.5 * np.log(shape)


def _sufficient(name: str, family: Family, x: Expression) -> list[Expression]:
    match family:
        case Poisson() | Exponential():
            return [_from_zero(x)]
        case Gamma():
            return [name_value(Logarithm(x)), x]
        case Beta():
            return [name_value(Logarithm(x)), name_value(Logarithm(SumOf(((-1.0, x),), 1.0)))]
    raise ExportError(
        f"Column {name!r} cannot be exported: it is described by {family!r}. Describe it by Gaussian(), Gamma(), "
        "Poisson(), Histogram() or Categorical(), and fit again."
    )


def _from_zero(x: Expression) -> Expression:
    return name_value(Conditional(Above(ZERO_VALUE, x), UNKNOWN, x))


def _by_value(family: Any, x: Expression, parameters: Parameters) -> list[Expression]:
    """Return a table with the log probability of each possible count."""
    counts = np.arange(family.n_trials + 1, dtype=float)
    log_p = family.log_density(counts[:, None], type(parameters)(*(np.asarray(field)[None] for field in parameters)))
    return [table_of(x, counts.tolist(), column, missing=0.0, other=math.nan) for column in log_p.T.tolist()]


def table_of(
    x: Expression, values: Sequence[Any], logs: Sequence[float], *, missing: float, other: float
) -> Expression:
    """Return a table of the log probabilities of values."""
    return Lookup(x, tuple(zip(values, finite(logs).tolist(), strict=True)), missing, float(finite(other)))


def finite(logs: Any) -> Any:
    """Return log probabilities in which `IMPOSSIBLE` replaces −∞; NaN stays NaN."""
    return np.maximum(logs, IMPOSSIBLE)


def _by_bin(family: Histogram, x: Expression, parameters: Parameters) -> list[Expression]:
    """Return conditionals, from the last bin to the first, that select the first bin whose upper edge is above x."""
    with np.errstate(divide="ignore"):
        logs = finite(np.log(np.asarray(parameters[0])) - np.log(family.widths))
    scores = []
    for of_class in logs.tolist():
        score: Expression = NumberValue(of_class[-1])
        for edge, log in zip(family.edges[-2:0:-1].tolist(), of_class[-2::-1], strict=True):
            score = Conditional(Above(NumberValue(edge), x), NumberValue(log), score)
        scores.append(score)
    return scores


def _negative_binomial(x: Expression, mean: float, r: float) -> Expression:
    if mean == 0:
        return Conditional(Above(x, ZERO_VALUE), NumberValue(IMPOSSIBLE), ZERO_VALUE)
    if math.isinf(r):
        return weighted_sum([math.log(mean)], [x], -mean)
    constant = r * math.log(r / (r + mean)) - math.lgamma(r)
    return weighted_sum([1.0, -math.log1p(r / mean)], [_log_gamma(subtract(x, -r)), x], constant)


def _log_gamma(z: Expression) -> Expression:
    """Return log Γ(z) for z > 0, by Stirling's series at z + 7 and the product z (z + 1) … (z + 6)."""
    z = name_value(z)
    product: Expression = z
    for step in range(1, GAMMA_SHIFT):
        product = ProductOf(product, subtract(z, -float(step)))
    high = name_value(subtract(z, -float(GAMMA_SHIFT)))
    inverse = name_value(Quotient(ONE_VALUE, high))
    square = name_value(ProductOf(inverse, inverse))
    series = ProductOf(inverse, SumOf(((1.0, ProductOf(square, SumOf(((1 / 1260, square),), -1 / 360))),), 1 / 12))
    main = ProductOf(subtract(high, 0.5), Logarithm(high))
    return SumOf(((1.0, main), (-1.0, high), (1.0, series), (-1.0, Logarithm(product))), 0.5 * math.log(2 * math.pi))
