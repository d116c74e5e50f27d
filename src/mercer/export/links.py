"""Inverse links: the mean of a response from its linear predictor."""

from __future__ import annotations

import math

from mercer._errors import ExportError
from mercer.export.expression import (
    ONE_VALUE,
    UNKNOWN,
    ZERO_VALUE,
    Above,
    Arctangent,
    Conditional,
    Exp,
    Expression,
    Logarithm,
    NumberValue,
    ProductOf,
    Quotient,
    SumOf,
    name_value,
    softmax,
)
from mercer.families import Link
from mercer.families.links import Cauchit, ComplementaryLogLog, Identity, Logit, LogOdds, Power, Probit
from mercer.families.links import Log as LogLink

#: coefficients of erfc(x) = e^(−x²) t (a₁ + a₂t + …), t = 1/(1 + px): Abramowitz and Stegun 7.1.26, error 1.5e-7
ERFC_P = 0.3275911
ERFC = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


def inverse(link: Link, eta: Expression) -> Expression:
    """Return the mean at η."""
    eta = name_value(eta)
    match link:
        case Identity():
            return eta
        case LogLink():
            return Exp(eta)
        case Logit():
            return softmax([ZERO_VALUE, eta])[1]
        case ComplementaryLogLog():
            return _share(Exp(eta))
        case Cauchit():
            return SumOf(((1 / math.pi, Arctangent(eta)),), 0.5)
        case Probit():
            return _normal_share(eta)
        case LogOdds(r):
            below = Quotient(NumberValue(r), SumOf(((1.0, Exp(SumOf(((-1.0, eta),)))),), -1.0))
            return Conditional(Above(ZERO_VALUE, eta), below, UNKNOWN)
        case Power(exponent):
            return _power(eta, exponent)
    raise ExportError(
        f"The link {link!r} cannot be exported; fit with one of identity, log, logit, probit, cloglog, cauchit, "
        "inverse, inverse_squared or sqrt."
    )


def _power(eta: Expression, exponent: float) -> Expression:
    if exponent == -1:
        return Quotient(ONE_VALUE, eta)
    if exponent == 0.5:
        return Conditional(Above(eta, ZERO_VALUE), ProductOf(eta, eta), UNKNOWN)
    return Exp(SumOf(((1 / exponent, Logarithm(eta)),)))


def _share(rate: Expression) -> Expression:
    """Return 1 − e^(−rate)."""
    return SumOf(((-1.0, Exp(SumOf(((-1.0, rate),)))),), 1.0)


def _normal_share(eta: Expression) -> Expression:
    """Return Φ(η), for which not every language has a function."""
    size = name_value(
        Conditional(Above(ZERO_VALUE, eta), SumOf(((-math.sqrt(0.5), eta),)), SumOf(((math.sqrt(0.5), eta),)))
    )
    t = name_value(Quotient(ONE_VALUE, SumOf(((ERFC_P, size),), 1.0)))
    polynomial: Expression = NumberValue(ERFC[-1])
    for coefficient in reversed(ERFC[:-1]):
        polynomial = SumOf(((1.0, ProductOf(t, polynomial)),), coefficient)
    tail = name_value(ProductOf(ProductOf(t, polynomial), Exp(ProductOf(SumOf(((-1.0, size),)), size))))
    return Conditional(Above(ZERO_VALUE, eta), SumOf(((0.5, tail),)), SumOf(((-0.5, tail),), 1.0))
