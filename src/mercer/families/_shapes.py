"""Maximum likelihood shapes of the gamma and the Dirichlet from the means of their statistics, by Newton.

Both start from Minka's approximations ("Estimating a Dirichlet distribution", 2000) and work on whole arrays. The
differences log a − ψ(a) and a ψ'(a) − 1 vanish like 1/2a; they are computed without cancellation, so that a shape of
1e6 is found as precisely as one of 1.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, polygamma, psi

from mercer._typing import Array
from mercer.families.base import refuse_degenerate

#: Bernoulli numbers B2, B4, …, B10, and from where the asymptotic series in them have 16 digits
BERNOULLI = np.array([1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66])
SERIES_FROM = 20.0

#: relative spread that rounding alone can show
ROUNDING = 8 * float(np.finfo(float).eps)

#: Newton ends here at the latest; both iterations take fewer than twenty steps from 1e-3 to 1e6
MOST_STEPS = 100


def _in_reciprocal(shape: Array, coefficients: Array) -> Array:
    """1/2a + c₁/a² + c₂/a⁴ + …"""
    inverse = 1 / shape
    powers = np.polynomial.polynomial.polyval(np.square(inverse), np.append(0.0, coefficients))
    return np.asarray(0.5 * inverse + powers)


def log_minus_digamma(shape: Array) -> Array:
    """log a − ψ(a) > 0."""
    small, large = np.minimum(shape, SERIES_FROM), np.maximum(shape, SERIES_FROM)
    series = _in_reciprocal(large, BERNOULLI / np.arange(2, 12, 2))
    return np.where(shape < SERIES_FROM, np.log(small) - psi(small), series)


def trigamma_excess(shape: Array) -> Array:
    """a ψ'(a) − 1 > 0."""
    small, large = np.minimum(shape, SERIES_FROM), np.maximum(shape, SERIES_FROM)
    return np.where(shape < SERIES_FROM, small * polygamma(1, small) - 1, _in_reciprocal(large, BERNOULLI))


def gamma_shape(log_of_mean: Array, mean_of_log: Array) -> Array:
    """The shape a with log a − ψ(a) = log E x − E log x; NaN where the means are.

    log(log a − ψ(a)) is nearly linear in log a, with slope −1, for small and large shapes alike: Newton in these
    coordinates converges from anywhere.
    """
    refuse_degenerate("a gamma", "data that are not all above 0", np.isneginf(mean_of_log))
    spread = np.asarray(log_of_mean - mean_of_log)
    refuse_degenerate("a gamma", "data without spread", spread <= ROUNDING * (1 + np.abs(log_of_mean)))
    shape = (3 - spread + np.sqrt(np.square(spread - 3) + 24 * spread)) / (12 * spread)
    for _ in range(MOST_STEPS):
        value = log_minus_digamma(shape)
        step = np.log(value / spread) * value / trigamma_excess(shape)
        shape = shape * np.exp(step)
        if not (np.abs(step) > 1e-14).any():
            break
    return np.asarray(shape)


def dirichlet_shapes(mean_of_log: Array) -> Array:
    """The shapes α with ψ(α_k) − ψ(Σα) = E log x_k, components last; NaN where the means are.

    The likelihood is concave in α, so Newton with a shortened step cannot fail.
    """
    mean_of_log = np.asarray(mean_of_log, dtype=float)
    known = ~np.isnan(mean_of_log).any(axis=-1)
    outside = np.asarray(np.isneginf(mean_of_log).any(axis=-1))
    refuse_degenerate("a beta or Dirichlet", "shares that are not all above 0", outside)
    spread = np.where(known, -logsumexp(mean_of_log, axis=-1), np.nan)
    refuse_degenerate("a beta or Dirichlet", "data without spread", spread <= ROUNDING)
    result = np.full(mean_of_log.shape, np.nan)
    result[known] = _newton(mean_of_log[known], _start(mean_of_log[known], spread[known]))
    return result


def _start(target: Array, spread: Array) -> Array:
    """One round of Minka's fixed point ψ(α_k) = ψ(Σα) + E log x_k from the total of a peaked Dirichlet."""
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
    # 1/ψ'(Σα) − Σ 1/ψ'(α_k) without the α, which cancel
    lack = trigamma_excess(shapes) * inverse
    lack_of_total = total * trigamma_excess(total) / (1 + trigamma_excess(total))
    remainder = lack.sum(axis=-1, keepdims=True) - lack_of_total
    return np.asarray(inverse * (gradient + (inverse * gradient).sum(axis=-1, keepdims=True) / remainder))


def _newton(target: Array, shapes: Array) -> Array:
    gradient = _gradient(target, shapes)
    last, done = np.full(len(shapes), np.inf), np.zeros(len(shapes), dtype=bool)
    for _ in range(MOST_STEPS):
        step = _ascent(gradient, shapes)
        shapes, gradient, change = _shortened(target, shapes, gradient, step)
        # no progress near the end means that rounding is reached
        done |= (change < 1e-14) | ((change < 1e-6) & (change > last / 2))
        if done.all():
            break
        last = change
    return shapes


def _shortened(target: Array, shapes: Array, gradient: Array, step: Array) -> tuple[Array, Array, Array]:
    """Step so far that all shapes stay positive and the slope does not turn further down than it went up."""
    with np.errstate(divide="ignore"):
        room = np.where(step < 0, -0.9 * shapes / step, np.inf).min(axis=-1)
    length = np.minimum(1.0, room)
    slope = (gradient * step).sum(axis=-1)
    for _ in range(MOST_STEPS):
        new = shapes + length[..., None] * step
        new_gradient = _gradient(target, new)
        too_far = (new_gradient * step).sum(axis=-1) < -0.9 * slope
        if not (too_far & (length * np.abs(step / shapes).max(axis=-1) > 1e-6)).any():
            break
        length = np.where(too_far, length / 2, length)
    return new, new_gradient, np.asarray((length[..., None] * np.abs(step) / shapes).max(axis=-1))
