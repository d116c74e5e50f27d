"""Tests of hypotheses about coefficients: Wald's, by the likelihood ratio, and by the score.

With the estimate β̂, the restricted one β̃, and a hypothesis R β = v of q rows,

    Wald                (Rβ̂ − v)ᵀ (R V Rᵀ)⁻¹ (Rβ̂ − v)
    likelihood ratio    (deviance(β̃) − deviance(β̂)) / φ
    score               gᵀ I⁻¹ g / φ,   gradient and information at β̃

are each about χ² with q degrees of freedom; where the dispersion φ is estimated, the first two over q are about F.
Parameters of the family that were estimated, the r of a negative binomial, are found anew at β̃.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2, f

from mercer._errors import InferenceError
from mercer._suggest import did_you_mean
from mercer._typing import Array
from mercer.models.inference.bread import Bread, bread_of
from mercer.models.inference.covariance import Covariance, dispersion_of
from mercer.models.inference.fitted import Fitted
from mercer.models.inference.restricted import Face, unit_rows, warn_if_far
from mercer.report.wording import counted
from mercer.solvers.certificate import Solution


class HypothesisTest(NamedTuple):
    """How far the data are from a hypothesis, and how often they would be as far if it were true.

    `statistic` is χ² with `freedom` degrees of freedom, or, if `residual_freedom` is a number, F with both.
    """

    kind: str
    hypothesis: str
    statistic: float
    freedom: int
    residual_freedom: float | None
    p_value: float

    def __str__(self) -> str:
        law = (
            f"χ²({self.freedom})" if self.residual_freedom is None else f"F({self.freedom}, {self.residual_freedom:g})"
        )
        return f"{self.kind} test of {self.hypothesis}: {law} = {self.statistic:.4g}, p = {self.p_value:.4g}"


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """`matrix` β = `values`, for the coefficients as the user has them."""

    matrix: Array
    values: Array
    words: str

    @property
    def size(self) -> int:
        return len(self.values)


def hypothesis_of(names: Sequence[str], about: str | Sequence[str] | Array, values: float | Array = 0.0) -> Hypothesis:
    """That the coefficients named are `values`, or that a matrix of q rows times all coefficients is."""
    if isinstance(about, str):
        about = [about]
    if all(isinstance(name, str) for name in about):
        positions = [position_of(name, names) for name in about]
        matrix, told = np.eye(len(names))[positions], ", ".join(about)
    else:
        matrix = np.atleast_2d(np.asarray(about, dtype=float))
        told = counted(len(matrix), "linear combination")
    if matrix.shape[1] != len(names) or not len(matrix):
        raise InferenceError(
            f"each row of a hypothesis has one number per coefficient, {len(names)}; this one has shape {matrix.shape}."
        )
    values = np.asarray(values, dtype=float)
    if values.ndim > 1 or values.size not in (1, len(matrix)):
        raise InferenceError(
            f"a hypothesis of {counted(len(matrix), 'row')} has one value, or one for each; got {values.size}."
        )
    if not (np.isfinite(matrix).all() and np.isfinite(values).all()):
        raise InferenceError("a hypothesis is of finite numbers only; correct those that are NaN or infinite.")
    values = np.broadcast_to(values, len(matrix))
    return Hypothesis(matrix, values, f"{told} = {', '.join(f'{value:g}' for value in np.unique(values))}")


def position_of(name: str, names: Sequence[str]) -> int:
    """Where a coefficient is."""
    if name not in names:
        raise InferenceError(f"no coefficient is called {name!r}. {did_you_mean(name, names)}")
    return list(names).index(name)


def wald_test(fitted: Fitted, covariance: Covariance, hypothesis: Hypothesis) -> HypothesisTest:
    away = hypothesis.matrix @ fitted.coefficients - hypothesis.values
    used = hypothesis.matrix.any(axis=0)
    if not covariance.determined[used].all():
        raise InferenceError(
            "the data do not determine all of these coefficients; leave out those without standard error."
        )
    unit, size = unit_rows(hypothesis.matrix @ fitted.to_user @ covariance.spread)
    # the length of what it takes of each independent error to be so far away, with no product formed
    whitened = np.linalg.lstsq(unit, away / size, rcond=None)[0]
    return _verdict("Wald", hypothesis, float(whitened @ whitened), covariance.freedom)


def likelihood_ratio_test(fitted: Fitted, covariance: Covariance, hypothesis: Hypothesis) -> HypothesisTest:
    objective = _restricted(fitted, covariance.bread, hypothesis).trace[-1]
    # a difference below 0 is rounding
    drop = max(0.0, 2 * (objective - fitted.objective) / covariance.dispersion)
    return _verdict("likelihood ratio", hypothesis, drop, _residual_freedom(fitted, covariance))


def score_test(fitted: Fitted, covariance: Covariance, hypothesis: Hypothesis) -> HypothesisTest:
    theta = _restricted(fitted, covariance.bread, hypothesis).value
    there = fitted.moved(theta)
    root = fitted.free @ bread_of(there).root
    pull = root.T @ there.score_at(theta)
    dispersion = dispersion_of(there, covariance.effective - hypothesis.size)
    return _verdict("score", hypothesis, float(pull @ pull) / dispersion, None)


def _restricted(fitted: Fitted, bread: Bread, hypothesis: Hypothesis) -> Solution:
    """The best fit under the hypothesis."""
    face = Face.of(fitted, bread, hypothesis.matrix @ fitted.to_user)
    solution = face.minimum(hypothesis.values)
    warn_if_far(solution.certificate)
    return solution


def _residual_freedom(fitted: Fitted, covariance: Covariance) -> float | None:
    """The likelihood knows of no clusters: the dispersion has the freedom of the rows."""
    return None if covariance.freedom is None else fitted.n - covariance.effective


def _verdict(kind: str, hypothesis: Hypothesis, statistic: float, freedom: float | None) -> HypothesisTest:
    q = hypothesis.size
    if freedom is None:
        return HypothesisTest(kind, hypothesis.words, statistic, q, None, float(chi2.sf(statistic, q)))
    return HypothesisTest(kind, hypothesis.words, statistic / q, q, freedom, float(f.sf(statistic / q, q, freedom)))
