"""Profile likelihood intervals: the values of one coefficient that a likelihood ratio test does not reject."""

from __future__ import annotations

from numbers import Real

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, t

from mercer._errors import InferenceError
from mercer.inference._covariance import Bread, Covariance
from mercer.inference._fitted import FittedModel
from mercer.inference._hypotheses import MOST_RESTRICTED_STEPS, RestrictedSet, warn_if_far
from mercer.optim.certificate import Certificate, History, Solution

#: tolerance of an end, relative to its distance from the estimate
PROFILE_TOLERANCE = 1e-10
#: smallest positive number: the absolute tolerance of an end is left to the relative one
SMALLEST_FLOAT = float(np.finfo(float).tiny)
#: first trial value, in quantiles: a little beyond the end if the profile is a parabola
FIRST_GUESS = 1.05
#: ratio of the rise to the wanted one above which the trial value is moved towards the estimate
FAR_RISE = 4.0
#: distance in standard errors beyond which a profile that is still too flat has no end
FARTHEST_ERRORS = 1e4


def interval_quantile(covariance: Covariance, level: float) -> float:
    """Return the quantile of a two-sided interval, of Student's t, or of the normal if the dispersion is known."""
    if not isinstance(level, Real) or not 0 < level < 1:
        raise InferenceError(
            f"level is the probability of the interval, between 0 and 1; got {level!r}. Give 0.95, say."
        )
    share = (1 + level) / 2
    return float(norm.ppf(share) if covariance.freedom is None else t.ppf(share, covariance.freedom))


def profile_interval(
    fitted: FittedModel, covariance: Covariance, position: int, level: float, *, most_steps: int = MOST_RESTRICTED_STEPS
) -> tuple[float, float]:
    """Return both ends of the interval of the coefficient at `position`; infinite if the profile stays too flat.

    `most_steps` is the maximum number of Newton steps of the fit at each trial value.
    """
    if not covariance.determined[position]:
        raise InferenceError(f"the data do not determine {fitted.names[position]!r}; leave a collinear column out.")
    profile = LikelihoodProfile(fitted, covariance.bread, position, covariance.dispersion, most_steps)
    wanted = interval_quantile(covariance, level)
    return profile.end(-wanted), profile.end(wanted)


class LikelihoodProfile:
    """Rise of the deviance as one coefficient is moved and the others are optimised."""

    def __init__(
        self,
        fitted: FittedModel,
        bread: Bread,
        position: int,
        dispersion: float,
        most_steps: int = MOST_RESTRICTED_STEPS,
    ) -> None:
        self._fitted, self._dispersion = fitted, dispersion
        self._restricted = RestrictedSet.of(fitted, bread, fitted.to_user[[position]], most_steps=most_steps)
        self._estimated = Solution(
            fitted.theta, Certificate.closed_form("the estimate itself"), History.of([fitted.objective])
        )
        #: the last restricted fit
        self._last = self._estimated
        self._estimate = float(fitted.coefficients[position])
        root = fitted.to_user[position] @ fitted.free @ bread.root
        self._unit = float(np.linalg.norm(root) * np.sqrt(dispersion))

    def end(self, wanted: float) -> float:
        """Return the value of the coefficient at which the signed root of the rise is `wanted`.

        The root is nearly linear, with slope one per standard error.
        """
        near, far = 0.0, FIRST_GUESS * wanted
        rise = self._rise(far)
        while abs(rise) > FAR_RISE * abs(wanted):  # far from a parabola: the coefficient is nearly infinite
            far /= FAR_RISE
            rise = self._rise(far)
        while abs(rise) < abs(wanted):
            near, far = far, 2 * far
            if abs(far) > FARTHEST_ERRORS:
                return float(np.copysign(np.inf, wanted))
            rise = self._rise(far)
        try:
            distance = brentq(
                lambda distance: self._rise(distance) - wanted, near, far, xtol=SMALLEST_FLOAT, rtol=PROFILE_TOLERANCE
            )
        except ValueError:  # the same point has different rises: restricted fits so far away have not converged
            raise InferenceError(
                "the end of the profile interval lies so far from the estimate that the best fits there are not found: "
                "the rows hardly determine this coefficient, or have little weight; use `intervals` instead."
            ) from None
        # fits on the way need not converge if their rise is too high anyway; the last one must
        self._rise(distance)
        warn_if_far(self._last.certificate)
        return self._estimate + float(distance) * self._unit

    def _rise(self, distance: float) -> float:
        """Return the signed root of the rise at `distance` standard errors, with the other coefficients optimised."""
        value = np.array([self._estimate + distance * self._unit])
        self._last = self._restricted.minimum(value, self._last.coef)
        if not np.isfinite(self._last.objective):
            self._last = self._estimated
            return float(np.copysign(np.inf, distance))
        rise = 2 * (self._last.objective - self._fitted.objective) / self._dispersion
        return float(np.copysign(np.sqrt(max(0.0, rise)), distance))
