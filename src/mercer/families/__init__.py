"""Exponential families: one object is the class-conditional density of a generative model and the response of a GLM."""

from mercer.families._base import Family, Parameters, Prior, SufficientStatistic
from mercer.families._levels import CategoricalParameters
from mercer.families.binomial import Bernoulli, BernoulliParameters, Binomial
from mercer.families.categorical import Categorical
from mercer.families.collinear import cholesky, collinear_columns, singular_covariance
from mercer.families.dirichlet import Beta, BetaParameters, Dirichlet, DirichletParameters
from mercer.families.gamma import Exponential, ExponentialParameters, Gamma, GammaParameters
from mercer.families.gaussian import Gaussian, GaussianParameters
from mercer.families.histogram import Histogram
from mercer.families.links import IDENTITY, LOG, LOGIT, NEGATIVE_INVERSE, SOFTMAX, Link
from mercer.families.lognormal import LogNormal, LogNormalParameters
from mercer.families.multinomial import Multinomial
from mercer.families.multivariate import MultivariateGaussian, MultivariateGaussianParameters
from mercer.families.named import family_from
from mercer.families.negative_binomial import NegativeBinomial, NegativeBinomialParameters
from mercer.families.poisson import Poisson, PoissonParameters
from mercer.families.pseudo_counts import add_alpha

__all__ = [
    "IDENTITY",
    "LOG",
    "LOGIT",
    "NEGATIVE_INVERSE",
    "SOFTMAX",
    "Bernoulli",
    "BernoulliParameters",
    "Beta",
    "BetaParameters",
    "Binomial",
    "Categorical",
    "CategoricalParameters",
    "Dirichlet",
    "DirichletParameters",
    "Exponential",
    "ExponentialParameters",
    "Family",
    "Gamma",
    "GammaParameters",
    "Gaussian",
    "GaussianParameters",
    "Histogram",
    "Link",
    "LogNormal",
    "LogNormalParameters",
    "Multinomial",
    "MultivariateGaussian",
    "MultivariateGaussianParameters",
    "NegativeBinomial",
    "NegativeBinomialParameters",
    "Parameters",
    "Poisson",
    "PoissonParameters",
    "Prior",
    "SufficientStatistic",
    "add_alpha",
    "cholesky",
    "collinear_columns",
    "family_from",
    "singular_covariance",
]
