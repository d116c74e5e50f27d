r"""
Lecture 2a: threshold units and least mean squares
==================================================

Lecture 2 (H.-K. Pao, *Linear models*) has three ways to a linear classifier: learn the boundary itself, learn
:math:`P(y \mid x)`, or learn :math:`P(x, y)`. This page has the first, from linear regression to what goes wrong when a
classifier is fitted by squares. The other two are in :doc:`lecture 2b <lecture_2b_logistic_and_discriminants>`.

In practice: :doc:`/generated/gallery/four_learning_rules`.
"""

import itertools
import warnings

import matplotlib.pyplot as plt
import numpy as np

from mercer import LinearDiscriminantAnalysis, LinearRegression, LinearThreshold

plt.style.use("tableau-colorblind10")
rng = np.random.default_rng(1)


def with_ones(X):
    return np.column_stack([np.ones(len(X)), X])


# %%
# Linear regression, in one step and in many
# ------------------------------------------
#
# The squared error :math:`E(w) = \frac{1}{2} \sum_i (y_i - w \cdot x_i)^2` has the gradient
# :math:`A^\top A w - A^\top y`, where the rows of :math:`A` are the inputs. One can solve
#
# .. math::
#
#    A^\top A\, w = A^\top y
#
# at once, which is Newton's method since the second derivative is :math:`A^\top A` everywhere; or go downhill,
# :math:`w \leftarrow w + \alpha A^\top (y - A w)`; or go downhill in directions that do not undo each other, by
# conjugate gradients.

X = rng.normal(size=(200, 6)) * [1, 0.5, 0.7, 1, 0.4, 0.6]
y = X @ rng.normal(size=6) + 0.5 * rng.normal(size=200)
A = with_ones(X)
exact = np.linalg.lstsq(A, y)[0]
model = LinearRegression().fit(X, y)
np.testing.assert_allclose([model.intercept_, *model.coef_], exact)

H, b = A.T @ A, A.T @ y
w = np.zeros(7)
newton = [np.linalg.norm(w - exact), np.linalg.norm(w - np.linalg.solve(H, H @ w - b) - exact)]
alpha = 1 / np.linalg.eigvalsh(H)[-1]
w, descent = np.zeros(7), []
for _ in range(60):
    descent.append(np.linalg.norm(w - exact))
    w = w + alpha * A.T @ (y - A @ w)

w, conjugate = np.zeros(7), []
residual = direction = b - H @ w
for _ in range(9):
    conjugate.append(np.linalg.norm(w - exact))
    step = residual @ residual / (direction @ H @ direction)
    w, last, residual = w + step * direction, residual, residual - step * H @ direction
    direction = residual + (residual @ residual) / (last @ last) * direction
assert conjugate[7] < 1e-10  # as many steps as there are weights
assert descent[7] > 1e-2

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.semilogy(descent, "C1--", label="gradient descent")
ax.semilogy(conjugate[:8], "C0o-", ms=4, label="conjugate gradients")
ax.semilogy(newton, "C3s:", ms=4, label="Newton")
ax.set(xlabel="steps", ylabel="distance from the optimum", title="seven weights: 1 Newton step, 7 conjugate, or many")
ax.legend(fontsize=8)
plt.show()

# %%
# Linear threshold units
# ----------------------
#
# A threshold unit answers 1 where :math:`u = w \cdot x \ge 0` (with :math:`x_0 = 1`) and 0 elsewhere. Over Boolean
# inputs it expresses conjunctions and at-least-m-of-n:
#
# .. math::
#
#    x_1 \wedge x_3 \wedge x_4: \; x_1 + x_3 + x_4 \ge 3, \qquad
#    x_1 \wedge \neg x_3 \wedge x_4: \; x_1 - x_3 + x_4 \ge 2 .
#
# .. admonition:: Erratum
#
#    The lecture says that :math:`(x_1 \wedge x_3) \vee (x_3 \wedge x_4)` is beyond such a unit. It is not:
#    :math:`x_1 + 2 x_3 + x_4 \ge 3`. Beyond it are the exclusive or, and
#    :math:`(x_1 \wedge x_2) \vee (x_3 \wedge x_4)`.

corners = np.array(list(itertools.product([0, 1], repeat=4)))
x1, x2, x3, x4 = corners.T.astype(bool)
assert ((corners @ [1, 0, 2, 1] >= 3) == ((x1 & x3) | (x3 & x4))).all()
functions = {
    "x1 ∧ x3 ∧ x4": x1 & x3 & x4,
    "x1 ∧ ¬x3 ∧ x4": x1 & ~x3 & x4,
    "2 of x1, x2, x4": corners[:, [0, 1, 3]].sum(axis=1) >= 2,
    "(x1 ∧ x3) ∨ (x3 ∧ x4)": (x1 & x3) | (x3 & x4),
    "x1 xor x2": x1 ^ x2,
    "(x1 ∧ x2) ∨ (x3 ∧ x4)": (x1 & x2) | (x3 & x4),
}
for name, truth in functions.items():
    unit = LinearThreshold("perceptron").fit(corners, truth)
    print(f"{name:>22}: {unit.score(corners, truth):6.1%}, {unit.certificate_.kind}")

# %%
# The perceptron rule, which finds these weights, never stops where there are none. ``LinearThreshold`` stops
# there with a proof that can be checked by hand: weights under which the rows of both classes have the same mean, so
# that no line lies between them.

xor = functions["x1 xor x2"]
unit = LinearThreshold("perceptron").fit(corners, xor)
weights = unit.separations_[0].multipliers
means = [np.average(corners[xor == c], axis=0, weights=weights[xor == c]) for c in (False, True)]
print("the mean of some corners with 0:", means[0].round(3), "and with 1:", means[1].round(3))
np.testing.assert_allclose(means[0], means[1], atol=1e-8)

figure, ax = plt.subplots(figsize=(4, 3.2), layout="constrained")
ax.plot([0, 1], [0, 1], "C5s-", ms=9, label="0")
ax.plot([0, 1], [1, 0], "C0o-", ms=9, label="1")
ax.plot(*means[0][:2], "kx", ms=9, mew=2, label="mean of both")
ax.set(xlabel="$x_1$", ylabel="$x_2$", title="exclusive or: the classes cross")
ax.legend(fontsize=8, loc="upper center")
plt.show()

# %%
# Least mean squares
# ------------------
#
# The number of mistakes is piecewise constant in :math:`w`: it has no slope to follow. Squares do. The gradient for
# one row gives the rule of Widrow and Hoff:
#
# .. math::
#
#    w \leftarrow w + \alpha\, (y - w \cdot x)\, x .
#
# The lecture's three points are (1, 1) and (½, 3) of class 1, and (2, 2) of class 0.
#
# .. admonition:: Erratum
#
#    Targets 0 and 1 do not go with a threshold at 0. Least squares gives :math:`u = 2 - 0.8 x_1 - 0.2 x_2`, so that
#    :math:`u(2, 2) = 0`, which the unit calls class 1. With targets :math:`-1` and :math:`+1`, or a threshold at
#    :math:`\frac{1}{2}`, it is right.

points, classes = np.array([[1.0, 1.0], [0.5, 3.0], [2.0, 2.0]]), np.array([1, 1, 0])
printed = np.linalg.solve(with_ones(points), classes)
print("targets 0, 1: ", printed.round(3), " u =", (with_ones(points) @ printed).round(3) + 0.0)
np.testing.assert_allclose(printed, [2, -0.8, -0.2])
unit = LinearThreshold("lms", tol=1e-7, max_iter=5000).fit(points, classes)
print(
    "targets -1, 1:", np.append(unit.intercept_, unit.coef_).round(3), " u =", unit.decision_function(points).round(3)
)
np.testing.assert_allclose(unit.decision_function(points), [1, 1, -1], atol=1e-5)
assert (unit.predict(points) == classes).all()

side = np.linspace(-0.5, 3.5, 100)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for ax, offset, title in ((axes[0], 0.0, "u ≥ 0: (2, 2) lies on the line"), (axes[1], 0.5, "u ≥ ½, or targets ±1")):
    u = printed[0] + printed[1] * side + printed[2] * side[:, None]
    ax.contourf(side, side, u - offset, levels=[-9, 0, 9], colors=["#FFD9B3", "C4"], alpha=0.6)
    ax.plot(*points[classes == 1].T, "o", color="C0", ms=7, label="class 1")
    ax.plot(*points[classes == 0].T, "s", color="C5", ms=7, label="class 0")
    ax.set(xlabel="$x_1$", ylabel="$x_2$", title=title)
axes[0].legend(fontsize=8, loc="lower left")
plt.show()

# %%
# The ground is blue where the unit answers 1.
#
# .. admonition:: Erratum
#
#    On the truth tables of :math:`x_1 \wedge x_3 \wedge x_4` and :math:`x_1 \wedge \neg x_3 \wedge x_4` least mean
#    squares puts the one positive corner exactly on the threshold: :math:`u = 0`, and rounding decides. It has not
#    learnt them.

for name in ("x1 ∧ x3 ∧ x4", "x1 ∧ ¬x3 ∧ x4"):
    truth = functions[name]
    u = LinearThreshold("lms", tol=1e-12, max_iter=5000).fit(corners, truth).decision_function(corners)
    print(f"{name:>14}: u = {u[truth][0]:+.0e} at the corner, {u[~truth].max():+.2f} or less elsewhere")
    np.testing.assert_allclose(u[truth], 0, atol=1e-9)

# %%
# Mistakes have no slope, squares do
# ----------------------------------
#
# Here is one weight of a unit, moved from side to side: the share of mistakes jumps and is flat between its jumps,
# while the mean of squares is a parabola.

x = rng.normal(size=30)
label = (x + 0.6 * rng.normal(size=30) > 0.2).astype(int)
thresholds = np.linspace(-2, 2, 400)
mistakes = [np.mean((x >= at) != label) for at in thresholds]
squares = [np.mean((x - at - (2 * label - 1)) ** 2) for at in thresholds]

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(thresholds, mistakes, "C0", label="share of mistakes")
ax.plot(thresholds, squares, "C1--", label="mean of squares")
ax.set(xlabel="threshold", ylabel="loss", ylim=(0, 2), title="only the squares have a slope to follow")
ax.legend(fontsize=8)
plt.show()

# %%
# Batch descent, and how fast it may go
# -------------------------------------
#
# A batch step sums the rule over all rows. It converges, on any data, exactly when
#
# .. math::
#
#    \alpha < \frac{2}{\lambda_{\max}(X^\top X)} .
#
# A step after every row is faster at first, since a pass makes many of them, and then circles around the optimum, since
# each row pulls its own way. A decreasing rate prevents this.

X = rng.normal(size=(400, 5))
y = (X[:, 0] - X[:, 1] + rng.normal(size=400) > 0).astype(int)
X = X * [1.0, 0.4, 1.0, 1.0, 0.4]
limit = 2 / np.linalg.eigvalsh(with_ones(X).T @ with_ones(X))[-1]
below = LinearThreshold("lms", rate=0.99 * limit, max_iter=5000).fit(X, y)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    LinearThreshold("lms", rate=1.01 * limit, max_iter=5000).fit(X, y)
print(caught[0].message)
assert below.certificate_.holds

A, target = with_ones(X), 2.0 * y - 1
least = np.square(target - A @ np.linalg.lstsq(A, target)[0]).sum()
ways = {
    "batch": {},
    "incremental, constant rate": {"mode": "incremental", "rate": 0.02},
    "incremental, falling rate": {"mode": "incremental", "rate": 0.02, "decay": 1.0},
}
figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
excess = {}
for (name, how), style in zip(ways.items(), ("C3-", "C1--", "C0-"), strict=True):
    trace = LinearThreshold("lms", tol=None, max_iter=100, **how).fit(X, y).trace_
    weights = np.column_stack([trace.intercepts[:, 0], trace.coefficients[:, 0]])
    excess[name] = np.square(target - weights @ A.T).sum(axis=1) / least - 1
    ax.loglog(np.arange(1, 1 + len(weights)), np.maximum(excess[name], 1e-12), style, label=name)
ax.set(xlabel="passes over the rows", ylabel="squares above the least", ylim=(1e-9, 1))
ax.set_title("row by row is fast at first, then circles")
ax.legend(fontsize=8)
plt.show()

assert excess["incremental, constant rate"][0] < 0.5 * excess["batch"][0]
assert excess["incremental, falling rate"][-1] < 0.1 * excess["incremental, constant rate"][-1]

# %%
# More than two classes
# ---------------------
#
# One unit for each class against all others, and the largest :math:`u` decides. When three classes lie in a row, the
# unit of the middle one has no slope to find: its class is high in the middle and low at *both* ends. The others hide
# it. Linear discriminant analysis, on the next page, does not have this problem.

y = np.repeat([0, 1, 2], 100)
X = rng.normal(scale=0.5, size=(300, 2)) + 4.0 * (y[:, None] - 1)
lms, lda = LinearThreshold("lms", tol=1e-6).fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
for name, model in (("LMS", lms), ("LDA", lda)):
    print(f"{name}: {np.mean(model.predict(X)[y == 1] == 1):.0%} of the middle class are found")
assert lda.score(X, y) == 1

side = np.linspace(-6, 6, 200)
grid = np.array(np.meshgrid(side, side)).reshape(2, -1).T
figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained", sharey=True)
for ax, model, title in ((axes[0], lms, "least squares hides the middle class"), (axes[1], lda, "LDA does not")):
    ax.contourf(
        side,
        side,
        model.predict(grid).reshape(200, 200),
        levels=[-1, 0.5, 1.5, 3],
        colors=["C4", "C2", "#FFD9B3"],
        alpha=0.6,
    )
    for k, style in enumerate(("C0o", "C3^", "C1s")):
        ax.plot(*X[y == k].T, style, ms=3, label=f"class {k}")
    ax.set(xlabel="$x_1$", title=title, aspect="equal")
axes[0].set_ylabel("$x_2$")
axes[0].legend(fontsize=8)
plt.show()

# %%
# Correct rows that move the line
# -------------------------------
#
# Least squares aims at :math:`u = 1`, not :math:`u \ge 0`, for a row of class 1. A row far on the correct side counts
# as an error. Add one row at 1.5, then five, all of which the first line already classifies correctly: its threshold
# moves. The threshold of the logistic rule hardly moves, and that of the perceptron not at all.

base = np.concatenate([np.linspace(0.0, 0.4, 5), np.linspace(0.6, 1.0, 5)])
rules = {
    "lms": {"tol": 1e-8, "max_iter": 5000},
    "logistic": {"rate": 1.0, "tol": None, "max_iter": 2000},
    "perceptron": {"mode": "incremental", "shuffle": False},
}
cuts = {}
for rule, how in rules.items():
    for extra in (0, 1, 5):
        x = np.append(base, np.full(extra, 1.5))[:, None]
        unit = LinearThreshold(rule, **how).fit(x, x[:, 0] > 0.5)
        cuts[rule, extra] = -unit.intercept_[0] / unit.coef_[0, 0]
    print(f"{rule:>10}:", *(f"{cuts[rule, extra]:.3f}" for extra in (0, 1, 5)))
assert cuts["lms", 5] > 0.57
assert cuts["perceptron", 5] == cuts["perceptron", 0]

figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
x = np.append(base, 1.5)
ax.plot(x, np.where(x > 0.5, 1, -1), "o", color="C3")
for extra, style in ((0, "C0-"), (1, "C5-."), (5, "C1--")):
    x = np.append(base, np.full(extra, 1.5))
    slope, start = np.polyfit(x, np.where(x > 0.5, 1, -1), 1)
    ax.plot([-0.1, 1.6], [start - 0.1 * slope, start + 1.6 * slope], style, label=f"{extra} rows at 1.5")
    np.testing.assert_allclose(-start / slope, cuts["lms", extra], atol=1e-5)
ax.axhline(0, color="k", lw=0.6)
ax.set(xlabel="x", ylabel="target and u", title="rows on the correct side tilt the least-squares line")
ax.legend(fontsize=8)
plt.show()

# %%
# The remedy is a loss that vanishes for rows far on the correct side: lecture 2b.
