r"""
Lecture 5b: words, naive Bayes and priors
=========================================

The second half of lecture 5 (M. Straka, 2020) turns documents into numbers, and models the
numbers of a class by a normal, multinomial or Bernoulli distribution. This gives three naive Bayes classifiers, whose
parameters can be drawn as pictures, which generate rows, and which have a density of rows. It ends with priors on
parameters, which are equivalent to penalties.

In practice: :doc:`/guides/text`, :doc:`/digits`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import norm
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from mercer import (
    BernoulliNB,
    CountVectorizer,
    GaussianNB,
    KernelBayes,
    LogisticRegression,
    MultinomialNB,
    Ridge,
    TfidfVectorizer,
    counterpart,
    linear_form,
)
from mercer.families import Multinomial

# colours that colour-blind readers tell apart, too
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"

# %%
# Documents as bags of words
# --------------------------
# One column per word, and four ways to fill it: whether the word is there, its share of the document (TF), how rare
# it is among documents (IDF), and the product of the two.
#
# .. math::
#    \mathrm{TF}(t) = \frac{\mathrm{occurrences \; of \;} t}{\mathrm{terms \; in \; the \; document}}, \qquad
#    \mathrm{IDF}(t) = \log \, \frac{\mathrm{documents}}{\mathrm{documents \; with \;} t}
#
# The documents are those of lecture 3. mercer's (and scikit-learn's) default is another TF-IDF: counts instead of
# shares, an IDF that is never 0, and rows scaled to length 1. ``weighting="lecture"`` is the lecture's.

documents = [
    "Chinese Beijing Chinese",
    "Chinese Chinese Shanghai",
    "Chinese Macao",
    "Tokyo Japan Chinese",
]
bag = CountVectorizer()
counts = bag.fit_transform(documents).toarray()
words = bag.get_feature_names_out()

tf = counts / counts.sum(axis=1, keepdims=True)
idf = np.log(len(documents) / np.sum(counts > 0, axis=0))
lecture = TfidfVectorizer(weighting="lecture")
assert np.allclose(lecture.fit_transform(documents).toarray(), tf * idf)
default = TfidfVectorizer().fit_transform(documents).toarray()

print("first document:", documents[0])
for i in np.flatnonzero(counts[0]):
    print(
        f"{words[i]:9} there {counts[0, i] > 0:d}  TF {tf[0, i]:.3f}  IDF {idf[i]:.3f}  "
        f"TF-IDF {tf[0, i] * idf[i]:.3f}  by default {default[0, i]:.3f}"
    )

# %%
# "Chinese" is in every document. Its IDF is the self-information of finding it, :math:`-\log(1) = 0`: it says nothing
# about which document this is, and the lecture's TF-IDF drops it, whereas the default keeps some.

fig, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
tables = {"The lecture drops 'chinese'": tf * idf, "The default keeps it": default}
for ax, (title, table) in zip(axes, tables.items(), strict=True):
    image = ax.imshow(table, cmap="Blues", vmin=0, aspect="auto")
    ax.set(title=title, xlabel="word", ylabel="document")
    ax.set_yticks(range(4), range(1, 5))
    ax.set_xticks(range(len(words)), words, rotation=45, ha="right", fontsize=8)
    fig.colorbar(image, ax=ax)
plt.show()

# %%
# Naive Bayes
# -----------
# Bayes' theorem turns :math:`p(x | C_k)` into :math:`p(C_k | x)`, and the naive assumption, that columns are
# independent within a class, makes a product of it:
#
# .. math:: p(C_k | x) \propto p(C_k) \prod_i p(x_i | C_k)
#
# **Multinomial.** A document is a number of draws from the words of its class. With :math:`n_{i,k}` occurrences of
# word :math:`i` in class :math:`k`, :math:`D` words and a pseudo-count :math:`\alpha` for each,
#
# .. math::
#    p(x | C_k) = \frac{(\sum_i x_i)!}{\prod_i x_i!} \prod_i p_{i,k}^{x_i}, \qquad
#    p_{i,k} = \frac{n_{i,k} + \alpha}{\sum_j n_{j,k} + \alpha D}.
#
# The first three documents are of class c (China), the last is of class j (Japan). Where does a fifth belong?

labels = np.array(["c", "c", "c", "j"])
fifth = bag.transform(["Chinese Chinese Chinese Tokyo Japan"]).toarray()

n = np.array([counts[labels == k].sum(axis=0) for k in "cj"])
p = (n + 1) / (n.sum(axis=1, keepdims=True) + len(words))
prior = np.array([3 / 4, 1 / 4])
multinomial = MultinomialNB(alpha=1).fit(counts, labels)
assert np.allclose(np.exp(multinomial.feature_log_prob_), p)

scores = prior * np.prod(p**fifth, axis=1)
assert np.allclose(np.exp(multinomial.predict_joint_log_proba(fifth))[0], scores)
print("joint scores:", scores.round(6), " p(c | x):", (scores[0] / scores.sum()).round(3))
assert scores.round(6).tolist() == [0.000301, 0.000135]
assert multinomial.predict_proba(fifth)[0, 0].round(3) == 0.690

# %%
# The coefficient in front is the same for all classes, and does not matter in choosing among them. In the density it
# matters, and :math:`\Gamma` in place of the factorials, :math:`x! = \Gamma(x + 1)`, carries it over to fractions such
# as TF-IDF.

half = fifth[0] / 2
log_coefficient = gammaln(half.sum() + 1) - gammaln(half + 1).sum()
assert np.isclose(Multinomial().log_base(half), log_coefficient)
print("log coefficient of half a document:", log_coefficient.round(4))

# %%
# **Bernoulli.** Only whether a word is there counts, and words that are *absent* count too:
#
# .. math::
#    p(x_i | C_k) = p_{i,k}^{x_i} (1 - p_{i,k})^{1 - x_i}, \qquad
#    p_{i,k} = \frac{\mathrm{documents \; of \;} k \mathrm{\; with \;} i + \alpha}
#    {\mathrm{documents \; of \;} k + 2 \alpha}.
#
# On the same documents it comes to the other answer: three mentions of "Chinese" count as one, and that
# Beijing, Shanghai and Macao are absent speaks a little for Japan.

presence = (counts > 0).astype(int)
with_word = np.array([presence[labels == k].sum(axis=0) for k in "cj"])
q = (with_word + 1) / (np.array([[3], [1]]) + 2)  # three documents of c, one of j
bernoulli = BernoulliNB(alpha=1).fit(presence, labels)
assert np.allclose(np.exp(bernoulli.feature_log_prob_), q)

present = fifth > 0
scores = prior * np.prod(np.where(present, q, 1 - q), axis=1)
assert np.allclose(np.exp(bernoulli.predict_joint_log_proba(present.astype(int)))[0], scores)
print("joint scores:", scores.round(4), " class:", bernoulli.predict(present.astype(int))[0])
assert scores.round(4).tolist() == [0.0052, 0.0219]

# %%
# **Both are linear** in the logarithm, :math:`\log \, p(C_k | x) + \mathrm{const} = b + x^\top w`, with weights
# :math:`\log \, p_{i,k}` (multinomial) or :math:`\log \, \frac{p_{i,k}}{1 - p_{i,k}}` (Bernoulli). The picture shows
# how much each word of the fifth document speaks for c.

for model, weights in [(multinomial, np.log(p)), (bernoulli, np.log(q / (1 - q)))]:
    form = linear_form(model)
    assert np.allclose(form.coef[0] - form.coef[1], weights[0] - weights[1])

by_count = fifth[0] * np.log(p[0] / p[1])
by_presence = np.where(present[0], np.log(q[0] / q[1]), np.log((1 - q[0]) / (1 - q[1])))
fig, ax = plt.subplots(figsize=(6, 2.9), layout="constrained")
place = np.arange(len(words))
ax.bar(place - 0.2, by_count, 0.4, color=BLUE, label="multinomial: counts")
ax.bar(place + 0.2, by_presence, 0.4, color=ORANGE, hatch="//", edgecolor="white", label="Bernoulli: there or not")
ax.axhline(0, color="black", lw=0.8)
ax.set_xticks(place, words)
ax.set(ylabel="evidence for c", title="To Bernoulli, three mentions of 'Chinese' are one")
ax.legend(frameon=False, fontsize=8)
plt.show()

# %%
# Pictures of the models
# ----------------------
# **Gaussian.** For numbers, :math:`p(x_i | C_k) = \mathcal{N}(x_i; \mu_{i,k}, \sigma_{i,k}^2)`, with variances
# widened by a small part of the largest so that a column without spread does no harm. On scanned digits the
# parameters of all three models are pictures; the pixels range from 0 to 16.

X, y = load_digits(return_X_y=True)
gaussian = GaussianNB().fit(X, y)
threes = X[y == 3]
assert np.allclose(gaussian.theta_[3], threes.mean(axis=0))
assert np.allclose(gaussian.var_[3], threes.var(axis=0) + 1e-9 * X.var(axis=0).max())

pictures = {
    "mean\n(Gaussian)": gaussian.theta_,
    "deviation\n(Gaussian)": np.sqrt(gaussian.var_),
    "dark?\n(Bernoulli)": np.exp(BernoulliNB(binarize=8).fit(X, y).feature_log_prob_),
    "ink\n(multinomial)": np.exp(MultinomialNB().fit(X, y).feature_log_prob_),
}
fig, axes = plt.subplots(4, 10, figsize=(8, 3.5), layout="constrained")
for line, (name, rows) in zip(axes, pictures.items(), strict=True):
    for ax, row in zip(line, rows, strict=True):
        ax.imshow(row.reshape(8, 8), cmap="gray_r", vmin=0, vmax=rows.max())
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8)
fig.suptitle("What three naive Bayes models know of each digit")
plt.show()

# %%
# Pixels vary most along the edges of strokes. :doc:`/digits` says more about these pictures.
#
# Generative and discriminative
# -----------------------------
# Naive Bayes models :math:`p(x, C_k)`, its partner logistic regression only :math:`p(C_k | x)`, by the same linear
# function of :math:`x`: a *generative-discriminative pair*. :func:`mercer.counterpart` gives the partner.

order = np.random.default_rng(0).permutation(len(y))
train, test = order[:1200], order[1200:]
naive = MultinomialNB().fit(X[train], y[train])
partner = counterpart(naive).fit(X[train], y[train])
for name, model in [("naive Bayes", naive), ("its partner", partner)]:
    print(f"held-out accuracy of {name}: {model.score(X[test], y[test]):.3f}")

# %%
# What the discriminative half gives up is :math:`p(x)`. A generative model can **draw rows**:

drawn, drawn_y = gaussian.sample(200, random_state=0)
fig, axes = plt.subplots(2, 10, figsize=(8, 1.9), layout="constrained")
for digit in range(10):
    first = X[y == digit][0], drawn[drawn_y == digit][0]
    for ax, row in zip(axes[:, digit], first, strict=True):
        ax.imshow(row.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("real", fontsize=8)
axes[1, 0].set_ylabel("drawn", fontsize=8)
fig.suptitle("Drawn digits have pixels of the right darkness, but no strokes")
plt.show()

# %%
# And it can tell **that a row is unlike all it has seen**, by :math:`p(x) = \sum_k p(C_k) p(x | C_k)`. Here only the
# digits 0 to 7 are learnt. The strange rows are the digits 8 and 9, and negatives of known digits. AUC is the
# probability that a known row scores higher than a strange one; ½ is guessing.

known_train, known_test = train[y[train] < 8], test[y[test] < 8]
logistic = LogisticRegression(C=0.1).fit(X[known_train], y[known_train])
density = KernelBayes(bandwidth=2.0).fit(X[known_train], y[known_train])


def confidence(rows):
    return logistic.predict_proba(rows).max(axis=1)


def auc(score, strange):
    is_known = np.repeat([1, 0], [len(known_test), len(strange)])
    return roc_auc_score(is_known, score(np.vstack([X[known_test], strange])))


kinds = {"8 and 9": X[y > 7], "negatives": 16 - X[known_test]}
for name, strange in kinds.items():
    by_confidence, by_density = auc(confidence, strange), auc(density.log_density, strange)
    print(f"{name}: logistic regression is 90% sure of {np.mean(confidence(strange) > 0.9):.0%}")
    print(f"   AUC by its confidence {by_confidence:.2f}, by log p(x) {by_density:.2f}")
    assert by_density > by_confidence

negatives = kinds["negatives"]
fig, axes = plt.subplots(1, 2, figsize=(8, 2.9), layout="constrained")
scores = {"confidence of logistic regression": confidence, "log p(x)": density.log_density}
for ax, (label, score) in zip(axes, scores.items(), strict=True):
    values = score(X[known_test]), score(negatives)
    bins = np.histogram_bin_edges(np.concatenate(values), 30)
    ax.hist(values[0], bins, color=BLUE, alpha=0.7, label="known digits")
    ax.hist(values[1], bins, color=ORANGE, histtype="step", lw=1.8, label="negatives")
    ax.set(xlabel=label, ylabel="rows")
axes[0].set_title("Their confidences overlap")
axes[1].set_title("The density tells them apart")
axes[1].legend(frameon=False, loc="upper left")
plt.show()

# %%
# Penalties are priors
# --------------------
# Maximum a posteriori estimation maximises :math:`p(\mathrm{data} | w) \, p(w)`. With
# :math:`w \sim \mathcal{N}(0, \sigma^2 I)` this is
#
# .. math::
#    \min_w \; \sum_{i=1}^N -\log \, p(x_i | w) \; + \; \frac{\|w\|^2}{2 \sigma^2} + \frac{D}{2} \log(2 \pi \sigma^2)
#
# for :math:`D` weights. The printed text has two mistakes: the prior stands inside the sum over rows, which would count
# it :math:`N` times; and the constant has a minus sign, which would make wide priors look likely. For ridge regression
# with noise of variance :math:`s^2` it gives :math:`\lambda = s^2 / \sigma^2`, for logistic regression ``C`` is
# :math:`\sigma^2`.

rng = np.random.default_rng(5)
A = rng.normal(size=(40, 3))
truth, noise, spread = [1.5, -2.0, 0.5], 0.8, 0.6
target = A @ truth + noise * rng.normal(size=40)


def minus_log_posterior(w, times=1):
    likelihood = norm.logpdf(target, A @ w, noise).sum()
    return -likelihood - times * norm.logpdf(w, 0, spread).sum()


w = rng.normal(size=3)
constant = 3 / 2 * np.log(2 * np.pi * spread**2)
minus_log_prior = -norm.logpdf(w, 0, spread).sum()
assert np.isclose(minus_log_prior, w @ w / (2 * spread**2) + constant)  # a plus sign

mode = minimize(minus_log_posterior, np.zeros(3), tol=1e-10).x
ridge = Ridge(alpha=(noise / spread) ** 2, fit_intercept=False).fit(A, target)
assert np.allclose(ridge.coef_, mode, atol=1e-4)
often = minimize(minus_log_posterior, np.zeros(3), args=(40,), tol=1e-10).x
print("prior counted once:    ", mode.round(3), "= ridge", ridge.coef_.round(3))
print("once for each of 40 rows:", often.round(3))

positive = (target > 0).astype(int)


def minus_log_posterior_of_classes(w):
    eta = A @ w
    return np.sum(np.logaddexp(0, eta) - positive * eta) - norm.logpdf(w, 0, spread).sum()


mode = minimize(minus_log_posterior_of_classes, np.zeros(3), tol=1e-10).x
logistic = LogisticRegression(C=spread**2, fit_intercept=False, tol=1e-10).fit(A, positive)
assert np.allclose(logistic.coef_[0], mode, atol=1e-4)

spreads = np.geomspace(0.02, 20, 40)
models = [Ridge(alpha=(noise / s) ** 2, fit_intercept=False) for s in spreads]
paths = np.array([model.fit(A, target).coef_ for model in models])
fig, ax = plt.subplots(figsize=(5.5, 3), layout="constrained")
for i, (colour, style) in enumerate([(BLUE, "-"), (ORANGE, "--"), (GREEN, "-.")]):
    ax.semilogx(spreads, paths[:, i], color=colour, ls=style)
    ax.plot(spreads[-1] * 1.3, truth[i], "<", color=colour)
ax.axhline(0, color=GREY, lw=0.8)
ax.set(xlabel=r"$\sigma$, the width of the prior", ylabel="weights")
ax.set_title("A narrow prior holds weights at 0")
plt.show()

# %%
# The triangles are the weights the data were made with. Naive Bayes has a prior, too: under a Dirichlet distribution
# with parameters :math:`1 + \alpha` the smoothed :math:`p_{i,k}` above is the most probable value.
