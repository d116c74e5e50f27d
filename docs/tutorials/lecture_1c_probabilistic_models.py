r"""
Lecture 1c: conditional and generative models
=============================================

The second half of lecture 1 (M. Ren, *Kernels and probabilistic modelling*) reads learning as statistics: choose a
distribution, and take the parameters under which the data are the most likely. There are two ways to do it. A
conditional model has a distribution of the answer only, :math:`p(y \mid x)`; a generative one has a distribution of
everything, :math:`p(x, y) = p(x \mid y)\, p(y)`.

The first half is in :doc:`lecture 1a <lecture_1a_feature_maps>` and :doc:`lecture 1b <lecture_1b_kernels>`.

In practice: :doc:`/which-model`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, gammaln, softmax
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from mercer import (
    GLM,
    BernoulliNB,
    CountVectorizer,
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    learning_curves,
    linear_form,
)

plt.style.use("tableau-colorblind10")
rng = np.random.default_rng(0)

# %%
# Linear regression
# -----------------
#
# Least squares minimises :math:`\frac{1}{N} \sum_n (y_n - \theta^\top x_n)^2`, where every :math:`x` begins with a 1
# for the intercept. The derivative is zero at
#
# .. math::
#
#    \hat\theta = (X^\top X)^{-1} X^\top y .
#
# The data are 442 patients: the progress of their diabetes against their body mass index.

bmi, progress = load_diabetes(return_X_y=True, scaled=False)
bmi = bmi[:, [2]]
X = np.column_stack([np.ones(len(bmi)), bmi])
theta = np.linalg.solve(X.T @ X, X.T @ progress)
line = LinearRegression().fit(bmi, progress)
np.testing.assert_allclose([line.intercept_, line.coef_[0]], theta)
print(f"progress = {theta[0]:.1f} + {theta[1]:.2f} bmi")

# %%
# Squares follow from a normal distribution of the errors. If
# :math:`y = \theta^\top x + \epsilon` with :math:`\epsilon \sim \mathcal{N}(0, \sigma^2)`, the log likelihood is
#
# .. math::
#
#    \ell(\theta) = N \log \frac{1}{\sqrt{2\pi}\,\sigma}
#    - \frac{1}{2\sigma^2} \sum_n (y_n - \theta^\top x_n)^2 ,
#
# and the :math:`\theta` that maximises it minimises the squares.
#
# .. admonition:: Erratum
#
#    Equation 15 has a minus too many. The derivative is
#    :math:`\frac{\partial \ell}{\partial \theta} = +\frac{1}{\sigma^2} \sum_n (y_n - \theta^\top x_n)\, x_n`, as a
#    difference quotient confirms.

sigma = np.std(progress - X @ theta)


def log_likelihood(theta):
    return norm.logpdf(progress, X @ theta, sigma).sum()


elsewhere = theta + np.array([5.0, -0.3])
steps = 1e-5 * np.eye(2)
numeric = [(log_likelihood(elsewhere + h) - log_likelihood(elsewhere - h)) / 2e-5 for h in steps]
np.testing.assert_allclose(numeric, X.T @ (progress - X @ elsewhere) / sigma**2, rtol=1e-5)
assert log_likelihood(theta) > log_likelihood(elsewhere)

figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.plot(bmi, progress, ".", color="C2", ms=4)
span = np.array([18.0, 42.0])
ax.plot(span, theta[0] + theta[1] * span, "C0")
height = np.linspace(-180, 180, 100)
for at in (20, 27, 34):
    mean = theta[0] + theta[1] * at
    ax.plot(at + 500 * norm.pdf(height, 0, sigma), mean + height, "C1")
    ax.plot([at, at], [mean - 180, mean + 180], "C1", lw=0.6)
ax.set(
    xlabel="body mass index", ylabel="progress of the disease", title="least squares puts a normal bump around the line"
)
plt.show()

# %%
# Logistic regression
# -------------------
#
# For an answer of 0 or 1 the distribution is Bernoulli. Its mean has to lie between 0 and 1, so the linear predictor
# goes through the logistic function, and the log odds become linear:
#
# .. math::
#
#    p(y = 1 \mid x) = f(\theta^\top x) = \frac{1}{1 + e^{-\theta^\top x}}, \qquad
#    \log \frac{p(y = 1 \mid x)}{p(y = 0 \mid x)} = \theta^\top x .
#
# There is no closed form. The likelihood is concave, and gradient ascent converges to its maximum:
#
# .. math::
#
#    \theta \leftarrow \theta + \alpha \sum_n (y_n - f(\theta^\top x_n))\, x_n .
#
# The data are 569 tumours, benign (1) or malignant (0), and their mean radius.

tumours = load_breast_cancer()
radius, benign = tumours.data[:, [0]], tumours.target
scaled = (radius - radius.mean()) / radius.std()
Z = np.column_stack([np.ones(len(scaled)), scaled])
theta = np.zeros(2)
rate = 4 / np.linalg.eigvalsh(Z.T @ Z)[-1]
for _ in range(500):
    theta = theta + rate * Z.T @ (benign - expit(Z @ theta))
logistic = LogisticRegression(C=np.inf).fit(scaled, benign)
np.testing.assert_allclose([logistic.intercept_[0], logistic.coef_[0, 0]], theta, atol=1e-4)
np.testing.assert_allclose(logistic.decision_function(scaled), Z @ theta, atol=1e-3)
print(
    f"500 steps by hand: {theta.round(4)};  {logistic.n_iter_[0]} Newton steps by mercer:", logistic.certificate_.kind
)

figure, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
grid = np.linspace(6, 28, 200)[:, None]
ax.plot(radius, benign + rng.uniform(-0.03, 0.03, len(benign)), ".", color="C2", ms=3)
ax.plot(grid, logistic.predict_proba((grid - radius.mean()) / radius.std())[:, 1], "C0")
cut = radius.mean() - radius.std() * theta[0] / theta[1]
ax.axvline(cut, color="C1", ls="--")
ax.set(xlabel="mean radius", ylabel="p(benign | radius)", title=f"the log odds change sign at a radius of {cut:.1f}")
plt.show()

# %%
# Generalised linear models
# -------------------------
#
# Both derivatives were :math:`\sum_n (y_n - f(\theta^\top x_n))\, x_n`, with the identity and with the logistic
# function for :math:`f`. The recipe is general: choose a distribution for :math:`y`, choose a function that takes the
# linear predictor to its parameter, maximise the likelihood. For counts, such as the visitors of a restaurant at
# lunch time, this gives Poisson regression:
#
# .. math::
#
#    p(Y = k) = \frac{\lambda^k e^{-\lambda}}{k!}, \qquad \lambda = \exp(w^\top x) ,
#
# .. math::
#
#    \ell(w) = \sum_i \left( y_i\, w^\top x_i - \exp(w^\top x_i) - \log\, y_i! \right) .

warmth = rng.uniform(0, 30, size=(200, 1))
visitors = rng.poisson(np.exp(1.5 + 0.06 * warmth[:, 0]))
poisson = GLM("poisson").fit(warmth, visitors)
eta = poisson.intercept_ + warmth[:, 0] * poisson.coef_[0]
np.testing.assert_allclose(poisson.predict(warmth), np.exp(eta))
np.testing.assert_allclose(poisson.log_likelihood_, np.sum(visitors * eta - np.exp(eta) - gammaln(visitors + 1)))
print(f"log λ = {poisson.intercept_:.2f} + {poisson.coef_[0]:.3f} °C  (the truth: 1.5 + 0.06 °C)")

# %%
# One gradient for all three: at each estimate it is zero.

for model, x, y, f in (
    (GLM("gaussian"), bmi / 10, progress / 100, lambda eta: eta),
    (GLM("bernoulli"), scaled, benign, expit),
    (GLM("poisson"), warmth / 10, visitors, np.exp),
):
    model.fit(x, y)
    residual = y - f(x[:, 0] * model.coef_[0] + model.intercept_)
    np.testing.assert_allclose([residual.sum(), residual @ x[:, 0]], 0, atol=1e-5)

figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
grid = np.linspace(0, 30, 200)[:, None]
low, high = poisson.predict_distribution(grid).interval(0.9)
ax.fill_between(grid[:, 0], low, high, color="C4", alpha=0.35, step="mid", label="90% of days")
ax.plot(warmth, visitors, ".", color="C3", ms=4)
ax.plot(grid, poisson.predict(grid), "C0", label="Poisson: exp(w·x)")
ax.plot(grid, LinearRegression().fit(warmth, visitors).predict(grid), "C1--", label="least squares")
ax.set(xlabel="temperature in °C", ylabel="visitors", title="counts: the mean grows by factors, the spread with it")
ax.legend(fontsize=8)
plt.show()

# %%
# More than two classes
# ---------------------
#
# A score :math:`w_k^\top x` for each class, and their softmax:
#
# .. math::
#
#    p(y = k \mid x) = \frac{\exp(w_k^\top x)}{\sum_j \exp(w_j^\top x)} .

iris = load_iris()
petals, species = iris.data[:, 2:], iris.target
multinomial = LogisticRegression(C=100.0).fit(petals, species)
scores = petals @ multinomial.coef_.T + multinomial.intercept_
np.testing.assert_allclose(multinomial.predict_proba(petals), softmax(scores, axis=1))
print(f"{multinomial.score(petals, species):.1%} of the irises")

across, up = np.linspace(0.5, 7.2, 200), np.linspace(0, 2.7, 200)
p = multinomial.predict_proba(np.array(np.meshgrid(across, up)).reshape(2, -1).T)
figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
filled = ax.contourf(across, up, p.max(axis=1).reshape(200, 200), levels=np.linspace(0.3, 1, 8), cmap="cividis")
ax.contour(across, up, p.argmax(axis=1).reshape(200, 200), levels=[0.5, 1.5], colors="w")
for k, (name, style) in enumerate(zip(iris.target_names, ("C4o", "C1s", "w^"), strict=True)):
    ax.plot(*petals[species == k].T, style, ms=4, mec="k", mew=0.5, label=name)
ax.set(xlabel="petal length in cm", ylabel="petal width in cm", title="softmax: straight lines where two classes tie")
ax.legend(fontsize=8)
figure.colorbar(filled, label="largest probability")
plt.show()

# %%
# Generative models and the naive assumption
# ------------------------------------------
#
# A generative model describes each class, and Bayes' rule gives the posterior:
#
# .. math::
#
#    p(y \mid x) = \frac{p(x \mid y)\, p(y)}{p(x)} .
#
# With many columns there are far too many combinations to estimate :math:`p(x \mid y)` by counting. *Naive* Bayes
# assumes that the columns are independent within a class, :math:`p(x \mid y) = \prod_i p(x_i \mid y)`. For words that
# are there or not, each factor is a Bernoulli distribution, whose most likely parameter is a share: the fake reviews
# with the word among the fake reviews.

reviews = [
    "absolutely wonderful, absolutely the best",
    "best product ever, buy buy buy",
    "absolutely the best product",
    "wonderful, the best",
    "the handle broke, but the product works",
    "works well, the handle is short",
    "the best of three, works",
    "it works",
]
fake = np.array([1, 1, 1, 1, 0, 0, 0, 0])
counter = CountVectorizer(binary=True, vocabulary=["absolutely", "best", "handle", "product", "the", "works"])
presence = counter.fit_transform(reviews).toarray()
bayes = BernoulliNB(alpha=0).fit(presence, fake)
shares = np.array([presence[fake == c].mean(axis=0) for c in (0, 1)])
with np.errstate(divide="ignore"):  # "handle" is in no fake review: log 0
    np.testing.assert_allclose(bayes.feature_log_prob_, np.log(shares))
for word, share in zip(counter.get_feature_names_out(), shares.T, strict=True):
    print(f"{word:>10}: {share[0]:.2f} of the genuine, {share[1]:.2f} of the fake reviews")

# %%
# .. admonition:: Erratum
#
#    In equation 48 the two terms of the derivative are added. They have to be subtracted, or it would never be zero:
#    :math:`\frac{\partial \ell}{\partial \theta} = \frac{n_1}{\theta} - \frac{n_0}{1 - \theta}` with :math:`n_1` rows
#    that show the word and :math:`n_0` that do not. The root is :math:`n_1 / (n_1 + n_0)`, equation 49.

n1, n0 = 3, 1  # "the" in the four fake reviews
share = np.linspace(0.05, 0.95, 200)
assert shares[1, 4] == n1 / (n1 + n0)

figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
axes[0].plot(share, n1 * np.log(share) + n0 * np.log(1 - share), "C0")
axes[0].axvline(n1 / (n1 + n0), color="C3", ls=":")
axes[0].set(xlabel="θ", ylabel="log likelihood", title="3 of 4 show the word: the top is at 3/4")
axes[1].plot(share, n1 / share - n0 / (1 - share), "C0", label="with minus")
axes[1].plot(share, n1 / share + n0 / (1 - share), "C1--", label="as printed")
axes[1].axhline(0, color="k", lw=0.6)
axes[1].axvline(n1 / (n1 + n0), color="C3", ls=":")
axes[1].set(xlabel="θ", ylabel="derivative", ylim=(-20, 40), title="the printed derivative has no root")
axes[1].legend(fontsize=8)
plt.show()

# %%
# Gaussian naive Bayes
# --------------------
#
# A column of numbers gets a normal distribution in each class, and maximum likelihood gives it the mean and the
# variance of its rows:
#
# .. math::
#
#    \mu_{jk} = \frac{1}{N_k} \sum_{n : y_n = k} x_{nj}, \qquad
#    \sigma_{jk}^2 = \frac{1}{N_k} \sum_{n : y_n = k} (x_{nj} - \mu_{jk})^2, \qquad \theta_k = \frac{N_k}{N} .

X, y = tumours.data[:, :2], benign  # mean radius and mean texture
own = GaussianNB(var_smoothing=0).fit(X, y)
shared = GaussianNB(var_smoothing=0, shared_variance=True).fit(X, y)
np.testing.assert_allclose(own.theta_, [X[y == k].mean(axis=0) for k in (0, 1)])
np.testing.assert_allclose(own.var_, [X[y == k].var(axis=0) for k in (0, 1)])

# %%
# The log odds are quadratic in :math:`x` when each class has variances of its own. When the classes share them, the
# squares cancel, and what is left is the form of logistic regression:
#
# .. math::
#
#    \log \frac{p(y = 1 \mid x)}{p(y = 0 \mid x)} = \theta^\top x + \theta_0 ,
#
# .. math::
#
#    \theta_i = \frac{\mu_{i1} - \mu_{i0}}{\sigma_i^2}, \qquad
#    \theta_0 = \sum_i \frac{\mu_{i0}^2 - \mu_{i1}^2}{2 \sigma_i^2} + \log \frac{p(y = 1)}{p(y = 0)} .
#
# (Lecture 2 prints the same with all signs turned, since it puts them under :math:`1 / (1 + e^{\ldots})`.)

(mu0, mu1), variance = shared.theta_, shared.var_[0]
theta = (mu1 - mu0) / variance
bias = np.sum((mu0**2 - mu1**2) / (2 * variance)) + np.log(y.mean() / (1 - y.mean()))
np.testing.assert_allclose(shared.predict_proba(X)[:, 1], expit(X @ theta + bias))
form = linear_form(shared)
np.testing.assert_allclose(form.coef[1] - form.coef[0], theta)

sizes, textures = np.linspace(6, 29, 150), np.linspace(8, 40, 150)
grid = np.array(np.meshgrid(sizes, textures)).reshape(2, -1).T
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained", sharey=True)
for ax, model, title in ((axes[0], own, "own variances: a curve"), (axes[1], shared, "shared variances: a line")):
    p = model.predict_proba(grid)[:, 1].reshape(150, 150)
    filled = ax.contourf(sizes, textures, p, levels=np.linspace(0, 1, 11), cmap="cividis", alpha=0.6)
    ax.contour(sizes, textures, p, levels=[0.5], colors="k")
    ax.plot(*X[y == 0].T, "o", color="C0", ms=3, mec="w", mew=0.4, label="malignant")
    ax.plot(*X[y == 1].T, "s", color="C1", ms=3, mec="w", mew=0.4, label="benign")
    ax.set(xlabel="mean radius", title=title)
axes[0].set_ylabel("mean texture")
axes[0].legend(fontsize=8, loc="upper right")
figure.colorbar(filled, ax=axes, label="p(benign | x)")
plt.show()

# %%
# Naive Bayes against logistic regression
# ---------------------------------------
#
# Both have a boundary :math:`\theta^\top x`. Do they find the same one? In the limit of many rows they do if the
# columns are normal and independent within the classes, and do not if the columns are correlated.


def draw(rows, correlation):
    y = rng.integers(2, size=rows)
    noise = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], size=rows)
    return noise + y[:, None] * [1.0, 0.5], y


sizes = [60, 200, 600, 2000, 6000, 20_000, 100_000]
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
for ax, correlation, title in (
    (axes[0], 0.0, "independent columns: one limit"),
    (axes[1], 0.6, "correlated: two limits"),
):
    found = {"naive Bayes": [], "logistic": []}
    for rows in sizes:
        X, y = draw(rows, correlation)
        form = linear_form(GaussianNB(shared_variance=True).fit(X, y))
        found["naive Bayes"].append(form.coef[1, 1] - form.coef[0, 1])
        found["logistic"].append(LogisticRegression(C=np.inf).fit(X, y).coef_[0, 1])
    for (name, values), style in zip(found.items(), ("C0o-", "C1s--"), strict=True):
        ax.plot(sizes, values, style, ms=4, label=name)
    ax.set(xscale="log", xlabel="rows", title=title)
    apart = abs(found["naive Bayes"][-1] - found["logistic"][-1])
    assert apart < 0.03 if correlation == 0 else apart > 0.3
axes[0].set_ylabel("weight of the second column")
axes[0].legend()
plt.show()

# %%
# On the left both converge to 0.5, on the right to different numbers: the naive model counts twice what the
# columns have in common.
#
# Which is better with few rows, and which with many? Ng and Jordan compared them on real data. Here are
# the tumours with all their 30 columns, held-out errors after more and more rows, and logistic regression on the same
# features, :math:`x` and :math:`x^2`, which ``learning_curves`` chooses by itself.

curves = learning_curves(
    GaussianNB(), tumours.data, tumours.target, sizes=[10, 20, 40, 80, 160, 379], repeats=5, random_state=0
)
print(*curves.sentences(), sep="\n")
errors = curves.errors.mean(axis=2)
assert errors[0, -1] > errors[1, -1]

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
curves.plot(ax=ax)
ax.set_title("naive Bayes settles early, logistic regression ends ahead")
plt.show()

# %%
# This is one table of many: :doc:`Generative and discriminative models </generative-vs-discriminative>` has ten, and
# shows how far the answer depends on the setting.
