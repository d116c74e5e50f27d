"""Columns that are jointly normal, of which entries may be missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import FitInterrupted, SingularCovarianceError
from mercer._stored import flags, part_of, sequence, stored, whole
from mercer._typing import Array
from mercer.families import MultivariateGaussian, MultivariateGaussianParameters, Parameters
from mercer.families.collinear import cholesky
from mercer.models.generative.parts._base import CLOSED_FORM, Conditional, Part, Smoothing, sample_by_class
from mercer.models.linear_forms.pieces import LinearPiece
from mercer.solvers.certificate import Certificate
from mercer.solvers.gaps.em import Pull, Words, em_gaussian
from mercer.stats import PatternMoments


@stored()
class Normal(NamedTuple):
    """Mean (columns,) and covariance (columns, columns) of one group, and how we know that they are the best ones."""

    mean: Array
    covariance: Array
    certificate: Certificate
    #: if the user stopped EM before it was done
    interruption: FitInterrupted | None = None


@stored(columns=sequence("d", whole(0)), names=sequence("d"))
@dataclass(frozen=True)
class GaussianVectorPart(Part):
    """A multivariate normal, fitted by EM where entries are missing.

    The portion `smoothing.variance` of the largest variance of all classes together is added to every variance.
    """

    def fit(self, statistic: PatternMoments, smoothing: Smoothing) -> GaussianVectorConditional:
        observed = observed_columns(statistic)
        names = [name for name, seen in zip(self.names, observed, strict=True) if seen]
        try:
            fits = _fit_classes(among(statistic, observed), names, smoothing.variance)
            cholesky(np.array([fit.covariance for fit in fits]), names)
        except SingularCovarianceError as error:
            raise SingularCovarianceError(
                f"{error} What NaiveBayes shrinks by is var_smoothing, here {smoothing.variance}."
            ) from None
        worst = max(fits, key=lambda fit: (fit.interruption is not None, fit.certificate.value))
        parameters = _with_unknown(fits, observed)
        return GaussianVectorConditional(
            self, parameters, observed, certificate=worst.certificate, interruption=worst.interruption
        )


@stored(
    part=part_of(GaussianVectorPart, d="d"),
    parameters=part_of(MultivariateGaussianParameters, k="k"),
    observed=flags("d"),
)
@dataclass(frozen=True)
class GaussianVectorConditional(Conditional):
    """Mean (classes, columns) and covariance (classes, columns, columns); NaN for columns never observed."""

    observed: Array

    @property
    def _known(self) -> MultivariateGaussianParameters:
        mean, covariance = self.parameters
        square = np.ix_(np.arange(len(mean)), self.observed, self.observed)
        return MultivariateGaussianParameters(mean[:, self.observed], covariance[square])

    def by_column(self) -> dict[Any, Parameters]:
        return {self.part.names: self.parameters}

    def score(self, block: Any) -> Array:
        return MultivariateGaussian().log_density(block[:, None, self.observed], self._known)

    def sample(self, codes: Array, rng: np.random.Generator, *, length: Any = None) -> Array:
        rows = np.full((len(codes), len(self.observed)), np.nan)
        rows[:, self.observed] = sample_by_class(MultivariateGaussian(), self._known, codes, rng)
        return rows

    def linear_piece(self, n_rows: int) -> LinearPiece:
        mean, covariance = self._known
        names = [name for name, seen in zip(self.part.names, self.observed, strict=True) if seen]
        root = np.linalg.inv(cholesky(covariance, names))
        log_determinant = -2 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        about, precision = mean.mean(axis=0), np.swapaxes(root, 1, 2) @ root
        piece = LinearPiece.of_covariances(names, about, mean - about, precision, log_determinant)
        return piece.among(self.observed)


def observed_columns(moments: PatternMoments) -> Array:
    """Columns of which anything was seen."""
    seen = [mask for mask, part in moments if part.rows.any()]
    return np.asarray(np.reshape(seen, (-1, moments.columns)).any(axis=0))


def among(moments: PatternMoments, columns: Array) -> PatternMoments:
    """The same moments without the other columns, of which nothing was seen."""
    patterns = {mask[columns].tobytes(): part for mask, part in moments}
    return PatternMoments(moments.groups, int(columns.sum()), patterns)


def _fit_classes(moments: PatternMoments, names: Sequence[str], portion: float) -> list[Normal]:
    """Every class by itself; columns that one has not observed it predicts from the others as all classes do."""
    together = _fit(moments.pooled(), names, "all classes together", portion)
    ridge = portion * np.diagonal(together.covariance).max(initial=0.0) * np.eye(moments.columns)
    groups = np.arange(moments.groups)
    fits = []
    for group in groups:
        alone = moments.regroup(np.where(groups == group, 0, -1), 1)
        seen = observed_columns(alone)
        own = _fit(among(alone, seen), [names[j] for j in np.flatnonzero(seen).tolist()], "one class", portion)
        whole = own if seen.all() else _extended(own, seen, together)
        fits.append(whole._replace(covariance=whole.covariance + ridge))
    return fits


def _fit(moments: PatternMoments, names: Sequence[str], owner: str, portion: float) -> Normal:
    """Maximum likelihood for one group."""
    if moments.complete:
        return Normal(moments.full.mean[0], moments.full.covariance[0], CLOSED_FORM)

    def pull(covariance: Array, weight: float) -> Pull:
        return Pull(portion, np.full(len(covariance), np.diagonal(covariance).max()))

    interruption = None
    try:
        solution = em_gaussian(moments, shrinkage=pull if portion > 0 else None, words=Words(names, [owner]))
    except FitInterrupted as stopped:
        solution, interruption = stopped.solution, stopped
    return Normal(solution.value.mean[0], solution.value.covariance[0], solution.certificate, interruption)


def _extended(own: Normal, seen: Array, together: Normal) -> Normal:
    """With the columns not `seen` regressed on those that are, by the coefficients of all classes together."""
    inner = together.covariance[np.ix_(seen, seen)]
    slope = np.linalg.lstsq(inner, together.covariance[np.ix_(seen, ~seen)])[0].T
    mean, covariance = together.mean.copy(), together.covariance.copy()
    mean[seen] = own.mean
    mean[~seen] += slope @ (own.mean - together.mean[seen])
    change = own.covariance - inner
    covariance[np.ix_(seen, seen)] += change
    covariance[np.ix_(~seen, seen)] += slope @ change
    covariance[np.ix_(seen, ~seen)] += change @ slope.T
    covariance[np.ix_(~seen, ~seen)] += slope @ change @ slope.T
    return own._replace(mean=mean, covariance=covariance)


def _with_unknown(fits: list[Normal], observed: Array) -> MultivariateGaussianParameters:
    """Parameters of all classes, NaN for columns that were never observed."""
    d = len(observed)
    mean, covariance = np.full((len(fits), d), np.nan), np.full((len(fits), d, d), np.nan)
    for c, fit in enumerate(fits):
        mean[c, observed] = fit.mean
        covariance[c][np.ix_(observed, observed)] = fit.covariance
    return MultivariateGaussianParameters(mean, covariance)
