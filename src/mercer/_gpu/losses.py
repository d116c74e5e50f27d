"""Losses and their slopes on tensors, the counterpart of `families.loss_loops` and `families.softmax_loops`.

A loss is the NamedTuple of the compiled loops, and is chosen by the name of its type. All numbers are float64: there is
one for each row, which costs little compared with the columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

#: (y − μ)²/(y + μ)² below which a deviance is computed by a series
DEVIANCE_SERIES_BELOW = 0.028
#: terms of that series
DEVIANCE_TERMS = 11
#: |log(y/μ)| below which the loss of a Tweedie is computed by a series, as in `families.loss_loops`
TWEEDIE_SERIES_BELOW = 0.5
#: |log(y/μ)| beyond which a mean or its inverse may overflow, as in `families.loss_loops`
TENSOR_OVERFLOW_FROM = 600.0


class TensorSlopes(NamedTuple):
    """Σ weight · loss, and for each row weight · ∂loss/∂η and its expected curvature."""

    loss: float
    first: Any
    second: Any


def known(loss: Any) -> bool:
    """Return whether this loss is implemented for tensors."""
    return type(loss).__name__ in TENSOR_LOSSES


def rows(loss: Any, y: Any, eta: Any) -> tuple[Any, Any, Any]:
    """Loss, ∂loss/∂η and E ∂²loss/∂η² of each row."""
    value, first, second = TENSOR_LOSSES[type(loss).__name__](loss, y, eta)
    return value, first, second


def slopes(loss: Any, y: Any, eta: Any, weight: Any = None) -> TensorSlopes:
    """Loss and slopes of all rows; a NaN loss becomes ∞ with slopes of 0, and rows of weight 0 do not count."""
    import torch

    value, first, second = rows(loss, y, eta)
    if weight is not None:
        value, first, second = weight * value, weight * first, weight * second
    total = float(value.sum())
    if total - total != 0.0:
        value = torch.where(value.isnan() & ~eta.isnan(), torch.inf, value)
        zero = value.isinf()
        if weight is not None:
            value = torch.where(weight == 0, 0.0, value)
            zero = zero | (weight == 0)
        first, second = torch.where(zero, 0.0, first), torch.where(zero, 0.0, second)
        total = float(value.sum())
    return TensorSlopes(total, first, second)


def mean(link: str, eta: Any) -> Any:
    """Mean of each row under a link given by the name of its type; None if it is not implemented for tensors."""
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
    # by the mean e^η where it is finite: r q has lost the digits that the rounding of log r costs
    return value, torch.where(s.abs() < TENSOR_OVERFLOW_FROM, (eta.exp() - y) * p, r * q - y * p), r * q


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
    value = torch.where(none, mu_a / a, torch.where(u.abs() < TWEEDIE_SERIES_BELOW, near, far))
    return value, mu_a - torch.where(none, 0.0, y * mu_b), mu_a


def deviance(x: Any, m: Any, log_ratio: Any) -> Any:
    """x log(x/m) + m − x, given log(x/m), to full relative precision also where x is close to m."""
    import torch

    v = (x - m) / (x + m)
    z = v * v
    rest = torch.zeros_like(z)
    for k in reversed(range(DEVIANCE_TERMS)):
        rest = rest * z + 1.0 / (2 * k + 3)
    near = (x - m) * v + 2.0 * x * v * (z * rest)
    far = torch.where(x == 0.0, m, x * log_ratio + (m - x))
    return torch.where(z < DEVIANCE_SERIES_BELOW, near, far)


def _logistic(eta: Any) -> tuple[Any, Any, Any]:
    """p = 1/(1 + e^−η), 1 − p, and −log of the larger of the two."""
    import torch

    e = (-eta.abs()).exp()
    larger, smaller = 1.0 / (1.0 + e), e / (1.0 + e)
    return torch.where(eta > 0, larger, smaller), torch.where(eta > 0, smaller, larger), e.log1p()


#: losses by the names of the types of `families.loss_loops`
TENSOR_LOSSES: dict[str, Any] = {
    "GaussianIdentity": gaussian_identity,
    "BernoulliLogit": bernoulli_logit,
    "PoissonLog": poisson_log,
    "GammaLog": gamma_log,
    "NegativeBinomialLog": negative_binomial_log,
    "TweedieLog": tweedie_log,
}


def all_columns(eta: Any, reference: int | None) -> Any:
    """η of every class, with 0 for the reference class, which has no column."""
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
    # p − 1 of the row's own class is minus the sum of the others, as the difference cancels where p is close to 1
    first.scatter_(1, own, 0.0)
    first.scatter_(1, own, -first.sum(dim=1, keepdim=True))
    if weight is not None:
        losses, first = torch.where(weight == 0, 0.0, weight * losses), weight[:, None] * first
    if reference is not None:
        first = torch.cat([first[:, :reference], first[:, reference + 1 :]], dim=1)
    return float(losses.sum()), first
