r"""
Lecture 1a: feature maps and kernels
====================================

The first half of lecture 1 (M. Ren, *Kernels and probabilistic modelling*) makes linear models curved. A feature map
:math:`\psi` takes an input to a vector, the model stays linear in that vector, and a kernel computes the inner products
of such vectors without ever writing them down:

.. math::

   f(x) = w^\top \psi(x) + b, \qquad k(x, x') = \langle \psi(x), \psi(x') \rangle .

The second half, on probabilities, is :ref:`lecture 1b
<sphx_glr_tutorials_lecture_1b_probabilistic_models.py>`.
"""

from math import comb, factorial, sqrt

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import BoundaryNorm
from sklearn.datasets import make_circles, make_moons
from sklearn.pipeline import make_pipeline

from mercer import (
    SVC,
    BucketFeatures,
    CountVectorizer,
    KernelRidge,
    LinearRegression,
    LinearThreshold,
    LogFeatures,
    LogisticRegression,
    MonomialFeatures,
    Ridge,
    kernelize,
    kernels,
)

plt.style.use("tableau-colorblind10")
rng = np.random.default_rng(0)

# %%
# Feature extraction
# ------------------
#
# Texts, images and genes are not vectors of one length in which every entry has one meaning. A feature map makes them
# so. The simplest for texts counts words.

words = CountVectorizer().fit(["kernels are features", "features are numbers"])
print(words.get_feature_names_out())
print(words.transform(["features of features"]).toarray())

# %%
# A circle becomes a plane
# ------------------------
#
# No line in the plane separates an inner from an outer ring. With one more feature, the squared distance from the
# origin, a plane does:
#
# .. math::
#
#    \phi(x) = (x_1, x_2, x_1^2 + x_2^2) .
#
# ``LinearThreshold`` is a linear classifier that ends with a proof, either a separating plane or the certificate that
# there is none.

X, y = make_circles(100, noise=0.05, factor=0.5, random_state=0)
with_radius = np.column_stack([X, (X**2).sum(axis=1)])
straight = LinearThreshold().fit(X, y)
lifted = LinearThreshold().fit(with_radius, y)
print("(x1, x2):           ", straight.certificate_.kind)
print("with x1^2 + x2^2:   ", lifted.certificate_.kind)
assert straight.certificate_.kind == "no separation"
assert lifted.score(with_radius, y) == 1

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for label, colour, marker in ((0, "C0", "o"), (1, "C1", "s")):
    axes[0].plot(*X[y == label].T, marker, color=colour, ms=4)
    axes[1].plot(*with_radius[y == label][:, [0, 2]].T, marker, color=colour, ms=4)
w1, w2, w3 = lifted.coef_[0]
axes[1].plot([-1.1, 1.1], [-(lifted.intercept_[0] - w1 * 1.1) / w3, -(lifted.intercept_[0] + w1 * 1.1) / w3], "k--")
axes[0].set(xlabel="$x_1$", ylabel="$x_2$", title="no line separates the rings", aspect="equal")
axes[1].set(xlabel="$x_1$", ylabel="$x_1^2 + x_2^2$", title="with their radius, a plane does")
plt.show()

# %%
# On the right the plane is seen from its side (dashed, at :math:`x_2 = 0`): the rings have become layers.
#
# Non-monotone features
# ---------------------
#
# Health falls when the temperature rises above 37 °C, and when it falls below. A line can say only one of the two. One
# may centre and square by hand, :math:`(t - 37)^2`; or think less and put in more, :math:`\phi = (1, t, t^2)`, and let
# least squares find the 37: a parabola :math:`b\,t + c\,t^2` has its top at :math:`-b / 2c`.

t = rng.uniform(34, 40, (200, 1))
health = 10 - 2 * (t[:, 0] - 37) ** 2 + rng.normal(size=200)
line = LinearRegression().fit(t, health)
parabola = make_pipeline(MonomialFeatures(2, include_bias=False), LinearRegression()).fit(t, health)
slope, bend = parabola[-1].coef_
print(f"R²: line {line.score(t, health):.2f}, parabola {parabola.score(t, health):.2f}")
print(f"the healthiest temperature: {-slope / (2 * bend):.2f} °C")
assert abs(-slope / (2 * bend) - 37) < 0.1

# %%
# Saturating features
# -------------------
#
# The hundredth buyer of a product says more about it than the ten thousandth. Either the logarithm flattens the
# count, :math:`\log(1 + N)`, or buckets :math:`0 \le N < 10`, :math:`10 \le N < 100`, … get a coefficient each, which
# is the mean response within the bucket.

bought = np.floor(10 ** rng.uniform(0, 6, (300, 1))) - 1
relevance = np.log1p(bought[:, 0]) + rng.normal(scale=0.7, size=300)
models = {
    "N": make_pipeline(LinearRegression()),
    "log(1 + N)": make_pipeline(LogFeatures(), LinearRegression()),
    "decades": make_pipeline(BucketFeatures("decades"), LinearRegression(fit_intercept=False)),
}
for name, model in models.items():
    print(f"{name:>10}: R² = {model.fit(bought, relevance).score(bought, relevance):.2f}")
decade = np.floor(np.log10(np.maximum(bought[:, 0], 1)))
np.testing.assert_allclose(models["decades"][-1].coef_, [relevance[decade == k].mean() for k in range(6)])

figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
grid = np.linspace(33.8, 40.2, 200)[:, None]
axes[0].plot(t, health, ".", color="C2", ms=4)
axes[0].plot(grid, line.predict(grid), "C1--", label="$t$")
axes[0].plot(grid, parabola.predict(grid), "C0", label="$t, t^2$")
axes[0].set(xlabel="temperature in °C", ylabel="health", title="not monotone: add the square")
grid = np.append(0, np.geomspace(1, 1e6, 400))[:, None]
axes[1].plot(bought, relevance, ".", color="C2", ms=4)
for (name, model), style in zip(models.items(), ("C1--", "C0", "C3"), strict=True):
    axes[1].plot(grid, model.predict(grid), style, label=name)
axes[1].set_xscale("symlog", linthresh=1)
axes[1].set(xlabel="N, how many bought it", ylabel="relevance", ylim=(-2, 17), title="saturating: logarithm or buckets")
for each in axes:
    each.legend(fontsize=8)
plt.show()

# %%
# The dashed lines are the raw features. On the left the line is flat, on the right it belongs to the few products
# that sold a million times.
#
# Interacting features
# --------------------
#
# What matters of a weight is how it compares with the height. Robinson's rule gives an ideal weight in kilograms for a
# height in inches, and the squared distance from it can be multiplied out:
#
# .. math::
#
#    (52 + 1.9\,(h - 60) - w)^2 = 3.61\,h^2 - 3.8\,hw - 235.6\,h + w^2 + 124\,w + 3844 .
#
# Nobody has to: all monomials up to degree 2, and least squares, find the six numbers from examples.

people = np.column_stack([rng.uniform(58, 78, 500), rng.uniform(45, 110, 500)])
off = (52 + 1.9 * (people[:, 0] - 60) - people[:, 1]) ** 2
second_order = MonomialFeatures(2).fit(people)
fit = LinearRegression(fit_intercept=False).fit(second_order.transform(people), off)
found = dict(zip(second_order.get_feature_names_out(["h", "w"]), fit.coef_.round(4).tolist(), strict=True))
print(found)
np.testing.assert_allclose(list(found.values()), [3844, -235.6, 124, 3.61, -3.8, 1], atol=1e-3)

levels = [-500, -100, 0, 50, 200, 500, 1000, 2000, 3500]
bands = BoundaryNorm(levels, 256)
heights, weights = np.linspace(58, 78, 50), np.linspace(45, 110, 50)
grid = np.array(np.meshgrid(heights, weights)).reshape(2, -1).T
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
for ax, features, title in (
    (axes[0], MonomialFeatures(1), "$h, w$: a slope"),
    (axes[1], second_order, "with $h^2, hw, w^2$: a valley"),
):
    surface = LinearRegression().fit(features.fit_transform(people), off).predict(features.transform(grid))
    filled = ax.contourf(heights, weights, surface.reshape(50, 50), levels=levels, cmap="cividis", norm=bands)
    ax.plot(heights, 52 + 1.9 * (heights - 60), "w--", label="ideal weight")
    ax.set(xlabel="height in inches", title=title)
axes[0].set_ylabel("weight in kg")
axes[1].legend(loc="lower right")
figure.colorbar(filled, ax=axes, label="fitted squared distance")
plt.show()

# %%
# How many monomials are there?
# -----------------------------
#
# A monomial of degree exactly :math:`M` in :math:`d` variables is a row of :math:`M` stars between :math:`d - 1` bars,
# so there are
#
# .. math::
#
#    \binom{d + M - 1}{M}
#
# of them: ten for three variables and degree three, but 314 million for 40 variables and degree eight.

cubes = MonomialFeatures(3, exactly=True).fit(np.ones((1, 3)))
print(cubes.get_feature_names_out(["x1", "x2", "x3"]).tolist())
print(f"{MonomialFeatures(8, exactly=True).count(40):,} of degree 8, {MonomialFeatures(8).count(40):,} up to it")
assert len(cubes.get_feature_names_out()) == comb(3 + 3 - 1, 3) == 10
assert MonomialFeatures(8, exactly=True).count(40) == comb(47, 8) == 314_457_495

# %%
# So many features bring two troubles. The first is overfitting, and a penalty on :math:`\|w\|^2` cures it. (Least
# squares leaves the picture where there are no rows to hold it.)

x = np.sort(rng.uniform(-1, 1, (20, 1)), axis=0)
wave = np.sin(3 * x[:, 0]) + rng.normal(scale=0.2, size=20)
free = make_pipeline(MonomialFeatures(15, include_bias=False), LinearRegression()).fit(x, wave)
held = make_pipeline(MonomialFeatures(15, include_bias=False), Ridge(alpha=1e-2)).fit(x, wave)
new = np.linspace(-1, 1, 300)[:, None]
error = {m: np.sqrt(np.mean((m.predict(new) - np.sin(3 * new[:, 0])) ** 2)) for m in (free, held)}
print(f"error against the truth: without a penalty {error[free]:.2f}, with one {error[held]:.2f}")
assert error[held] < 0.25 < 0.5 < error[free]

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.plot(x, wave, "o", color="C3", ms=4, label="20 rows")
ax.plot(new, np.sin(3 * new), color="C2", label="truth")
ax.plot(new, free.predict(new), "C1--", label="least squares")
ax.plot(new, held.predict(new), "C0", label="ridge, $\\alpha = 0.01$")
ax.set(ylim=(-2.2, 2.2), xlabel="x", ylabel="y", title="degree 15: a penalty tames 15 powers of x")
ax.legend(fontsize=8, ncols=2)
plt.show()

# %%
# The kernel trick
# ----------------
#
# The second trouble is the cost, and kernels cure that. With well-chosen coefficients the inner product of all
# monomials is a power of the inner product of the inputs:
#
# .. math::
#
#    \psi(x) = (1, \sqrt{2} x_1, \sqrt{2} x_2, x_1^2, \sqrt{2} x_1 x_2, x_2^2)
#    \quad\Rightarrow\quad \psi(x)^\top \psi(x') = (1 + x^\top x')^2 .


def psi(x):
    x1, x2 = x.T
    root = np.sqrt(2)
    return np.column_stack([np.ones(len(x)), root * x1, root * x2, x1**2, root * x1 * x2, x2**2])


K_by_features = psi(X) @ psi(X).T
K_by_trick = (1 + X @ X.T) ** 2
K = kernels.Polynomial(degree=2)(X)
np.testing.assert_allclose(K, K_by_features)
np.testing.assert_allclose(K, K_by_trick)

# %%
# A method is *kernelized* when inputs enter it only through such inner products, in the fit and in the prediction. The
# dual of the support vector machine is one:
#
# .. math::
#
#    \max_{0 \le \alpha_i \le c/n} \; \sum_i \alpha_i
#    - \frac{1}{2} \sum_{i,j} \alpha_i \alpha_j y_i y_j\, k(x_i, x_j) , \qquad \sum_i \alpha_i y_i = 0 ,
#
# .. math::
#
#    f(x) = \sum_i \alpha_i y_i\, k(x_i, x) + b .
#
# The machine on the features and the machine on the kernel are the same function. ``scaling="mean"`` is the lecture's
# :math:`c/n`; scikit-learn's ``C`` is the price of a row.

c = 100.0
on_features = SVC(C=c, scaling="mean", kernel="linear", tol=1e-8).fit(psi(X), y)
on_kernel = SVC(C=c, scaling="mean", kernel=kernels.Polynomial(degree=2), tol=1e-8).fit(X, y)
np.testing.assert_allclose(on_kernel.decision_function(X), on_features.decision_function(psi(X)), atol=1e-4)
by_hand = kernels.Polynomial(degree=2)(X, X[on_kernel.support_]) @ on_kernel.dual_coef_[0] + on_kernel.intercept_
np.testing.assert_allclose(on_kernel.decision_function(X), by_hand)
print(f"{len(on_kernel.support_)} of {len(X)} rows are support vectors;", on_kernel.certificate_.sentence)

moons, halves = make_moons(100, noise=0.12, random_state=0)
pictures = {
    "$(1 + x^\\top x')^2$: a conic section": (kernels.Polynomial(degree=2), X, y),
    "RBF, σ = 0.5: any smooth curve": (kernels.RBF(sigma=0.5), moons, halves),
}
figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for ax, (title, (kernel, rows, labels)) in zip(axes, pictures.items(), strict=True):
    machine = SVC(C=c, scaling="mean", kernel=kernel).fit(rows, labels)
    across, up = (np.linspace(side.min() - 0.3, side.max() + 0.3, 120) for side in rows.T)
    f = machine.decision_function(np.array(np.meshgrid(across, up)).reshape(2, -1).T).reshape(120, 120)
    ax.contourf(across, up, f, levels=[-np.inf, 0, np.inf], colors=["C4", "#FFD9B3"], alpha=0.5)
    ax.contour(across, up, f, levels=[-1, 0, 1], colors="k", linestyles=["--", "-", "--"], linewidths=1)
    ax.plot(*rows[labels == 0].T, "o", color="C0", ms=4)
    ax.plot(*rows[labels == 1].T, "s", color="C1", ms=4)
    ax.plot(*rows[machine.support_].T, "o", mfc="none", mec="k", ms=9)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", title=title)
plt.show()

# %%
# Circles mark the support vectors, the only rows that the prediction needs; dashed lines are the margins
# :math:`f = \pm 1`.
#
# Which functions are kernels?
# ----------------------------
#
# A symmetric matrix :math:`M` is positive semidefinite when :math:`x^\top M x \ge 0` for all :math:`x`; equivalently
# :math:`M = R^\top R` for some :math:`R`; equivalently it has no negative eigenvalue. Mercer's theorem says that
# :math:`k` is an inner product of features exactly when every matrix :math:`(k(x_i, x_j))` is such. A similarity
# that is no kernel is refuted by a single vector.

some = X[:12]
verdict = kernels.check_matrix(kernels.RBF(sigma=0.5)(some))
np.testing.assert_allclose(verdict.factor.T @ verdict.factor, kernels.RBF(sigma=0.5)(some), atol=1e-12)
distance = kernels.FromFunction(lambda x, z: -float(np.sum((x - z) ** 2)))
refuted = kernels.check_positive_definite(distance, some)
v = refuted.violation
print(f"RBF: {verdict.holds};  minus the squared distance: {refuted.holds}, for vᵀKv = {v @ distance(some) @ v:.2f}")
assert verdict.holds
assert v @ distance(some) @ v < 0

# %%
# New kernels come from old ones by rules that keep this property: multiples, sums, products, a map before the kernel,
# and :math:`f(x) f(x')`. The operators of Python are these rules, and what breaks them is refused.

linear, square = kernels.Linear(), kernels.Polynomial(degree=2, constant=0)
new_kernel = 3 * linear + square * kernels.RBF(sigma=1.0)
distances = np.square(some[:, None] - some).sum(axis=2)
np.testing.assert_allclose(
    new_kernel(some), 3 * some @ some.T + (some @ some.T) ** 2 * np.exp(-distances / 2), atol=1e-12
)
print(kernels.check_positive_definite(new_kernel, some).kind)
try:
    difference = linear - square
except ValueError as refusal:
    print(refusal)

# %%
# Quadratic and Gaussian kernels
# ------------------------------
#
# .. admonition:: Erratum
#
#    The quadratic kernel :math:`\langle x, x' \rangle + \langle x, x' \rangle^2` has the features :math:`x_i`,
#    :math:`x_i^2` and :math:`\sqrt{2} x_i x_j`. These are :math:`2d + \binom{d}{2}`; the lecture prints
#    :math:`d + \binom{d}{2}`.

for d in (2, 3, 10):
    assert kernels.Quadratic().feature_map(d).n_features == 2 * d + comb(d, 2)
np.testing.assert_allclose(kernels.Quadratic()(X), X @ X.T + (X @ X.T) ** 2)

# %%
# The Gaussian or RBF kernel is a similarity that falls with the distance. In one dimension it is the inner product of
# infinitely many features:
#
# .. math::
#
#    \exp\left(-\frac{(x - x')^2}{2\sigma^2}\right) = \sum_{m=0}^{\infty} \psi_m(x)\, \psi_m(x'), \qquad
#    \psi_m(x) = e^{-x^2 / 2\sigma^2} \frac{(x/\sigma)^m}{\sqrt{m!}} .


def first_features(x, many):
    return np.column_stack([np.exp(-(x**2) / 2) * x**m / sqrt(factorial(m)) for m in range(many)])


points, centre = np.linspace(-4, 4, 200), np.array([1.5])
whole = kernels.RBF(sigma=1.0)(points[:, None], centre[:, None])[:, 0]

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for many, style in ((1, "C2:"), (3, "C1--"), (6, "C5-."), (25, "C0")):
    partial = (first_features(points, many) @ first_features(centre, many).T)[:, 0]
    ax.plot(points, partial, style, label=f"{many} features: off by {np.abs(partial - whole).max():.0e}")
assert np.abs(partial - whole).max() < 1e-6
ax.plot(points, whole, "k", lw=5, alpha=0.15, label="the kernel")
ax.set(xlabel="x", ylabel="k(x, 1.5)", title="an RBF kernel is a sum of infinitely many features")
ax.legend(fontsize=8)
plt.show()

# %%
# Solutions in the span of the data
# ---------------------------------
#
# Why do inner products suffice? Because the best :math:`w` is a combination of the rows. For the support vector
# machine it is :math:`w = \sum_i \alpha_i y_i \psi(x_i)`; the residuals give it for ridge regression:
#
# .. math::
#
#    w = X^\top \alpha, \qquad \alpha = \frac{1}{\lambda} (y - X w) = (K + \lambda I)^{-1} y .

w = psi(X)[on_features.support_].T @ on_features.dual_coef_[0]
np.testing.assert_allclose(w, on_features.coef_[0], atol=1e-10)

target, lam = X[:, 0] * X[:, 1], 0.5
ridge = Ridge(alpha=lam, fit_intercept=False).fit(psi(X), target)
alpha = (target - psi(X) @ ridge.coef_) / lam
dual = KernelRidge(alpha=lam, kernel=kernels.Polynomial(degree=2)).fit(X, target)
np.testing.assert_allclose(psi(X).T @ alpha, ridge.coef_, atol=1e-10)
np.testing.assert_allclose(dual.dual_coef_, alpha, atol=1e-8)
np.testing.assert_allclose(dual.predict(X), ridge.predict(psi(X)), atol=1e-8)

# %%
# .. admonition:: Errata
#
#    With the mean of squares, :math:`\frac{1}{n} \sum_i (w^\top x_i - y_i)^2 + \lambda \|w\|^2`, the solution is
#    :math:`(X^\top X + n \lambda I)^{-1} X^\top y`. The printed form, without :math:`n`, belongs to the sum.
#
#    The printed support vector machine has no intercept, and its dual the constraint :math:`\sum_i \alpha_i y_i = 0`.
#    The two do not go together: the constraint *is* the intercept's derivative.

n = len(X)
w = Ridge(alpha=n * lam, fit_intercept=False).fit(X, target).coef_
gradient = 2 / n * X.T @ (X @ w - target) + 2 * lam * w
np.testing.assert_allclose(gradient, 0, atol=1e-12)

shifted = X + np.array([0.5, 0.2])
for intercept in (True, False):
    machine = SVC(C=c, scaling="mean", kernel="linear", fit_intercept=intercept, tol=1e-8).fit(shifted, y)
    print(f"fit_intercept={intercept}: Σαy = {machine.dual_coef_.sum():.4f}, b = {machine.intercept_[0]:.3f}")

# %%
# The representer theorem
# -----------------------
#
# Whatever has the form :math:`R(\|w\|) + L(\langle w, x_1 \rangle, \ldots, \langle w, x_n \rangle)` with an increasing
# :math:`R` has its optimum in the span of the rows, and can be kernelized. ``kernelize`` does so; a penalty that is no
# norm, such as the lasso's, is refused.

logistic = kernelize(LogisticRegression(C=10.0), kernels.RBF(sigma=0.5)).fit(X, y)
print(f"logistic regression on an RBF kernel: {logistic.score(X, y):.0%} of the rings")

# %%
# So the 377 million monomials up to degree eight can be fitted after all: through :math:`K`, with one number
# :math:`\alpha_i` for each of 150 rows. The rows lie on a plane in 40 dimensions and the target is a polynomial of
# degree eight, found again from rows that the model has not seen.

plane = np.linalg.qr(rng.normal(size=(40, 2)))[0].T
u = rng.uniform(-1, 1, size=(200, 2))
rows, target = u @ plane, 3 * u[:, 0] ** 5 * u[:, 1] ** 3 - u[:, 1] ** 8 + u[:, 0] ** 2
big = KernelRidge(alpha=1e-9, kernel=kernels.Polynomial(degree=8)).fit(rows[:150], target[:150])
worst = np.abs(big.predict(rows[150:]) - target[150:]).max()
print(f"{MonomialFeatures(8).count(40):,} features, {big.dual_coef_.size} coefficients, largest error {worst:.1e}")
assert worst < 1e-3
