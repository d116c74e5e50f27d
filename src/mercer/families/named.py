"""Families and penalties by their lower-case names, for estimators and the command line."""

from __future__ import annotations

from collections.abc import Iterable

from mercer._errors import FamilyError, PenaltyError
from mercer._suggest import did_you_mean
from mercer.families.base import Family
from mercer.families.binomial import Bernoulli, Binomial
from mercer.families.dirichlet import Beta, Dirichlet
from mercer.families.gamma import Exponential, Gamma
from mercer.families.gaussian import Gaussian
from mercer.families.histogram import Histogram
from mercer.families.inverse_gaussian import InverseGaussian
from mercer.families.levels import Categorical
from mercer.families.lognormal import LogNormal
from mercer.families.multinomial import Multinomial
from mercer.families.multivariate import MultivariateGaussian
from mercer.families.negative_binomial import NegativeBinomial
from mercer.families.penalties import L1, L2, ElasticNet, Penalty
from mercer.families.poisson import Poisson
from mercer.families.tweedie import Tweedie

#: families that are defined by their name alone; a binomial also needs its number of trials
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
        InverseGaussian,
        LogNormal,
        Multinomial,
        MultivariateGaussian,
        NegativeBinomial,
        Poisson,
        Tweedie,
    )
}


def _is_response(family: type[Family]) -> bool:
    return issubclass(family, Categorical) or family.row_loss is not Family.row_loss


#: families that describe a response
RESPONSES = {name: family for name, family in FAMILIES.items() if _is_response(family)}


def family_from(family: object) -> Family:
    """Return the family of a name, or a Family object unchanged.

    Examples
    --------
    >>> family_from("poisson")
    Poisson()
    """
    return _family(family, names=FAMILIES)


def response_family_from(family: object) -> Family:
    """Return the family of a name as `family_from` does, restricted to the families that describe a response.

    Examples
    --------
    >>> response_family_from("bernoulli")
    Bernoulli()
    """
    result = Binomial() if family == "binomial" else _family(family, names=RESPONSES)
    if not _is_response(type(result)):
        raise FamilyError(
            f"{result!r} does not describe a response; give Binomial(trials=…), or one of {', '.join(RESPONSES)}."
        )
    return result


def _family(family: object, *, names: Iterable[str]) -> Family:
    """Return the family; the error for an unknown one lists `names`."""
    if isinstance(family, Family):
        return family
    if not isinstance(family, str):
        raise FamilyError(f"{family!r} is not a family; give a Family object or one of {', '.join(names)}.")
    if family in FAMILIES:
        return FAMILIES[family]()
    if family == "binomial":
        raise FamilyError("a binomial needs its number of trials: give Binomial(trials=…) instead of its name.")
    raise FamilyError(
        f"no family is called {family!r}. {did_you_mean(family, names)} A Family object is accepted, too."
    )


#: penalties by name
PENALTIES: dict[str, type[Penalty]] = {"l1": L1, "l2": L2, "elasticnet": ElasticNet}


def penalty_from(penalty: object) -> Penalty | None:
    """Return the penalty of a name with strength 1, or a Penalty object or None unchanged.

    Examples
    --------
    >>> penalty_from("l2")
    L2(strength=1.0, mean=0.0)
    """
    if penalty is None or isinstance(penalty, Penalty):
        return penalty
    if isinstance(penalty, str) and penalty in PENALTIES:
        return PENALTIES[penalty]()
    if not isinstance(penalty, str):
        raise PenaltyError(
            f"{penalty!r} is not a penalty; give None, a Penalty object or one of {', '.join(PENALTIES)}."
        )
    raise PenaltyError(
        f"no penalty is called {penalty!r}. {did_you_mean(penalty, PENALTIES)} None or a Penalty object such as "
        "L2(strength=…) is accepted, too."
    )
