"""Base classes of families: parameters, conjugate priors, the interface of a family, and distributions of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from mercer._errors import DataError, DegenerateDataError, NonFiniteError, SupportError
from mercer._stored import stored
from mercer._typing import Array
from mercer.families.links import Link
from mercer.families.losses import RowLoss

# Conjugate priors as imagined observations, and how they are merged with the data.

Parameters = Any  # a NamedTuple of arrays, one class per family


class SufficientStatistic(Protocol):
    """The part of a statistic of `mercer.stats` that a family reads: the weight of the data, and the mean of T.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from mercer.families import Poisson
    >>> statistic = SimpleNamespace(weight=np.array(4.0), mean=np.array([2.0]))  # four counts of mean 2
    >>> Poisson().fit(statistic)
    PoissonParameters(rate=array(2.))
    >>> Poisson().fit(statistic, Poisson().prior(4, rate=1.0))  # and four imagined counts of mean 1
    PoissonParameters(rate=array(1.5))
    """

    @property
    def weight(self) -> Array: ...

    @property
    def mean(self) -> Array: ...


@stored()
@dataclass(frozen=True)
class Prior:
    """A conjugate prior, given as `strength` imagined observations distributed according to `parameters`.

    In mean parameters its density is exp(strength · (⟨η, τ⟩ − A(η))) with τ = E T under `parameters`, so the
    mode of the posterior is the maximum likelihood fit to the data together with the imagined observations.
    For a categorical this is Dirichlet(1 + strength · p): add-α smoothing over K levels is `strength = αK` at
    the uniform distribution, Dirichlet(1 + α).

    Examples
    --------
    >>> from mercer.families import Bernoulli, Poisson
    >>> Bernoulli().prior(2, probability=0.5)  # one imagined success and one imagined failure
    Prior(strength=2, parameters=BernoulliParameters(probability=array(0.5)))
    >>> Poisson().prior(4, rate=1.0).strength
    4
    """

    strength: float | Array
    parameters: Parameters

    def __post_init__(self) -> None:
        strength = np.asarray(self.strength)
        if not ((strength >= 0) & np.isfinite(strength)).all():
            raise ValueError(f"the strength of a prior is a number of observations, 0 or more; got {self.strength!r}.")


def imagined_share(weight: Array, prior: Prior) -> Array:
    """Return the prior's share of all observations, real and imagined; NaN where there are neither."""
    strength = np.asarray(prior.strength, dtype=float)
    total = np.asarray(weight + strength)
    return np.asarray(np.divide(strength, total, out=np.full(total.shape, np.nan), where=total > 0))


def moments_with_prior(
    statistic: SufficientStatistic, spread: Array, prior: Prior | None, square: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """Mean and centred second moments of the data and the imagined observations; NaN where there are neither.

    The prior is merged by the rule for merging moments; `square` maps a difference d to d² or to d dᵀ.
    """
    weight = np.asarray(statistic.weight, dtype=float)

    def expand(values: Array, moments: Array) -> Array:
        """Append axes of length 1 until `values` broadcasts against the moments."""
        return values.reshape(values.shape + (1,) * (np.ndim(moments) - values.ndim))

    # a class without data has no moments, whatever the statistic reports
    mean, spread = (np.where(expand(weight, m) > 0, m, np.nan) for m in (statistic.mean, spread))
    if prior is None:
        return mean, spread
    share = imagined_share(weight, prior)
    mean_share, spread_share = expand(share, mean), expand(share, spread)
    prior_mean, prior_spread = prior.parameters
    mean, spread = np.where(mean_share < 1, mean, 0.0), np.where(spread_share < 1, spread, 0.0)
    between = spread_share * (1 - spread_share) * square(mean - prior_mean)
    return (
        (1 - mean_share) * mean + mean_share * prior_mean,
        (1 - spread_share) * spread + spread_share * prior_spread + between,
    )


# The interface of an exponential family; one object serves both sides of the library.
#
#     p(x; η) = b(x) exp(⟨η, T(x)⟩ − A(η))                         (lecture 3, "Exponential Family")
#
# A family is a small frozen value. It holds no data and no parameters; parameters are named tuples of arrays
# whose leading axes are free (one per class, one per column, …) and broadcast against the data.
#
# Scalar families describe one number: `x` has any shape, parameters broadcast against it, and T(x), η and the
# mean parameter E T carry one extra last axis of length `order()`. Vector families (`vector = True`) describe a
# row: the last axis of `x` is the event.
#
# NaN means missing, and missing values are integrated out: a row without any value has log density log ∫p = 0.
# Arithmetic is in float64 for every dtype of the data, so that squares of small integers cannot overflow.

#: families to use instead of one without a variance function, for error messages
USE_A_RESPONSE = (
    "use gaussian, bernoulli, binomial, categorical, poisson, gamma, inverse_gaussian, negative_binomial or tweedie."
)


class Family(ABC):
    """Base class of exponential families. Subclasses implement the abstract methods; the others follow from them.

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
        """Name of the statistic of `mercer.stats` from which the family is fitted: sums of T, centred moments, …

        A family without T is fitted from the counts of each distinct value.
        """
        return "sums" if self.exponential else "values"

    @property
    def exponential(self) -> bool:
        """Return whether η, T and A exist; a negative binomial of unknown r has none."""
        return True

    @property
    @abstractmethod
    def link(self) -> Link:
        """Canonical link: mean parameter -> natural parameter."""

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
        """Draw `n` events, of shape `(n, *parameter shape)`; events are on the last axis for vector families."""

    @abstractmethod
    def outside(self, x: Array) -> Array:
        """Mask of the `x` (not missing) outside the support, of the shape of `log_base(x)`."""

    def order(self, columns: int = 1) -> int:
        """Number of components of T for an event of `columns` columns (one, unless `vector`)."""
        return int(self.sufficient(np.zeros((0, columns) if self.vector else 0)).shape[-1])

    def transform(self, x: Array) -> Array:
        """Transform `x` to the values that the statistic accumulates: `x`, or log x for a log-normal."""
        return x

    def missing(self, x: Array) -> Array:
        """Mask of the events without any value, of the shape of `log_base(x)`."""
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
        """log p(x) inside the support; subclasses override the general formula where another keeps more digits."""
        eta = self.natural(parameters)
        inner = np.einsum("...m,...m->...", self.sufficient(x), eta)
        return np.asarray(self.log_base(x) + inner - self.log_partition(eta))

    # A family with a `row_loss` can be the response y of a model, with mean μ and variance φ V(μ).

    @property
    def row_loss(self) -> RowLoss:
        """Half the unit deviance of a row as a function of η."""
        raise TypeError(f"{self!r} does not describe a response; {USE_A_RESPONSE}")

    @property
    def response_link(self) -> Link:
        """Canonical link of a GLM: `link` up to the factor that is customary (1/μ for the gamma)."""
        return self.link

    @property
    def known_dispersion(self) -> float | None:
        """φ where the family fixes it (1 for counts and classes), or None where it is estimated."""
        return None

    def unit_variance(self, mean: Array) -> Array:
        """V(μ): the variance of y in units of the dispersion."""
        return self.row_loss.variance(mean)

    def unit_deviance(self, y: Array, mean: Array) -> Array:
        """d(y, μ) = 2 φ (log p(y; y) − log p(y; μ)) ≥ 0."""
        return self.row_loss.deviance(y, mean)

    def at_mean(self, mean: Array, dispersion: float | Array = 1.0) -> Parameters:
        """Return the parameters of a response of mean μ and variance φ V(μ)."""
        raise TypeError(f"{self!r} does not describe a response; {USE_A_RESPONSE}")

    def log_likelihood(self, y: Array, parameters: Parameters) -> Array:
        """log p(y) of a response: the formula of the density, also for fractional counts where these are allowed."""
        y = np.asarray(y, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inside = self.log_density_inside(y, parameters)
        return np.where(self.outside_response(y), -np.inf, inside)

    def cdf(self, x: Array, parameters: Parameters) -> Array:
        """P(X ≤ x)."""
        raise TypeError(f"the distribution function of {self!r} is not known; {USE_A_RESPONSE}")

    def quantile(self, q: Array, parameters: Parameters) -> Array:
        """Smallest x with P(X ≤ x) ≥ q; NaN unless 0 ≤ q ≤ 1."""
        raise TypeError(f"the quantiles of {self!r} are not known; {USE_A_RESPONSE}")

    def mean_of(self, parameters: Parameters) -> Array:
        """E X."""
        raise TypeError(f"the mean of {self!r} is not known; {USE_A_RESPONSE}")

    def variance_of(self, parameters: Parameters) -> Array:
        """Var X."""
        raise TypeError(f"the variance of {self!r} is not known; {USE_A_RESPONSE}")

    @property
    def response_support(self) -> str:
        """Allowed responses in words: a superset of `support` where the loss is defined on more (Poisson rates)."""
        return self.support

    def outside_response(self, y: Array) -> Array:
        """Mask of the y that are not allowed as responses."""
        return self.outside(y)

    def check_response(self, y: Array) -> None:
        """Raise an error that names the first response outside the support."""
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
        """Return the prior of `strength` imagined observations distributed according to `parameters`."""
        values = {name: np.asarray(value, dtype=float) for name, value in parameters.items()}
        return Prior(strength, self.parameters_type(**values))

    def fit(self, statistic: Any, prior: Prior | None = None) -> Parameters:
        """Maximum likelihood estimate, or with a prior the posterior mode in mean parameters.

        `statistic` is an instance of the statistic that the property of this name names. Parameters without any
        observation, real or imagined, are NaN.
        """
        return self.from_mean(mean_with_prior(self, statistic, prior))


def mean_with_prior(family: Family, statistic: SufficientStatistic, prior: Prior | None) -> Array:
    """Mean of T over the data and the prior's imagined observations; NaN where there are neither."""
    weight = np.asarray(statistic.weight, dtype=float)
    # a class without data has no mean, whatever the statistic reports; only the prior counts there
    observed = np.where(weight[..., None] > 0, statistic.mean, np.nan if prior is None else 0.0)
    if prior is None:
        return observed
    share = imagined_share(weight, prior)[..., None]
    result: Array = (1 - share) * observed + share * family.expected(prior.parameters)
    return result


def log_or_minus_infinity(x: Array) -> Array:
    """log x, or −inf where x ≤ 0: NaN would mean missing and hide a value outside the support."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(np.asarray(x, dtype=float), 0.0)))


def check_not_degenerate(family: str, data: str, where: Array) -> None:
    """Raise an error with the indices (class, column) of the parameters without a maximum likelihood estimate."""
    if not where.any():
        return
    places = ", ".join(str(tuple(map(int, place))) for place in np.argwhere(where)[:5])
    raise DegenerateDataError(
        f"{family} has no maximum likelihood fit to {data} (at index {places} of its parameters); "
        "give a prior, leave the column out, or describe it by another family."
    )


def as_generator(random_state: Any) -> np.random.Generator:
    """Convert scikit-learn's `random_state` (None, int, RandomState or Generator) to a generator of NumPy."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    return np.random.default_rng(random_state)


def checked_count(number: Any, what: str = "n_samples is a number of rows") -> int:
    """Return a number of rows or draws as an int, or raise `DataError` with the words of the caller."""
    if not isinstance(number, Integral) or number < 0:
        raise DataError(f"{what}, 0 or more and whole; got {number!r}.")
    return int(number)


# A family at given parameters: the distributions of rows.


@stored(lambda own: type(own.parameters) is own.family.parameters_type)
@dataclass(frozen=True, eq=False)
class Distribution:
    """Distribution of each of n rows, such as a fitted p(y|x).

    Arguments broadcast against the rows: one number is evaluated at all rows, n numbers one at each row, and an array
    of shape (m, 1) gives results of shape (m, n).

    Parameters
    ----------
    family : Family
    parameters : NamedTuple
        The family's parameters, the rows on their leading axis.

    Examples
    --------
    >>> from mercer.families import Poisson, PoissonParameters
    >>> rows = Distribution(Poisson(), PoissonParameters(np.array([0.5, 4.0])))
    >>> rows.quantile(0.9)
    array([1., 7.])
    >>> rows[1:].cdf(4).round(3)
    array([0.629])
    """

    family: Family
    parameters: Parameters

    def __len__(self) -> int:
        return len(self.parameters[0])

    def __getitem__(self, rows: Any) -> Self:
        """Select rows by a slice, positions or a mask."""
        if isinstance(rows, (int, np.integer)):
            rows = [range(len(self))[rows]]  # raises IndexError beyond the last row, which ends iteration
        return type(self)(self.family, type(self.parameters)(*(np.asarray(field)[rows] for field in self.parameters)))

    def log_density(self, y: Any) -> Array:
        """Logarithm of the probability (counts, classes) or of the density."""
        return self.family.log_density(np.asarray(y, dtype=float), self.parameters)

    def density(self, y: Any) -> Array:
        """Probability of a count or class, density of a number."""
        return np.exp(self.log_density(y))

    def cdf(self, y: Any) -> Array:
        """P(Y ≤ y)."""
        with np.errstate(over="ignore"):  # at 1e300 an overflow gives the right result, 0 or 1
            return self.family.cdf(np.asarray(y, dtype=float), self.parameters)

    def quantile(self, q: Any) -> Array:
        """Smallest y with P(Y ≤ y) ≥ q."""
        return self.family.quantile(np.asarray(q, dtype=float), self.parameters)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Central interval: an observation lies in it with probability `level` or more."""
        if not 0 < level < 1:
            raise ValueError(f"level is a probability between 0 and 1, such as 0.95; got {level!r}.")
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    @property
    def mean(self) -> Array:
        """Mean of each row; of a class, the probabilities."""
        return self.family.mean_of(self.parameters)

    @property
    def variance(self) -> Array:
        """Variance of each row; of a class, that of each indicator."""
        return self.family.variance_of(self.parameters)

    def sample(self, n: int = 1, random_state: Any = None) -> Array:
        """Draw `n` values of each row, of shape (n, rows)."""
        count = checked_count(n, "n is a number of draws")
        return self.family.sample(self.parameters, count, as_generator(random_state))
