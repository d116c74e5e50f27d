"""A family at given parameters: the distributions of rows, ready to be asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.families._prior import Parameters
from mercer.families.base import Family
from mercer.families.draws import as_generator, checked_count


@stored(lambda own: type(own.parameters) is own.family.parameters_type)
@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of each of several rows: what a fitted p(y|x) is.

    Values broadcast against the rows: one number is asked of all rows, n numbers one of each, and a column of m numbers
    (of shape (m, 1)) gives m × n answers.

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
        """The same for some of the rows: a slice, positions or a mask."""
        if isinstance(rows, (int, np.integer)):
            rows = [range(len(self))[rows]]  # an IndexError beyond the last, or iteration would never end
        return type(self)(self.family, type(self.parameters)(*(np.asarray(field)[rows] for field in self.parameters)))

    def log_density(self, y: Any) -> Array:
        """Logarithm of the probability (counts, classes) or of the density."""
        return self.family.log_density(np.asarray(y, dtype=float), self.parameters)

    def density(self, y: Any) -> Array:
        """Probability of a count or class, density of a number."""
        return np.exp(self.log_density(y))

    def cdf(self, y: Any) -> Array:
        """P(Y ≤ y)."""
        with np.errstate(over="ignore"):  # 1e300 is far out, and no more than that
            return self.family.cdf(np.asarray(y, dtype=float), self.parameters)

    def quantile(self, q: Any) -> Array:
        """The smallest y with P(Y ≤ y) ≥ q."""
        return self.family.quantile(np.asarray(q, dtype=float), self.parameters)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Quantiles that leave as much below as above: an observation lies between with probability `level` or more."""
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
        """`n` draws of each row, of shape (n, rows)."""
        count = checked_count(n, "n is a number of draws")
        return self.family.sample(self.parameters, count, as_generator(random_state))
