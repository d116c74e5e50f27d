"""Intervals from the profile of the likelihood: the values of one coefficient that a likelihood ratio test keeps."""

from __future__ import annotations

from numbers import Real

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, t

from mercer._errors import InferenceError
from mercer.inference._covariance import Bread, Covariance
from mercer.inference._fitted import FittedModel
from mercer.inference._hypotheses import Face, warn_if_far
from mercer.optim.certificate import Certificate, Solution

#: how closely an end is found, relative to its distance from the estimate
TOLERANCE = 1e-10
SMALLEST = float(np.finfo(float).tiny)
#: where to look first, in quantiles: a little farther than the end of a profile that is a parabola
FIRST = 1.05
#: how many times too high a rise has to be to begin nearer
FAR = 4.0
#: a profile that is still too flat so many standard errors away has no end
FARTHEST = 1e4


def quantile(covariance: Covariance, level: float) -> float:
    """Of Student's t, or of the normal where the dispersion is known."""
    if not isinstance(level, Real) or not 0 < level < 1:
        raise InferenceError(
            f"level is the probability of the interval, between 0 and 1; got {level!r}. Give 0.95, say."
        )
    share = (1 + level) / 2
    return float(norm.ppf(share) if covariance.freedom is None else t.ppf(share, covariance.freedom))


def profile_interval(fitted: FittedModel, covariance: Covariance, position: int, level: float) -> tuple[float, float]:
    """Both ends for the coefficient at `position`; infinite where the profile never falls far enough."""
    if not covariance.determined[position]:
        raise InferenceError(f"the data do not determine {fitted.names[position]!r}; leave a collinear column out.")
    profile = LikelihoodProfile(fitted, covariance.bread, position, covariance.dispersion)
    wanted = quantile(covariance, level)
    return profile.end(-wanted), profile.end(wanted)


class LikelihoodProfile:
    """How the deviance rises as one coefficient is moved and the others follow."""

    def __init__(self, fitted: FittedModel, bread: Bread, position: int, dispersion: float) -> None:
        self._fitted, self._dispersion = fitted, dispersion
        self._face = Face.of(fitted, bread, fitted.to_user[[position]])
        self._estimated = Solution(fitted.theta, Certificate.closed_form("the estimate itself"), (fitted.objective,))
        #: the fit that was looked at last
        self._last = self._estimated
        self._estimate = float(fitted.coefficients[position])
        root = fitted.to_user[position] @ fitted.free @ bread.root
        self._unit = float(np.linalg.norm(root) * np.sqrt(dispersion))

    def end(self, wanted: float) -> float:
        """Where the signed root of the rise is `wanted`: it is nearly a straight line, of slope one per error."""
        near, far = 0.0, FIRST * wanted
        rise = self._rise(far)
        while abs(rise) > FAR * abs(wanted):  # no parabola: the coefficient is all but infinite
            far /= FAR
            rise = self._rise(far)
        while abs(rise) < abs(wanted):
            near, far = far, 2 * far
            if abs(far) > FARTHEST:
                return float(np.copysign(np.inf, wanted))
            rise = self._rise(far)
        try:
            distance = brentq(lambda distance: self._rise(distance) - wanted, near, far, xtol=SMALLEST, rtol=TOLERANCE)
        except ValueError:  # the same point has not the same rise twice: fits so far away were not found
            raise InferenceError(
                "the end of the profile interval lies so far from the estimate that the best fits there are not found: "
                "the rows tell too little of this coefficient, or weigh too little; use `intervals` instead."
            ) from None
        # on the way a fit need not be found where it is far too high anyway; here it has to be
        self._rise(distance)
        warn_if_far(self._last.certificate)
        return self._estimate + float(distance) * self._unit

    def _rise(self, distance: float) -> float:
        """The signed root of the rise of the deviance so many standard errors away, once the others have followed."""
        value = np.array([self._estimate + distance * self._unit])
        self._last = self._face.minimum(value, self._last.value)
        if not np.isfinite(self._last.trace[-1]):
            self._last = self._estimated
            return float(np.copysign(np.inf, distance))
        rise = 2 * (self._last.trace[-1] - self._fitted.objective) / self._dispersion
        return float(np.copysign(np.sqrt(max(0.0, rise)), distance))
