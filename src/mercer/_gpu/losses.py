"""Losses and their slopes on tensors: what `_jit.families.losses` and `_jit.families.softmax` are for arrays.

A loss is the NamedTuple that compiled loops know it by, and is chosen by the name of its type. All numbers are float64:
they are one for each row, and cost little beside the columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

#: (y − μ)²/(y + μ)² up to which a deviance is a series of its own, and how many terms that has
NEAR, TERMS = 0.028, 11
#: |log(y/μ)| up to which the loss of a Tweedie is one
NEAR_LOG = 0.5
#: beyond, a mean or its inverse may not be a float
FAR = 600.0


class TensorSlopes(NamedTuple):
    """Σ weight · loss, and for each row weight · ∂loss/∂η and its expected curvature."""

    loss: float
    first: Any
    second: Any


def known(loss: Any) -> bool:
    """Whether this loss is computed where tensors are."""
    return type(loss).__name__ in ROWS


def rows(loss: Any, y: Any, eta: Any) -> tuple[Any, Any, Any]:
    """Loss, ∂loss/∂η and E ∂²loss/∂η² of each row."""
    value, first, second = ROWS[type(loss).__name__](loss, y, eta)
    return value, first, second


def slopes(loss: Any, y: Any, eta: Any, weight: Any = None) -> TensorSlopes:
    """Of all rows; a loss that is no number is ∞ with slopes of 0, and a row of weight 0 is no row."""
    import torch

    value, first, second = rows(loss, y, eta)
    if weight is not None:
        value, first, second = weight * value, weight * first, weight * second
    total = float(value.sum())
    if total - total != 0.0:
        value = torch.where(value.isnan() & ~eta.isnan(), torch.inf, value)
        lost = value.isinf()
        if weight is not None:
            value = torch.where(weight == 0, 0.0, value)
            lost = lost | (weight == 0)
        first, second = torch.where(lost, 0.0, first), torch.where(lost, 0.0, second)
        total = float(value.sum())
    return TensorSlopes(total, first, second)


def mean(link: str, eta: Any) -> Any:
    """The mean of each row under a link, by the name of its type; None where there is none for tensors."""
    import torch

    by_link: dict[str, Any] = {"Identity": torch.clone, "Log": torch.exp, "Logit": torch.sigmoid}
    return by_link[link](eta) if link in by_link else None


def gaussian_identity(loss: Any, y: Any, eta: Any) -> Any:
    import torch

    residual = eta - y
    return 0.5 * residual * residual, residual, torch.ones_like(residual)


def bernoulli_logit(loss: Any, y: Any, eta: Any) -> Any:
    p, q, minus_log_larger = _logistic(eta)
    return (eta.clamp_min(0.0) - y * eta) + minus_log_larger, (1.0 - y) * p - y * q, p * q


def poisson_log(loss: Any, y: Any, eta: Any) -> Any:
    mu = eta.exp()
    return deviance(y, mu, y.log() - eta), mu - y, mu


def gamma_log(loss: Any, y: Any, eta: Any) -> Any:
    import torch

    ratio = y * (-eta).exp()
    one = torch.ones_like(ratio)
    return deviance(one, ratio, eta - y.log()), 1.0 - ratio, one


def negative_binomial_log(loss: Any, y: Any, eta: Any) -> Any:
    import torch

    r, s = loss.r, eta - loss.log_r
    q, p, minus_log_larger = _logistic(s)
    log_q, log_p = minus_log_larger - s.clamp_max(0.0), minus_log_larger + s.clamp_min(0.0)
    total = y + r
    log_total = total.log()
    several = torch.full_like(eta, r)
    value = deviance(y, total * q, y.log() - log_total + log_q) + deviance(
        several, total * p, loss.log_r - log_total + log_p
    )
    # by the mean itself, where that is a number: r q would have lost the digits that log r costs
    return value, torch.where(s.abs() < FAR, (eta.exp() - y) * p, r * q - y * p), r * q


def tweedie_log(loss: Any, y: Any, eta: Any) -> Any:
    import torch

    a, b, none = loss.a, loss.b, y == 0.0
    mu_a, mu_b = (a * eta).exp(), (b * eta).exp()
    log_y = torch.where(none, 1.0, y).log()
    y_a, u = (a * log_y).exp(), eta - log_y
    series = torch.zeros_like(u)
    for coefficient in loss.series:
        series = series * u + coefficient
    near, far = y_a * (u * u * series), mu_a / a - y * mu_b / b + y_a / (a * b)
    value = torch.where(none, mu_a / a, torch.where(u.abs() < NEAR_LOG, near, far))
    return value, mu_a - torch.where(none, 0.0, y * mu_b), mu_a


def deviance(x: Any, m: Any, log_ratio: Any) -> Any:
    """x log(x/m) + m − x, given log(x/m), with all digits also where x is close to m."""
    import torch

    v = (x - m) / (x + m)
    z = v * v
    rest = torch.zeros_like(z)
    for k in reversed(range(TERMS)):
        rest = rest * z + 1.0 / (2 * k + 3)
    near = (x - m) * v + 2.0 * x * v * (z * rest)
    far = torch.where(x == 0.0, m, x * log_ratio + (m - x))
    return torch.where(z < NEAR, near, far)


def _logistic(eta: Any) -> tuple[Any, Any, Any]:
    """p = 1/(1 + e^−η), 1 − p, and −log of the larger of the two."""
    import torch

    e = (-eta.abs()).exp()
    larger, smaller = 1.0 / (1.0 + e), e / (1.0 + e)
    return torch.where(eta > 0, larger, smaller), torch.where(eta > 0, smaller, larger), e.log1p()


ROWS: dict[str, Any] = {
    "GaussianIdentity": gaussian_identity,
    "BernoulliLogit": bernoulli_logit,
    "PoissonLog": poisson_log,
    "GammaLog": gamma_log,
    "NegativeBinomialLog": negative_binomial_log,
    "TweedieLog": tweedie_log,
}


def all_columns(eta: Any, reference: int | None) -> Any:
    """η of every class: 0 for the reference, which has no column."""
    import torch

    if reference is None:
        return eta
    none = eta.new_zeros(len(eta), 1)
    return torch.cat([eta[:, :reference], none, eta[:, reference:]], dim=1)


def softmax_slopes(codes: Any, eta: Any, weight: Any, reference: int | None) -> tuple[float, Any]:
    """Σ weight · −log p of each row's class, and weight · (p − indicator) in the columns of η."""
    import torch

    logs = torch.log_softmax(all_columns(eta, reference), dim=1)
    own = codes[:, None]
    losses = -logs.gather(1, own)[:, 0]
    first = logs.exp_()
    # p − 1 of the row's own class, as minus the sum of the others: where p is next to 1 the difference has no digits
    first.scatter_(1, own, 0.0)
    first.scatter_(1, own, -first.sum(dim=1, keepdim=True))
    if weight is not None:
        losses, first = torch.where(weight == 0, 0.0, weight * losses), weight[:, None] * first
    if reference is not None:
        first = torch.cat([first[:, :reference], first[:, reference + 1 :]], dim=1)
    return float(losses.sum()), first
