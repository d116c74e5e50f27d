"""What the rows say about the family: counts that spread more than a Poisson's, or no more."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr
from scipy.stats import chi2

from mercer._typing import Array
from mercer.families import Family, NegativeBinomial, Poisson
from mercer.models.diagnosis import Finding
from mercer.models.glm.figures import Figures
from mercer.models.glm.negative_binomial import NO_DISPERSION

#: the chance of a false alarm
LEVEL = 0.001
#: trials of a row from which on its Pearson residual is about normal
ENOUGH_TRIALS = 5
#: a spread that exceeds a Poisson's by less changes standard errors by less than a twentieth
WORTH_TELLING = 1.1


def overdispersion(family: Family, figures: Figures) -> tuple[Finding, ...]:
    """Score test of a Poisson against variances μ + θμ² (Dean and Lawless 1989): normal if there is no θ."""
    goodness = figures.goodness
    if not isinstance(family, Poisson) or goodness is None or not figures.df_residual > 0:
        return ()
    if not 0 < goodness.squares < np.inf or not np.isfinite(goodness.excess):  # of counts of 1e150 neither has a float
        return ()
    score = goodness.excess / np.sqrt(2 * goodness.squares)
    ratio = goodness.pearson / figures.df_residual
    chance = float(ndtr(-score))
    if chance > LEVEL or ratio < WORTH_TELLING:
        return ()
    finding = Finding(
        "overdispersion",
        "warning",
        f"The counts spread more than a Poisson's: Pearson's χ² is {ratio:.3g} times its degrees of freedom (score "
        f"test {score:.1f}, p = {chance:.1g}), so that standard errors are about {np.sqrt(ratio):.2g} times too small.",
        'Use family="negative_binomial", or a robust covariance in `summary`.',
    )
    return (finding,)


def overdispersion_of_counts(figures: Figures, trials: Array) -> tuple[Finding, ...]:
    """Pearson's χ² of successes among trials, where there are enough trials in a row for it to be one."""
    seen, df = trials[trials > 0], figures.df_residual
    if figures.goodness is None or not df > 0 or np.median(seen) < ENOUGH_TRIALS:
        return ()
    ratio, chance = figures.goodness.pearson / df, float(chi2.sf(figures.goodness.pearson, df))
    if chance > LEVEL or ratio < WORTH_TELLING:
        return ()
    finding = Finding(
        "overdispersion",
        "warning",
        f"The successes spread more than a binomial's: Pearson's χ² is {ratio:.3g} times its degrees of freedom (p = "
        f"{chance:.1g}), so that standard errors are about {np.sqrt(ratio):.2g} times too small.",
        "Use a robust covariance in `summary`, or multiply them.",
    )
    return (finding,)


def no_overdispersion(family: Family) -> tuple[Finding, ...]:
    """That counts spread no more than a Poisson's, where the r of a negative binomial ran to its largest value."""
    if not isinstance(family, NegativeBinomial) or family.r is None or not np.all(family.r >= 0.99 * NO_DISPERSION):
        return ()
    finding = Finding(
        "no overdispersion",
        "note",
        "The counts spread no more than a Poisson's: the likelihood of the negative binomial grows with r without end.",
        'Use family="poisson", whose fit is the same and has one parameter fewer.',
    )
    return (finding,)
