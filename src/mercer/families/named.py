"""Families by their lower-case names, for the scikit-learn face and the command line."""

from __future__ import annotations

from mercer.families._base import Family
from mercer.families.binomial import Bernoulli
from mercer.families.categorical import Categorical
from mercer.families.dirichlet import Beta, Dirichlet
from mercer.families.gamma import Exponential, Gamma
from mercer.families.gaussian import Gaussian
from mercer.families.histogram import Histogram
from mercer.families.lognormal import LogNormal
from mercer.families.multinomial import Multinomial
from mercer.families.multivariate import MultivariateGaussian
from mercer.families.negative_binomial import NegativeBinomial
from mercer.families.poisson import Poisson

#: every family that needs nothing but its name; a binomial also needs its number of trials
FAMILIES: dict[str, type[Family]] = {
    family.name: family
    for family in (
        Bernoulli,
        Beta,
        Categorical,
        Dirichlet,
        Exponential,
        Gamma,
        Gaussian,
        Histogram,
        LogNormal,
        Multinomial,
        MultivariateGaussian,
        NegativeBinomial,
        Poisson,
    )
}


def family_from(family: object) -> Family:
    """A family from its name, or the family itself.

    Examples
    --------
    >>> family_from("poisson")
    Poisson()
    """
    if isinstance(family, Family):
        return family
    if isinstance(family, str) and family in FAMILIES:
        return FAMILIES[family]()
    if family == "binomial":
        raise ValueError("a binomial needs its number of trials: give Binomial(trials=…) instead of its name.")
    raise ValueError(f"no family is called {family!r}; give a Family object or one of {', '.join(FAMILIES)}.")
