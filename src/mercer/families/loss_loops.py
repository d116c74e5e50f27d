"""Compiled losses of responses and their slopes, row by row in one pass, for the most common families and links.

A loss is a NamedTuple, and `row` dispatches on its type. All losses are half the unit deviance, equal to those of
`families.losses` to rounding, and consistent with their slopes where the mean overflows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mercer._jit import jit, overload
from mercer._jit.scalar import deviance, exp, log, logistic

#: |log μ/y| below which a loss is computed by its series, as the closed form cancels
SERIES_BELOW = 0.5
#: terms of that series: the first one left out is below 0.5¹⁸/18!
SERIES_TERMS = 16
#: |log μ/y| beyond which single terms of a loss may overflow
OVERFLOW_FROM = 600.0


class GaussianIdentity(NamedTuple):
    """½ (y − η)²."""


class BernoulliLogit(NamedTuple):
    """log(1 + e^η) − yη, for y of 0 or 1."""


class PoissonLog(NamedTuple):
    """y log(y/μ) + μ − y at μ = e^η."""


class GammaLog(NamedTuple):
    """y/μ − 1 − log(y/μ) at μ = e^η."""


class NegativeBinomialLog(NamedTuple):
    """y log(y/μ) − (y + r) log((y + r)/(μ + r)) at μ = e^η."""

    r: float
    log_r: float


class TweedieLog(NamedTuple):
    """yᵃ/ab − y μᵇ/b + μᵃ/a at μ = e^η, where a = 2 − p and b = 1 − p, for 1 < p < 2."""

    a: float
    b: float
    #: coefficients of u¹⁷, …, u² in the loss at y = 1, u = log μ
    series: tuple[float, ...]

    @classmethod
    def of(cls, power: float) -> TweedieLog:
        a, b = 2.0 - power, 1.0 - power
        return cls(a, b, tuple(reversed(power_series(a, b))))


def power_series(a: float, b: float) -> list[float]:
    """Coefficients (aᵏ⁻¹ − bᵏ⁻¹)/k! of u², u³, … in the power loss at y = 1, u = log μ, where a − b = 1."""
    coefficients, difference, before, factorial = [], 1.0, 0.0, 2.0
    for k in range(2, SERIES_TERMS + 2):
        coefficients.append(difference / factorial)
        difference, before = (a + b) * difference - a * b * before, difference
        factorial *= k + 1
    return coefficients


@jit
def gaussian_identity(loss, y, eta):  # type: ignore[no-untyped-def]
    residual = eta - y
    return 0.5 * residual * residual, residual, 1.0


@jit
def bernoulli_logit(loss, y, eta):  # type: ignore[no-untyped-def]
    larger, smaller, minus_log_larger = logistic(abs(eta))
    p, q = (larger, smaller) if eta > 0.0 else (smaller, larger)
    positive = eta if eta > 0.0 else 0.0
    return (positive - y * eta) + minus_log_larger, (1.0 - y) * p - y * q, p * q


@jit
def poisson_log(loss, y, eta):  # type: ignore[no-untyped-def]
    mu = exp(eta)
    return deviance(y, mu, log(y) - eta), mu - y, mu


@jit
def gamma_log(loss, y, eta):  # type: ignore[no-untyped-def]
    ratio = y * exp(-eta)
    return deviance(1.0, ratio, eta - log(y)), 1.0 - ratio, 1.0


@jit
def negative_binomial_log(loss, y, eta):  # type: ignore[no-untyped-def]
    r = loss.r
    s = eta - loss.log_r
    larger, smaller, minus_log_larger = logistic(abs(s))
    q, p = (larger, smaller) if s > 0.0 else (smaller, larger)
    minus_log_smaller = minus_log_larger + abs(s)
    log_q, log_p = (minus_log_larger, minus_log_smaller) if s > 0.0 else (minus_log_smaller, minus_log_larger)
    total = y + r
    log_total = log(total)
    value = deviance(y, total * q, log(y) - log_total + log_q) + deviance(r, total * p, loss.log_r - log_total + log_p)
    # by the mean e^η where it is finite: r q has lost the digits that the rounding of log r costs
    return value, ((exp(eta) - y) * p if abs(s) < OVERFLOW_FROM else r * q - y * p), r * q


@jit(forceinline=True)
def _polynomial(c, u):  # type: ignore[no-untyped-def]
    """Polynomial written out, as an inner loop would keep the loop over rows from being vectorized."""
    p = ((c[0] * u + c[1]) * u + c[2]) * u + c[3]
    p = (((p * u + c[4]) * u + c[5]) * u + c[6]) * u + c[7]
    p = (((p * u + c[8]) * u + c[9]) * u + c[10]) * u + c[11]
    return (((p * u + c[12]) * u + c[13]) * u + c[14]) * u + c[15]


@jit
def tweedie_log(loss, y, eta):  # type: ignore[no-untyped-def]
    a, b = loss.a, loss.b
    mu_a, mu_b = exp(a * eta), exp(b * eta)
    log_y = log(y)
    y_a = exp(a * log_y)
    u = eta - log_y
    near = y_a * (u * u * _polynomial(loss.series, u))
    far = mu_a / a - y * mu_b / b + y_a / (a * b)
    value = near if abs(u) < SERIES_BELOW else far
    return (mu_a / a if y == 0.0 else value), mu_a - (0.0 if y == 0.0 else y * mu_b), mu_a


#: the loop of each loss
ROW_OF_LOSS: dict[type[Any], Any] = {
    GaussianIdentity: gaussian_identity,
    BernoulliLogit: bernoulli_logit,
    PoissonLog: poisson_log,
    GammaLog: gamma_log,
    NegativeBinomialLog: negative_binomial_log,
    TweedieLog: tweedie_log,
}


def row(loss: Any, y: Any, eta: Any) -> Any:
    """Loss, ∂loss/∂η and E ∂²loss/∂η² of one row."""
    return ROW_OF_LOSS[type(loss)](loss, y, eta)


@overload(row)
def _row(loss, y, eta):  # type: ignore[no-untyped-def]
    return ROW_OF_LOSS[loss.instance_class].plain


@jit
def slopes(loss, y, eta, weight, first, second):  # type: ignore[no-untyped-def]
    """Σ weight · loss; weight · ∂loss/∂η into `first` and its expected curvature into `second`, which may be `eta`."""
    total = 0.0
    if weight.shape[0] == 0:
        for i in range(eta.shape[0]):
            value, first[i], second[i] = row(loss, y[i], eta[i])
            total += value
    else:
        for i in range(eta.shape[0]):
            w = weight[i]
            value, slope, curvature = row(loss, y[i], eta[i])
            first[i] = w * slope
            second[i] = w * curvature
            total += w * value
    return total


@jit
def total(loss, y, eta, weight):  # type: ignore[no-untyped-def]
    """Σ weight · loss."""
    result = 0.0
    for i in range(eta.shape[0]):
        result += (1.0 if weight.shape[0] == 0 else weight[i]) * row(loss, y[i], eta[i])[0]
    return result
