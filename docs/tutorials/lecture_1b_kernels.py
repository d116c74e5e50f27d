r"""
Lecture 1b: kernels
===================

Lecture 1 (M. Ren, *Kernels and probabilistic modelling*), after :doc:`feature maps <lecture_1a_feature_maps>`. A
kernel is the inner product of two inputs' features,

.. math::

   k(x, x') = \langle \psi(x), \psi(x') \rangle ,

and often far cheaper than the features. A method that needs inputs only in such products can use any kernel.

In practice: :doc:`/guides/large-kernels`.
"""

from math import comb, factorial, sqrt

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons

from mercer import SVC, KernelRidge, Lasso, LogisticRegression, MonomialFeatures, Perceptron, Ridge, kernelize, kernels

plt.style.use("tableau-colorblind10")
rng = np.random.default_rng(0)
X, y = make_circles(100, noise=0.05, factor=0.5, random_state=0)

# %%
# The kernel trick
# ----------------
#
# With well-chosen coefficients the inner product of all monomials is a power of the inner product of the inputs:
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
# A method is *kernelized* when inputs enter it only through such inner products, in the fit and in the prediction.
# The dual of the support vector machine is one:
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
# :math:`k` is an inner product of features exactly when every matrix :math:`(k(x_i, x_j))` is such. If a similarity is
# not a kernel, a single vector proves it.

some = X[:12]
verdict = kernels.check_matrix(kernels.RBF(sigma=0.5)(some))
np.testing.assert_allclose(verdict.factor.T @ verdict.factor, kernels.RBF(sigma=0.5)(some), atol=1e-12)
distance = kernels.FromFunction(lambda x, z: -float(np.sum((x - z) ** 2)))
refuted = kernels.check_positive_definite(distance, some)
v = refuted.violation
print(f"RBF: {verdict.holds};  minus the squared distance: {refuted.holds}, for vᵀKv = {v @ distance(some) @ v:.2f}")
assert verdict.holds
assert v @ distance(some) @ v < 0

figure, axes = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
matrices = {
    "RBF: no eigenvalue is below 0": kernels.RBF(sigma=0.5)(some),
    "minus the squared distance: one is below": distance(some),
}
for ax, (title, matrix) in zip(axes, matrices.items(), strict=True):
    eigenvalues = np.linalg.eigvalsh(matrix)[::-1]
    ax.bar(range(1, 13), eigenvalues, color=np.where(eigenvalues < 0, "C1", "C0"))
    ax.axhline(0, color="k", lw=0.6)
    ax.set(xlabel="number", ylabel="eigenvalue", title=title)
plt.show()

# %%
# New kernels come from old ones by rules that keep this property: multiples, sums, products, a map before the kernel,
# and :math:`f(x) f(x')`. The operators of Python are these rules; a composition that breaks them raises an error.

linear, square = kernels.Linear(), kernels.Polynomial(degree=2, constant=0)
new_kernel = 3 * linear + square * kernels.RBF(sigma=1.0)
distances = np.square(some[:, None] - some).sum(axis=2)
np.testing.assert_allclose(
    new_kernel(some), 3 * some @ some.T + (some @ some.T) ** 2 * np.exp(-distances / 2), atol=1e-12
)
print(kernels.check_positive_definite(new_kernel, some).kind)
try:
    difference = linear - square
except ValueError as error:
    print(error)

# %%
# A map before the kernel, :math:`k(\phi(x), \phi(x'))`, and one feature of one's own, :math:`f(x) f(x')`:


def in_polar(x):
    return np.array([np.hypot(*x), np.arctan2(x[1], x[0])])


np.testing.assert_allclose(linear.of(in_polar)(some)[0, 1], in_polar(some[0]) @ in_polar(some[1]))
np.testing.assert_allclose(kernels.OneDimensional(np.sum)(some)[0, 1], some[0].sum() * some[1].sum())

# %%
# Similarities without features in mind
# -------------------------------------
#
# A kernel need not start from vectors. The spectrum kernel compares texts, or genes, by the substrings that they
# share; there are also kernels for graphs. Divided by :math:`\sqrt{k(x, x)\, k(x', x')}`, it is 1 for two texts with
# the same substrings.

genes = ["GATTACAGATTACA", "GATTAGATTACCA", "ATTACAGATT", "CCGGCCGCGG", "CGCGGCCGG", "GGCCGCGCC"]
spectrum = kernels.Spectrum(length=3)


def triples(gene):
    return [gene[i : i + 3] for i in range(len(gene) - 2)]


shared = sum(a == b for a in triples(genes[0]) for b in triples(genes[1]))
assert spectrum(genes)[0, 1] == shared
print(f"{genes[0]} and {genes[1]} share {shared} pairs of equal triples")

figure, ax = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
picture = ax.imshow(spectrum.normalised()(genes), cmap="cividis", vmin=0, vmax=1)
ax.set_xticks(range(6), range(1, 7))
ax.set_yticks(range(6), genes, family="monospace")
ax.set(xlabel="gene", title="two families of genes, by shared triples")
figure.colorbar(picture, label="similarity")
plt.show()

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
    off = np.abs(partial - whole).max()
    ax.plot(points, partial, style, label=f"{many} feature{'s' * (many > 1)}: off by {off:.1g}")
assert off < 1e-6  # of the last, with 25
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
# Whatever has the form :math:`R(\|w\|) + L(\langle w, x_1 \rangle, \ldots, \langle w, x_n \rangle)` with an
# increasing :math:`R` of the Euclidean norm has its optimum in the span of the rows, and can be kernelized.
# ``kernelize`` does so. The penalty of the lasso is a sum of absolute values, not a function of :math:`\|w\|`, so that
# ``kernelize`` raises an error.

logistic = kernelize(LogisticRegression(C=10.0), kernels.RBF(sigma=0.5)).fit(X, y)
print(f"logistic regression on an RBF kernel: {logistic.score(X, y):.0%} of the rings")
try:
    kernelize(Lasso(), "rbf")
except TypeError as error:
    print(error)

# %%
# The perceptron is the simplest case. Every mistake adds a row to :math:`w` or takes one away, so its :math:`\alpha`
# are integers: the number of mistakes on each row.

perceptron = kernelize(Perceptron(shuffle=False), kernels.Polynomial(degree=2)).fit(X, y)
explicit = Perceptron(shuffle=False).fit(psi(X), y)
np.testing.assert_array_equal(perceptron.dual_coef_, np.round(perceptron.dual_coef_))
np.testing.assert_allclose(psi(X).T @ perceptron.dual_coef_, explicit.coef_[0], atol=1e-9)

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

figure, ax = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
ax.plot([-3, 3], [-3, 3], color="C2")
ax.plot(target[150:], big.predict(rows[150:]), "o", color="C0", ms=4)
ax.set(xlabel="y of 50 new rows", ylabel="predicted", title="377,348,994 monomials,\nfitted by 150 numbers")
ax.set(xlim=(target.min(), target.max()), ylim=(target.min(), target.max()))
plt.show()
