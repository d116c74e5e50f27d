"""A certificate that holds is true: no search by SciPy finds a lower objective than it allows.

Objectives are written in `_objectives` without mercer. How much each kind of certificate allows follows from its
sentence: a duality gap is itself a bound; a distance λ to the optimum in standard errors √φ is one of λ² φ; what is
left of normal equations is the length of a part of y.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.base import clone

import mercer
from mercer._errors import MercerError
from mercer.families import L1, L2, NegativeBinomial, Tweedie
from mercer.kernels import RBF
from tests.fuzz import _objectives as losses
from tests.fuzz._objectives import Objective, Ordinal, lowest

Array = Any
#: rounding of the coefficients and of what they are multiplied by, as a portion of the objective, and of that of zeros
OF_VALUE, OF_NULL = 1e-12, 1e-14
#: the same of a loss of a row that is 0 at the optimum
SMALLEST = 1e-18
#: the same of a predictor, as a portion of the sum of its terms, where losses have corners
OF_PREDICTOR = 8 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Rows:
    """A random problem in words; it is made anew at every call."""

    rows: int
    columns: int
    values: str
    response: str
    weights: str
    dtype: str
    strength: float
    second: float
    intercept: bool
    seed: int
    #: how far apart offsets, or the logarithms of positive responses, lie
    spread: float = 0.0
    offsets: bool = True

    def rng(self, stream: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, stream))

    @property
    def X(self) -> Array:
        rng, n, d = self.rng(0), self.rows, self.columns
        X = rng.normal(size=(n, d))
        if self.values == "counts":
            X = rng.poisson(2.0, size=(n, d)).astype(float)
        elif self.values == "far from 0":
            X += 1000.0
        elif self.values == "mixed sizes":
            X *= 10.0 ** rng.integers(-3, 4, size=d)
        elif self.values == "nearly collinear":
            X = np.outer(X[:, 0], np.ones(d)) + 1e-4 * X
        elif self.values == "a constant column":
            X[:, 0] = 3.0
        return X.astype(self.dtype)

    @property
    def signal(self) -> Array:
        X = np.asarray(self.X, dtype=float)
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return X @ self.rng(1).normal(size=self.columns) + self.second * self.rng(2).normal(size=self.rows)

    @property
    def numbers(self) -> Array:
        y = {"plain": 1.0, "large": 1e6, "small": 1e-6}[self.response] * self.signal
        return y + (1e6 if self.response == "large" else 0.0)

    @property
    def positive(self) -> Array:
        return np.exp(np.clip(0.5 * self.signal, -6, 6)) * self.rng(3).gamma(3.0, 1 / 3, size=self.rows)

    @property
    def amounts(self) -> Array:
        """Positive responses, over as many orders of magnitude as the spread says."""
        logarithms = np.zeros(self.rows) if self.offsets else self.rng(6).uniform(-self.spread, self.spread, self.rows)
        return np.exp(logarithms) * self.positive

    @property
    def offset(self) -> Array | None:
        return self.rng(6).uniform(-self.spread, self.spread, self.rows) if self.offsets else None

    @property
    def counts(self) -> Array:
        return self.rng(3).poisson(np.exp(np.clip(0.5 * self.signal, -3, 3))).astype(float)

    def classes(self, many: int) -> Array:
        ranks = np.argsort(np.argsort(self.signal + self.rng(4).normal(size=self.rows)))
        return ranks * many // self.rows

    @property
    def weight(self) -> Array | None:
        rng, n = self.rng(5), self.rows
        return {
            "absent": None,
            "random": rng.random(n) + 0.01,
            "wild": 10.0 ** rng.uniform(-6, 6, size=n),
            "some zero": np.append(rng.integers(0, 2, size=n - 1), 1.0),
        }[self.weights]

    @property
    def ones(self) -> Array:
        return np.ones(self.rows) if self.weight is None else np.asarray(self.weight, dtype=float)

    @property
    def wide(self) -> Array:
        return np.asarray(self.X, dtype=float)


problems = st.builds(
    Rows,
    rows=st.integers(6, 24),
    columns=st.one_of(st.integers(1, 4), st.integers(1, 30)),
    values=st.sampled_from(["normal", "counts", "far from 0", "mixed sizes", "nearly collinear", "a constant column"]),
    response=st.sampled_from(["plain", "plain", "large", "small"]),
    weights=st.sampled_from(["absent", "random", "wild", "some zero"]),
    dtype=st.sampled_from(["float64", "float64", "float32"]),
    strength=st.sampled_from([1e-4, 1e-2, 0.1, 1.0, 10.0, 1e3]),
    second=st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0]),
    intercept=st.booleans(),
    seed=st.integers(0, 2**16),
)
#: offsets and responses over hundreds of orders of magnitude
far = st.builds(
    Rows,
    rows=st.integers(3, 12),
    columns=st.integers(1, 2),
    values=st.sampled_from(["normal", "far from 0", "mixed sizes", "a constant column"]),
    response=st.just("plain"),
    weights=st.sampled_from(["absent", "random"]),
    dtype=st.just("float64"),
    strength=st.sampled_from([0.0, 0.0, 1e-3, 1.0]),
    second=st.sampled_from([0.5, 3.0]),
    intercept=st.booleans(),
    seed=st.integers(0, 2**16),
    spread=st.sampled_from([20.0, 40.0, 100.0, 200.0]),
    offsets=st.booleans(),
)


@dataclass(frozen=True)
class Claim:
    """A model's point, the objective it minimises, and how far from the minimum its certificate lets it be."""

    objective: Any
    point: Array
    allowed: float
    certificate: Any
    #: more that is allowed of a point lower than the model's
    extra: Callable[[Array], float] = lambda point: 0.0


def rounding_at_corners(objective: Objective, sizes: Array) -> float:
    """Bound the rounding of losses whose slope is 1 on one side, for sums of terms of the given `sizes`."""
    return OF_PREDICTOR * float(objective.weight @ sizes)


def point_of(coef: Array, intercept: Array) -> Array:
    coef = np.atleast_2d(np.asarray(coef, dtype=float)).T
    return np.vstack([coef, np.broadcast_to(np.asarray(intercept, dtype=float), coef.shape[1])])


def fitted(model: Any, rows: Rows, y: Array) -> Any:
    return model.fit(rows.X, y) if rows.weight is None else model.fit(rows.X, y, sample_weight=rows.weight)


# -- estimators -------------------------------------------------------------------------------------------------------


def least_squares(rows: Rows, model: Any, l2: float, *, positive: bool = False) -> Claim:
    y = rows.numbers
    model = fitted(model.set_params(fit_intercept=rows.intercept), rows, y)
    point = point_of(model.coef_, model.intercept_)
    objective = Objective(rows.wide, rows.ones, losses.squares(y), l2=l2, intercept=rows.intercept, positive=positive)
    certificate = model.certificate_
    if not positive:
        return Claim(objective, point, left_of_normal_equations(rows, certificate, point, l2), certificate)
    slope = certificate.value * np.linalg.norm(np.sqrt(rows.ones) * y) * lengths(rows, l2)
    return Claim(
        objective, point, 0.0, certificate, lambda found: float(slope @ (np.abs(found) + np.abs(point))[:-1, 0])
    )


def lengths(rows: Rows, l2: float) -> Array:
    """Return the lengths of the columns, including the rows of the penalty."""
    return np.sqrt(np.square(np.sqrt(rows.ones)[:, None] * rows.wide).sum(axis=0) + l2)


def left_of_normal_equations(rows: Rows, certificate: Any, point: Array, l2: float) -> float:
    """Bound the decrease of the objective for equations that hold to a share of their summed terms."""
    size = np.linalg.norm(np.sqrt(rows.ones) * rows.numbers) + lengths(rows, l2) @ np.abs(point[:-1, 0])
    return float(0.5 * (certificate.value * size) ** 2)


def linear_regression(rows: Rows) -> Claim:
    return least_squares(rows, mercer.LinearRegression(), 0.0)


def nonnegative_regression(rows: Rows) -> Claim:
    return least_squares(rows, mercer.LinearRegression(positive=True), 0.0, positive=True)


def ridge(rows: Rows) -> Claim:
    return least_squares(rows, mercer.Ridge(rows.strength), rows.strength)


def ridge_with_best_alpha(rows: Rows) -> Claim:
    model = mercer.RidgeCV((0.1, 1.0, 10.0), fit_intercept=rows.intercept)
    alpha = float(fitted(model, rows, rows.numbers).alpha_)
    return least_squares(rows, model, alpha)


def coordinate(rows: Rows, model: Any, alpha: Callable[[Any], float], l1_ratio: float = 1.0) -> Claim:
    y = rows.numbers
    model = fitted(model.set_params(fit_intercept=rows.intercept), rows, y)
    weight = rows.ones * (rows.rows / rows.ones.sum())
    total, alpha_ = rows.rows, alpha(model)
    objective = Objective(
        rows.wide,
        weight,
        losses.squares(y),
        l1=alpha_ * l1_ratio * total,
        l2=alpha_ * (1 - l1_ratio) * total,
        intercept=rows.intercept,
        positive=getattr(model, "positive", False),
    )
    return Claim(objective, point_of(model.coef_, model.intercept_), model.certificate_.value, model.certificate_)


def size_of(rows: Rows) -> float:
    """A penalty at which some coefficients vanish and some do not, times the strength drawn."""
    return rows.strength * float(np.std(rows.numbers)) * float(np.median(rows.wide.std(axis=0)))


def lasso(rows: Rows) -> Claim:
    return coordinate(rows, mercer.Lasso(size_of(rows)), lambda model: model.alpha)


def positive_lasso(rows: Rows) -> Claim:
    return coordinate(rows, mercer.Lasso(size_of(rows), positive=True), lambda model: model.alpha)


def elastic_net(rows: Rows) -> Claim:
    return coordinate(rows, mercer.ElasticNet(size_of(rows), l1_ratio=0.5), lambda model: model.alpha, 0.5)


def lasso_with_best_alpha(rows: Rows) -> Claim:
    return coordinate(rows, mercer.LassoCV(alphas=5, cv=3), lambda model: model.alpha_)


def elastic_net_with_best_alpha(rows: Rows) -> Claim:
    return coordinate(rows, mercer.ElasticNetCV(l1_ratio=0.5, alphas=5, cv=3), lambda model: model.alpha_, 0.5)


def smooth_claim(
    rows: Rows, model: Any, objective: Objective, *, dispersion: bool, point: Array | None = None
) -> Claim:
    """Claim a distance to the optimum in standard errors; with an estimated φ the objective is half a deviance."""
    point = point_of(model.coef_, model.intercept_) if point is None else point
    mean = float(rows.ones.mean())
    phi = 2 * objective.value(point) / (mean * rows.rows) if dispersion else 1.0
    allowed = model.certificate_.value**2 * max(phi * min(mean, 1.0), 1e-12 * mean)
    return Claim(objective, point, allowed, model.certificate_)


def tweedie(rows: Rows, power: float, model: Any, y: Array) -> Claim:
    model = fitted(model.set_params(alpha=rows.strength, fit_intercept=rows.intercept), rows, y)
    loss = losses.squares(y) if power == 0 else losses.powers(y, power)
    objective = Objective(
        rows.wide, rows.ones, loss, l2=rows.strength * float(rows.ones.sum()), intercept=rows.intercept
    )
    return smooth_claim(rows, model, objective, dispersion=power != 1)


def poisson(rows: Rows) -> Claim:
    return tweedie(rows, 1, mercer.PoissonRegressor(), rows.counts)


def gamma(rows: Rows) -> Claim:
    return tweedie(rows, 2, mercer.GammaRegressor(), rows.positive)


def compound(rows: Rows) -> Claim:
    return tweedie(rows, 1.5, mercer.TweedieRegressor(power=1.5), rows.counts)


def glm(rows: Rows, family: str, loss: Any, y: Array, link: str | None = None, *, dispersion: bool = False) -> Claim:
    options = {} if link is None else {"link": link}
    model = mercer.GLM(family, penalty=L2(rows.strength), fit_intercept=rows.intercept, **options)
    model = fitted(model, rows, y)
    bounded = link in ("sqrt", "inverse")
    objective = Objective(rows.wide, rows.ones, loss, l2=rows.strength, intercept=rows.intercept, bounded=bounded)
    return smooth_claim(rows, model, objective, dispersion=dispersion)


def glm_gaussian(rows: Rows) -> Claim:
    """Use the closed form and the certificate of `ridge`."""
    claim = glm(rows, "gaussian", losses.squares(rows.numbers), rows.numbers, dispersion=True)
    return replace(claim, allowed=left_of_normal_equations(rows, claim.certificate, claim.point, rows.strength))


def glm_poisson(rows: Rows) -> Claim:
    return glm(rows, "poisson", losses.powers(rows.counts, 1), rows.counts)


def glm_gamma(rows: Rows) -> Claim:
    return glm(rows, "gamma", losses.powers(rows.positive, 2), rows.positive, "log", dispersion=True)


def glm_bernoulli(rows: Rows) -> Claim:
    classes = rows.classes(2)
    return glm(rows, "bernoulli", losses.logistic(2.0 * classes - 1), classes)


def glm_lasso(rows: Rows) -> Claim:
    y = rows.counts
    model = fitted(mercer.GLM("poisson", penalty=L1(rows.strength), fit_intercept=rows.intercept), rows, y)
    objective = Objective(rows.wide, rows.ones, losses.powers(y, 1), l1=rows.strength, intercept=rows.intercept)
    return smooth_claim(rows, model, objective, dispersion=False)


def glm_probit(rows: Rows) -> Claim:
    classes = rows.classes(2)
    return glm(rows, "bernoulli", losses.probit(2.0 * classes - 1), classes, "probit")


def glm_cloglog(rows: Rows) -> Claim:
    classes = rows.classes(2)
    return glm(rows, "bernoulli", losses.cloglog(classes), classes, "cloglog")


def glm_square_root(rows: Rows) -> Claim:
    return glm(rows, "poisson", losses.square_root(rows.counts), rows.counts, "sqrt")


def glm_reciprocal(rows: Rows) -> Claim:
    return glm(rows, "gamma", losses.reciprocal(rows.positive), rows.positive, "inverse", dispersion=True)


def glm_negative_binomial(rows: Rows) -> Claim:
    return glm(rows, NegativeBinomial(2.0), losses.negative_binomial(rows.counts, 2.0), rows.counts, "log")


def glm_kernel(rows: Rows) -> Claim:
    """Σ weight · loss + ½ strength aᵀK a, in features of the kernel among the rows."""
    classes = rows.classes(2)
    model = mercer.GLM("bernoulli", kernel=RBF(gamma=0.5), penalty=L2(rows.strength), fit_intercept=rows.intercept)
    return kernel_claim(rows, fitted(model, rows, classes), classes, 1.0, rows.strength)


def kernelized(rows: Rows) -> Claim:
    classes = rows.classes(2)
    model = mercer.LogisticRegression(C=rows.strength, fit_intercept=rows.intercept)
    model = fitted(mercer.kernelize(model, RBF(gamma=0.5)), rows, classes)
    return kernel_claim(rows, model, classes, rows.strength, 1.0)


def kernel_claim(rows: Rows, model: Any, classes: Array, C: float, l2: float) -> Claim:
    features = factor(bumps(rows.wide))
    loss = losses.logistic(2.0 * classes - 1)
    objective = Objective(features, C * rows.ones, loss, l2=l2, intercept=rows.intercept)
    point = point_of(features.T @ np.ravel(model.dual_coef_), np.ravel(model.intercept_))
    weight = rows.ones[rows.ones > 0]  # the other rows are left out, so that they do not count in the mean
    length = model.certificate_.value * float(np.sqrt(min(weight.mean(), 1.0) * C))
    return Claim(objective, point, length**2, model.certificate_)


def lognormal(rows: Rows) -> Claim:
    """Least squares of log y: `intercept_` is that of the mean, which is larger by the logarithm of `smearing_`."""
    y = np.log(rows.positive)
    model = mercer.LogNormalRegressor(alpha=rows.strength, fit_intercept=rows.intercept)
    model = fitted(model, rows, rows.positive)
    l2 = rows.strength * float(rows.ones.sum())
    level = model.intercept_ - np.log(model.smearing_) if rows.intercept else 0.0
    point = point_of(model.coef_, level)
    objective = Objective(rows.wide, rows.ones, losses.squares(y), l2=l2, intercept=rows.intercept)
    size = np.linalg.norm(np.sqrt(rows.ones) * y) + lengths(rows, l2) @ np.abs(point[:-1, 0])
    left = (model.certificate_.value + 4 * np.finfo(float).eps) * size
    return Claim(objective, point, float(0.5 * left**2), model.certificate_)


def ordinal(rows: Rows) -> Claim:
    classes = rows.classes(3)
    model = fitted(mercer.OrdinalRegression(C=1 / rows.strength), rows, classes)
    objective = Ordinal(rows.wide, rows.ones, classes, 3, rows.strength)
    point = np.concatenate([model.coef_, model.thresholds_])[:, None]
    return Claim(objective, point, model.certificate_.value**2 * min(1.0, rows.ones.mean()), model.certificate_)


def steep(rows: Rows, family: Any, power: float, y: Array) -> Claim:
    """Test a log link with offsets or responses of very different sizes."""
    model = mercer.GLM(family, link="log", penalty=L2(rows.strength) if rows.strength else None)
    model = model.set_params(fit_intercept=rows.intercept)
    model = model.fit(rows.X, y, offset=rows.offset, sample_weight=rows.weight)
    objective = Objective(
        rows.wide,
        rows.ones,
        losses.powers(y, power),
        l2=rows.strength,
        intercept=rows.intercept,
        offset=rows.offset,
        steep=True,
    )
    return smooth_claim(rows, model, objective, dispersion=power != 1)


def steep_gamma(rows: Rows) -> Claim:
    return steep(rows, "gamma", 2, rows.amounts)


def steep_compound(rows: Rows) -> Claim:
    return steep(rows, Tweedie(1.5), 1.5, rows.amounts)


def steep_poisson(rows: Rows) -> Claim:
    return steep(rows, "poisson", 1, rows.counts)


def logistic(rows: Rows, many: int, l1_ratio: float, **options: Any) -> Claim:
    classes, C = rows.classes(many), rows.strength
    model = mercer.LogisticRegression(C=C, l1_ratio=l1_ratio, fit_intercept=rows.intercept, **options)
    model = fitted(model, rows, classes)
    liblinear = options.get("solver") == "liblinear"
    binary = many == 2
    objective = Objective(
        rows.wide,
        C * rows.ones,
        losses.logistic(2.0 * classes - 1) if binary else losses.softmax(classes, many),
        outputs=1 if binary else many,
        l1=l1_ratio,
        l2=1 - l1_ratio,
        intercept=rows.intercept,
        l1_intercept=l1_ratio * liblinear,
        l2_intercept=(1 - l1_ratio) * liblinear,
    )
    point = point_of(model.coef_, model.intercept_)
    certificate = model.certificate_
    if certificate.kind == "duality gap":
        return Claim(objective, point, certificate.value * objective.value(point), certificate)
    length = certificate.value * float(np.sqrt(min(rows.ones.mean(), 1.0) * C))
    claim = Claim(objective, point, length**2, certificate)
    return replace(claim, extra=along_no_curvature(claim, length)) if certificate.kind == "KKT" else claim


def along_no_curvature(claim: Claim, length: float) -> Callable[[Array], float]:
    """Bound the remaining decrease of a softmax with a subgradient of that length, where its losses are flat.

    A standard error is infinite there, and says nothing of the objective: it falls by the slope times the way, until
    coefficients vanish. That may be far where probabilities are 0 or 1 but for the rounding of columns.
    """
    X = np.column_stack([claim.objective.X, np.full(len(claim.objective.X), float(claim.objective.intercept))])
    eta = X @ claim.point
    P = np.exp(eta - eta.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    of_rows = claim.objective.weight[:, None, None] * (P[:, :, None] * np.eye(P.shape[1]) - P[:, :, None] * P[:, None])
    H = np.einsum("ij,ikm,il->jkml", X, of_rows, X).transpose(0, 1, 3, 2).reshape(claim.point.size, -1)
    root = np.sqrt(np.maximum(np.diagonal(H), 0.0))
    unit = np.where(root > 0, root, 1.0)
    values, vectors = np.linalg.eigh(H / unit / unit[:, None])
    flat = vectors[:, values <= 1e-12 * len(values)]
    return lambda found: length * float(np.linalg.norm(flat.T @ (root * (found - claim.point).ravel())))


def logistic_regression(rows: Rows) -> Claim:
    return logistic(rows, 2, 0.0)


def softmax_regression(rows: Rows) -> Claim:
    return logistic(rows, 3, 0.0)


def logistic_lasso(rows: Rows) -> Claim:
    return logistic(rows, 2, 1.0, solver="saga")


def logistic_elastic_net(rows: Rows) -> Claim:
    return logistic(rows, 2, 0.5, solver="saga")


def logistic_with_best_C(rows: Rows) -> Claim:
    classes = rows.classes(2)
    options = {"l1_ratios": (0.0,), "scoring": "accuracy", "use_legacy_attributes": False}
    model = mercer.LogisticRegressionCV(Cs=[0.1, 1.0], cv=3, fit_intercept=rows.intercept, **options)
    model = fitted(model, rows, classes)
    C = float(np.ravel(model.C_)[0])
    loss = losses.logistic(2.0 * classes - 1)
    objective = Objective(rows.wide, C * rows.ones, loss, l2=1.0, intercept=rows.intercept)
    length = model.certificate_.value * float(np.sqrt(min(rows.ones.mean(), 1.0) * C))
    return Claim(objective, point_of(model.coef_, model.intercept_), length**2, model.certificate_)


def softmax_lasso(rows: Rows) -> Claim:
    return logistic(rows, 3, 1.0, solver="saga")


def liblinear(rows: Rows) -> Claim:
    return logistic(rows, 2, 0.0, solver="liblinear")


def liblinear_lasso(rows: Rows) -> Claim:
    return logistic(rows, 2, 1.0, solver="liblinear")


def linear_machine(rows: Rows, model: Any, y: Array, objective: Objective) -> Claim:
    model = fitted(model.set_params(C=rows.strength, fit_intercept=rows.intercept, tol=1e-6), rows, y)
    point = point_of(model.coef_, model.intercept_)
    allowed = model.certificate_.value * objective.value(point)
    if objective.pieces:
        sizes = (np.abs(rows.wide) @ np.abs(point[:-1]) + np.abs(point[-1])).sum(axis=1) + 1
        allowed += rounding_at_corners(objective, sizes)
    return Claim(objective, point, allowed, model.certificate_)


def linear_svc(rows: Rows, **options: Any) -> Claim:
    classes = rows.classes(2)
    signs, l1 = 2.0 * classes - 1, options.get("penalty") == "l1"
    hinge = options.get("loss") == "hinge"
    pieces = losses.hinge_pieces(signs) if hinge else ()
    objective = Objective(
        rows.wide,
        rows.strength * rows.ones,
        losses.corners(pieces) if hinge else losses.squared_hinge(signs),
        l1=float(l1),
        l2=float(not l1),
        l1_intercept=float(l1),
        l2_intercept=float(not l1),
        intercept=rows.intercept,
        pieces=pieces,
    )
    return linear_machine(rows, mercer.LinearSVC(**options), classes, objective)


def squared_hinge(rows: Rows) -> Claim:
    return linear_svc(rows)


def hinge(rows: Rows) -> Claim:
    return linear_svc(rows, loss="hinge")


def hinge_lasso(rows: Rows) -> Claim:
    return linear_svc(rows, penalty="l1", dual=False)


def one_against_rest(rows: Rows) -> Claim:
    """All classes at once: the sum of their objectives, of which the certificate has the worst."""
    classes = rows.classes(3)
    objective = Objective(
        rows.wide,
        rows.strength * rows.ones,
        losses.one_against_rest(classes, 3),
        outputs=3,
        l2=1.0,
        l2_intercept=1.0,
        intercept=rows.intercept,
    )
    return linear_machine(rows, mercer.LinearSVC(), classes, objective)


def crammer_singer(rows: Rows) -> Claim:
    classes = rows.classes(3)
    pieces = losses.competing_pieces(classes, 3)
    objective = Objective(
        rows.wide,
        rows.strength * rows.ones,
        losses.corners(pieces),
        outputs=3,
        l2=1.0,
        l2_intercept=1.0,
        intercept=rows.intercept,
        pieces=pieces,
    )
    return linear_machine(rows, mercer.LinearSVC(multi_class="crammer_singer"), classes, objective)


def linear_svr(rows: Rows, loss: str) -> Claim:
    y, epsilon = rows.numbers, 0.1 * float(np.std(rows.numbers))
    flat = loss == "epsilon_insensitive"
    pieces = losses.tube_pieces(y, epsilon) if flat else ()
    objective = Objective(
        rows.wide,
        rows.strength * rows.ones,
        losses.corners(pieces) if flat else losses.squared_tube(y, epsilon),
        l2=1.0,
        l2_intercept=1.0,
        intercept=rows.intercept,
        pieces=pieces,
    )
    return linear_machine(rows, mercer.LinearSVR(epsilon=epsilon, loss=loss), y, objective)


def tube(rows: Rows) -> Claim:
    return linear_svr(rows, "epsilon_insensitive")


def squared_tube(rows: Rows) -> Claim:
    return linear_svr(rows, "squared_epsilon_insensitive")


def bumps(X: Array) -> Array:
    """exp(−½ ‖x − z‖²) of all pairs of rows."""
    return np.exp(-0.5 * np.square(X[:, None] - X).sum(axis=2))


def factor(K: Array) -> Array:
    """Features whose inner products are K; eigenvalues that are rounding of K make none."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.where(values > len(K) * np.finfo(float).eps * values[-1], values, 0.0))


def machine(rows: Rows, model: Any, y: Array, pieces: Any, kernel: str) -> Claim:
    """Return the primal objective in features of the kernel among the rows."""
    model = fitted(model.set_params(C=rows.strength, kernel=kernel, gamma=0.5), rows, y)
    features = rows.wide if kernel == "linear" else factor(bumps(rows.wide))
    beta = np.zeros(rows.rows)
    beta[model.support_] = model.dual_coef_[0]
    objective = Objective(features, rows.strength * rows.ones, losses.corners(pieces), l2=1.0, pieces=pieces)
    point = point_of(features.T @ beta, model.intercept_)
    sizes = np.abs(features) @ (np.abs(features).T @ np.abs(beta)) + np.abs(point[-1, 0]) + 1
    allowed = max(model.certificate_.gap, 0.0) + rounding_at_corners(objective, sizes)
    return Claim(objective, point, allowed, model.certificate_)


def svc(rows: Rows, kernel: str) -> Claim:
    classes = rows.classes(2)
    return machine(rows, mercer.SVC(tol=1e-6), classes, losses.hinge_pieces(2.0 * classes - 1), kernel)


def svc_of_lines(rows: Rows) -> Claim:
    return svc(rows, "linear")


def svc_of_bumps(rows: Rows) -> Claim:
    return svc(rows, "rbf")


def svc_of_pairs(rows: Rows) -> Claim:
    """One of the machines of three classes, each between two of them."""
    classes, which = rows.classes(3), rows.seed % 3
    first, second = [(0, 1), (0, 2), (1, 2)][which]
    model = fitted(mercer.SVC(tol=1e-6, C=rows.strength, kernel="linear"), rows, classes)
    some = (classes == first) | (classes == second)
    X, pieces = rows.wide[some], losses.hinge_pieces(np.where(classes[some] == first, 1.0, -1.0))
    objective = Objective(X, rows.strength * rows.ones[some], losses.corners(pieces), l2=1.0, pieces=pieces)
    point = point_of(model.coef_[which], model.intercept_[which])
    beta = np.abs(model.dual_coef_).max(axis=0) @ np.abs(rows.wide[model.support_])
    certificate = model.certificates_[which]
    allowed = max(certificate.gap, 0.0) + rounding_at_corners(objective, np.abs(X) @ beta + np.abs(point[-1, 0]) + 1)
    return Claim(objective, point, allowed, certificate)


def svr_of_lines(rows: Rows) -> Claim:
    y = rows.numbers
    return machine(rows, mercer.SVR(tol=1e-6, epsilon=0.1), y, losses.tube_pieces(y, 0.1), "linear")


def svr_of_bumps(rows: Rows) -> Claim:
    y = rows.numbers
    return machine(rows, mercer.SVR(tol=1e-6, epsilon=0.1), y, losses.tube_pieces(y, 0.1), "rbf")


def kernel_ridge(rows: Rows) -> Claim:
    """‖y − K a‖² + alpha aᵀK a, which is within ‖r‖² of its minimum for what (K + alpha) a leaves of y."""
    y = rows.numbers
    model = fitted(mercer.KernelRidge(alpha=rows.strength, kernel="rbf", gamma=0.5), rows, y)
    features = factor(bumps(rows.wide))
    objective = Objective(features, rows.ones, losses.squares(y), l2=rows.strength, intercept=False)
    point = point_of(features.T @ model.dual_coef_, 0.0)
    left = model.certificate_.value * np.linalg.norm(np.sqrt(rows.ones) * y)
    return Claim(objective, point, 0.5 * left**2, model.certificate_)


CLAIMS: tuple[Callable[[Rows], Claim], ...] = (
    linear_regression, nonnegative_regression, ridge, ridge_with_best_alpha,
    lasso, positive_lasso, elastic_net, lasso_with_best_alpha,
    poisson, gamma, compound, glm_gaussian, glm_poisson, glm_gamma, glm_bernoulli, glm_lasso,
    logistic_regression, softmax_regression, logistic_lasso, softmax_lasso, liblinear, liblinear_lasso,
    squared_hinge, hinge, hinge_lasso, crammer_singer, tube, squared_tube, svc_of_lines, svc_of_bumps, svr_of_bumps,
    kernel_ridge,
    glm_probit, glm_cloglog, glm_square_root, glm_reciprocal, glm_negative_binomial, glm_kernel, kernelized, lognormal,
    ordinal, logistic_elastic_net, logistic_with_best_C, elastic_net_with_best_alpha, one_against_rest, svc_of_pairs,
    svr_of_lines,
)  # fmt: skip
STEEP = (steep_gamma, steep_compound, steep_poisson)


def is_true(claim_of: Callable[[Rows], Claim], rows: Rows) -> str:
    """Check that a certificate holds and no lower objective is found, or that it does not hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            claim = claim_of(rows)
        except (MercerError, ValueError):
            return "rejected"
        if not claim.certificate.holds:
            return "does not hold"
        value = claim.objective.value(claim.point)
        best, where = lowest(claim.objective, claim.point, rows.seed)
        null = claim.objective.value(np.zeros_like(claim.point))
    rounding = OF_VALUE * abs(value) + OF_NULL * min(null, 1e300) + SMALLEST * rows.ones.sum()
    allowed = claim.allowed + claim.extra(where) + rounding
    assert value - best <= allowed, (
        f"{value - best:.3g} below {value:.10g} was found, and {claim.allowed:.3g} is allowed: {claim.certificate}"
    )
    return "held"


@pytest.mark.parametrize("claim_of", CLAIMS, ids=lambda claim_of: claim_of.__name__)
def test_no_lower_objective_is_found(claim_of: Callable[[Rows], Claim], campaign: Callable[..., None]) -> None:
    campaign(lambda rows: is_true(claim_of, rows), problems)


@pytest.mark.parametrize("claim_of", STEEP, ids=lambda claim_of: claim_of.__name__)
def test_no_lower_objective_is_found_for_distant_rows(
    claim_of: Callable[[Rows], Claim], campaign: Callable[..., None]
) -> None:
    campaign(lambda rows: is_true(claim_of, rows), far, samples=10)


def separates(rows: Rows, model: Any) -> str:
    """A hyperplane has no row on the wrong side; the proof that there is none agrees with linear programming."""
    classes = rows.classes(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = model.set_params(fit_intercept=rows.intercept).fit(rows.X, classes)
    if not model.certificate_.holds:
        return "does not hold"
    signs = 2.0 * classes - 1
    if model.certificate_.kind == "separation":
        point = point_of(model.coef_, model.intercept_)
        eta = np.asarray(rows.X, dtype=np.longdouble) @ point[:-1, 0] + point[-1, 0]
        assert (signs * eta >= 0).all()
        np.testing.assert_array_equal(model.predict(rows.X), classes)
        return "separated"
    A = np.column_stack([rows.wide, np.ones(rows.rows)]) if rows.intercept else rows.wide
    A = A / np.abs(A).max(axis=0)
    program = linprog(np.zeros(A.shape[1]), A_ub=-signs[:, None] * A, b_ub=-np.ones(rows.rows), bounds=(None, None))
    assert program.status == 2, "a hyperplane was found"
    return "not separated"


@pytest.mark.parametrize("model", [mercer.Perceptron(tol=None, max_iter=50), mercer.LinearThreshold()], ids=str)
def test_proofs_about_hyperplanes_hold(model: Any, campaign: Callable[..., None]) -> None:
    campaign(lambda rows: separates(rows, clone(model)), problems, samples=5)


#: of which the last digits of float32 coefficients count
SINGLE = (
    Rows(17, 2, "far from 0", "small", "random", "float32", 0.1, 0.5, intercept=False, seed=64143),
    Rows(19, 19, "far from 0", "plain", "some zero", "float32", 1e-4, 3.0, intercept=True, seed=40143),
    Rows(24, 1, "far from 0", "small", "some zero", "float32", 1.0, 0.0, intercept=True, seed=47569),
    Rows(6, 2, "nearly collinear", "plain", "wild", "float32", 0.1, 0.0, intercept=False, seed=19304),
    Rows(6, 5, "far from 0", "plain", "wild", "float32", 1e-4, 0.0, intercept=False, seed=0),
)
ROUNDED = (
    linear_regression, nonnegative_regression, ridge, ridge_with_best_alpha, lasso, positive_lasso, elastic_net,
    lasso_with_best_alpha, poisson, gamma, compound, logistic_regression, softmax_regression, logistic_lasso,
)  # fmt: skip


@pytest.mark.parametrize("rows", SINGLE, ids=lambda rows: rows.values)
@pytest.mark.parametrize("claim_of", ROUNDED, ids=lambda claim_of: claim_of.__name__)
def test_coefficients_of_single_precision_are_certified_as_stored(
    claim_of: Callable[[Rows], Claim], rows: Rows
) -> None:
    assert is_true(claim_of, rows) in ("held", "rejected")


@pytest.mark.parametrize(
    ("claim_of", "rows"),
    [
        (logistic_lasso, Rows(6, 1, "normal", "plain", "some zero", "float64", 10.0, 0.0, intercept=True, seed=1)),
        (softmax_lasso, Rows(6, 6, "nearly collinear", "plain", "wild", "float64", 10.0, 0.0, intercept=False, seed=6)),
        (hinge, Rows(10, 3, "far from 0", "plain", "wild", "float64", 1e-4, 0.5, intercept=False, seed=43236)),
    ],
    ids=["intercept off its optimum", "no curvature", "predictors of many steps"],
)
def test_certificates_include_small_terms(claim_of: Callable[[Rows], Claim], rows: Rows) -> None:
    assert is_true(claim_of, rows) == "held"


@pytest.mark.parametrize("claim_of", CLAIMS, ids=lambda claim_of: claim_of.__name__)
def test_the_search_reaches_the_minimum(claim_of: Callable[[Rows], Claim]) -> None:
    """The search from a distant start reaches the objective of the model, so that a failure would be noticed."""
    rows = Rows(20, 3, "normal", "plain", "random", "float64", 0.1, 1.0, intercept=True, seed=3)
    claim = claim_of(rows)
    assert claim.certificate.holds
    value = claim.objective.value(claim.point)
    away = 1.5 * claim.point if getattr(claim.objective, "bounded", False) else claim.point + 0.5
    begin = claim.objective.value(away)
    assert begin > value * 1.001
    assert lowest(claim.objective, away, rows.seed)[0] - value < 1e-7 * (begin - value)
