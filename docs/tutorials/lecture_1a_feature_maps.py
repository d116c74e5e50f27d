r"""
Lecture 1a: feature maps
========================

Lecture 1 (M. Ren, *Kernels and probabilistic modelling*) begins with linear models that have to fit curves. A feature
map :math:`\phi` takes an input to a vector, and the model stays linear in that vector:

.. math::

   f(x) = w^\top \phi(x) + b .

This page shows what such maps are good for, and how many features they make. Kernels, which compute with features
without writing them down, are :doc:`lecture 1b <lecture_1b_kernels>`; probabilities are
:doc:`lecture 1c <lecture_1c_probabilistic_models>`.

In practice: :doc:`/guides/nonlinear`.
"""

from math import comb

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import BoundaryNorm
from sklearn.datasets import make_circles
from sklearn.pipeline import make_pipeline

from mercer import (
    BucketFeatures,
    CountVectorizer,
    LinearRegression,
    LinearThreshold,
    LogFeatures,
    MonomialFeatures,
    Ridge,
)

plt.style.use("tableau-colorblind10")
rng = np.random.default_rng(0)

# %%
# Feature extraction
# ------------------
#
# Texts, images and genes are not vectors of one length in which every entry has one meaning. A feature map turns them
# into such vectors. The simplest one for texts counts words.

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
# ``LinearThreshold`` is a linear classifier that ends with a proof: either a separating plane, or a certificate that
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
# Health falls when the temperature rises above 37 °C, and when it falls below. A line can express only one of the two.
# One may centre and square by hand, :math:`(t - 37)^2`; or add both features, :math:`\phi = (1, t, t^2)`,
# and let least squares find the 37: a parabola :math:`b\,t + c\,t^2` has its top at :math:`-b / 2c`.

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
# The hundredth buyer of a product is more informative than the ten thousandth. Either the logarithm flattens the
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
# The dashed lines are the raw features. On the left the line is flat; on the right it is pulled by the few products
# that sold a million times.
#
# Interacting features
# --------------------
#
# A weight matters only relative to the height. Robinson's rule gives an ideal weight in kilograms for
# a height in inches, and the squared distance from it can be multiplied out:
#
# .. math::
#
#    (52 + 1.9\,(h - 60) - w)^2 = 3.61\,h^2 - 3.8\,hw - 235.6\,h + w^2 + 124\,w + 3844 .
#
# This is not necessary: least squares on all monomials up to degree 2 finds the six numbers from examples.

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
# A monomial of degree exactly :math:`M` in :math:`d` variables is a row of :math:`M` stars between :math:`d - 1`
# bars, so there are
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
# Many features cause two problems. The first is overfitting, which a penalty on :math:`\|w\|^2` prevents. (Where there
# are no rows to hold it, the least-squares curve leaves the picture.)

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
# The second problem is the cost of 314 million columns, which :doc:`kernels <lecture_1b_kernels>` avoid.
