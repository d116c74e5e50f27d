"""Maximum likelihood shapes of the gamma and the Dirichlet from the means of their statistics, by Newton's method.

Both start from Minka's approximations ("Estimating a Dirichlet distribution", 2000) and work on whole arrays. The
differences log a − ψ(a) and a ψ'(a) − 1 vanish like 1/2a; they are computed without cancellation, so that a shape of
1e6 has as many exact digits as a shape of 1.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, polygamma, psi

from mercer._typing import Array
from mercer.families.base import check_not_degenerate

#: Bernoulli numbers B2, B4, …, B10
BERNOULLI_NUMBERS = np.array([1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66])

#: argument from which the asymptotic series of ψ and ψ' are exact to 16 digits
ASYMPTOTIC_FROM = 20.0

#: relative spread of equal values that rounding alone produces
SPREAD_OF_ROUNDING = 8 * float(np.finfo(float).eps)

#: limit on steps and halvings; both iterations take fewer than twenty steps for shapes from 1e-3 to 1e6
MAX_SHAPE_STEPS = 100


def _in_reciprocal(shape: Array, coefficients: Array) -> Array:
    """1/2a + c₁/a² + c₂/a⁴ + …"""
    inverse = 1 / shape
    powers = np.polynomial.polynomial.polyval(np.square(inverse), np.append(0.0, coefficients))
    return np.asarray(0.5 * inverse + powers)


def log_minus_digamma(shape: Array) -> Array:
    """log a − ψ(a) > 0."""
    small, large = np.minimum(shape, ASYMPTOTIC_FROM), np.maximum(shape, ASYMPTOTIC_FROM)
    series = _in_reciprocal(large, BERNOULLI_NUMBERS / np.arange(2, 12, 2))
    return np.where(shape < ASYMPTOTIC_FROM, np.log(small) - psi(small), series)


def trigamma_excess(shape: Array) -> Array:
    """a ψ'(a) − 1 > 0."""
    small, large = np.minimum(shape, ASYMPTOTIC_FROM), np.maximum(shape, ASYMPTOTIC_FROM)
    return np.where(shape < ASYMPTOTIC_FROM, small * polygamma(1, small) - 1, _in_reciprocal(large, BERNOULLI_NUMBERS))


def gamma_shape(log_of_mean: Array, mean_of_log: Array) -> Array:
    """Solve log a − ψ(a) = log E x − E log x for the shape a; NaN where the means are NaN.

    log(log a − ψ(a)) is nearly linear in log a, with slope −1, for small and large shapes alike: Newton's method in
    these coordinates converges from any start.
    """
    check_not_degenerate("a gamma", "data that are not all above 0", np.isneginf(mean_of_log))
    spread = np.asarray(log_of_mean - mean_of_log)
    check_not_degenerate("a gamma", "data without spread", spread <= SPREAD_OF_ROUNDING * (1 + np.abs(log_of_mean)))
    shape = (3 - spread + np.sqrt(np.square(spread - 3) + 24 * spread)) / (12 * spread)
    for _ in range(MAX_SHAPE_STEPS):
        value = log_minus_digamma(shape)
        step = np.log(value / spread) * value / trigamma_excess(shape)
        shape = shape * np.exp(step)
        if not (np.abs(step) > 1e-14).any():
            break
    return np.asarray(shape)


def dirichlet_shapes(mean_of_log: Array) -> Array:
    """Solve ψ(α_k) − ψ(Σα) = E log x_k for the shapes α (last axis); NaN where the means are NaN.

    The likelihood is concave in α, so Newton's method with a line search converges.
    """
    mean_of_log = np.asarray(mean_of_log, dtype=float)
    known = ~np.isnan(mean_of_log).any(axis=-1)
    outside = np.asarray(np.isneginf(mean_of_log).any(axis=-1))
    check_not_degenerate("a beta or Dirichlet", "shares that are not all above 0", outside)
    spread = np.where(known, -logsumexp(mean_of_log, axis=-1), np.nan)
    check_not_degenerate("a beta or Dirichlet", "data without spread", spread <= SPREAD_OF_ROUNDING)
    result = np.full(mean_of_log.shape, np.nan)
    result[known] = _newton(mean_of_log[known], _start(mean_of_log[known], spread[known]))
    return result


def _start(target: Array, spread: Array) -> Array:
    """One iteration of Minka's fixed point ψ(α_k) = ψ(Σα) + E log x_k from the total of a peaked Dirichlet."""
    total = (target.shape[-1] - 1) / (2 * spread)
    y = psi(total)[..., None] + target
    # the inverse of ψ to a few per cent
    return np.asarray(np.where(y > -2.22, np.exp(np.minimum(y, 700.0)) + 0.5, -1 / (y - psi(1.0))))


def _gradient(target: Array, shapes: Array) -> Array:
    total = shapes.sum(axis=-1, keepdims=True)
    return np.asarray(target + np.log(total / shapes) + log_minus_digamma(shapes) - log_minus_digamma(total))


def _ascent(gradient: Array, shapes: Array) -> Array:
    """−H⁻¹g for H = −diag ψ'(α) + ψ'(Σα) 11ᵀ, by Sherman–Morrison."""
    total = shapes.sum(axis=-1, keepdims=True)
    inverse = shapes / (1 + trigamma_excess(shapes))
    # 1/ψ'(Σα) − Σ 1/ψ'(α_k), from which the terms α_k and Σα have been cancelled
    lack = trigamma_excess(shapes) * inverse
    lack_of_total = total * trigamma_excess(total) / (1 + trigamma_excess(total))
    remainder = lack.sum(axis=-1, keepdims=True) - lack_of_total
    return np.asarray(inverse * (gradient + (inverse * gradient).sum(axis=-1, keepdims=True) / remainder))


def _newton(target: Array, shapes: Array) -> Array:
    gradient = _gradient(target, shapes)
    last, converged = np.full(len(shapes), np.inf), np.zeros(len(shapes), dtype=bool)
    for _ in range(MAX_SHAPE_STEPS):
        step = _ascent(gradient, shapes)
        shapes, gradient, change = _shortened(target, shapes, gradient, step)
        # a small step that has not halved is rounding
        converged |= (change < 1e-14) | ((change < 1e-6) & (change > last / 2))
        if converged.all():
            break
        last = change
    return shapes


def _shortened(target: Array, shapes: Array, gradient: Array, step: Array) -> tuple[Array, Array, Array]:
    """Halve the step until all shapes are positive and the slope at its end is not below −0.9 of that at its start."""
    with np.errstate(divide="ignore"):
        longest = np.where(step < 0, -0.9 * shapes / step, np.inf).min(axis=-1)
    length = np.minimum(1.0, longest)
    slope = (gradient * step).sum(axis=-1)
    for _ in range(MAX_SHAPE_STEPS):
        new = shapes + length[..., None] * step
        new_gradient = _gradient(target, new)
        too_far = (new_gradient * step).sum(axis=-1) < -0.9 * slope
        if not (too_far & (length * np.abs(step / shapes).max(axis=-1) > 1e-6)).any():
            break
        length = np.where(too_far, length / 2, length)
    return new, new_gradient, np.asarray((length[..., None] * np.abs(step) / shapes).max(axis=-1))
