"""Objectives of linear models written out in NumPy, and a search for their minimum by SciPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize
from scipy.special import expit, log_expit, log_ndtr

Array = Any
#: the loss of each row and its slopes, both of linear predictors (rows, outputs)
RowLoss = Callable[[Array], tuple[Array, Array]]

STEPS = 500
#: coefficients of steep and bounded objectives up to which a simplex is moved, too
SIMPLE = 4


@dataclass(frozen=True)
class Objective:
    """Σ weight · loss(X W + b + offset) + l1 Σ|W| + ½ l2 Σ W² + ½ l2_intercept Σ b² + l1_intercept Σ|b|.

    A point is W and b below it, an array (columns + 1, outputs); without an intercept its last row is 0.
    """

    X: Array
    weight: Array
    loss: RowLoss
    outputs: int = 1
    l1: float = 0.0
    l2: float = 0.0
    intercept: bool = True
    l1_intercept: float = 0.0
    l2_intercept: float = 0.0
    positive: bool = False
    #: a loss with corners, as a quadratic program: rows (a, c) with loss = max(0, max over rows of a · eta − c)
    pieces: tuple[tuple[Array, Array], ...] = ()
    offset: Array | None = None
    #: whether it grows like an exponential, so that its logarithm is searched for a minimum
    steep: bool = False
    #: whether it is infinite at some predictors, where L-BFGS stops
    bounded: bool = False

    def predictors(self, X: Array, point: Array) -> Array:
        eta = X @ point[:-1] + point[-1]
        return eta if self.offset is None else eta + self.offset[:, None]

    def value(self, point: Array) -> float:
        """The objective, in extended precision where the machine has it."""
        point = np.asarray(point, dtype=np.longdouble)
        W, b = point[:-1], point[-1]
        with np.errstate(over="ignore", invalid="ignore"):
            losses = self.loss(self.predictors(np.asarray(self.X, dtype=np.longdouble), point))[0]
            total = np.sum(self.weight[self.weight > 0] * losses[self.weight > 0])
        total += self.l1 * np.abs(W).sum() + 0.5 * self.l2 * np.square(W).sum()
        return float(total + self.l1_intercept * np.abs(b).sum() + 0.5 * self.l2_intercept * np.square(b).sum())

    def smooth(self, point: Array) -> tuple[float, Array]:
        """The objective without absolute values, and its gradient."""
        W, b = point[:-1], point[-1]
        heavy = self.weight > 0
        X, weight = self.X[heavy], self.weight[heavy]
        with np.errstate(over="ignore", invalid="ignore"):
            losses, slopes = self.loss(np.asarray(self.predictors(self.X, point), dtype=float))
            losses, slopes = losses[heavy], weight[:, None] * slopes[heavy]
            value = np.sum(weight * losses) + 0.5 * self.l2 * np.square(W).sum()
            gradient = np.vstack([X.T @ slopes + self.l2 * W, slopes.sum(axis=0) + self.l2_intercept * b])
        value += 0.5 * self.l2_intercept * np.square(b).sum()
        return float(value) if np.isfinite(value) else np.inf, np.nan_to_num(gradient)


@dataclass(frozen=True)
class Ordinal:
    """Σ weight · −log(σ(u) − σ(l)) + ½ l2 ‖β‖², where u and l are the thresholds around the class of a row, less Xβ.

    A point is β and the thresholds below it, an array (columns + classes − 1, 1).
    """

    X: Array
    weight: Array
    codes: Array
    classes: int
    l2: float

    def value(self, point: Array) -> float:
        return self.smooth(np.asarray(point))[0]

    def smooth(self, point: Array) -> tuple[float, Array]:
        """The objective, and its gradient."""
        d, rows = self.X.shape[1], np.arange(len(self.X))
        beta, thresholds = point[:d, 0], point[d:, 0]
        if not (np.diff(thresholds) > 0).all():
            return np.inf, np.zeros_like(point)
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]]) - (self.X @ beta)[:, None]
        u, low = ends[rows, self.codes + 1], ends[rows, self.codes]
        with np.errstate(over="ignore"):
            losses = -(log_expit(u) + log_expit(-low) + np.log1p(-np.exp(low - u)))
            between = 1 / np.expm1(u - low)
        of_u, of_low = self.weight * (-expit(-u) - between), self.weight * (expit(low) + between)
        gradient = np.zeros(self.classes + 1)
        np.add.at(gradient, self.codes + 1, of_u)
        np.add.at(gradient, self.codes, of_low)
        slope = np.concatenate([-self.X.T @ (of_u + of_low) + self.l2 * beta, gradient[1:-1]])
        return float(self.weight @ losses + 0.5 * self.l2 * beta @ beta), slope[:, None]

    def search(self, start: Array) -> Array:
        """L-BFGS-B in columns of equal length without correlation."""
        weight, d = self.weight / self.weight.sum(), self.X.shape[1]
        centre = weight @ self.X
        X = self.X - centre
        values, vectors = np.linalg.eigh((X.T * self.weight) @ X + (self.l2 + 1e-200) * np.eye(d))
        S = np.eye(len(start)) / np.sqrt(self.weight.sum())
        S[:d, :d] = vectors / np.sqrt(np.maximum(values, 1e-14 * values[-1]))
        S[d:] += centre @ S[:d]  # thresholds follow the centre of the columns
        if self.value(start) == np.inf:
            start = np.concatenate([np.zeros(d), np.arange(len(start) - d)])[:, None]

        def scaled(v: Array) -> tuple[float, Array]:
            value, slope = self.smooth(start + (S @ v)[:, None])
            return (value if np.isfinite(value) else 1e300), S.T @ slope[:, 0]

        options = {"maxiter": STEPS, "maxfun": 3 * STEPS, "ftol": 1e-16, "gtol": 1e-14, "maxcor": 30}
        found = optimize.minimize(scaled, np.zeros(len(start)), jac=True, method="L-BFGS-B", options=options)
        return start + (S @ found.x)[:, None]


def lowest(objective: Any, point: Array, seed: int) -> tuple[float, Array]:
    """The lowest value that was found from several starts, the point of the model among them, and where."""
    rng = np.random.default_rng(seed)
    size = max(1e-3, float(np.abs(point).max()))
    starts = [point, np.zeros_like(point), point + 0.1 * size * rng.normal(size=point.shape)]
    best, where = objective.value(point), point
    for start in starts:
        for found in _candidates(objective, start):
            if getattr(objective, "positive", False):
                found[:-1] = np.maximum(found[:-1], 0.0)
            if (value := objective.value(found)) < best:
                best, where = value, found
    return best, where


def _candidates(objective: Any, start: Array) -> Iterator[Array]:
    if isinstance(objective, Ordinal):
        yield objective.search(start)
    elif objective.pieces:
        yield from _by_quadratic_program(objective, start)
    else:
        yield _by_lbfgs(objective, start)
        if (objective.steep or objective.bounded) and len(start) <= SIMPLE:
            yield _by_simplex(objective, _by_simplex(objective, start))


def _by_simplex(objective: Objective, start: Array) -> Array:
    """Nelder and Mead's search of the logarithm."""
    last = np.zeros((0 if objective.intercept else 1, 1))

    def logarithm(v: Array) -> float:
        value = objective.value(np.concatenate([v[:, None], last]))
        return float(np.log1p(value)) if np.isfinite(value) else 1e300

    begin = start[: len(start) - len(last), 0]
    options = {"maxiter": 400 * len(begin), "xatol": 1e-12, "fatol": 1e-14}
    found = optimize.minimize(logarithm, begin, method="Nelder-Mead", options=options)
    return np.concatenate([found.x[:, None], last])


def _units(objective: Objective) -> tuple[Array, Array]:
    """S and the centre c with W = S V and b = a − c W: columns of equal length, if possible without correlation."""
    weight = objective.weight / objective.weight.sum()
    free = objective.intercept and not (objective.l1_intercept or objective.l2_intercept)
    centre = weight @ objective.X if free else np.zeros(objective.X.shape[1])
    X = objective.X - centre
    gram = (X.T * objective.weight) @ X + objective.l2 * np.eye(X.shape[1])
    gram += np.eye(len(gram)) * (1e-12 * np.trace(gram) / max(1, len(gram)) + 1e-200)
    if objective.l1 or objective.positive:
        return np.diag(1 / np.sqrt(np.diag(gram))), centre
    values, vectors = np.linalg.eigh(gram)
    return vectors / np.sqrt(np.maximum(values, 1e-14 * values[-1])), centre


def _by_lbfgs(objective: Objective, start: Array) -> Array:
    """L-BFGS-B; absolute values are sums of two positive parts."""
    S, centre = _units(objective)
    d, k = objective.X.shape[1], objective.outputs
    level = 1 / np.sqrt(objective.weight.sum())
    split = bool(objective.l1)

    def point_of(v: Array) -> Array:
        parts = v.reshape(-1, k)
        V = parts[:d] - parts[d : 2 * d] if split else parts[:d]
        W = S @ V
        if not objective.intercept:
            return np.vstack([W, np.zeros(k)])
        a = parts[-2] - parts[-1] if objective.l1_intercept else parts[-1]
        return np.vstack([W, level * a - centre @ W])

    def with_slope(v: Array) -> tuple[float, Array]:
        point = point_of(v)
        value, gradient = objective.smooth(point)
        W = gradient[:-1] - np.outer(centre, gradient[-1]) if objective.intercept else gradient[:-1]
        V = S.T @ W
        rows = [V]
        if split:
            lengths = objective.l1 * np.diag(S)[:, None]
            value += float(np.sum(lengths * (v.reshape(-1, k)[:d] + v.reshape(-1, k)[d : 2 * d])))
            rows = [V + lengths, lengths - V]
        if objective.intercept and objective.l1_intercept:
            value += objective.l1_intercept * level * float(v.reshape(-1, k)[-2:].sum())
            rows += [level * (gradient[-1:] + objective.l1_intercept), level * (objective.l1_intercept - gradient[-1:])]
        elif objective.intercept:
            rows += [level * gradient[-1:]]
        return value, np.vstack(rows).ravel()

    V = np.linalg.solve(S, start[:-1]) if d else start[:-1]
    rows = [np.maximum(V, 0.0), np.maximum(-V, 0.0)] if split else [V]
    bounds = [(0.0 if split or objective.positive else None, None)] * (len(rows) * d * k)
    if split and objective.positive:
        bounds[d * k :] = [(0.0, 0.0)] * (d * k)
    if objective.intercept:
        a = (start[-1:] + centre @ start[:-1]) / level
        tail = [np.maximum(a, 0.0), np.maximum(-a, 0.0)] if objective.l1_intercept else [a]
        rows += tail
        bounds += [(0.0 if objective.l1_intercept else None, None)] * (len(tail) * k)
    scale = abs(with_slope(np.vstack(rows).ravel())[0])
    scale = 1 / scale if np.isfinite(scale) and scale > 0 else 1.0

    def scaled(v: Array) -> tuple[float, Array]:
        value, slope = with_slope(v)
        if objective.steep:
            return float(np.log1p(value)), slope / (1 + value)
        return scale * value, scale * slope

    begin = np.vstack(rows).ravel()
    options = {"maxiter": STEPS, "maxfun": 3 * STEPS, "ftol": 1e-16, "gtol": 1e-14, "maxcor": 30}
    with np.errstate(all="ignore"):
        found = optimize.minimize(scaled, begin, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
    return point_of(found.x)


def _by_quadratic_program(objective: Objective, start: Array) -> Iterator[Array]:
    """SLSQP with one variable for the loss of each row, in units in which the penalty is ½ Σ V²."""
    heavy = np.flatnonzero(objective.weight > 0)
    X, weight = objective.X[heavy], objective.weight[heavy]
    n = len(X)
    inside = objective.intercept
    A = np.hstack([X, np.ones((n, 1))]) if inside else X
    curvature = np.full(A.shape[1], objective.l2)
    if inside:
        curvature[-1] = objective.l2_intercept
    curvature = np.repeat(curvature, objective.outputs)
    blocks, limits = [], []
    for slope_of_eta, offset in objective.pieces:  # ξ ≥ a · eta − offset
        by_output = slope_of_eta.reshape(len(slope_of_eta), -1)[heavy]
        blocks.append(np.hstack([-np.einsum("nj,nk->njk", A, by_output).reshape(n, -1), np.eye(n)]))
        limits.append(-offset[heavy])
    blocks.append(np.hstack([np.zeros((n, len(curvature))), np.eye(n)]))
    limits.append(np.zeros(n))
    G, h = np.vstack(blocks), np.concatenate(limits)
    scale = 1 / max(objective.value(start), 1e-300)

    def value(v: Array) -> float:
        return float(scale * (0.5 * curvature @ np.square(v[:-n]) + weight @ v[-n:]))

    def slope(v: Array) -> Array:
        return scale * np.concatenate([curvature * v[:-n], weight])

    u = np.ravel(start[: A.shape[1]])
    begin = np.concatenate([u, np.zeros(n)])
    begin[-n:] = np.max(np.reshape(h - G @ begin, (-1, n)), axis=0)
    constraint = {"type": "ineq", "fun": lambda v: G @ v - h, "jac": lambda v: G}
    found = optimize.minimize(
        value, begin, jac=slope, constraints=[constraint], method="SLSQP", options={"maxiter": 100, "ftol": 1e-15}
    )
    if np.isfinite(found.x).all():
        point = found.x[:-n].reshape(-1, objective.outputs)
        yield point if inside else np.vstack([point, np.zeros(objective.outputs)])


# -- losses -----------------------------------------------------------------------------------------------------------


def squares(y: Array) -> RowLoss:
    """½ (eta − y)²."""
    return lambda eta: (0.5 * np.square(eta - y[:, None]).sum(axis=1), eta - y[:, None])


def powers(y: Array, power: float) -> RowLoss:
    """Half the unit deviance of a Tweedie family with a log link, but for terms without eta that are the same to it."""
    y = y[:, None]

    def loss(eta: Array) -> tuple[Array, Array]:
        mu = np.exp(eta)
        if power == 1:
            constant = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)) - y, 0.0)
            return (mu - y * eta + constant).sum(axis=1), mu - y
        if power == 2:
            apart = eta - np.log(y)
            return (np.exp(-apart) + apart - 1).sum(axis=1), -np.expm1(-apart)
        constant = y ** (2 - power) / ((1 - power) * (2 - power))
        value = mu ** (2 - power) / (2 - power) - y * mu ** (1 - power) / (1 - power) + constant
        return value.sum(axis=1), mu ** (2 - power) - y * mu ** (1 - power)

    return loss


def logistic(signs: Array) -> RowLoss:
    """log(1 + exp(−y eta)) for y = ±1."""
    y = signs[:, None]

    def loss(eta: Array) -> tuple[Array, Array]:
        margin = y * eta
        return np.logaddexp(0, -margin).sum(axis=1), -y * np.exp(-np.logaddexp(0, margin))

    return loss


def one_against_rest(codes: Array, classes: int) -> RowLoss:
    """Squared hinge losses of each class against all others."""
    signs = 2 * np.eye(classes)[codes] - 1

    def loss(eta: Array) -> tuple[Array, Array]:
        short = np.maximum(0, 1 - signs * eta)
        return np.square(short).sum(axis=1), -2 * signs * short

    return loss


def probit(signs: Array) -> RowLoss:
    """−log Φ(y eta) for y = ±1."""
    y = signs[:, None]

    def loss(eta: Array) -> tuple[Array, Array]:
        margin = np.asarray(y * eta, dtype=float)
        logarithm = log_ndtr(margin)
        density = -0.5 * np.square(margin) - 0.5 * np.log(2 * np.pi)
        return -logarithm.sum(axis=1), -y * np.exp(density - logarithm)

    return loss


def cloglog(classes: Array) -> RowLoss:
    """−log(1 − exp(−e^eta)) for class 1, e^eta for class 0."""
    one = classes[:, None] == 1

    def loss(eta: Array) -> tuple[Array, Array]:
        rate = np.exp(eta)
        value = np.where(one, -np.log(-np.expm1(-rate)), rate)
        return value.sum(axis=1), np.where(one, -rate / np.expm1(rate), rate)

    return loss


def square_root(y: Array) -> RowLoss:
    """Half the deviance of counts with mean eta², for eta above 0."""
    y = y[:, None]

    def loss(eta: Array) -> tuple[Array, Array]:
        inside = np.where(eta > 0, eta, np.nan)
        constant = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)) - y, 0.0)
        value = np.square(inside) - 2 * y * np.log(inside) + constant
        return np.where(eta > 0, value, np.inf).sum(axis=1), 2 * inside - 2 * y / inside

    return loss


def reciprocal(y: Array) -> RowLoss:
    """Half the deviance of a gamma with mean 1 / eta, for eta above 0."""
    y = y[:, None]

    def loss(eta: Array) -> tuple[Array, Array]:
        inside = np.where(eta > 0, eta, np.nan)
        value = y * inside - np.log(y * inside) - 1
        return np.where(eta > 0, value, np.inf).sum(axis=1), y - 1 / inside

    return loss


def negative_binomial(y: Array, r: float) -> RowLoss:
    """Half the deviance of counts with variance μ + μ²/r and a log link."""
    y = y[:, None]

    def loss(eta: Array) -> tuple[Array, Array]:
        mu = np.exp(eta)
        constant = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)), 0.0)
        value = constant - y * eta + (y + r) * np.log((mu + r) / (y + r))
        return value.sum(axis=1), r * (mu - y) / (mu + r)

    return loss


def softmax(codes: Array, classes: int) -> RowLoss:
    """−log of the probability of the class of each row."""
    one = np.eye(classes)[codes]

    def loss(eta: Array) -> tuple[Array, Array]:
        largest = eta.max(axis=1, keepdims=True)
        total = largest + np.log(np.exp(eta - largest).sum(axis=1, keepdims=True))
        return (total - (one * eta).sum(axis=1, keepdims=True)).sum(axis=1), np.exp(eta - total) - one

    return loss


def squared_hinge(signs: Array) -> RowLoss:
    """max(0, 1 − y eta)²."""
    y = signs[:, None]

    def loss(eta: Array) -> tuple[Array, Array]:
        short = np.maximum(0, 1 - y * eta)
        return np.square(short).sum(axis=1), -2 * y * short

    return loss


def squared_tube(y: Array, epsilon: float) -> RowLoss:
    """max(0, |eta − y| − epsilon)²."""

    def loss(eta: Array) -> tuple[Array, Array]:
        away = eta - y[:, None]
        outside = np.maximum(0, np.abs(away) - epsilon)
        return np.square(outside).sum(axis=1), 2 * np.sign(away) * outside

    return loss


def corners(pieces: tuple[tuple[Array, Array], ...]) -> RowLoss:
    """max(0, max over pieces of a · eta − offset), where a has a number for each output."""

    def loss(eta: Array) -> tuple[Array, Array]:
        slopes = np.stack([*(a.reshape(eta.shape) for a, _ in pieces), np.zeros(eta.shape)])
        values = (slopes * eta).sum(axis=2) - np.stack([*(offset for _, offset in pieces), np.zeros(len(eta))])
        return values.max(axis=0), slopes[values.argmax(axis=0), np.arange(len(eta))]

    return loss


def hinge_pieces(signs: Array) -> tuple[tuple[Array, Array], ...]:
    return ((-signs, -np.ones(len(signs))),)


def tube_pieces(y: Array, epsilon: float) -> tuple[tuple[Array, Array], ...]:
    one = np.ones(len(y))
    return ((one, y + epsilon), (-one, epsilon - y))


def competing_pieces(codes: Array, classes: int) -> tuple[tuple[Array, Array], ...]:
    """1 + eta of another class − eta of the class of each row, for all other classes: Crammer and Singer's loss."""
    one = np.eye(classes)
    others = [(codes + step) % classes for step in range(1, classes)]
    return tuple((one[other] - one[codes], -np.ones(len(codes))) for other in others)
