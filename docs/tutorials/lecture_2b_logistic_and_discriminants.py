r"""
Lecture 2b: logistic regression, discriminants, and which to choose
===================================================================

The second half of lecture 2 (H.-K. Pao, *Linear models*). After the boundary itself
(:doc:`lecture 2a <lecture_2a_threshold_units>`) come the conditional distribution :math:`P(y \mid x)`, by logistic
regression, and the joint distribution :math:`P(x, y)`, by discriminant analysis; and then the question which of the
three to prefer.

In practice: :doc:`/guides/imbalanced-costs`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.datasets import load_iris, load_wine

from mercer import (
    GLM,
    Decision,
    GaussianDiscriminant,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LinearThreshold,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
    learning_curves,
    linear_form,
    stress,
)

plt.style.use("tableau-colorblind10")
rng = np.random.default_rng(0)

# %%
# Logistic regression
# -------------------
#
# The log odds of class 1 are linear, :math:`\log \frac{h(x)}{1 - h(x)} = w \cdot x`, so that
#
# .. math::
#
#    h(x) = \frac{1}{1 + e^{-w \cdot x}}, \qquad
#    \frac{\partial h}{\partial w_j} = h\, (1 - h)\, x_j .
#
# .. admonition:: Erratum
#
#    The first lines of the lecture's derivation of :math:`\partial h / \partial w_j` lack a minus; the last line,
#    above, is right, as a difference quotient confirms.

u, step = np.linspace(-6, 6, 121), 1e-6
h = expit(u)
np.testing.assert_allclose((expit(u + step) - expit(u - step)) / (2 * step), h * (1 - h), rtol=1e-6)

# %%
# The log likelihood is minus the cross-entropy. Its gradient is the sum of errors times inputs,
#
# .. math::
#
#    J(w) = \sum_i y_i \log\, h(x_i) + (1 - y_i) \log (1 - h(x_i)), \qquad
#    \frac{\partial J}{\partial w_j} = \sum_i (y_i - h(x_i))\, x_{ij} ,
#
# and it vanishes at the coefficients that mercer finds.

iris = load_iris()
two = iris.target > 0
X, y = iris.data[two][:, [1, 2]], iris.target[two] - 1
logistic = LogisticRegression(C=np.inf, tol=1e-8).fit(X, y)
p = expit(X @ logistic.coef_[0] + logistic.intercept_[0])
np.testing.assert_allclose(logistic.predict_proba(X)[:, 1], p)
gradient = np.append((y - p) @ X, (y - p).sum())
print("gradient of J at the fit:", gradient.round(9) + 0.0)
np.testing.assert_allclose(gradient, 0, atol=1e-5)

# %%
# More than two classes are measured against a reference class K:
#
# .. math::
#
#    P(y = k \mid x) = \frac{e^{w_k \cdot x}}{1 + \sum_{j < K} e^{w_j \cdot x}}, \qquad
#    P(y = K \mid x) = \frac{1}{1 + \sum_{j < K} e^{w_j \cdot x}} .
#
# A softmax with weights for all classes is the same model: the weights against the reference are its differences.

wine = load_wine()
Z = wine.data[:, [0, 11]] / [1.0, 0.5]
symmetric = LogisticRegression(C=np.inf, tol=1e-8).fit(Z, wine.target)
reference = GLM("categorical", reference=2, tol=1e-8).fit(Z, wine.target)
differences = symmetric.coef_[:2] - symmetric.coef_[2]
np.testing.assert_allclose(reference.coef_[:2], differences, atol=1e-4)
odds = np.exp(Z @ differences.T + symmetric.intercept_[:2] - symmetric.intercept_[2])
below = 1 + odds.sum(axis=1, keepdims=True)
np.testing.assert_allclose(symmetric.predict_proba(Z), np.hstack([odds / below, 1 / below]))
print("odds of the first two wines against the third, by alcohol and dilution:")
print(differences.round(2))

# %%
# Four learning rules
# -------------------
#
# All rules of the lecture move the weights along a row, :math:`w \leftarrow w + \alpha\, e\, x`, and differ in the
# error :math:`e` alone:
#
# - perceptron: :math:`e = y - s(u)` with the step function s;
# - LMS: :math:`e = t - u` with :math:`t = \pm 1`;
# - logistic: :math:`e = y - \sigma(u)`;
# - sigmoid: :math:`e = \sigma(u)\, (1 - \sigma(u))\, (y - \sigma(u))`.
#
# One pass over the rows, by hand and by mercer:

errors = {
    "perceptron": lambda y, u: y - (u >= 0),
    "lms": lambda y, u: (2 * y - 1) - u,
    "logistic": lambda y, u: y - expit(u),
    "sigmoid": lambda y, u: expit(u) * (1 - expit(u)) * (y - expit(u)),
}
centred = X - X.mean(axis=0)
rows = np.column_stack([np.ones(len(X)), centred])
for rule, error in errors.items():
    w = np.zeros(3)
    for x, label in zip(rows, y, strict=True):
        w = w + 0.1 * error(label, w @ x) * x
    unit = LinearThreshold(rule, mode="incremental", rate=0.1, decay=0.0, shuffle=False, max_iter=1, tol=None)
    unit.fit(centred, y)
    print(f"{rule:>10}: {w.round(3)}")
    np.testing.assert_allclose(np.append(unit.intercept_, unit.coef_), w, atol=1e-12)

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for (rule, error), style in zip(errors.items(), ("C3:", "C1--", "C0-", "C5-."), strict=True):
    ax.plot(u, error(1, u), style, label=rule)
ax.axhline(0, color="k", lw=0.6)
ax.set(xlabel="u = w · x, for a row of class 1", ylabel="error e", ylim=(-2.5, 2.5))
ax.set_title("LMS alone pushes back a row that is right (u > 1)")
ax.legend(fontsize=8)
plt.show()

# %%
# The sigmoid rule hardly corrects rows that are badly wrong, on the left, where the slope of :math:`\sigma` vanishes.
# It is the rule by which multilayer networks are trained, which are outside the scope of this library.
#
# Gaussian naive Bayes and linear discriminants
# ---------------------------------------------
#
# The generative way: :math:`y \sim \mathrm{Bernoulli}(\pi)`, and :math:`x \mid y \sim \mathcal{N}(\mu_y, \Sigma)`
# with one covariance for both classes. Bayes' rule makes the posterior logistic:
#
# .. math::
#
#    P(y = 1 \mid x) = \frac{1}{1 + \exp(-\beta^\top x - \gamma)}, \qquad \beta = \Sigma^{-1} (\mu_1 - \mu_0) ,
#
# .. math::
#
#    \gamma = -\frac{1}{2} (\mu_1 - \mu_0)^\top \Sigma^{-1} (\mu_1 + \mu_0) + \log \frac{\pi}{1 - \pi} .
#
# No optimisation is needed: means, one covariance, shares.

mu0, mu1, pi = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0), y.mean()
away = X - np.where(y[:, None] == 1, mu1, mu0)
Sigma = away.T @ away / len(X)
beta = np.linalg.solve(Sigma, mu1 - mu0)
gamma = -0.5 * (mu1 + mu0) @ beta + np.log(pi / (1 - pi))
lda = LinearDiscriminantAnalysis().fit(X, y)
np.testing.assert_allclose(np.append(lda.coef_, lda.intercept_), np.append(beta, gamma))
np.testing.assert_allclose(lda.predict_proba(X)[:, 1], expit(X @ beta + gamma))
print("LDA:     ", np.append(beta, gamma).round(2))
print("logistic:", np.append(logistic.coef_, logistic.intercept_).round(2))

# %%
# Gaussian naive Bayes with shared variances is the case of a diagonal :math:`\Sigma`. Its weights are
# :math:`(\mu_{j1} - \mu_{j0}) / \sigma_j^2`.
#
# .. admonition:: Erratum
#
#    Here the lecture's :math:`w_j = (\mu_{j0} - \mu_{j1}) / \sigma_j^2` is minus that of lecture 1. Both are right,
#    since it stands under :math:`1 / (1 + e^{w_0 + w \cdot x})`, without the minus of the logistic function.

naive = GaussianNB(shared_variance=True, var_smoothing=0).fit(X, y)
diagonal = GaussianDiscriminant("shared diagonal").fit(X, y)
np.testing.assert_allclose(naive.predict_proba(X), diagonal.predict_proba(X))
weights = (mu1 - mu0) / np.diag(Sigma)
form = linear_form(naive)
np.testing.assert_allclose(form.coef[1] - form.coef[0], weights)
lecture_2 = -weights @ X.T + np.sum((mu1**2 - mu0**2) / (2 * np.diag(Sigma))) + np.log((1 - pi) / pi)
np.testing.assert_allclose(naive.predict_proba(X)[:, 1], 1 / (1 + np.exp(lecture_2)))

# %%
# Kinds of covariance
# -------------------
#
# One covariance for all classes makes the boundary a line; if it is the identity, the line is orthogonal to
# :math:`\mu_1 - \mu_0`, which is then :math:`\beta` itself. Covariances of their own leave a logistic posterior whose
# argument is quadratic.

square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])  # mean 0, covariance I
a, b = np.array([2.0, -1.0]), np.array([5.0, 3.0])
unit_covariance = LinearDiscriminantAnalysis().fit(np.vstack([square + a, square + b]), np.repeat([0, 1], 4))
np.testing.assert_allclose(unit_covariance.coef_[0], b - a)

quadratic = QuadraticDiscriminantAnalysis().fit(X, y)
full = GaussianDiscriminant("full").fit(X, y)
monomials = np.column_stack([np.ones(len(X)), X, X**2, X[:, 0] * X[:, 1]])
argument = np.diff(full.predict_log_proba(X), axis=1)[:, 0]
np.testing.assert_allclose(monomials @ np.linalg.lstsq(monomials, argument)[0], argument, atol=1e-6)

across, up = np.linspace(1.8, 4, 120), np.linspace(2.5, 7.2, 120)
grid = np.array(np.meshgrid(across, up)).reshape(2, -1).T
kinds = ["shared spherical", "shared diagonal", "shared full", "full"]
figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained", sharex=True, sharey=True)
for ax, kind in zip(axes.flat, kinds, strict=True):
    model = GaussianDiscriminant(kind).fit(X, y)
    density = np.exp(model.predict_joint_log_proba(grid)).reshape(120, 120, 2)
    for k, (colour, style) in enumerate((("C0", "o"), ("C1", "s"))):
        ax.plot(*X[y == k].T, style, color=colour, ms=2.5, alpha=0.6)
        ax.contour(across, up, density[..., k], levels=density[..., k].max() * np.array([0.14, 0.6]), colors=colour)
    ax.contour(across, up, density[..., 1] - density[..., 0], levels=[0], colors="k")
    ax.set_title(f"{kind}: {model.score(X, y):.0%} classified correctly")
figure.supxlabel("sepal width in cm")
figure.supylabel("petal length in cm")
plt.show()

# %%
# Ellipses are the densities of the two irises, versicolor (blue) and virginica. The first three boundaries are lines,
# the last is a conic section, here nearly straight.
#
# LMS, logistic regression, LDA: which one?
# -----------------------------------------
#
# **Few rows.** If its assumption is right, LDA needs fewer rows. If it is wrong, logistic regression is better in the
# limit. Two simulated tables show it: normal classes of 20 columns with one covariance; and columns far from normal,
# for which :math:`P(y \mid x)` is logistic all the same.


def normal_classes(rows, columns=20):
    y = rng.integers(2, size=rows)
    mixing = rng.normal(size=(columns, columns)) / np.sqrt(columns) + 0.5 * np.eye(columns)
    return (rng.normal(size=(rows, columns)) + y[:, None] * (np.arange(columns) < 3)) @ mixing, y


def skewed_columns(rows):
    X = rng.exponential(size=(rows, 3)) ** 2
    return X, (rng.random(rows) < expit(X[:, 0] - 0.3 * X[:, 1] - 2)).astype(int)


pair = {"LDA": LinearDiscriminantAnalysis(), "logistic": LogisticRegression(C=np.inf)}
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for ax, (X, y), title in (
    (axes[0], normal_classes(3000), "LDA is right: it leads on few rows"),
    (axes[1], skewed_columns(6000), "LDA is wrong: it stays behind"),
):
    curves = learning_curves(pair, X, y, sizes=[40, 60, 100, 300, 1000], test_size=1500, repeats=8)
    curves.plot(ax=ax)
    ax.set_title(title)
    ax.legend(fontsize=8)
    few, many = curves.errors[:, 0].mean(axis=1), curves.errors[:, -1].mean(axis=1)
    print(f"LDA and logistic: errors of {few.round(3)} after 40 rows, {many.round(3)} after 1,000")
plt.show()

# %%
# A logistic posterior does not imply normal columns. It also comes from counts with a Poisson distribution, and from
# gamma distributions of one shape. Dots are the shares of class 1 among rows of about the same :math:`x`.

y = rng.integers(2, size=20_000)
figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained", sharey=True)
for ax, kind, x, truth in (
    (axes[0], "Poisson", rng.poisson(2.0 + y), [np.log(3 / 2), -1.0]),
    (axes[1], "gamma", rng.gamma(2.0, 1 / (1.5 - 0.5 * y)), [0.5, 2 * np.log(2 / 3)]),
):
    logistic = LogisticRegression(C=np.inf).fit(x[:, None], y)
    np.testing.assert_allclose([logistic.coef_[0, 0], logistic.intercept_[0]], truth, atol=0.1)
    among = np.clip(np.round(x), 0, 8).astype(int)
    count = np.bincount(among)
    ax.plot(np.bincount(among, x) / count, np.bincount(among, y) / count, "C1o", label="shares")
    at = np.linspace(0, 9, 100)
    ax.plot(at, logistic.predict_proba(at[:, None])[:, 1], "C0", label="logistic regression")
    ax.set(xlabel="x", title=f"{kind} columns: a logistic posterior")
axes[0].set_ylabel("P(1 | x)")
axes[0].legend(fontsize=8)
plt.show()

# %%
# **Another loss.** A healthy patient called ill costs 1, an ill one called healthy 20. With probabilities, the answer
# is the action of the least expected cost, and the model stays as it is. LMS has only a boundary, that of the old
# loss.

costs = np.array([[0.0, 1.0], [20.0, 0.0]])
y = rng.integers(2, size=4000)
X = rng.normal(size=(4000, 2)) + 1.6 * y[:, None] * [1.0, 0.5]
train, test = slice(0, 1000), slice(1000, None)
for name, model in (*pair.items(), ("LMS", LinearThreshold("lms"))):
    model.fit(X[train], y[train])
    line = f"{name:>8}: {costs[y[test], model.predict(X[test])].mean():.2f} a patient"
    if hasattr(model, "predict_proba"):
        decision = Decision(model, costs=costs, trained_priors=[0.5, 0.5])
        by_hand = 20 * model.predict_proba(X[test])[:, 1] > model.predict_proba(X[test])[:, 0]
        assert (decision.predict(X[test]) == by_hand).all()
        line += f", {costs[y[test], decision.predict(X[test])].mean():.2f} by least expected cost"
    print(line)

# %%
# The same for other costs, and for other shares of ill patients than the half of the training rows. LDA and logistic
# regression are fitted once. LMS fitted once falls behind; to follow, it must be fitted again for each cost or share,
# with rows weighted by it.

lms = LinearThreshold("lms").fit(X[train], y[train])


def paid(called, missed, ill):
    """Return the mean cost for this cost of an ill patient called healthy, and this share of ill patients."""
    return ill * missed * np.mean(called[y[test] == 1] == 0) + (1 - ill) * np.mean(called[y[test] == 0] == 1)


def decided(name, missed, ill):
    if name == "LMS, fitted once":
        return lms.predict(X[test])
    if name == "LMS, fitted again":
        weight = np.where(y[train] == 1, ill * missed, 1 - ill)
        return LinearThreshold("lms").fit(X[train], y[train], sample_weight=weight).predict(X[test])
    decision = Decision(pair[name], costs=[[0, 1], [missed, 0]], priors=[1 - ill, ill], trained_priors=[0.5, 0.5])
    return decision.predict(X[test])


missed, shares = [1, 2, 5, 10, 20, 50], [0.02, 0.05, 0.1, 0.2, 0.35, 0.5]
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for name, style in (
    ("LDA", "C0o-"),
    ("logistic", "C1s--"),
    ("LMS, fitted once", "C3^:"),
    ("LMS, fitted again", "C2v-."),
):
    axes[0].plot(missed, [paid(decided(name, cost, 0.5), cost, 0.5) for cost in missed], style, ms=4, label=name)
    axes[1].plot(shares, [paid(decided(name, 1, ill), 1, ill) for ill in shares], style, ms=4)
axes[0].set(xscale="log", xlabel="cost of a missed illness", ylabel="mean cost", title="another loss")
axes[1].set(xlabel="share of ill patients", ylabel="error", title="other priors")
axes[0].legend(fontsize=8)
plt.show()

assert paid(decided("logistic", 20, 0.5), 20, 0.5) < 0.5 * paid(decided("LMS, fitted once", 20, 0.5), 20, 0.5)
assert paid(decided("LDA", 1, 0.05), 1, 0.05) < 0.5 * paid(decided("LMS, fitted once", 1, 0.05), 1, 0.05)

# %%
# **Missing values and noise.** A generative model has the distribution of a row without one of its columns: it
# integrates the column out. The other models have to impute the value. A generative model does not account for noise.

damaged = stress(
    {"LDA": LinearDiscriminantAnalysis(), "logistic": LogisticRegression(), "LMS": LinearThreshold("lms")},
    wine.data,
    wine.target,
    missing=(0.0, 0.2, 0.4, 0.6),
    noise=(0.0, 0.5, 1.0, 2.0),
    repeats=3,
)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
for ax, damage, title in (
    (axes[0], "missing", "gaps cost LDA the least"),
    (axes[1], "noise", "noise costs it no less than the others"),
):
    damaged.plot(damage, ax=ax)
    ax.set_title(title)
    ax.legend(fontsize=8)
plt.show()

# %%
# So these wines confirm one half of the lecture's claim, and not the other: the fitted densities do not include
# that the new rows are noisier than the old ones. More sets are measured in
# :doc:`Generative and discriminative models </generative-vs-discriminative>`.
#
# Elephants and giraffes
# ----------------------
#
# A discriminative model finds the boundary between elephants and giraffes. A generative one models each animal, and
# compares a new animal with both models. It can therefore also generate animals, and detect that a whale
# resembles neither.

y = rng.integers(2, size=300)  # 0: giraffe, 1: elephant; height in m, weight in t
animals = np.where(y[:, None] == 1, [3.0, 5.0], [5.0, 1.0]) + rng.normal(size=(300, 2)) * [0.4, 0.5]
generative, border = GaussianDiscriminant().fit(animals, y), LogisticRegression().fit(animals, y)
drawn, kinds = generative.sample(100, random_state=0)
whale = [[3.5, 30.0]]
print(f"logistic regression: an elephant, p = {border.predict_proba(whale)[0, 1]:.3f}")
of_whale, of_animals = generative.log_density(whale)[0], generative.log_density(animals)
print(f"log p(whale) = {of_whale:.0f}, of the animals {of_animals.min():.1f} or more")
assert of_whale < of_animals.min() - 100

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for k, name, style in ((0, "giraffes", "C0o"), (1, "elephants", "C1s")):
    ax.plot(*animals[y == k].T, style, ms=3, alpha=0.4, label=name)
    ax.plot(*drawn[kinds == k].T, "kx", ms=4, label="drawn by the model" if k else None)
ax.set(xlabel="height in m", ylabel="weight in t", title="a generative model can draw animals of its own")
ax.legend(fontsize=8)
plt.show()
