"""The laws of an exponential family, checked on draws from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.families import Family, Parameters
from mercer.testing._laws import assert_laws, assert_value, pickled

#: largest deviation of a mean over draws, in standard errors: one failure in 10⁹ checks
FAMILY_STANDARD_ERRORS = 6.0


@dataclass(frozen=True)
class _FamilyCase:
    family: Family
    parameters: Parameters
    draws: Array


def check_family(family: Family, parameters: Parameters, rng: np.random.Generator, *, draws: int = 20_000) -> list[str]:
    """Check every law of a family at one set of parameters; return the laws that were checked.

    Choose parameters inside their range (no probability 0, no variance 0): on the boundary η is infinite and the
    derivatives of A do not exist.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.families import Poisson, PoissonParameters
    >>> laws = check_family(Poisson(), PoissonParameters(np.array([0.5, 3.0])), np.random.default_rng(0))
    >>> laws[0]
    'a family is a value: equal to its copies, hashable, and readable'
    """
    case = _FamilyCase(family, parameters, family.sample(parameters, draws, rng))
    laws = [_is_a_value, _draws_are_inside, _missing_is_integrated_out]
    if not family.vector:
        laws.append(_draws_follow_the_density)
    if family.exponential:
        laws += [
            _density_has_the_canonical_form,
            _parameters_return,
            _gradient_is_the_mean,
            _curvature_is_the_variance,
            _fit_is_a_fixed_point,
        ]
    if _is_response(family):
        laws += [_mean_and_variance_are_the_parameters, _deviance_is_lost_likelihood, _quantiles_follow_the_draws]
    return assert_laws(laws, case, repr(case.family))


def _is_response(family: Family) -> bool:
    """Return whether a family can be a response: counts of unknown dispersion, for example, cannot."""
    try:
        return bool(family.row_loss.means)
    except (TypeError, ValueError):
        return False


def _is_a_value(case: _FamilyCase) -> None:
    """a family is a value: equal to its copies, hashable, and readable."""
    assert_value(case.family, pickled(case.family))
    assert type(case.family).__name__ in repr(case.family), f"its repr is {case.family!r}"


def _draws_are_inside(case: _FamilyCase) -> None:
    """draws lie in the support and have a finite density."""
    assert not case.family.outside(case.draws).any(), f"a draw is none of: {case.family.support}"
    log_density = case.family.log_density(case.draws, case.parameters)
    assert np.isfinite(log_density).all(), f"log p is {log_density[~np.isfinite(log_density)][0]} at a draw"


def _missing_is_integrated_out(case: _FamilyCase) -> None:
    """a missing value has log density 0."""
    missing = np.full(case.draws.shape, np.nan)
    np.testing.assert_array_equal(case.family.log_density(missing, case.parameters), 0.0)


def _draws_follow_the_density(case: _FamilyCase) -> None:
    """the share of draws between two values is that of the density."""
    columns = case.draws.reshape(len(case.draws), -1)
    low, high = np.quantile(columns, [0.2, 0.7], axis=0)
    for j, probability in enumerate(_probabilities_between(case, low, high).T):
        share = np.mean((columns[:, j] >= low[j]) & (columns[:, j] <= high[j]))
        allowed = FAMILY_STANDARD_ERRORS * np.sqrt(0.25 / len(columns)) + 1e-3
        assert abs(share - probability) < allowed, f"{share} of the draws lie where the density has {probability}"


def _probabilities_between(case: _FamilyCase, low: Array, high: Array) -> Array:
    """Return integrals of the density, by sums over counts or by the trapezoidal rule, for each parameter set."""
    leading = case.draws.shape[1:]
    if case.family.discrete:
        x = np.arange(low.min(), high.max() + 1)[:, None]
        inside = (x >= low) & (x <= high)
        density = np.exp(case.family.log_density(x.reshape(-1, *(1 for _ in leading)), case.parameters))
        return np.asarray((density.reshape(len(x), -1) * inside).sum(axis=0))
    t = np.linspace(0.0, 1.0, 20_001)[:, None]
    x = low + t * (high - low)
    density = np.exp(case.family.log_density(x.reshape(-1, *leading), case.parameters)).reshape(x.shape)
    return np.asarray(np.trapezoid(density, x, axis=0))


def _density_has_the_canonical_form(case: _FamilyCase) -> None:
    """log p = log b + ⟨η, T⟩ − A."""
    eta = case.family.natural(case.parameters)
    terms = case.family.sufficient(case.draws) * eta
    base, partition = case.family.log_base(case.draws), case.family.log_partition(eta)
    log_density = case.family.log_density(case.draws, case.parameters)
    size = 1 + np.abs(base) + np.abs(terms).sum(axis=-1) + np.abs(partition)
    error = np.abs(base + terms.sum(axis=-1) - partition - log_density) / size
    assert error.max() < 1e-10, f"the sides differ by {error.max():.1e} relative to their terms"


def _parameters_return(case: _FamilyCase) -> None:
    """parameters come back from their natural and from their mean form."""
    for forward, back in (("natural", "from_natural"), ("expected", "from_mean")):
        returned = getattr(case.family, back)(getattr(case.family, forward)(case.parameters))
        for name, old, new in zip(case.parameters._fields, case.parameters, returned, strict=True):
            np.testing.assert_allclose(new, np.broadcast_to(old, np.shape(new)), rtol=1e-7, atol=1e-9, err_msg=name)


def _slopes(function: Callable[[Array], Array], eta: Array) -> Array:
    """Return central differences of `function` in each component of η, on a new last axis."""
    step = 1e-5 * np.maximum(np.abs(eta), 1e-2)
    columns = []
    for m in range(eta.shape[-1]):
        only = np.where(np.arange(eta.shape[-1]) == m, step, 0.0)
        difference = function(eta + only) - function(eta - only)
        width = 2 * step[..., m]
        columns.append(difference / (width if difference.ndim == width.ndim else width[..., None]))
    return np.stack(columns, axis=-1)


def _gradient_is_the_mean(case: _FamilyCase) -> None:
    """∇A(η) = E T is the mean of T over the draws."""
    eta = case.family.natural(case.parameters)
    mean = case.family.expected(case.parameters)
    np.testing.assert_allclose(case.family.mean(eta), mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(_slopes(case.family.log_partition, eta), mean, rtol=1e-5, atol=1e-6)
    _assert_mean(case.family.sufficient(case.draws), mean)


def _curvature_is_the_variance(case: _FamilyCase) -> None:
    """∇²A(η) is the variance of T over the draws."""
    curvature = _slopes(case.family.mean, case.family.natural(case.parameters))
    centred = case.family.sufficient(case.draws) - case.family.expected(case.parameters)
    _assert_mean(centred[..., :, None] * centred[..., None, :], curvature)


def _assert_mean(values: Array, expected: Array) -> None:
    """Check that the mean over the first axis is as expected, to a few standard errors."""
    allowed = FAMILY_STANDARD_ERRORS * values.std(axis=0) / np.sqrt(len(values)) + 1e-5 * np.abs(expected) + 1e-7
    off = np.abs(values.mean(axis=0) - expected) - allowed
    place = np.unravel_index(np.argmax(off), off.shape)
    assert off[place] <= 0, f"{expected[place]} against {values.mean(axis=0)[place]} in the draws, at {place}"


def _fit_is_a_fixed_point(case: _FamilyCase) -> None:
    """the maximum likelihood fit has the mean of the draws, and is at least as likely as the true parameters."""
    mean = case.family.sufficient(case.draws).mean(axis=0)
    fitted = case.family.from_mean(mean)
    np.testing.assert_allclose(case.family.expected(fitted), mean, rtol=1e-8, atol=1e-10)
    gain = case.family.log_density(case.draws, fitted) - case.family.log_density(case.draws, case.parameters)
    assert (gain.mean(axis=0) > -1e-9).all(), f"the fit is less likely than the truth by {-gain.mean(axis=0).min():.1e}"


def _dispersion(case: _FamilyCase) -> Array:
    """Return φ in Var = φ V(μ)."""
    mean = case.family.mean_of(case.parameters)
    return np.asarray(case.family.variance_of(case.parameters) / case.family.unit_variance(mean))


def _mean_and_variance_are_the_parameters(case: _FamilyCase) -> None:
    """mean and variance of a response determine its parameters, and the reverse."""
    mean, variance = case.family.mean_of(case.parameters), case.family.variance_of(case.parameters)
    _assert_mean(case.draws, mean)
    _assert_mean(np.square(case.draws - mean), variance)
    for old, new in zip(case.parameters, case.family.at_mean(mean, _dispersion(case)), strict=True):
        np.testing.assert_allclose(new, np.broadcast_to(old, np.shape(new)), rtol=1e-12)


def _deviance_is_lost_likelihood(case: _FamilyCase) -> None:
    """the unit deviance is 2φ times the log likelihood at a mean equal to the response, minus that at the mean."""
    phi, mean = _dispersion(case), case.family.mean_of(case.parameters)
    draws = np.asarray(case.draws[:200], dtype=float)
    best = case.family.log_density(draws, case.family.at_mean(draws, phi))
    lost = 2 * phi * (best - case.family.log_density(draws, case.parameters))
    size = 1 + np.abs(best) * phi
    error = np.abs(lost - case.family.unit_deviance(draws, np.broadcast_to(mean, draws.shape))) / size
    assert error.max() < 1e-10, f"they differ by {error.max():.1e}"


def _quantiles_follow_the_draws(case: _FamilyCase) -> None:
    """the share of draws up to a value is its probability, and a quantile is the least value with that share."""
    for q in (0.05, 0.5, 0.9):
        x = case.family.quantile(np.array(q), case.parameters)
        below = case.family.cdf(x, case.parameters)
        share = (case.draws <= x).mean(axis=0)
        allowed = FAMILY_STANDARD_ERRORS * np.sqrt(0.25 / len(case.draws))
        assert (np.abs(share - below) < allowed).all(), f"{share} of the draws lie where the probability is {below}"
        assert (below >= q - 1e-10).all(), f"only {below} lies below the quantile {q}"
        before = case.family.cdf(np.nextafter(x, -np.inf), case.parameters)
        assert (before <= q + 1e-10).all(), f"{before} lies before the quantile {q}"
