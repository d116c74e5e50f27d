"""Changed class priors: reweighted posteriors without a refit, and new priors estimated from unlabelled rows."""

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
from mercer.base.generative import check_priors
from mercer.base.pipelines import last_step, nested_models
from mercer.decision.wrapped import encode_known_classes
from mercer.optim.certificate import Certificate

#: the duality gap of the log likelihood per row at which the estimation of priors stops
LIKELIHOOD_GAP = 1e-8
#: EM or Newton steps of the estimation of priors; each EM step converges slowly where classes overlap
MAX_PRIOR_STEPS = 2000
#: halvings of a Newton step before the EM step is taken instead
MAX_PRIOR_HALVINGS = 20
#: a decrease of the mean log likelihood by less is rounding: the gap still shrinks when its square is rounding
LIKELIHOOD_ROUNDING = 1e-14
#: steps without an increase of the likelihood after which the rest is rounding
MAX_IDLE_PRIOR_STEPS = 5
#: added to the curvature, relative to its trace, because it may be singular
CURVATURE_RIDGE = 1e-12
#: curvature per row below which the likelihood is flat in a direction
FLAT_PRIOR_CURVATURE = 1e-12
#: share of a prior's axis in flat directions above which its standard error is infinite
FLAT_AXIS_SHARE = 1e-9


@stored(classes=values("k"), priors=floats("k"), standard_errors=floats("k"), trained=floats("k"))
class PriorShift(NamedTuple):
    """Class priors of unlabelled rows, compared with the priors that a model was trained with.

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
    #: standard error of each prior, from the curvature of the likelihood for independent rows; infinite if the model
    #: does not separate the class from any other, so that its prior is not determined
    standard_errors: Array
    trained: Array
    #: twice the log likelihood ratio of the new priors to the trained ones
    statistic: float
    #: p-value of the χ² test of `statistic`
    p_value: float
    #: mean log likelihood ratio of the rows after each step; it never decreases
    trace: tuple[float, ...]
    certificate: Certificate

    @property
    def shifted(self) -> bool:
        """True if the test rejects the trained priors at a level of 5 %."""
        return self.p_value < 0.05

    def sentence(self) -> str:
        """Return the result in one sentence."""
        if (lost := np.isinf(self.standard_errors)).any():
            names = ", ".join(quoted(label) for label in self.classes[lost].tolist()[:6])
            return f"The priors of these classes are not determined, as the model does not separate them: {names}."
        now = _format_priors(self.classes, self.priors)
        before = _format_priors(self.classes, self.trained)
        if self.shifted:
            return f"The classes have shifted: {now} here, {before} in training (p = {self.p_value:.2g})."
        return f"No shift was found: {now} here, {before} in training (p = {self.p_value:.2g})."


def find_trained_priors(model: Any, given: Any, shares: Array | None = None) -> Array:
    """Return the class priors behind a model's probabilities.

    These are the given ones; else the model's own (`class_prior_`, `priors_` or `class_log_prior_`); else the shares of
    the classes among the training rows, if they are known.
    """
    if given is not None:
        return check_priors(given, np.asarray(model.classes_))
    for each in nested_models(model):
        if hasattr(each, "feature_all_"):  # ComplementNB has a class_log_prior_ that it does not use
            return np.full(len(model.classes_), 1 / len(model.classes_))
        for name in ("class_prior_", "priors_"):
            if (own := getattr(each, name, None)) is not None:
                return np.asarray(np.asarray(own, dtype=np.float64) / np.sum(own))
        if (log := getattr(each, "class_log_prior_", None)) is not None and len(log) == len(model.classes_):
            return np.asarray(np.exp(np.asarray(log, dtype=np.float64) - logsumexp(log)))
    if shares is not None:
        return shares
    raise PriorError(
        f"{type(last_step(model)).__name__} has no class priors from its training, which are needed to change to "
        "other priors. Give trained_priors=… (on the command line --trained-priors), e.g. the shares of the classes "
        "among its training rows, as a mapping from labels or in the order of `classes_`; or fit the model with "
        "Decision."
    )


def class_shares(model: Any, y: Array, weight: Array | None) -> Array:
    """Return the shares of the classes among the training rows, weighted as the fitted model weights them."""
    weight = np.ones(len(y)) if weight is None else weight
    for each in nested_models(model):
        if (balance := getattr(each, "class_weight", None)) is not None:
            weight = weight * compute_sample_weight(balance, y)
            break
    total = np.bincount(encode_known_classes(y, np.asarray(model.classes_)), weight, minlength=len(model.classes_))
    return np.asarray(total / total.sum())


def reweight(log_p: Array, trained: Array, priors: Array, classes: Array) -> Array:
    """Return log p'(y|x) for p'(y|x) ∝ p(y|x) π'(y)/π(y); log π' for rows that are impossible under the new priors."""
    if (unknown := (trained == 0) & (priors > 0)).any():
        label = classes[unknown].tolist()[0]
        raise PriorError(
            f"The model was trained with a prior of 0 for the class {quoted(label)}, which cannot be replaced by "
            "another prior. Fit the model on rows of this class."
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = log_p + np.where(priors > 0, np.log(priors) - np.log(trained), -np.inf)
        impossible = np.isneginf(joint).all(axis=1)
        joint[impossible] = np.log(priors)
    return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))


def estimate_priors(log_p: Array, trained: Array, classes: Array) -> PriorShift:
    """Return the maximum likelihood priors of rows, given p(y|x) under the trained priors.

    Up to a constant the log likelihood is Σ log Σ_y π'(y) r(y|x) with r = p(y|x)/π(y). It is concave and has one
    maximum. EM (Saerens, Latinne and Decaestecker 2002) sets π'(y) ← mean p'(y|x) and never decreases it; a Newton step
    is taken instead if it increases the likelihood more.

    Parameters
    ----------
    log_p : array of shape (n_rows, n_classes)
        Log probabilities log p(y|x) of a model.
    trained : array of shape (n_classes,)
        The priors the model was trained with.
    classes : array of shape (n_classes,)
        Labels of the classes.
    """
    if not len(log_p):
        raise EmptyDataError("there are no rows to estimate the class priors from.")
    possible = trained > 0
    with np.errstate(divide="ignore"):
        log_ratio = log_p[:, possible] - np.log(trained[possible])
    ratio, start = np.exp(log_ratio - log_ratio.max(axis=1, keepdims=True)), trained[possible] / trained.sum()
    trace, pi, gap = _maximize_likelihood(ratio, start)
    priors, errors = np.zeros((2, len(trained)))
    priors[possible], errors[possible] = pi, _standard_errors(ratio, pi)
    statistic = max(0.0, 2 * len(log_p) * (trace[-1] - trace[0]))
    freedom = max(1, int(possible.sum()) - 1)
    certificate = Certificate(
        "duality gap", gap, LIKELIHOOD_GAP, "no other priors increase the log likelihood per row by more than this"
    )
    if not certificate.holds:
        warn(
            f"the class priors did not converge in {MAX_PRIOR_STEPS} steps: {certificate}. The probabilities of some "
            "rows may be far too extreme: calibrate the model.",
            NotConvergedWarning,
        )
    centred = tuple(float(value - trace[0]) for value in trace)
    return PriorShift(
        classes, priors, errors, trained, statistic, float(chi2.sf(statistic, freedom)), centred, certificate
    )


def _maximize_likelihood(ratio: Array, pi: Array) -> tuple[list[float], Array, float]:
    """Maximise the likelihood by EM and Newton steps; return the log likelihoods per row, the priors and the gap."""
    trace, idle = [_mean_log_likelihood(ratio, pi)], 0
    for _ in range(MAX_PRIOR_STEPS):
        gradient = (ratio / (ratio @ pi)[:, None]).mean(axis=0)
        # by concavity L* − L ≤ max gradient − 1, as Σ π gradient = 1
        gap = max(0.0, float(gradient.max()) - 1.0)
        if gap <= LIKELIHOOD_GAP:
            break
        plain = pi * gradient / (pi @ gradient)
        safe = _mean_log_likelihood(ratio, plain)
        leap, value = _backtrack(ratio, pi, _newton_priors(ratio, pi, gradient), safe - LIKELIHOOD_ROUNDING)
        idle = idle + 1 if max(value, safe) <= trace[-1] else 0
        if idle > MAX_IDLE_PRIOR_STEPS:  # only rounding is left
            break
        pi = leap if value >= safe - LIKELIHOOD_ROUNDING else plain
        trace.append(max(value, safe, trace[-1]))
    return trace, pi, gap


def _mean_log_likelihood(ratio: Array, pi: Array) -> float:
    return float(np.log(ratio @ pi).mean())


def _newton_priors(ratio: Array, pi: Array, gradient: Array) -> Array:
    """Return the non-negative maximiser of the quadratic model of the likelihood, normalised.

    With A = r/Σ π r the model is −½ mean (A x − 2)² minus the sum of x, whose maximiser sums to 1: non-negative least
    squares (Kim, Carbonetto, Stephens and Anitescu 2020).
    """
    hessian = _information(ratio, pi)
    hessian[np.diag_indices_from(hessian)] += CURVATURE_RIDGE * np.trace(hessian)
    factor = np.linalg.cholesky(hessian)
    x: Array = nnls(factor.T, solve_triangular(factor, 2 * gradient - 1, lower=True))[0]
    total = x.sum()
    return x / total if total > 0 else pi


def _backtrack(ratio: Array, pi: Array, towards: Array, least: float) -> tuple[Array, float]:
    """Return the first point between `towards` and pi with a likelihood of at least `least`; pi if there is none."""
    for halvings in range(MAX_PRIOR_HALVINGS):
        point = pi + 0.5**halvings * (towards - pi)
        with np.errstate(divide="ignore"):
            value = _mean_log_likelihood(ratio, point)
        if value >= least:
            return point, value
    return pi, -np.inf


def _information(ratio: Array, pi: Array) -> Array:
    """Return minus the Hessian of the log likelihood per row."""
    scaled = ratio / (ratio @ pi)[:, None]
    return np.asarray(scaled.T @ scaled / len(ratio))


def _standard_errors(ratio: Array, pi: Array) -> Array:
    """Return the standard errors of the priors, which sum to 1."""
    K = len(pi)
    if K == 1:
        return np.zeros(1)
    within = np.linalg.qr(np.column_stack([np.ones(K), np.eye(K)[:, 1:]]))[0][:, 1:]  # directions that sum to 0
    # the part that is equal for all classes is projected out before squaring, which would leave its rounding
    scaled = (ratio / (ratio @ pi)[:, None]) @ within
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    axes = (within @ vectors) ** 2
    is_flat = values <= FLAT_PRIOR_CURVATURE * len(ratio)
    variance = axes[:, ~is_flat] @ (1 / values[~is_flat])
    return np.where(axes[:, is_flat].sum(axis=1) > FLAT_AXIS_SHARE, np.inf, np.sqrt(variance))


def _format_priors(classes: Array, priors: Array) -> str:
    shown = [f"{label} {prior:.3g}" for label, prior in zip(classes.tolist()[:6], priors, strict=False)]
    return ", ".join([*shown, "…"] if len(classes) > 6 else shown)
