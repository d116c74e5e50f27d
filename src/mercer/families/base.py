"""What an exponential family is: one object for both sides of the library.

    p(x; η) = b(x) exp(⟨η, T(x)⟩ − A(η))                         (lecture 3, "Exponential Family")

A family is a small frozen value. It holds no data and no parameters; parameters are named tuples of arrays
whose leading axes are free (one per class, one per column, …) and broadcast against the data.

Scalar families describe one number: `x` has any shape, parameters broadcast against it, and T(x), η and the
mean parameter E T carry one extra last axis of length `order()`. Vector families (`vector = True`) describe a
row: the last axis of `x` is the event.

NaN means missing, and what is missing is integrated out: a value wholly missing has log density log ∫p = 0.
Arithmetic is in float64 whatever the data came in, so that squares of small integers cannot overflow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from mercer._errors import DegenerateDataError, NonFiniteError, SupportError
from mercer._typing import Array
from mercer.families._link import Link
from mercer.families._prior import Parameters, Prior, SufficientStatistic, imagined_share
from mercer.families._row_loss import RowLoss

#: what to use instead of a family that has no variance function
USE_A_RESPONSE = (
    "use gaussian, bernoulli, binomial, categorical, poisson, gamma, inverse_gaussian, negative_binomial or tweedie."
)


class Family(ABC):
    """One exponential family. Subclasses say what is particular to them; the rest follows.

    Examples
    --------
    >>> from mercer.families import Poisson
    >>> counts = Poisson()
    >>> counts.support
    'counts 0, 1, 2, …'
    >>> eta = counts.link.forward(np.array([2.0]))
    >>> counts.mean(eta), counts.log_partition(eta)  # both are the rate, of a Poisson
    (array([2.]), array(2.))
    """

    name: ClassVar[str]
    #: the named tuple that holds the parameters
    parameters_type: ClassVar[Callable[..., Parameters]]
    #: the support in words, for error messages: "numbers above 0", "counts 0, 1, 2, …"
    support: ClassVar[str]
    vector: ClassVar[bool] = False
    discrete: ClassVar[bool] = False

    @property
    def statistic(self) -> str:
        """Which statistic of `mercer.stats` holds what the fit needs: sums of T, centred moments, level counts, …

        Where there is no T, it is how often each value was seen.
        """
        return "sums" if self.exponential else "values"

    @property
    def exponential(self) -> bool:
        """Whether η, T and A exist; a negative binomial whose r is to be found has none."""
        return True

    @property
    @abstractmethod
    def link(self) -> Link:
        """The canonical link: mean parameter -> natural parameter."""

    @abstractmethod
    def sufficient(self, x: Array) -> Array:
        """T(x), with the components of T on the last axis."""

    @abstractmethod
    def log_base(self, x: Array) -> Array:
        """log b(x); −inf outside the support."""

    @abstractmethod
    def log_partition(self, eta: Array) -> Array:
        """A(η), with the components of η on the last axis."""

    @abstractmethod
    def natural(self, parameters: Parameters) -> Array:
        """Parameters -> η."""

    @abstractmethod
    def from_natural(self, eta: Array) -> Parameters:
        """η -> parameters."""

    @abstractmethod
    def expected(self, parameters: Parameters) -> Array:
        """Parameters -> E T, the mean parameter."""

    @abstractmethod
    def from_mean(self, mean: Array) -> Parameters:
        """E T -> parameters: the maximum likelihood fit to data with this mean of T."""

    @abstractmethod
    def sample(self, parameters: Parameters, n: int, rng: np.random.Generator) -> Array:
        """`n` draws: shape `(n, *parameter shape)`, events last for vector families."""

    @abstractmethod
    def outside(self, x: Array) -> Array:
        """Where `x` (not missing) lies outside the support; a boolean array of the shape of `log_base(x)`."""

    def order(self, columns: int = 1) -> int:
        """Number of components of T for an event of so many columns (one, unless the family is a vector's)."""
        return int(self.sufficient(np.zeros((0, columns) if self.vector else 0)).shape[-1])

    def transform(self, x: Array) -> Array:
        """What the statistic accumulates in place of `x`: itself, or the logarithm for a log-normal."""
        return x

    def missing(self, x: Array) -> Array:
        """Where `x` is missing altogether; a boolean array of the shape of `log_base(x)`."""
        return np.asarray(np.isnan(x).all(axis=-1) if self.vector else np.isnan(x))

    def mean(self, eta: Array) -> Array:
        """∇A(η) = E T."""
        return self.expected(self.from_natural(eta))

    def log_density(self, x: Array, parameters: Parameters) -> Array:
        """log p(x): −inf outside the support, 0 where `x` is missing."""
        x = np.asarray(x, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inside = self.log_density_inside(x, parameters)
        return np.where(self.missing(x), 0.0, np.where(self.outside(x), -np.inf, inside))

    def log_density_inside(self, x: Array, parameters: Parameters) -> Array:
        """log p(x) within the support; subclasses replace the general formula where another keeps more digits."""
        eta = self.natural(parameters)
        inner = np.einsum("...m,...m->...", self.sufficient(x), eta)
        return np.asarray(self.log_base(x) + inner - self.log_partition(eta))

    # As a response, y of mean μ and variance φ V(μ): only families that have a `row_loss` can be one.

    @property
    def row_loss(self) -> RowLoss:
        """Half the unit deviance of a row as a function of η."""
        raise TypeError(f"{self!r} does not describe a response; {USE_A_RESPONSE}")

    @property
    def response_link(self) -> Link:
        """The canonical link of a GLM: `link`, up to a factor where another is usual (1/μ for the gamma)."""
        return self.link

    @property
    def known_dispersion(self) -> float | None:
        """φ where the family knows it: 1 for counts and classes; None where it is to be estimated."""
        return None

    def unit_variance(self, mean: Array) -> Array:
        """V(μ): the variance of y in units of the dispersion."""
        return self.row_loss.variance(mean)

    def unit_deviance(self, y: Array, mean: Array) -> Array:
        """d(y, μ) = 2 φ (log p(y; y) − log p(y; μ)) ≥ 0."""
        return self.row_loss.deviance(y, mean)

    def at_mean(self, mean: Array, dispersion: float | Array = 1.0) -> Parameters:
        """The parameters of a response of mean μ and variance φ V(μ)."""
        raise TypeError(f"{self!r} does not describe a response; {USE_A_RESPONSE}")

    def log_likelihood(self, y: Array, parameters: Parameters) -> Array:
        """log p(y) of a response: the formula of the density, also between counts where those can be a response."""
        y = np.asarray(y, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inside = self.log_density_inside(y, parameters)
        return np.where(self.outside_response(y), -np.inf, inside)

    def cdf(self, x: Array, parameters: Parameters) -> Array:
        """P(X ≤ x)."""
        raise TypeError(f"the distribution function of {self!r} is not known; {USE_A_RESPONSE}")

    def quantile(self, q: Array, parameters: Parameters) -> Array:
        """The smallest x with P(X ≤ x) ≥ q; NaN unless 0 ≤ q ≤ 1."""
        raise TypeError(f"the quantiles of {self!r} are not known; {USE_A_RESPONSE}")

    def mean_of(self, parameters: Parameters) -> Array:
        """E X."""
        raise TypeError(f"the mean of {self!r} is not known; {USE_A_RESPONSE}")

    def variance_of(self, parameters: Parameters) -> Array:
        """Var X."""
        raise TypeError(f"the variance of {self!r} is not known; {USE_A_RESPONSE}")

    @property
    def response_support(self) -> str:
        """The responses in words: more than `support` where the loss has a meaning for more (rates for a Poisson)."""
        return self.support

    def outside_response(self, y: Array) -> Array:
        """Where y cannot be a response."""
        return self.outside(y)

    def refuse_response(self, y: Array) -> None:
        """Raise if a response lies outside the support, naming the first."""
        y = np.asarray(y, dtype=float)
        if not np.isfinite(y).all():
            row = int(np.argmax(~np.isfinite(y)))
            raise NonFiniteError(f"y is {y[row]:g} in row {row}: a response is a number; correct or drop the row.")
        if (wrong := self.outside_response(y)).any():
            row = int(np.argmax(wrong))
            raise SupportError(
                f"y is {y[row]:g} in row {row}, but a {self.name} response is one of {self.response_support}; "
                "correct or drop the row, or choose a family that allows it."
            )

    def prior(self, strength: float | Array, **parameters: Any) -> Prior:
        """`strength` imagined observations that look like `parameters`, given by name."""
        values = {name: np.asarray(value, dtype=float) for name, value in parameters.items()}
        return Prior(strength, self.parameters_type(**values))

    def fit(self, statistic: Any, prior: Prior | None = None) -> Parameters:
        """Maximum likelihood, or with a prior the posterior mode in mean parameters.

        `statistic` is what `mercer.stats` has under this family's `statistic`. Parameters without any observation, real
        or imagined, are NaN.
        """
        return self.from_mean(mean_with_prior(self, statistic, prior))


def mean_with_prior(family: Family, statistic: SufficientStatistic, prior: Prior | None) -> Array:
    """Mean of T over the data and the prior's imagined observations; NaN where there is neither."""
    weight = np.asarray(statistic.weight, dtype=float)
    # a class without data has no mean, whatever the statistic reports: there the prior speaks alone
    seen = np.where(weight[..., None] > 0, statistic.mean, np.nan if prior is None else 0.0)
    if prior is None:
        return seen
    share = imagined_share(weight, prior)[..., None]
    result: Array = (1 - share) * seen + share * family.expected(prior.parameters)
    return result


def log_or_minus_infinity(x: Array) -> Array:
    """log x, and −inf for what is not positive: NaN would mean missing and hide a value outside the support."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(np.asarray(x, dtype=float), 0.0)))


def refuse_degenerate(family: str, data: str, where: Array) -> None:
    """Raise if there is a place without a maximum likelihood fit; its index says for which class and column."""
    if not where.any():
        return
    places = ", ".join(str(tuple(map(int, place))) for place in np.argwhere(where)[:5])
    raise DegenerateDataError(
        f"{family} has no maximum likelihood fit to {data} (at index {places} of its parameters); "
        "give a prior, leave the column out, or describe it by another family."
    )
