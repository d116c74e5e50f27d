"""Class priors that have changed: posteriors without a refit, and the new priors from rows without labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls
from scipy.special import logsumexp
from scipy.stats import chi2
from sklearn.utils.class_weight import compute_sample_weight

from mercer._errors import EmptyDataError, NotConvergedWarning, PriorError
from mercer._stored import floats, stored, values
from mercer._suggest import quoted
from mercer._typing import Array
from mercer._warn import warn
from mercer.base.generative import checked_priors
from mercer.decision.wrapped import known_codes, last_step, layers
from mercer.optim.certificate import Certificate

#: how far below its maximum the log likelihood per row may stay
TOLERANCE = 1e-8
MOST_STEPS = 2000
MOST_HALVINGS = 20
#: a mean log likelihood that is lower by this is not lower: the gap still shrinks where its square is rounding
ROUNDING = 1e-14
MOST_IN_VAIN = 5
#: added to the curvature, relative to it, which may be singular
RIDGE = 1e-12
#: the curvature per row below which the likelihood is flat, and the share of an axis that lies in such a direction
BLIND, SAME_AXIS = 1e-12, 1e-9


@stored(classes=values("k"), priors=floats("k"), standard_errors=floats("k"), trained=floats("k"))
class PriorShift(NamedTuple):
    """Class priors of rows without labels, and whether they differ from those a model was trained with.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Decision, GaussianNB
    >>> x, y = np.r_[np.linspace(-1, 1, 50), np.linspace(4, 6, 50)][:, None], np.repeat(['low', 'high'], 50)
    >>> found = Decision(GaussianNB()).fit(x, y).estimate_priors(x[40:])
    >>> print(found.sentence())
    The classes have shifted: high 0.833, low 0.167 here, high 0.5, low 0.5 in training (p = 6.8e-08).
    """

    classes: Array
    priors: Array
    #: of each prior, by the curvature of the likelihood; rows are taken to be independent. Infinite where the model
    #: tells the class from no other, so that its prior could be any
    standard_errors: Array
    trained: Array
    #: twice the log likelihood ratio of the new priors to the old ones, and the p-value of its χ² test
    statistic: float
    p_value: float
    #: mean log likelihood ratio of the rows after each step; it never falls
    trace: tuple[float, ...]
    certificate: Certificate

    @property
    def shifted(self) -> bool:
        """Whether the old priors are refuted at a level of 5 %."""
        return self.p_value < 0.05

    def sentence(self) -> str:
        """What was found, in words."""
        if (lost := np.isinf(self.standard_errors)).any():
            names = ", ".join(quoted(label) for label in self.classes[lost].tolist()[:6])
            return f"How frequent these classes are is unknown, as the model does not tell them apart: {names}."
        now = _written(self.classes, self.priors)
        before = _written(self.classes, self.trained)
        if self.shifted:
            return f"The classes have shifted: {now} here, {before} in training (p = {self.p_value:.2g})."
        return f"No shift is seen: {now} here, {before} in training (p = {self.p_value:.2g})."


def trained_priors(model: Any, given: Any, shares: Array | None = None) -> Array:
    """The class priors that a model's probabilities rest on.

    Those that are given; else the model's own (`class_prior_`, `priors_` or `class_log_prior_`); else the shares of the
    classes among the rows it was fitted on, if they are known.
    """
    if given is not None:
        return checked_priors(given, np.asarray(model.classes_))
    for each in layers(model):
        if hasattr(each, "feature_all_"):  # ComplementNB has a class_log_prior_ that it never adds
            return np.full(len(model.classes_), 1 / len(model.classes_))
        for name in ("class_prior_", "priors_"):
            if (own := getattr(each, name, None)) is not None:
                return np.asarray(np.asarray(own, dtype=np.float64) / np.sum(own))
        if (log := getattr(each, "class_log_prior_", None)) is not None and len(log) == len(model.classes_):
            return np.asarray(np.exp(np.asarray(log, dtype=np.float64) - logsumexp(log)))
    if shares is not None:
        return shares
    raise PriorError(
        f"{type(last_step(model)).__name__} does not say which class priors it was trained with, and priors can only "
        "be changed from something. Give trained_priors=… (on the command line --trained-priors), e.g. the shares of "
        "the classes among its training rows, as a mapping from labels or in the order of `classes_`; or let Decision "
        "fit the model."
    )


def class_shares(model: Any, y: Array, weight: Array | None) -> Array:
    """Of the training rows, as the fitted model weighs them, in the order of its classes."""
    weight = np.ones(len(y)) if weight is None else weight
    for each in layers(model):
        if (balance := getattr(each, "class_weight", None)) is not None:
            weight = weight * compute_sample_weight(balance, y)
            break
    total = np.bincount(known_codes(y, np.asarray(model.classes_)), weight, minlength=len(model.classes_))
    return np.asarray(total / total.sum())


def reweighted(log_p: Array, trained: Array, priors: Array, classes: Array) -> Array:
    """log p'(y|x) for p'(y|x) ∝ p(y|x) π'(y)/π(y). A row that the new priors make impossible gets them alone."""
    if (unknown := (trained == 0) & (priors > 0)).any():
        label = classes[unknown].tolist()[0]
        raise PriorError(
            f"The model was trained with a prior of 0 for the class {quoted(label)}: it knows nothing of it, and no "
            "other prior can be put in its place. Fit it on rows of this class."
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = log_p + np.where(priors > 0, np.log(priors) - np.log(trained), -np.inf)
        impossible = np.isneginf(joint).all(axis=1)
        joint[impossible] = np.log(priors)
    return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))


def estimate_priors(log_p: Array, trained: Array, classes: Array) -> PriorShift:
    """The priors of the greatest likelihood for rows of which p(y|x) under the trained priors is known.

    Up to what does not depend on the priors, the log likelihood is Σ log Σ_y π'(y) r(y|x) with r = p(y|x)/π(y): it is
    concave, and has one maximum. EM (Saerens, Latinne and Decaestecker 2002) sets π'(y) ← mean p'(y|x) and never lowers
    it; a Newton step is taken instead where it raises it more.

    Parameters
    ----------
    log_p : array of shape (n_rows, n_classes)
        log p(y|x) of a model.
    trained : array of shape (n_classes,)
        The priors the model was trained with.
    classes : array of shape (n_classes,)
        Labels.
    """
    if not len(log_p):
        raise EmptyDataError("there are no rows to estimate the class priors from.")
    possible = trained > 0
    with np.errstate(divide="ignore"):
        log_ratio = log_p[:, possible] - np.log(trained[possible])
    ratio, start = np.exp(log_ratio - log_ratio.max(axis=1, keepdims=True)), trained[possible] / trained.sum()
    trace, pi, gap = _climb(ratio, start)
    priors, errors = np.zeros((2, len(trained)))
    priors[possible], errors[possible] = pi, _standard_errors(ratio, pi)
    statistic = max(0.0, 2 * len(log_p) * (trace[-1] - trace[0]))
    freedom = max(1, int(possible.sum()) - 1)
    certificate = Certificate(
        "duality gap", gap, TOLERANCE, "no other priors make the rows likelier by more than this, in logarithms per row"
    )
    if not certificate.holds:
        warn(
            f"the class priors were not found in {MOST_STEPS} steps: {certificate}. Look for rows about which the "
            "model is far too sure, and calibrate it.",
            NotConvergedWarning,
        )
    centred = tuple(float(value - trace[0]) for value in trace)
    return PriorShift(
        classes, priors, errors, trained, statistic, float(chi2.sf(statistic, freedom)), centred, certificate
    )


def _climb(ratio: Array, pi: Array) -> tuple[list[float], Array, float]:
    """Steps upwards until the gap is closed: log likelihoods per row, the priors, and the gap."""
    trace, idle = [_likelihood(ratio, pi)], 0
    for _ in range(MOST_STEPS):
        gradient = (ratio / (ratio @ pi)[:, None]).mean(axis=0)
        # by concavity L* − L ≤ max gradient − 1, as Σ π gradient = 1
        gap = max(0.0, float(gradient.max()) - 1.0)
        if gap <= TOLERANCE:
            break
        plain = pi * gradient / (pi @ gradient)
        safe = _likelihood(ratio, plain)
        leap, value = _furthest(ratio, pi, _newton(ratio, pi, gradient), safe - ROUNDING)
        idle = idle + 1 if max(value, safe) <= trace[-1] else 0
        if idle > MOST_IN_VAIN:  # rounding is all that is left
            break
        pi = leap if value >= safe - ROUNDING else plain
        trace.append(max(value, safe, trace[-1]))
    return trace, pi, gap


def _likelihood(ratio: Array, pi: Array) -> float:
    return float(np.log(ratio @ pi).mean())


def _newton(ratio: Array, pi: Array, gradient: Array) -> Array:
    """Where the quadratic model of the likelihood has its maximum among priors that are not negative.

    With A = r/Σ π r the model is −½ mean (A x − 2)² less the sum of x, whose maximum then is 1: least squares without
    negative coefficients (Kim, Carbonetto, Stephens and Anitescu 2020).
    """
    hessian = _information(ratio, pi)
    hessian[np.diag_indices_from(hessian)] += RIDGE * np.trace(hessian)
    factor = np.linalg.cholesky(hessian)
    x: Array = nnls(factor.T, solve_triangular(factor, 2 * gradient - 1, lower=True))[0]
    total = x.sum()
    return x / total if total > 0 else pi


def _furthest(ratio: Array, pi: Array, towards: Array, least: float) -> tuple[Array, float]:
    """The first point of the way back from `towards` that is at least that likely; pi itself, if none is."""
    for halvings in range(MOST_HALVINGS):
        point = pi + 0.5**halvings * (towards - pi)
        with np.errstate(divide="ignore"):
            value = _likelihood(ratio, point)
        if value >= least:
            return point, value
    return pi, -np.inf


def _information(ratio: Array, pi: Array) -> Array:
    """Minus the Hessian of the log likelihood per row."""
    scaled = ratio / (ratio @ pi)[:, None]
    return np.asarray(scaled.T @ scaled / len(ratio))


def _standard_errors(ratio: Array, pi: Array) -> Array:
    """Of the priors, which sum to 1."""
    K = len(pi)
    if K == 1:
        return np.zeros(1)
    within = np.linalg.qr(np.column_stack([np.ones(K), np.eye(K)[:, 1:]]))[0][:, 1:]  # directions that sum to 0
    # what is equal for all classes falls out before it is squared, where it would leave its rounding
    scaled = (ratio / (ratio @ pi)[:, None]) @ within
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    axes = (within @ vectors) ** 2
    blind = values <= BLIND * len(ratio)
    variance = axes[:, ~blind] @ (1 / values[~blind])
    return np.where(axes[:, blind].sum(axis=1) > SAME_AXIS, np.inf, np.sqrt(variance))


def _written(classes: Array, priors: Array) -> str:
    shown = [f"{label} {prior:.3g}" for label, prior in zip(classes.tolist()[:6], priors, strict=False)]
    return ", ".join([*shown, "…"] if len(classes) > 6 else shown)
