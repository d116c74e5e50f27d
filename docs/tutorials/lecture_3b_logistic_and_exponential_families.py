r"""
Lecture 3b: logistic regression, exponential families, duality
==============================================================

The rest of lecture 3 (Y. Sun, *Probabilistic classifiers*): a model of :math:`p(y \mid x)` alone, its derivatives and
how Newton's method uses them, the family of distributions that it belongs to, how it compares with the models of
:doc:`lecture 3a <lecture_3a_naive_bayes>`, and the Lagrangian of the appendix.

In practice: :doc:`/guides/inference`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, gammaln
from scipy.stats import bernoulli, norm, poisson
from sklearn.datasets import load_iris, load_wine

from mercer import GLM, SVC, GaussianNB, LogisticRegression, learning_curves
from mercer.families import Bernoulli, Gaussian, Poisson

plt.style.use("tableau-colorblind10")
rng = np.random.default_rng(0)

# %%
# The logistic function
# ---------------------
#
# Linear regression takes :math:`x^\top \beta` for the mean of a normal distribution. For two classes it has to become
# a probability first:
#
# .. math::
#
#    P(Y = 1 \mid x) = \sigma(x^\top \beta) = \frac{1}{1 + \exp(-x^\top \beta)}, \qquad
#    \sigma'(z) = \sigma(z)\,(1 - \sigma(z)) .
#
# The lecture's picture is sex against height. Here are 200 simulated people.

man = rng.integers(2, size=200)
height = np.where(man, 178, 165) + rng.normal(scale=7, size=200)
model = GLM("bernoulli").fit(height[:, None], man)
b0, b1 = model.intercept_, model.coef_[0]
boundary = -b0 / b1
print(f"β₀ = {b0:.1f}, β₁ = {b1:.3f}: as likely a man as a woman at {boundary:.1f} cm")
np.testing.assert_allclose(model.predict_proba(height[:, None])[:, 1], expit(b0 + b1 * height))
np.testing.assert_allclose(model.predict_proba([[boundary]]), [[0.5, 0.5]])

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
grid = np.linspace(145, 200, 200)
ax.plot(height, man + rng.uniform(-0.03, 0.03, 200), ".", color="C2", ms=4)
ax.plot(grid, expit(b0 + b1 * grid), "C0")
ax.axvline(boundary, color="C1", ls="--")
ax.set(
    xlabel="height in cm",
    ylabel="P(man | height)",
    title=f"the boundary is where the line β₀ + β₁x is 0: {boundary:.0f} cm",
)
plt.show()

# %%
# The sign of :math:`\beta_0` is an exercise of the lecture. It is negative: at a height of 0 the model predicts
# "woman".
#
# Likelihood, gradient and Hessian
# --------------------------------
#
# With :math:`p_i = \sigma(x_i^\top \beta)`,
#
# .. math::
#
#    \log\, L = \sum_i y_i\, x_i^\top \beta - \sum_i \log(1 + \exp(x_i^\top \beta)) ,
#
# .. math::
#
#    \frac{\partial \log\, L}{\partial \beta} = X^\top (y - p), \qquad
#    \frac{\partial^2 \log\, L}{\partial \beta\, \partial \beta^\top} = -X^\top \mathrm{diag}(p_i (1 - p_i))\, X .
#
# .. admonition:: Erratum
#
#    In the middle line of the lecture's Hessian a sign is wrong. It is
#    :math:`-\sum_i x_{ij} x_{in} p_i + \sum_i x_{ij} x_{in} p_i^2`; the last line is right.

X = np.column_stack([np.ones(200), (height - 171) / 10])
y = man.astype(float)


def log_likelihood(beta):
    return float(y @ X @ beta - np.logaddexp(0, X @ beta).sum())


def gradient(beta):
    return X.T @ (y - expit(X @ beta))


def hessian(beta):
    p = expit(X @ beta)
    return -(X.T * (p * (1 - p))) @ X


beta, step = np.array([0.3, 0.8]), 1e-5 * np.eye(2)
p = expit(X @ beta)
slopes = [(log_likelihood(beta + h) - log_likelihood(beta - h)) / 2e-5 for h in step]
bends = [(gradient(beta + h) - gradient(beta - h)) / 2e-5 for h in step]
np.testing.assert_allclose(gradient(beta), slopes, rtol=1e-6)
np.testing.assert_allclose(hessian(beta), bends, rtol=1e-6)
np.testing.assert_allclose(hessian(beta), -(X.T * p) @ X + (X.T * p**2) @ X)  # the middle line, its sign put right

# %%
# Gradient ascent, :math:`\beta \leftarrow \beta + \eta\, \partial \log\, L / \partial \beta`, follows the slope.
# Newton's method follows the parabola that has the same slope and bend:
#
# .. math::
#
#    \beta \leftarrow \beta - \left( \frac{\partial^2 \log\, L}{\partial \beta\, \partial \beta^\top} \right)^{-1}
#    \frac{\partial \log\, L}{\partial \beta} .

ways = {"gradient ascent": lambda b: b + 4 / np.linalg.eigvalsh(X.T @ X)[-1] * gradient(b)}
ways["Newton"] = lambda b: b - np.linalg.solve(hessian(b), gradient(b))
best = GLM("bernoulli", fit_intercept=False, tol=1e-10).fit(X, y)
top = log_likelihood(best.coef_)
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for (name, move), style in zip(ways.items(), ("C1--", "C0o-"), strict=True):
    beta, short = np.zeros(2), []
    for _ in range(40 if name != "Newton" else 7):
        short.append(top - log_likelihood(beta))
        beta = move(beta)
    ax.semilogy(np.maximum(short, 1e-13), style, ms=4, label=name)
np.testing.assert_allclose(beta, best.coef_, rtol=1e-6)
np.testing.assert_allclose(best.log_likelihood_, top)
ax.set(xlabel="steps", ylabel="log likelihood below its top", title="Newton doubles its digits with every step")
ax.legend(fontsize=8)
plt.show()

# %%
# Separable classes
# -----------------
#
# If a line separates the classes, :math:`c \beta` with :math:`c > 1` has the same boundary and a higher likelihood.
# There is thus no optimal :math:`\beta`: the fit without a penalty diverges, with a warning. A penalty gives a unique
# solution for every strength.

apart = np.linspace(-2, 2, 40)
label = (apart > 0.1).astype(int)
signs = 2 * label - 1
scales = np.geomspace(0.1, 100, 60)
likelihoods = [-np.logaddexp(0, -signs * c * (apart - 0.1)).sum() for c in scales]
assert (np.diff(likelihoods) > 0).all()
free = LogisticRegression(C=np.inf).fit(apart[:, None], label)
print("without a penalty:", *free.diagnosis_.codes)
assert "separation" in free.diagnosis_.codes
strengths = np.geomspace(1e-2, 1e4, 13)
slopes = [LogisticRegression(C=C).fit(apart[:, None], label).coef_[0, 0] for C in strengths]

figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
axes[0].semilogx(scales, likelihoods, "C0")
axes[0].axhline(0, color="C3", ls=":")
axes[0].set(xlabel="c", ylabel="log likelihood of cβ", title="longer is always likelier")
axes[1].loglog(strengths, slopes, "C1o-", ms=4)
axes[1].set(xlabel="C (a weaker penalty to the right)", ylabel="β", title="a penalty holds it")
plt.show()

# %%
# More than two classes
# ---------------------
#
# With the last class M for reference (lecture 2b has the weights by hand), the likelihood of a row of class j is its
# probability,
#
# .. math::
#
#    \log\, L = \sum_i x_i^\top \beta_{y_i} - \sum_i \log \left( 1 + \sum_{m < M} \exp(x_i^\top \beta_m) \right), \qquad
#    \beta_M = 0 .

wine = load_wine()
Z, kind = wine.data[:, [0, 11]], wine.target  # alcohol and dilution
softmax = GLM("categorical", reference=2).fit(Z, kind)
scores = Z @ softmax.coef_.T + softmax.intercept_
scores = scores - scores[:, [2]]
np.testing.assert_allclose(
    softmax.log_likelihood_, np.sum(scores[np.arange(178), kind] - np.log(np.exp(scores).sum(axis=1)))
)
print(f"log L = {softmax.log_likelihood_:.2f} for 178 wines")

# %%
# Exponential families
# --------------------
#
# Normal, Bernoulli and Poisson distributions have one form,
#
# .. math::
#
#    p(y; \eta) = b(y) \exp(\eta^\top T(y) - a(\eta)) ,
#
# with the sufficient statistic T, the base measure b, and the log partition :math:`a` that makes it sum to 1. For a
# normal distribution of variance 1, :math:`a = \eta^2 / 2`; for a Bernoulli one :math:`a = \log(1 + e^\eta)`; for a
# Poisson one :math:`a = e^\eta`. mercer's families are this record, and one object serves as the response of a
# regression and as a column of naive Bayes.

values = np.array([0.0, 1.0])
for family, a, log_b, exact in (
    (Gaussian(variance=1.0), lambda e: e**2 / 2, norm.logpdf(values), lambda e: norm.logpdf(values, e)),
    (Bernoulli(), lambda e: np.log(1 + np.exp(e)), np.zeros(2), lambda e: bernoulli.logpmf(values, expit(e))),
    (Poisson(), np.exp, -gammaln(values + 1), lambda e: poisson.logpmf(values, np.exp(e))),
):
    eta = np.array([0.7])
    np.testing.assert_allclose(family.log_partition(eta), a(0.7))
    np.testing.assert_allclose(family.log_base(values), log_b, atol=1e-15)
    np.testing.assert_allclose(log_b + 0.7 * values - a(0.7), exact(0.7))
    np.testing.assert_allclose(family.log_density(values, family.from_natural(eta)), exact(0.7))
    slope = (a(0.7 + 1e-6) - a(0.7 - 1e-6)) / 2e-6
    np.testing.assert_allclose(family.mean(eta), slope, rtol=1e-8)
    print(f"{family.name:>9}: a(0.7) = {a(0.7):.3f}, its slope {slope:.3f} is the mean")

# %%
# The slope of :math:`a` is the mean of T, and its bend the variance: all the moments are in one convex function.

grid = np.linspace(-3, 3, 200)
curves = {
    "normal: $\\eta^2/2$": (grid**2 / 2, lambda e: e),
    "Bernoulli: $\\log(1 + e^\\eta)$": (np.logaddexp(0, grid), expit),
    "Poisson: $e^\\eta$": (np.exp(grid), np.exp),
}
figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
for ax, (name, (a, mean)) in zip(axes, curves.items(), strict=True):
    ax.plot(grid, a, "C0")
    for at in (-1.5, 1.0):
        height_at = np.interp(at, grid, a)
        ax.plot([at - 1, at + 1], [height_at - mean(at), height_at + mean(at)], "C1")
        ax.annotate(f"mean {mean(at):.2f}", (at, height_at), xytext=(5, -12), textcoords="offset points", fontsize=8)
    ax.set(xlabel="η", title=name, ylim=(a.min() - 1, min(a.max(), 8)))
axes[0].set_ylabel("a(η)")
plt.show()

# %%
# The recipe of generalised linear models
# ---------------------------------------
#
# Choose a distribution for y; set :math:`\eta = x^\top \beta`; let the mean be :math:`\mu = g^{-1}(\eta)`. With the
# canonical link it is the slope of :math:`a`: the identity, the logistic function, the exponential.

x = rng.normal(size=(300, 1))
for name, mean, draw in (
    ("gaussian", lambda e: e, rng.normal),
    ("bernoulli", expit, lambda m: rng.random(300) < m),
    ("poisson", np.exp, rng.poisson),
):
    glm = GLM(name).fit(x, draw(mean(0.5 + 0.8 * x[:, 0])))
    eta = glm.intercept_ + glm.coef_[0] * x[:, 0]
    predicted = glm.predict_proba(x)[:, 1] if name == "bernoulli" else glm.predict(x)
    np.testing.assert_allclose(predicted, mean(eta))
    print(f"{name:>9}: η = {glm.intercept_:.2f} + {glm.coef_[0]:.2f} x   (drawn from 0.5 + 0.8 x)")

# %%
# Which one is better?
# --------------------
#
# The lecture says that generative models need more data, because they learn :math:`p(x)` as well; lecture 2 says that
# they do better on few rows. Both can be true. A generative model with few parameters and a nearly right assumption
# settles early; what is wrong in its assumption stays wrong with any number of rows. Twenty columns that are slightly
# correlated, which naive Bayes denies, show both ends.

y = rng.integers(2, size=6000)
X = 0.5 * rng.normal(size=(6000, 1)) + rng.normal(size=(6000, 20)) + y[:, None] * np.tile([0.6, 0.2], 10)
measured = learning_curves(
    {"naive Bayes": GaussianNB(shared_variance=True), "logistic": LogisticRegression()},
    X, y, sizes=[40, 100, 300, 1000, 3000], test_size=2500, repeats=6,
)  # fmt: skip
print(*measured.sentences(), sep="\n")
assert measured.difference(size=40).mean < 0 < measured.difference().low

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
measured.plot(ax=ax)
ax.set_title("naive Bayes leads first, logistic regression in the end")
plt.show()

# %%
# These columns were made to show it. How the question is answered on ten real tables is in
# :doc:`Generative and discriminative models </generative-vs-discriminative>`.
#
# Lagrangians and duality
# -----------------------
#
# To minimise f(w) with constraints :math:`g_j(w) \le 0`, add them with prices :math:`\beta_j \ge 0`. For every price,
# the minimum of the Lagrangian is a lower bound on the answer, and under Slater's condition the best bound is exact:
#
# .. math::
#
#    d^* = \max_{\beta \ge 0} \min_w \left( f(w) + \sum_j \beta_j g_j(w) \right) \le p^* .
#
# The smallest example: minimise :math:`w^2` where :math:`1 - w \le 0`. The inner minimum is at :math:`w = \beta / 2`,
# the dual is :math:`\beta - \beta^2 / 4`, and its top at :math:`\beta = 2` is 1, which is the answer.

prices = np.linspace(0, 4, 200)
dual = prices - prices**2 / 4
figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained", sharey=True)
w = np.linspace(-0.5, 2, 200)
axes[0].plot(w, w**2, "C0", label="$w^2$")
axes[0].plot(w, w**2 + 2 * (1 - w), "C1--", label="Lagrangian at β = 2")
axes[0].axvspan(1, 2, color="C2", alpha=0.3, label="allowed")
axes[0].plot(1, 1, "ko")
axes[0].set(xlabel="w", ylim=(-0.2, 3), title="primal: the least allowed value is 1")
axes[0].legend(fontsize=8)
axes[1].plot(prices, dual, "C0")
axes[1].axhline(1, color="C3", ls=":")
axes[1].plot(2, 1, "ko")
axes[1].set(xlabel="price β", title="dual: every price is a bound, the best is 1")
plt.show()

# %%
# A support vector machine is fitted that way, and its certificate is that the two numbers meet. Its rows obey the
# conditions of Karush, Kuhn and Tucker: a row beyond the margin has the price 0; a price between 0 and C puts a row
# exactly on the margin; and a row within the margin, or on the wrong side, has the highest price, C.

iris = load_iris()
two = iris.target != 2
rows, side = iris.data[two][:, :2], np.where(iris.target[two] == 1, 1.0, -1.0)
machine = SVC(C=5.0, kernel="linear", tol=1e-9).fit(rows, side)
print(f"primal {machine.certificate_.primal:.6f}, dual {machine.certificate_.dual:.6f}")
alpha = np.zeros(len(rows))
alpha[machine.support_] = np.abs(machine.dual_coef_[0])
margin = side * machine.decision_function(rows)
free = (alpha > 1e-8) & (alpha < 5 - 1e-8)
np.testing.assert_allclose(margin[free], 1, atol=1e-5)
assert (margin[alpha == 0] > 1 - 1e-5).all()
assert (margin[alpha > 5 - 1e-8] < 1 + 1e-5).all()
bound = alpha > 5 - 1e-8
print(f"{free.sum()} rows on the margin, {np.sum(alpha == 0)} beyond it with price 0, {bound.sum()} within it")
