r"""
Lecture 4a: generative and discriminative models
================================================

A classifier can be learnt in two ways. One models the joint distribution :math:`p(x, y)` of rows and classes, and
applies Bayes' rule. The other models only the conditional distribution, :math:`p(y|x)`. Lecture 4
(F. Sha, 2017) puts two such pairs side by side: naive Bayes with logistic regression, and Gaussian discriminants
with logistic regression on squares. This tutorial computes every formula twice, by NumPy and by mercer, and lets
``assert`` compare them.

In practice: :doc:`/generative-vs-discriminative`, :doc:`/which-model`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from mercer import (
    GaussianDiscriminant,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    MonomialFeatures,
    MultinomialNB,
    QuadraticDiscriminantAnalysis,
    counterpart,
    learning_curves,
    linear_form,
)

# colours that colour-blind readers tell apart, too
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"

# %%
# Naive Bayes on counts of words
# ------------------------------
# The lecture begins with its model of e-mails. A class has a prior :math:`\pi_c` and a die with one side per word,
# :math:`\theta_{ck}`; an e-mail is a number of throws, of which :math:`z_k` showed word :math:`k`:
#
# .. math:: p(x, y = c) = \pi_c \prod_k \theta_{ck}^{z_k}
#
# Maximum likelihood is counting: :math:`\pi_c` is the share of e-mails of class :math:`c`, and :math:`\theta_{ck}`
# the share of word :math:`k` among all words of that class.

words = ["free", "win", "meeting", "report"]
spam_mails = [[3, 2, 0, 1], [2, 2, 1, 0], [4, 1, 0, 0]]
ham_mails = [[0, 0, 2, 3], [1, 0, 3, 1], [0, 1, 2, 2], [0, 0, 1, 4]]
counts, spam = np.array(spam_mails + ham_mails), np.array([1, 1, 1, 0, 0, 0, 0])

pi = np.array([np.mean(spam == c) for c in (0, 1)])
totals = np.array([counts[spam == c].sum(axis=0) for c in (0, 1)])
theta = totals / totals.sum(axis=1, keepdims=True)

bayes = MultinomialNB(alpha=0).fit(counts, spam)  # alpha=0: no smoothing, as in the lecture
assert np.allclose(np.exp(bayes.class_log_prior_), pi)
assert np.allclose(np.exp(bayes.feature_log_prob_), theta)
for c, name in enumerate(["ham ", "spam"]):
    shares = dict(zip(words, theta[c].round(2).tolist(), strict=True))
    print(f"{name} prior {pi[c]:.2f}, words {shares}")

# %%
# **It is a linear classifier.** Taking logarithms of :math:`p(x, y = 1) \geq p(x, y = 0)` leaves a sum over words,
#
# .. math::
#    w_0 + \sum_k z_k w_k \geq 0, \qquad
#    w_0 = \log \, \frac{\pi_1}{\pi_0}, \quad w_k = \log \, \frac{\theta_{1k}}{\theta_{0k}},
#
# the same kind of boundary as logistic regression has. :func:`mercer.linear_form` reads the weights off a fitted
# model.

w0, w = np.log(pi[1] / pi[0]), np.log(theta[1] / theta[0])
form = linear_form(bayes)
assert np.allclose(form.coef[1] - form.coef[0], w)
assert np.isclose(form.intercept[1] - form.intercept[0], w0)

mail = np.array([[1, 1, 1, 0]])  # "free", "win" and "meeting", once each
score = w0 + mail[0] @ w
assert np.isclose(bayes.predict_proba(mail)[0, 1], expit(score))
print(f"score of the e-mail: {score:.2f}, p(spam|x): {expit(score):.3f}")

fig, ax = plt.subplots(figsize=(5.5, 2.4), layout="constrained")
ax.barh(words, w, color=[ORANGE if weight > 0 else BLUE for weight in w])
ax.axvline(0, color="black", lw=0.8)
ax.invert_yaxis()
ax.set(xlabel="weight $w_k$ (above 0 speaks for spam)")
ax.set_title("Each word adds its log ratio to the score")
plt.show()

# %%
# The lecture leaves a blank: if both are linear classifiers, how do naive Bayes and logistic regression differ?
# In what they maximise: the *joint* likelihood :math:`\sum_n \log \, p(x_n, y_n)`, or the *conditional* one
# :math:`\sum_n \log \, p(y_n | x_n)`. The next example shows what difference that makes.
#
# Heights of women and men
# ------------------------
# The generative model: a person's sex has a prior, and within each sex heights are normal.
#
# .. math::
#    p(x, y = c) = p_c \, \frac{1}{\sqrt{2 \pi} \sigma_c} \exp \left( -\frac{(x - \mu_c)^2}{2 \sigma_c^2} \right)
#
# The lecture's table has five people; its last height is printed 5.7" and means 5'7". The estimates (eq. 10–12) are a
# share, a mean and a mean square, each within a class. Note that :math:`\sigma_c^2` divides by the number of rows,
# not by that number less one: this is maximum likelihood.

height = 12.0 * np.array([6, 5, 5, 6, 5]) + np.array([0, 2, 6, 2, 7])  # feet and inches
sex = np.array([1, 2, 1, 1, 2])  # 1 men, 2 women

p = np.array([np.mean(sex == c) for c in (1, 2)])
mu = np.array([height[sex == c].mean() for c in (1, 2)])
variance = np.array([np.mean((height[sex == c] - mu[c - 1]) ** 2) for c in (1, 2)])

gda = GaussianDiscriminant().fit(height[:, None], sex)
assert np.allclose(gda.priors_, p)
assert np.allclose(gda.means_[:, 0], mu)
assert np.allclose(gda.covariance_[:, 0, 0], variance)
assert np.allclose(mu, [212 / 3, 129 / 2])
assert np.allclose(variance, [104 / 9, 25 / 4])
for c, name in enumerate(["men  ", "women"]):
    print(name, f"p = {p[c]:.1f}  mu = {mu[c]:.2f} in  variance = {variance[c]:.2f}")
print("Evidence that this is the optimum:", gda.certificate_.sentence)

# %%
# **The boundary is quadratic.** :math:`p(x, y = 1) \geq p(x, y = 2)` becomes :math:`a x^2 + b x + c \geq 0` with
#
# .. math::
#    a = \frac{1}{2 \sigma_2^2} - \frac{1}{2 \sigma_1^2}, \quad
#    b = \frac{\mu_1}{\sigma_1^2} - \frac{\mu_2}{\sigma_2^2}, \quad
#    c = \frac{\mu_2^2}{2 \sigma_2^2} - \frac{\mu_1^2}{2 \sigma_1^2} + \log \, \frac{p_1 \sigma_2}{p_2 \sigma_1}.
#
# It has two roots. **With one variance for both** the squares cancel, and :math:`b x + c = 0` has one.

(v1, v2), (m1, m2) = variance, mu
a = 1 / (2 * v2) - 1 / (2 * v1)
b = m1 / v1 - m2 / v2
c = m2**2 / (2 * v2) - m1**2 / (2 * v1) + np.log(p[0] / p[1]) + 0.5 * np.log(v2 / v1)
roots = np.sort(np.roots([a, b, c]))
assert np.allclose(gda.predict_proba(roots[:, None]), 0.5)

shared = p @ variance  # the mean of the squared deviations of all five people
one_root = (m1 + m2) / 2 - shared * np.log(p[0] / p[1]) / (m1 - m2)
lda = GaussianDiscriminant("shared full").fit(height[:, None], sex)
assert np.allclose(lda.covariance_, shared)
assert np.allclose(lda.predict_proba([[one_root]]), 0.5)
print(f"two variances: at {roots.round(1)} inches; one variance: at {one_root:.1f}")

x = np.linspace(42, 86, 400)[:, None]
fig, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
for ax, model, edges in [(axes[0], gda, roots), (axes[1], lda, [one_root])]:
    joint = np.exp(model.predict_joint_log_proba(x))
    for c, name, colour, style, mark in [(1, "men", BLUE, "-", "o"), (2, "women", ORANGE, "--", "^")]:
        heights = height[sex == c]
        ax.plot(x, joint[:, c - 1], color=colour, ls=style, label=name)
        ax.plot(heights, np.zeros_like(heights), mark, color=colour, zorder=3)
    for edge in edges:
        ax.axvline(edge, color=GREY, lw=1, ls=":")
    ax.set(xlabel="height in inches")
axes[0].set(title="Two variances, two boundaries", ylabel="$p(x, y)$")
axes[1].set(title="One variance, one boundary")
axes[0].legend(frameon=False)
plt.show()

# %%
# On the left the wider curve is the higher one far out on *both* sides: below 47.5 inches the model says "man" again.
# This follows from the assumption, not from measurements. A generative model extrapolates everywhere.
#
# Two columns: curves and lines
# -----------------------------
# With several columns the variance becomes a covariance matrix :math:`\Sigma_c`. The boundary between two classes is
# :math:`x^\top A x + b^\top x + c = 0` with :math:`A = \frac{1}{2}(\Sigma_2^{-1} - \Sigma_1^{-1})`, a *conic*: an
# ellipse if the eigenvalues of :math:`A` have one sign, a hyperbola if they have two. (The lecture says a parabola,
# which is the case in between.) With one shared :math:`\Sigma` it is a line. These are quadratic and linear
# discriminant analysis. The data are simulated: heights and weights, with men varying more, as in the lecture's plot.

rng = np.random.default_rng(0)
men = rng.multivariate_normal([178, 82], [[60, 55], [55, 160]], size=250)
women = rng.multivariate_normal([165, 66], [[36, 22], [22, 70]], size=250)
X, y = np.vstack([men, women]), np.repeat(["man", "woman"], 250)

qda = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
lda = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
own = [np.cov(rows.T, bias=True) for rows in (men, women)]  # bias=True divides by n
assert np.allclose(qda.covariance_, own)
within = (own[0] + own[1]) / 2  # the classes are of equal size
assert np.allclose(lda.covariance_, within)
difference = women.mean(axis=0) - men.mean(axis=0)
assert np.allclose(lda.coef_[0], np.linalg.solve(within, difference))

A = (np.linalg.inv(own[1]) - np.linalg.inv(own[0])) / 2
assert np.all(np.linalg.eigvalsh(A) > 0)
print("eigenvalues of A:", np.linalg.eigvalsh(A).round(4), "of one sign: an ellipse")
print(f"accuracy on these rows: QDA {qda.score(X, y):.3f}, LDA {lda.score(X, y):.3f}")

grid = np.stack(np.meshgrid(np.linspace(125, 205, 200), np.linspace(30, 125, 200)), axis=-1)
fig, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
ax.scatter(*men.T, s=9, color=BLUE, marker="o", alpha=0.6, label="men")
ax.scatter(*women.T, s=12, color=ORANGE, marker="^", alpha=0.6, label="women")
for model, style, name in [(qda, "-", "own covariances"), (lda, "--", "one covariance")]:
    score = model.decision_function(grid.reshape(-1, 2)).reshape(200, 200)
    ax.contour(grid[..., 0], grid[..., 1], score, levels=[0], colors="black", linestyles=style)
    ax.plot([], [], color="black", ls=style, label=name)
ax.set(xlabel="height in cm", ylabel="weight in kg")
ax.set_title("QDA fences in the class that varies less, LDA cuts")
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# The discriminative counterpart
# ------------------------------
# If all we want is the boundary, we can write it down at once and forget how heights come about:
#
# .. math:: p(y = 1 | x) = \sigma(a x^2 + b x + c), \qquad \sigma(u) = \frac{1}{1 + e^{-u}}
#
# Three numbers instead of five free ones (two means, two variances, one prior). They maximise
#
# .. math:: \sum_n y_n \log \, \sigma(u_n) + (1 - y_n) \log (1 - \sigma(u_n)), \quad u_n = a x_n^2 + b x_n + c,
#
# where :math:`y_n` is now 1 for men and 0 for women. (Up to here the lecture's labels were 1 and 2; in this formula
# they have to be 1 and 0.) No formula gives the maximum, but Newton's method finds it: solve
# :math:`H \, \delta = \Phi^\top (y - \sigma)` with :math:`H = \Phi^\top \mathrm{diag}(\sigma (1 - \sigma)) \Phi`, and
# step by :math:`\delta` until it vanishes.

x, man = X[:, :1], (y == "man").astype(float)
z = (x - x.mean()) / x.std()  # the same curves, in units that are kind to the solver
Phi = np.column_stack([z**2, z, np.ones(len(z))])

abc, steps = np.zeros(3), 0
while True:
    s = expit(Phi @ abc)
    delta = np.linalg.solve(Phi.T @ (Phi * (s * (1 - s))[:, None]), Phi.T @ (man - s))
    abc, steps = abc + delta, steps + 1
    if np.abs(delta).max() < 1e-10:
        break

squares = MonomialFeatures(2, include_bias=False)
logistic = LogisticRegression(C=np.inf, tol=1e-10)  # C = inf: no penalty
logistic.fit(squares.fit_transform(z), man)
assert np.allclose(logistic.coef_[0], [abc[1], abc[0]], atol=1e-6)
assert np.allclose(logistic.intercept_, abc[2], atol=1e-6)
print(f"a, b, c = {abc.round(3)} after {steps} steps; mercer needed {logistic.n_iter_[0]}")

# %%
# **By which likelihood?** The Gaussian discriminant of the same column has its own :math:`a, b, c`. By the
# conditional likelihood it can only lose, since logistic regression has the maximum over all three.

generative = GaussianDiscriminant().fit(z, man)
p_generative = generative.predict_proba(z)[:, 1]
p_logistic = logistic.predict_proba(squares.transform(z))[:, 1]


def conditional_likelihood(probability):
    return np.sum(man * np.log(probability) + (1 - man) * np.log(1 - probability))


print(f"sum of log p(y|x): discriminant {conditional_likelihood(p_generative):.3f}")
print(f"                   logistic     {conditional_likelihood(p_logistic):.3f}")
assert conditional_likelihood(p_logistic) > conditional_likelihood(p_generative)

cm = np.linspace(145, 205, 200)[:, None]
at = (cm - x.mean()) / x.std()
fig, ax = plt.subplots(figsize=(5.5, 3), layout="constrained")
ax.plot(cm, generative.predict_proba(at)[:, 1], color=BLUE, label="discriminant (joint)")
p_at = logistic.predict_proba(squares.transform(at))[:, 1]
ax.plot(cm, p_at, color=ORANGE, ls="--", label="logistic (conditional)")
ax.plot(x, man, "|", color=GREY, alpha=0.5, ms=8)
ax.set(xlabel="height in cm", ylabel="p(man | height)")
ax.set_title("The same family of curves, chosen by two likelihoods")
ax.legend(frameon=False, loc="center right", fontsize=8)
plt.show()

# %%
# Where the Gaussian assumption holds, as here, the two curves nearly coincide. :func:`mercer.counterpart` builds the
# other half of any such pair. Made from a fitted model it starts as the very same classifier, until it is fitted.

partner = counterpart(GaussianDiscriminant().fit(X, y))
print(partner)

# %%
# Which one to use?
# -----------------
# There is no fixed rule, the lecture says: it depends on whether the assumption fits, and on how many rows there are.
# Two simulated data sets show both ends. In the first, classes are normal with one covariance, as LDA assumes. In the
# second, columns are squares of exponential variables, far from normal, and :math:`p(y|x)` is logistic.

rng = np.random.default_rng(1)
label = rng.integers(2, size=2400)
normal = rng.normal(size=(2400, 8)) + 0.6 * label[:, None], label
columns = rng.exponential(size=(2400, 3)) ** 2
positive = rng.random(2400) < expit(columns[:, 0] - 0.3 * columns[:, 1] - 2)
skewed = columns, positive.astype(int)

pair = {"LDA": LinearDiscriminantAnalysis(), "logistic": LogisticRegression(C=np.inf)}
sizes = [20, 40, 80, 160, 400, 1600]
found = [learning_curves(pair, *rows, sizes=sizes, repeats=8) for rows in (normal, skewed)]
for curves in found:
    print(*curves.sentences(), sep="\n", end="\n\n")
assert found[0].difference(size=40).mean < 0  # LDA errs less often after 40 normal rows
assert found[1].difference().low > 0  # and more often, beyond chance, after 1,600 skewed

fig, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for ax, curves in zip(axes, found, strict=True):
    for k, colour, style in [(0, BLUE, "o-"), (1, ORANGE, "s--")]:
        error = curves.errors[k].mean(axis=1)
        ax.plot(curves.sizes, error, style, color=colour, ms=4, label=curves.names[k])
    ax.set(xscale="log", xlabel="rows to learn from", ylabel="error on held-out rows")
axes[0].set_title("Normal classes: LDA learns faster")
axes[1].set_title("Skewed columns: it falls behind")
axes[0].legend(frameon=False)
plt.show()

# %%
# Where the assumption holds, LDA needs fewer rows and both end at the same error. Where it does not, LDA settles on a
# worse line however many rows there are. :doc:`/generative-vs-discriminative` measures this on ten real tables, with
# and without a penalty, and under missing values and noise. The second half of the lecture drops the assumption of a
# shape altogether and estimates densities from the rows alone: that is the next tutorial.
