"""Solve a problem of a GLM, and diagnose its solution.

`solve` minimises it, and `solve_with_r` alternates with the r of a negative binomial. `diagnose`
then checks two conditions under which the coefficients have no unique finite optimum. If columns depend on each other,
it takes the smallest of the coefficients that fit equally well. If a hyperplane separates the responses, some
coefficients are infinite, and the user's `on_separation` is applied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mercer._errors import (
    CollinearWarning,
    MercerWarning,
    NonFiniteError,
    NotConvergedWarning,
    SeparationError,
    SeparationWarning,
    UnsuitableSolverError,
)
from mercer._suggest import listed
from mercer._typing import Array
from mercer.base.diagnosis import Finding
from mercer.families import Family, NegativeBinomial, Poisson
from mercer.families.response import Response
from mercer.linear_model._dependence import MOST_COLUMNS_OF_DEPENDENCE, find_dependence
from mercer.linear_model.separation import examine, weak_prior
from mercer.optim import firth
from mercer.optim.certificate import STATIONARY, Certificate, Solution, sentence_without_fall
from mercer.optim.curvature import Curvature
from mercer.optim.descent import Callback
from mercer.optim.least_squares import LinearSolution
from mercer.optim.minimize import AnyProblem, SolverChoice, choose_solver, minimize
from mercer.optim.problem import Problem, Smooth, evaluate
from mercer.stats.quadratic import LOSS


class SolverLimits(NamedTuple):
    """Tolerance in standard errors, and maximum number of steps."""

    tolerance: float
    most_steps: int


class Solved(NamedTuple):
    """Problem with the estimated response, its solution, and the chosen solver."""

    problem: Any  # a Problem or a SoftmaxProblem
    solution: Solution
    choice: SolverChoice

    def with_coef(self, w: Array) -> Solved:
        """Return the same with other coefficients that fit equally well."""
        return self._replace(solution=replace(self.solution, coef=w))

    def after_interruption(self) -> Solved:
        """Return the same, interrupted after the search."""
        return self._replace(solution=replace(self.solution, interrupted=True))


def solve(
    problem: AnyProblem,
    solver: str,
    limits: SolverLimits,
    *,
    start: Array | None = None,
    callback: Callback | None = None,
    explore: bool = True,
) -> Solved:
    """Minimise a problem by the given solver, or by the one that "auto" chooses; see `minimize`."""
    choice = choose_solver(problem, solver, tol=limits.tolerance)
    solution = minimize(
        problem,
        solver=choice,
        start=start,
        tol=limits.tolerance,
        max_iter=limits.most_steps,
        callback=callback,
        explore=explore,
    )
    if not (np.isfinite(solution.certificate.value) or solution.interrupted):
        raise NonFiniteError(
            "the objective is not finite: the data are not, or their sums are too large for float64; divide the "
            "largest columns, or the responses, by a number."
        )
    return Solved(problem, solution, choice)


def certificate_as_published(problem: Any, solution: Solution, squares: float, dtype: Any) -> Certificate:
    """Return the certificate of coefficients that were rounded to `dtype`, which changed them by Δ.

    `squares` is Δᵀ H Δ: the objective rises by half of it, to second order.
    """
    if solution.certificate.kind == "closed form":  # its value is a share of the length of y
        size = np.sqrt(2 * evaluate(problem, np.zeros(problem.n_columns), LOSS).value)
        share = float(np.sqrt(squares) / (size or 1.0))
        return solution.certificate.after_rounding(dtype, lambda left: left + share)
    value = solution.objective
    if solution.certificate.kind == "duality gap":
        far = np.sqrt(0.5 * squares / max(abs(value), np.finfo(float).tiny))
        return solution.certificate.after_rounding(dtype, lambda gap: (np.sqrt(gap) + far) ** 2)
    far = np.sqrt(squares) / problem.unit(value)
    return solution.certificate.after_rounding(dtype, lambda length: length + far)


def curvature_along(problem: Smooth, w: Array, change: Array) -> float:
    """Return Δᵀ H Δ for a change of the coefficients and the Hessian at `w`."""
    with np.errstate(over="ignore", invalid="ignore"):
        return max(float(np.vdot(change, problem.hessian_product(w)(change))), 0.0)


def convergence_warnings(solved: Solved, limits: SolverLimits) -> tuple[NotConvergedWarning, ...]:
    """Return a warning with the evidence and one remedy; none if the certificate holds."""
    certificate, steps = solved.solution.certificate, solved.solution.n_iter
    if certificate.holds:
        return ()
    if steps >= limits.most_steps:
        remedy = f"It was stopped after {steps} steps; allow more of them (max_iter={10 * limits.most_steps})."
    else:
        remedy = (
            "No step lowers the objective any further in float64; divide columns of very different size by their "
            f"spread, or use a larger tolerance (tol={10 * certificate.value:.0e})."
        )
    return (NotConvergedWarning(f"the {solved.choice.solver} solver has not converged: {certificate}. {remedy}"),)


# The r of a negative binomial.

#: a named tuple with a `solution`
FitT = TypeVar("FitT", bound=Any)

#: r of counts that vary no more than a Poisson's: at any mean, both distributions are equal in float64
LARGEST_R = 1e12
#: change of log θ in a round below which θ has converged
THETA_TOLERANCE = 1e-10
#: maximum number of rounds of coefficients and r
MOST_ROUNDS_OF_R = 100
#: argument from which on four terms of the asymptotic series of the digamma function are exact to rounding
LEAST_ASYMPTOTIC_ARGUMENT = 20.0
#: deviation d below which d − log(1 + d) cancels, so that its series is used
SERIES_DEVIATION = 0.05


def estimates_r(family: Family) -> bool:
    """Return whether r is estimated together with the coefficients, which needs all rows in memory."""
    return isinstance(family, NegativeBinomial) and family.r is None


def solve_with_r(
    problem: Problem, solver: str, limits: SolverLimits, *, start: Array | None = None, callback: Callback | None = None
) -> Solved:
    """Return the coefficients and r at the maximum of the likelihood."""

    def fit(family: Family, last: Solved | None) -> Solved:
        current = replace(problem, response=Response(family, problem.response.link))
        begin = start if last is None else last.solution.coef
        # the Poisson and the first negative binomial explore several starts; later rounds begin at the last minimum
        explore = last is None or isinstance(last.problem.response.family, Poisson)
        return solve(current, solver, limits, start=begin, callback=callback, explore=explore)

    return alternate_with_r(fit, lambda solved: estimate_theta(solved.problem, solved.solution.coef), "coefficients")


def alternate_with_r(
    fitted: Callable[[Family, FitT | None], FitT], theta_of: Callable[[FitT], float], what: str
) -> FitT:
    """Fit a Poisson and then negative binomials, each with the r that is likeliest for the last fit, until r converges.

    Coefficients and r are orthogonal parameters, so that a few rounds suffice.

    Parameters
    ----------
    fitted : callable
        Function of a family and the last fit, which returns a fit with its `solution`.
    theta_of : callable
        Function that returns the likeliest 1/r for the means of a fit.
    what : str
        Name of the fitted quantity, for the certificate.
    """
    fit = fitted(Poisson(), None)
    theta, change, history = 0.0, np.inf, fit.solution.history
    for _ in range(MOST_ROUNDS_OF_R):
        if fit.solution.interrupted:
            return fit._replace(solution=replace(fit.solution, history=history))  # type: ignore[no-any-return]
        before, theta = theta, theta_of(fit)
        fit = fitted(NegativeBinomial(r=1 / max(theta, 1 / LARGEST_R)), fit)
        history = history.followed_by(fit.solution.history)
        change = abs(np.log(theta / before)) if before > 0 and theta > 0 else abs(theta - before)
        if change <= THETA_TOLERANCE:
            break
    certificate = fit.solution.certificate
    if change > THETA_TOLERANCE:
        sentence = f"change of log r in the last of {MOST_ROUNDS_OF_R} rounds of {what} and r in turn"
        certificate = Certificate(STATIONARY, float(change), THETA_TOLERANCE, sentence)
    else:
        sentence = (
            f"at the r that was found, {sentence_without_fall(certificate)}; {what} and r, each likeliest for the "
            "other, were found in turn, and others may be likelier together"
        )
        certificate = replace(certificate, kind=STATIONARY, sentence=sentence)
    return fit._replace(solution=replace(fit.solution, history=history, certificate=certificate))  # type: ignore[no-any-return]


def estimate_theta(problem: Problem, w: Array) -> float:
    """Return the maximum likelihood θ = 1/r for the means at `w`; 0 if the counts vary no more than a Poisson's.

    For means μ the slope of the log likelihood in θ is

        G(θ) = r² Σ w (d − log(1+d) − c(y+r) + c(r)),      d = (y−μ)/(r+μ),      c(z) = ψ(z) − log z,

    with the digamma function ψ. No term cancels, neither for counts of any size nor near the Poisson limit θ = 0, where
    G is Σ w ((y−μ)² − y)/2.
    """
    from scipy.optimize import brentq

    observations = problem.observations
    eta = observations.design.matvec(w)
    eta = eta if observations.offset is None else eta + observations.offset
    y, mean, weight = observations.y, problem.response.mean(eta), observations.weight
    if not np.isfinite(mean).all():
        raise NonFiniteError("means overflow on the way to r: divide the largest counts by a number, or give r.")
    slope = _slope(y, mean, weight)
    weighted = y if weight is None else y[weight > 0]
    if not weighted.any() or not slope(0.0) > 0:
        return 0.0
    low, high = 0.0, 1.0  # bracket the root of G
    while slope(high) > 0:
        low, high = high, 4 * high
    while low == 0 and slope(high / 4) <= 0:
        high /= 4
    low = low or high / 4
    return float(np.exp(brentq(lambda t: slope(np.exp(t)), np.log(low), np.log(high), xtol=1e-13)))


def _slope(y: Array, mu: Array, weight: Array | None) -> Callable[[float], float]:
    """Return the function G of `estimate_theta`."""
    w = np.ones(len(y)) if weight is None else weight
    counts, codes = np.unique(y, return_inverse=True)
    weights = np.bincount(codes, w)

    def slope(theta: float) -> float:
        if theta == 0:
            with np.errstate(over="ignore"):  # only its sign is used
                return 0.5 * float(w @ (np.square(y - mu) - y))
        r = 1 / theta
        return r * r * (float(w @ _beyond_log(y, mu, r)) - float(weights @ _beyond_digamma(counts, r)))

    return slope


def _beyond_log(y: Array, mu: Array, r: float) -> Array:
    """Return d − log(1+d) for d = (y−μ)/(r+μ), by its series d²/2 − d³/3 + … where the difference cancels."""
    d = (y - mu) / (r + mu)
    small = np.clip(d, -SERIES_DEVIATION, SERIES_DEVIATION)
    k = np.arange(13)
    series = np.square(small) * np.polynomial.polynomial.polyval(small, (-1.0) ** k / (k + 2))
    # 1 + d may round to 0
    return np.where(np.abs(d) < SERIES_DEVIATION, series, d - np.log(r + y) + np.log(r + mu))


def _beyond_digamma(x: Array, r: float) -> Array:
    """Return c(x+r) − c(r) for c(z) = ψ(z) − log z."""
    from scipy.special import digamma

    if r < LEAST_ASYMPTOTIC_ARGUMENT:
        return np.asarray(digamma(x + r) - np.log(x + r) - (digamma(r) - np.log(r)))
    # the difference of −1/2z, the first term of the series, is written in a form that does not cancel
    return np.asarray(x / (2 * r * (x + r)) + _later_terms(x + r) - _later_terms(r))


def _later_terms(z: Array | float) -> Array:
    inverse = np.square(1 / z)
    return np.asarray(inverse * np.polynomial.polynomial.polyval(inverse, [-1 / 12, 1 / 120, -1 / 252, 1 / 240]))


# The diagnosis.

#: name of Firth's remedy in `plan_`
FIRTH_CHOICE = SolverChoice("firth", "the responses are separated")
#: maximum number of steps of Fisher scoring, which converges more slowly than Newton's method
MOST_FIRTH_STEPS = 1000


class DiagnosedFit(NamedTuple):
    """Solution, effective number of parameters that the data have determined, findings, and warnings to give."""

    solved: Solved
    effective_parameters: float
    findings: tuple[Finding, ...] = ()
    cautions: tuple[MercerWarning, ...] = ()


def diagnose(
    solved: Solved, names: Sequence[str], on_separation: str, limits: SolverLimits, callback: Callback | None
) -> DiagnosedFit:
    """Make the coefficients unique and finite, or describe why they are not."""
    # 1. dependent columns: take the smallest coefficients
    fit = _resolve_dependence(solved, names)
    # 2. separated responses: infinite coefficients
    finding = examine(fit.solved.problem, fit.solved.solution, names)
    if finding is None:
        return fit
    remedy = _firth if on_separation == "firth" else _ridge
    return handle_separation(fit, finding, on_separation, lambda: remedy(fit.solved, limits, callback))


def handle_separation(
    fit: DiagnosedFit, finding: Finding, on_separation: str, remedy: Callable[[], Solved]
) -> DiagnosedFit:
    """Raise an error, add a warning, or solve the problem with a remedy, as `on_separation` requires."""
    findings, message = (*fit.findings, finding), f"{finding.sentence} {finding.remedy}"
    if on_separation == "error":
        raise SeparationError(message)
    if on_separation == "warn":
        return fit._replace(findings=findings, cautions=(*fit.cautions, SeparationWarning(message)))
    return fit._replace(solved=remedy(), findings=findings)


def _firth(solved: Solved, limits: SolverLimits, callback: Callback | None) -> Solved:
    if solved.problem.observations.streamed:
        raise UnsuitableSolverError(
            "the responses look separated, and Firth's penalised likelihood needs all rows together, not those of a "
            'source; use on_separation="ridge", or a penalty.'
        )
    problem = replace(solved.problem, observations=solved.problem.observations.in_memory())
    solution = firth.solve(problem, tolerance=limits.tolerance, most_steps=MOST_FIRTH_STEPS)
    return Solved(problem, solution, FIRTH_CHOICE)


def _ridge(solved: Solved, limits: SolverLimits, callback: Callback | None) -> Solved:
    problem = replace(solved.problem, strengths=weak_prior(solved.problem.observations))
    return solve(problem, "auto", limits, callback=callback)


def _resolve_dependence(solved: Solved, names: Sequence[str]) -> DiagnosedFit:
    problem, solution = solved.problem, solved.solution
    if isinstance(solution, LinearSolution):
        return _diagnose_least_squares(solved, solution, names)
    dependence = find_dependence(problem.observations, problem.strengths)
    if dependence is None:
        return diagnose_wide(solved, names) or DiagnosedFit(solved, used_coefficients(problem, solution.coef))
    value = dependence.smallest(solution.coef, problem.observations.design.coordinates)
    used = used_coefficients(problem, value, dependence.rank_lost)
    return DiagnosedFit(
        solved.with_coef(value), used, *describe_dependence(names, dependence.columns(), dependence.constant)
    )


def diagnose_wide(solved: Solved, names: Sequence[str]) -> DiagnosedFit | None:
    """Return the finding that columns depend on each other if there are fewer rows than columns without a penalty.

    There are too many columns to compute which ones.
    """
    observations, strengths = solved.problem.observations, solved.problem.strengths
    rows = observations.heavy
    free = np.flatnonzero((strengths.l1 == 0) & (strengths.l2 == 0))
    if rows >= len(free):
        return None
    return DiagnosedFit(solved, rows, *describe_dependence(names, free.tolist()))


def _diagnose_least_squares(solved: Solved, solution: LinearSolution, names: Sequence[str]) -> DiagnosedFit:
    """Diagnose a solution in closed form, which has the smallest coefficients and the dependent columns already."""
    fit, columns = solution.fit, len(solution.fit.coefficients)
    if solved.problem.strengths.any or fit.rank is None or fit.rank == columns:
        return DiagnosedFit(solved, used_coefficients(solved.problem, solution.coef))
    collinear = fit.collinear
    if not collinear and fit.rank < columns - len(fit.constant):
        # with fewer rows than columns, each column depends on others
        collinear = tuple(set(range(columns)) - set(fit.constant))
    return DiagnosedFit(
        solved, len(solution.coef) - columns + fit.rank, *describe_dependence(names, collinear, fit.constant)
    )


def used_coefficients(problem: Problem, w: Array, rank_lost: int = 0) -> float:
    """Return the number of coefficients that the data have determined.

    Coefficients that an L1 penalty holds at its mean do not count; under an L2 penalty they count as tr H (H + L2)⁻¹.
    """
    strengths = problem.strengths
    loose = (strengths.l1 == 0) | (w != strengths.mean)
    if not strengths.l2.any() or len(w) > MOST_COLUMNS_OF_DEPENDENCE:
        return float(np.count_nonzero(loose) - rank_lost)
    with np.errstate(over="ignore", invalid="ignore"):
        hessian = problem.at(w).hessian[np.ix_(loose, loose)]
    if not np.isfinite(hessian).all():  # the penalty is negligible
        return float(np.count_nonzero(loose) - rank_lost)
    curvature = Curvature.of(hessian)
    return curvature.rank - curvature.share(strengths.l2[loose])


def describe_dependence(
    names: Sequence[str], columns: Sequence[int], constant_columns: Sequence[int] = ()
) -> tuple[tuple[Finding, ...], tuple[CollinearWarning, ...]]:
    """Return findings and warnings about coefficients that are not unique, of constant or dependent columns."""
    constant = tuple(names[column] for column in constant_columns)
    collinear = tuple(names[column] for column in columns if column not in set(constant_columns))
    findings = []
    if constant:
        sentence = f"There is no variation in {listed(list(constant))}: coefficients are not determined, and are 0."
        findings.append(Finding("constant", "warning", sentence, "Leave the columns out.", constant))
    if collinear:
        sentence = (
            f"The columns of {listed(list(collinear))} depend on each other, so that their coefficients are not "
            "unique: of all that fit equally well, the smallest are given."
        )
        remedy = "Leave columns out, or use a penalty, e.g. penalty=L2(1e-3)."
        findings.append(Finding("collinear", "warning", sentence, remedy, collinear))
    return tuple(findings), tuple(CollinearWarning(f"{finding.sentence} {finding.remedy}") for finding in findings)
