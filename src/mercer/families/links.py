"""The links there are, and the choice of one by its name.

| link | η | means it reaches | η that have a mean |
| --- | --- | --- | --- |
| identity | μ | all numbers | all |
| log | log μ | above 0 | all |
| inverse, inverse squared, sqrt | 1/μ, 1/μ², √μ | above 0 | above 0 |
| logit, probit, cauchit, cloglog | log μ/(1−μ), Φ⁻¹(μ), tan π(μ−½), log(−log(1−μ)) | between 0 and 1 | all |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

from mercer._errors import LinkError
from mercer._suggest import did_you_mean
from mercer._tags import constant
from mercer._typing import Array
from mercer.families._link import Curve, Link, Map
from mercer.families.power_links import Identity, Log, LogOdds, Power
from mercer.families.share_links import Cauchit, ComplementaryLogLog, Logit, Probit

if TYPE_CHECKING:
    from mercer.families.base import Family

__all__ = [
    "CAUCHIT",
    "CLOGLOG",
    "IDENTITY",
    "INVERSE",
    "INVERSE_SQUARED",
    "LINKS",
    "LOG",
    "LOGIT",
    "NEGATIVE_INVERSE",
    "PROBIT",
    "SOFTMAX",
    "SQRT",
    "Curve",
    "Link",
    "LogOdds",
    "Map",
    "Power",
    "link_from",
    "power_link",
]


def _negative_reciprocal(x: Array) -> Array:
    return -1 / np.asarray(x)


def _softmax(eta: Array) -> Array:
    return np.asarray(softmax(eta, axis=-1))


IDENTITY = Identity()
LOG = Log()
LOGIT = Logit()
PROBIT = Probit()
CLOGLOG = ComplementaryLogLog()
CAUCHIT = Cauchit()
INVERSE = Power(-1.0)
INVERSE_SQUARED = Power(-2.0)
SQRT = Power(0.5)
NEGATIVE_INVERSE = constant("NEGATIVE_INVERSE", Map("negative inverse", _negative_reciprocal, _negative_reciprocal))
#: over the last axis; log p is the one inverse image whose log-partition is 0
SOFTMAX = constant("SOFTMAX", Map("softmax", np.log, _softmax))

#: the links of a GLM by name
LINKS: dict[str, Link] = {
    "identity": IDENTITY,
    "log": LOG,
    "logit": LOGIT,
    "probit": PROBIT,
    "cloglog": CLOGLOG,
    "cauchit": CAUCHIT,
    "inverse": INVERSE,
    "inverse_squared": INVERSE_SQUARED,
    "sqrt": SQRT,
}


def power_link(exponent: float) -> Link:
    """η = μᵏ, or log μ for k = 0.

    Examples
    --------
    >>> power_link(0.5).forward(np.array([4.0, 9.0])), power_link(0)
    (array([2., 3.]), <link log>)
    """
    return {0.0: LOG, 1.0: IDENTITY}.get(float(exponent)) or Power(float(exponent))


def link_from(link: object, family: Family) -> Link:
    """A link from its name, "canonical" for the family's own, or the link itself.

    Examples
    --------
    >>> from mercer.families import Gamma, Poisson
    >>> link_from("canonical", Gamma()), link_from("sqrt", Poisson())
    (<link inverse>, <link sqrt>)
    """
    if isinstance(link, Link):
        return link
    if isinstance(link, str) and link == "canonical":
        return family.response_link
    if isinstance(link, str) and link in LINKS:
        return LINKS[link]
    if not isinstance(link, str):
        raise LinkError(f"{link!r} is no link; give a Link object, 'canonical', or one of {', '.join(LINKS)}.")
    raise LinkError(
        f"no link is called {link!r}. {did_you_mean(link, ['canonical', *LINKS])} A Link object will do too."
    )
