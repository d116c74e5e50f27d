r"""
Lecture 5a: support vector regression and kernels by features
=============================================================

Lecture 5 (M. Straka, 2020) begins with a regression that ignores small errors, and whose solution depends
on a few rows. It then uses kernels with too many rows for a kernel matrix, by
features :math:`\psi(x)` whose inner products come close to it, either cosines of random frequencies or similarities
to some of the rows.

In practice: :doc:`/guides/large-kernels`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from mercer import SVR, LogisticRegression, Nystroem, RBFSampler
from mercer.kernels import RBF

# colours that colour-blind readers tell apart, too
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"

# %%
# A loss that forgives small errors
# ---------------------------------
# The loss is zero within :math:`\varepsilon` of the target :math:`t`, and grows like the absolute error beyond:
#
# .. math:: L_\varepsilon(t, y) = \max(0, |y - t| - \varepsilon)
#
# SVR minimises :math:`C \sum_i L_\varepsilon(t_i, y(x_i)) + \frac{1}{2} \|w\|^2`. With :math:`w` in the feature space
# of a kernel, only the dual problem can be written down. It has two prices per row:
#
# .. math::
#    \max_{a^+, a^-} \; \sum_i (a_i^+ - a_i^-) t_i - \varepsilon \sum_i (a_i^+ + a_i^-)
#    - \frac{1}{2} \sum_{i,j} (a_i^+ - a_i^-)(a_j^+ - a_j^-) K(x_i, x_j)
#
# under :math:`0 \leq a_i^+, a_i^- \leq C` and :math:`\sum_i (a_i^+ - a_i^-) = 0`. Twenty-four rows are few enough for
# a general method (SLSQP). mercer's own solver is for many rows, and returns a proof with the answer: the primal and
# dual objectives, which meet only at the optimum.

rng = np.random.default_rng(3)
n, C, epsilon = 24, 2.0, 0.2
x = np.sort(rng.uniform(0, 6, n))
t = np.sin(x) + 0.25 * rng.normal(size=n)
kernel = RBF(gamma=0.5)
K = kernel(x[:, None])
assert np.allclose(K, np.exp(-0.5 * (x[:, None] - x) ** 2))

sign = np.repeat([1.0, -1.0], n)  # of a⁺, then of a⁻


def dual(a):
    beta = a[:n] - a[n:]
    return beta @ t - epsilon * a.sum() - beta @ K @ beta / 2


by_scipy = minimize(
    lambda a: -dual(a),
    np.zeros(2 * n),
    jac=lambda a: epsilon - sign * np.tile(t - K @ (a[:n] - a[n:]), 2),
    bounds=[(0, C)] * (2 * n),
    constraints={"type": "eq", "fun": lambda a: a @ sign, "jac": lambda a: sign},
    method="SLSQP",
    options={"ftol": 1e-14, "maxiter": 1000},
)
model = SVR(kernel=kernel, C=C, epsilon=epsilon, tol=1e-8).fit(x[:, None], t)
print("dual objective by SLSQP:", round(-by_scipy.fun, 6))
proof = model.certificate_
print(f"by mercer: dual {proof.dual:.6f}, primal {proof.primal:.6f}")
assert np.isclose(-by_scipy.fun, proof.dual, rtol=1e-5)
assert np.isclose(proof.primal, proof.dual, rtol=1e-6)

# %%
# **Which price is which?** The signs of the dual settle it: :math:`a_i^+` belongs to rows *above* the tube,
# :math:`t - y \geq \varepsilon`, and pulls the curve up; :math:`a_i^-` to rows below it,
# :math:`y - t \geq \varepsilon`. In the lecture's primal the slack :math:`\xi_i^-` is that of :math:`t - y`, so that
# the names there are crossed. No row has both, and the prediction needs their difference alone, ``dual_coef_``:
#
# .. math:: y(z) = \sum_i (a_i^+ - a_i^-) K(z, x_i) + b

plus, minus = np.zeros(n), np.zeros(n)
plus[model.support_], minus[model.support_] = model.a_plus_, model.a_minus_
above = t - model.predict(x[:, None])
assert np.all(plus * minus == 0)
assert np.all(above[plus > 0] >= epsilon - 1e-6)
assert np.all(above[minus > 0] <= -epsilon + 1e-6)
assert abs(np.sum(plus - minus)) < 1e-9
assert np.allclose(model.predict(x[:, None]), K @ (plus - minus) + model.intercept_[0])

line = np.linspace(-0.2, 6.2, 300)[:, None]
curve = model.predict(line)
fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.2), width_ratios=[1, 2], layout="constrained")
error = np.linspace(-1, 1, 201)
insensitive = np.maximum(0, np.abs(error) - epsilon)
axes[0].plot(error, insensitive, color=BLUE, label=r"$\varepsilon$-insensitive")
axes[0].plot(error, error**2, color=ORANGE, ls="--", label="squared")
axes[0].set(xlabel="y − t", ylabel="loss", title="Small errors cost nothing")
axes[0].legend(frameon=False, fontsize=8)
axes[1].fill_between(line[:, 0], curve - epsilon, curve + epsilon, color=BLUE, alpha=0.15, lw=0)
axes[1].plot(line, curve, color=BLUE)
for rows, mark, colour, name in [
    (plus > 0, "^", ORANGE, "$a^+ > 0$"),
    (minus > 0, "v", GREEN, "$a^- > 0$"),
    (plus + minus == 0, "o", GREY, "in the tube: no part in it"),
]:
    axes[1].plot(x[rows], t[rows], mark, color=colour, ms=5, label=name)
axes[1].set(xlabel="x", ylabel="t", ylim=(-1.6, 2.1))
axes[1].set_title("Support vectors lie on the tube or outside")
axes[1].legend(frameon=False, fontsize=8, ncols=3, loc="upper center")
plt.show()

# %%
# **The wider the tube, the fewer support vectors**, until it holds all targets and the curve is a constant.

widths = [0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6]
many_x = np.sort(rng.uniform(0, 6, 120))[:, None]
many_t = np.sin(many_x[:, 0]) + 0.25 * rng.normal(size=120)
models = [SVR(kernel=kernel, C=C, epsilon=e).fit(many_x, many_t) for e in widths]
support = [len(model.support_) for model in models]
print(dict(zip(widths, support, strict=True)))
assert support == sorted(support, reverse=True)
assert support[-1] == 0

fig, ax = plt.subplots(figsize=(5, 2.6), layout="constrained")
ax.plot(widths, support, "o-", color=BLUE)
ax.set(xlabel=r"$\varepsilon$", ylabel="support vectors", title="A wider tube needs fewer of 120 rows")
plt.show()

# %%
# Features in place of a kernel
# -----------------------------
# A kernel matrix has :math:`n^2` entries, and what is learnt is as large as the data. Linear models do not have this
# problem. So we look for :math:`M` features with :math:`\psi(x)^\top \psi(z) \approx K(x, z)`, and give them to a
# linear model.
#
# **Random Fourier features.** A kernel of the difference, :math:`k(x - z)`, is a mixture of waves: it is the mean of
# :math:`\cos(w^\top (x - z))` over frequencies :math:`w` drawn from its spectrum, which is its Fourier transform. For
# :math:`\exp(-\gamma \|x - z\|^2)` the spectrum is a normal distribution,
# :math:`w \sim \sqrt{2 \gamma} \, \mathcal{N}(0, I)`.

gamma = 0.5
assert RBF(gamma=gamma).spectrum(1).scale == np.sqrt(2 * gamma)
d, w = np.linspace(-12, 12, 2001), np.linspace(-4, 4, 9)
spectrum = np.trapezoid(np.exp(-gamma * d**2) * np.cos(np.outer(w, d)), d) / (2 * np.pi)
assert np.allclose(spectrum, norm.pdf(w, scale=np.sqrt(2 * gamma)))

away = np.linspace(-4, 4, 161)
exact = np.exp(-gamma * away**2)

fig, ax = plt.subplots(figsize=(5.5, 3), layout="constrained")
ax.plot(away, exact, color="black", lw=2, label="the kernel")
for M, colour, style in [(5, ORANGE, ":"), (50, GREEN, "--"), (2000, BLUE, "-")]:
    frequencies = np.sqrt(2 * gamma) * np.random.default_rng(0).normal(size=M)
    waves = np.cos(np.outer(away, frequencies))
    ax.plot(away, waves.mean(axis=1), color=colour, ls=style, label=f"mean of {M} waves")
ax.set(xlabel="x − z", ylabel="k(x − z)", title="A mean of enough random waves is the kernel")
ax.legend(frameon=False, fontsize=8)
plt.show()

# %%
# A wave of the difference is not yet a product of features of :math:`x` and of :math:`z`. A random offset makes it
# one: in
#
# .. math::
#    \sqrt{2} \cos(w^\top x + b) \, \sqrt{2} \cos(w^\top z + b) = \cos(w^\top (x - z)) + \cos(w^\top (x + z) + 2 b)
#
# the last term averages to zero over :math:`b \sim U[0, 2 \pi]` (over :math:`[0, \pi]` as well, as the lecture
# remarks).

u, v = 1.3, -0.4  # wᵀx and wᵀz
for upper in (2 * np.pi, np.pi):
    b = np.linspace(0, upper, 1000, endpoint=False)
    assert np.isclose(np.mean(2 * np.cos(u + b) * np.cos(v + b)), np.cos(u - v))

# %%
# With :math:`M` draws the features are :math:`\psi_i(x) = \sqrt{2 / M} \cos(w_i^\top x + b_i)`. These are the ones of
# :class:`mercer.RBFSampler`; the error of their inner products falls like :math:`1 / \sqrt{M}`.
# (:class:`mercer.RandomFourierFeatures` has the spectra of other kernels, and other ways to draw from them.)

rows = rng.normal(size=(200, 3))
sampler = RBFSampler(gamma=gamma, n_components=50, random_state=0).fit(rows)
psi = np.sqrt(2 / 50) * np.cos(rows @ sampler.random_weights_ + sampler.random_offset_)
assert np.allclose(sampler.transform(rows), psi)

K = RBF(gamma=gamma)(rows)
sizes = np.array([25, 100, 400, 1600, 6400])


def rms_error(features):
    return np.sqrt(np.mean((features @ features.T - K) ** 2))


def fourier_error(M, seed):
    sampler = RBFSampler(gamma=gamma, n_components=M, random_state=seed)
    return rms_error(sampler.fit_transform(rows))


by_waves = np.array([np.mean([fourier_error(M, seed) for seed in range(5)]) for M in sizes])
print("root mean square error:", np.round(by_waves, 4))
assert np.allclose(by_waves[:-1] / by_waves[1:], 2, rtol=0.2)  # four times M, half the error

# %%
# **Nyström's approximation** uses the data. Take :math:`M` rows as landmarks, compare everything with them, and
# multiply by a matrix :math:`V` such that the result is exact among the landmarks: :math:`K = K^\top V V^\top K`.
# With :math:`K = U D U^\top`,
#
# .. math:: \psi(x) = V^\top K(x, x_*), \qquad V = U D^{-1/2} U^\top,
#
# where an eigenvalue of 0 keeps 0 in place of its inverse root. The root exists because no eigenvalue is negative:
# :math:`z^\top K z = \| \sum_i z_i \varphi(x_i) \|^2 \geq 0`.

nystroem = Nystroem(gamma=gamma, n_components=40, random_state=0).fit(rows)
landmarks = nystroem.components_
K_landmarks = RBF(gamma=gamma)(landmarks)
D, U = np.linalg.eigh(K_landmarks)
assert D.min() > 0
V = U @ np.diag(D**-0.5) @ U.T
psi = RBF(gamma=gamma)(rows, landmarks) @ V
assert np.allclose(K_landmarks.T @ V @ V.T @ K_landmarks, K_landmarks)
assert np.allclose(nystroem.transform(rows) @ nystroem.transform(rows).T, psi @ psi.T)
chosen = nystroem.component_indices_
off = np.abs(psi @ psi.T - K)
print(f"largest error among the landmarks: {off[np.ix_(chosen, chosen)].max():.0e}")
print(f"root mean square of all pairs: {rms_error(psi):.3f} with M = 40")

# %%
# **Which one at equal M?** Frequencies are drawn blindly; landmarks lie where the data are. The lecture expects
# Nyström to come out ahead where data fill only a part of space. Twenty clusters in ten dimensions, and rows that
# neither has seen:

rng = np.random.default_rng(0)
centres = rng.normal(size=(20, 10))
clusters = centres[rng.integers(20, size=1500)] + 0.3 * rng.normal(size=(1500, 10))
train, test = clusters[:1200], clusters[1200:]
K_unseen = RBF(gamma=0.1)(test)


def distance(features):
    return np.linalg.norm(K_unseen - features @ features.T) / np.linalg.norm(K_unseen)


M_values = [25, 50, 100, 200, 400]
makers = {
    "Fourier": lambda M: RBFSampler(gamma=0.1, n_components=M, random_state=0),
    "Nyström": lambda M: Nystroem(gamma=0.1, n_components=M, random_state=0),
}
errors = {}
for name, make in makers.items():
    errors[name] = [distance(make(M).fit(train).transform(test)) for M in M_values]
    print(name, np.round(errors[name], 3))
assert np.all(np.less(errors["Nyström"], errors["Fourier"]))

fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained")
axes[0].loglog(sizes, by_waves, "o-", color=ORANGE, ms=5, label="Fourier features")
law = by_waves[0] * np.sqrt(sizes[0] / sizes)
axes[0].loglog(sizes, law, color="black", ls=":", label=r"$1/\sqrt{M}$")
axes[0].set(xlabel="features M", ylabel="error of the kernel")
axes[0].set_title("Four times the waves, half the error")
axes[0].legend(frameon=False, fontsize=8)
for name, colour, style in [("Fourier", ORANGE, "o-"), ("Nyström", BLUE, "s--")]:
    axes[1].loglog(M_values, errors[name], style, color=colour, ms=5, label=name)
axes[1].set_xticks(M_values, M_values, minor=False)
axes[1].minorticks_off()
axes[1].set(xlabel="features M", ylabel="relative error, unseen rows")
axes[1].set_title("On clusters Nyström is far ahead")
axes[1].legend(frameon=False, fontsize=8)
plt.show()

# %%
# **In a linear model.** That is what the features are for: logistic regression on them draws curved boundaries, in
# time that grows with :math:`n M^2` instead of :math:`n^3`. On scanned digits, held-out accuracy rises with :math:`M`
# from below that of the plain pixels to above it.

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.4, random_state=0)
plain = LogisticRegression(C=10).fit(X_train, y_train).score(X_test, y_test)
M_values = [10, 30, 100, 300]
accuracy = {}
for name, make in makers.items():
    models = [make_pipeline(make(M), LogisticRegression(C=100, max_iter=500)) for M in M_values]
    accuracy[name] = [model.fit(X_train, y_train).score(X_test, y_test) for model in models]
    print(name, np.round(accuracy[name], 3))
print("64 pixels:", round(plain, 3))
assert accuracy["Nyström"][-1] > plain

fig, ax = plt.subplots(figsize=(5.5, 3), layout="constrained")
for name, colour, style in [("Fourier", ORANGE, "o-"), ("Nyström", BLUE, "s--")]:
    ax.semilogx(M_values, accuracy[name], style, color=colour, ms=5, label=f"{name} features")
ax.axhline(plain, color=GREY, ls=":", label="the 64 pixels themselves")
ax.set_xticks(M_values, M_values, minor=False)
ax.minorticks_off()
ax.set(xlabel="features M", ylabel="accuracy on held-out digits")
ax.set_title("With enough features a linear model bends")
ax.legend(frameon=False, fontsize=8)
plt.show()
