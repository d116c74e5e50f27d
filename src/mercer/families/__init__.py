"""Exponential families: one object is the class-conditional density of a generative model and the response of a GLM."""

from mercer.families.base import Distribution, Family, Parameters, Prior, SufficientStatistic
from mercer.families.binomial import Bernoulli, BernoulliParameters, Binomial
from mercer.families.bins import Width
from mercer.families.dirichlet import Beta, BetaParameters, Dirichlet, DirichletParameters
from mercer.families.gamma import Exponential, ExponentialParameters, Gamma, GammaParameters
from mercer.families.gaussian import Gaussian, GaussianParameters
from mercer.families.histogram import Histogram
from mercer.families.inverse_gaussian import InverseGaussian, InverseGaussianParameters
from mercer.families.levels import Categorical, CategoricalParameters
from mercer.families.links import (
    CAUCHIT,
    CLOGLOG,
    IDENTITY,
    INVERSE,
    INVERSE_SQUARED,
    LOG,
    LOGIT,
    NEGATIVE_INVERSE,
    PROBIT,
    SOFTMAX,
    SQRT,
    Link,
    link_from,
    power_link,
)
from mercer.families.lognormal import LogNormal, LogNormalParameters
from mercer.families.multinomial import Multinomial
from mercer.families.multivariate import MultivariateGaussian, MultivariateGaussianParameters
from mercer.families.named import family_from, penalty_from, response_family_from
from mercer.families.negative_binomial import NegativeBinomial, NegativeBinomialParameters
from mercer.families.penalties import L1, L2, ElasticNet, Penalty, Strengths
from mercer.families.poisson import Poisson, PoissonParameters
from mercer.families.response import Response, Slopes, SoftmaxResponse
from mercer.families.tweedie import Tweedie, TweedieParameters

__all__ = [
    "CAUCHIT",
    "CLOGLOG",
    "IDENTITY",
    "INVERSE",
    "INVERSE_SQUARED",
    "L1",
    "L2",
    "LOG",
    "LOGIT",
    "NEGATIVE_INVERSE",
    "PROBIT",
    "SOFTMAX",
    "SQRT",
    "Bernoulli",
    "BernoulliParameters",
    "Beta",
    "BetaParameters",
    "Binomial",
    "Categorical",
    "CategoricalParameters",
    "Dirichlet",
    "DirichletParameters",
    "Distribution",
    "ElasticNet",
    "Exponential",
    "ExponentialParameters",
    "Family",
    "Gamma",
    "GammaParameters",
    "Gaussian",
    "GaussianParameters",
    "Histogram",
    "InverseGaussian",
    "InverseGaussianParameters",
    "Link",
    "LogNormal",
    "LogNormalParameters",
    "Multinomial",
    "MultivariateGaussian",
    "MultivariateGaussianParameters",
    "NegativeBinomial",
    "NegativeBinomialParameters",
    "Parameters",
    "Penalty",
    "Poisson",
    "PoissonParameters",
    "Prior",
    "Response",
    "Slopes",
    "SoftmaxResponse",
    "Strengths",
    "SufficientStatistic",
    "Tweedie",
    "TweedieParameters",
    "Width",
    "family_from",
    "link_from",
    "penalty_from",
    "power_link",
    "response_family_from",
]
