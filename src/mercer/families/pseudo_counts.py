"""Add-α smoothing as the posterior mode under a Dirichlet(1 + α) prior."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mercer._errors import ColumnTypeError
from mercer._typing import Array
from mercer.families.base import Family, Prior
from mercer.families.binomial import Bernoulli, BernoulliParameters, Binomial
from mercer.families.histogram import Histogram
from mercer.families.levels import Categorical, CategoricalParameters
from mercer.families.multinomial import Multinomial


def add_alpha(family: Family, alpha: ArrayLike, *, levels: int | None = None) -> Prior:
    """Return the prior that adds α to the count of each level: α·K imagined observations, uniform over K levels.

    An array `alpha` has one pseudo-count per level on its last axis (for a Bernoulli: of 0, then of 1). `levels` is
    needed where neither `alpha` nor the family determines their number.

    Examples
    --------
    >>> import numpy as np
    >>> prior = add_alpha(Categorical(levels=4), 0.5)
    >>> prior.strength, prior.parameters.probabilities
    (array(2.), array([0.25, 0.25, 0.25, 0.25]))
    """
    counts = _per_level(family, np.asarray(alpha, dtype=float), levels)
    total = counts.sum(axis=-1)
    even = np.full(counts.shape, 1 / counts.shape[-1])
    shares = np.divide(counts, total[..., None], out=even, where=total[..., None] > 0)
    if isinstance(family, Bernoulli | Binomial):
        return Prior(np.asarray(total / family.n_trials), BernoulliParameters(shares[..., 1]))
    trials = (family.trials or 1) if isinstance(family, Multinomial) else 1
    return Prior(np.asarray(total / trials), CategoricalParameters(shares))


def _per_level(family: Family, alpha: Array, levels: int | None) -> Array:
    if (alpha < 0).any() or not np.isfinite(alpha).all():
        raise ValueError(f"pseudo-counts must be finite and not negative; got alpha={alpha.tolist()!r}.")
    known = _levels_of(family) or levels
    if alpha.ndim == 0:
        if known is None:
            raise ValueError(f"adding {alpha:g} to every level of {family!r} needs their number: give `levels`.")
        return np.full(known, float(alpha))
    if known not in (None, alpha.shape[-1]):
        raise ValueError(f"{family!r} has {known} levels, but alpha gives pseudo-counts for {alpha.shape[-1]}.")
    return alpha


def _levels_of(family: Family) -> int | None:
    match family:
        case Bernoulli() | Binomial():
            return 2
        case Categorical():
            return family.levels
        case Histogram():
            return family.n_bins
        case Multinomial():
            return None
    raise ColumnTypeError(f"{family!r} has no levels to add pseudo-counts to; use its `prior(strength, …)` instead.")
