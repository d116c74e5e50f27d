r"""
Lecture 3a: naive Bayes for words and tables
============================================

Lecture 3 (Y. Sun, *Probabilistic classifiers*) begins with a model of everything, :math:`p(x, y)`. A document is a bag
of words, each drawn from the distribution of its class; the parameters are counts. The worked example of the lecture is
reproduced to the last fraction, starting from the words themselves. Logistic regression and what generalises it are in
:doc:`lecture 3b <lecture_3b_logistic_and_exponential_families>`.

In practice: :doc:`/guides/mixed-columns`, :doc:`/guides/text`.
"""

from collections import Counter
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm, poisson
from sklearn.pipeline import make_pipeline

from mercer import BernoulliNB, CountVectorizer, MultinomialNB, NaiveBayes
from mercer.families import Bernoulli, Gaussian, Poisson

plt.style.use("tableau-colorblind10")
rng = np.random.default_rng(0)

# %%
# A bag of words
# --------------
#
# A document is a sequence of words :math:`w_{d1}, w_{d2}, \ldots` of a vocabulary. Forget their order, and what is
# left is a vector of counts,
#
# .. math::
#
#    x_{dn} = \sum_i \mathbf{1}[w_{di} = n] .
#
# The lecture's nine titles: five on computers, four on graphs. Its vocabulary is the words that occur in two titles or
# more, except "of", "the" and "and".

titles = [
    "Human machine interface for Lab ABC computer applications",
    "A survey of user opinion of computer system response time",
    "The EPS user interface management system",
    "System and human system engineering testing of EPS",
    "Relation of user-perceived response time to error measurement",
    "The generation of random, binary, unordered trees",
    "The intersection graph of paths in trees",
    "Graph minors IV: Widths of trees and well-quasi-ordering",
    "Graph minors: A survey",
]
words = CountVectorizer(min_df=2, stop_words=["of", "the", "and"])
counts = words.fit_transform(titles).toarray()
terms = words.get_feature_names_out()
by_hand = [Counter(title.lower().replace(":", " ").replace("-", " ").split()) for title in titles]
np.testing.assert_array_equal(counts, [[bag[term] for term in terms] for bag in by_hand])

order = np.argsort(counts.argmax(axis=0), kind="stable")
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.imshow(counts.T[order], cmap="Blues", vmin=0, vmax=2.5, aspect="auto")
for (row, column), count in np.ndenumerate(counts.T[order]):
    ax.text(column, row, count, ha="center", va="center", color=("0.6", "k", "w")[count], fontsize=8)
ax.set_xticks(range(9), ["c1", "c2", "c3", "c4", "c5", "m1", "m2", "m3", "m4"])
ax.set_yticks(range(12), terms[order])
ax.axvline(4.5, color="C1", ls="--")
ax.set_title('nine titles as counts: only "survey" is in both halves')
plt.show()

# %%
# The model
# ---------
#
# A class :math:`j` has the share :math:`\pi_j` of the documents, and draws each word from its own categorical
# distribution :math:`\beta_j`. Words are independent given the class, which is the *naive* part:
#
# .. math::
#
#    p(x_d, y_d = j) = \pi_j \prod_n \beta_{jn}^{x_{dn}}, \qquad
#    \hat y = \mathrm{argmax}_j \; \sum_n x_{dn} \log\, \beta_{jn} + \log\, \pi_j .
#
# The likelihood is to be maximised with :math:`\sum_n \beta_{jn} = 1`. The Lagrangian
# :math:`\sum_n c_{jn} \log\, \beta_{jn} + \lambda (1 - \sum_n \beta_{jn})`, where :math:`c_{jn}` counts word n in class
# j, has the derivative :math:`c_{jn} / \beta_{jn} - \lambda`. It is zero for
#
# .. math::
#
#    \beta_{jn} = \frac{c_{jn}}{\sum_m c_{jm}}, \qquad \pi_j = \frac{\text{documents of class } j}{|D|} ,
#
# and the multiplier :math:`\lambda` is the number of words. Here it is in the lecture's example.

documents = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
classes = np.array(["c", "c", "c", "j"])
vocabulary = ["chinese", "beijing", "shanghai", "macao", "tokyo", "japan"]
vectorizer = CountVectorizer(vocabulary=vocabulary)
X = vectorizer.fit_transform(documents).toarray()
totals = np.array([X[classes == label].sum(axis=0) for label in ("c", "j")])
print(dict(zip(vocabulary, totals.T.tolist(), strict=True)))

plain = MultinomialNB(alpha=0).fit(X, classes)
beta = np.exp(plain.feature_log_prob_)
np.testing.assert_allclose(beta, totals / totals.sum(axis=1, keepdims=True))
occurring = totals[0] > 0
multiplier = totals[0][occurring] / beta[0][occurring]
print("c / β for the words of class c:", multiplier, "- the number of its words")
np.testing.assert_allclose(multiplier, totals[0].sum())

# %%
# Smoothing
# ---------
#
# A word that does not occur in a class gets :math:`\beta = 0`, and any document with it has the probability 0 under
# that class, whatever its other words are. (It is exactly 0, not NaN.) Add-one smoothing adds one occurrence of every
# word:
#
# .. math::
#
#    \beta_{jn} = \frac{c_{jn} + 1}{\sum_m c_{jm} + N} .

test = vectorizer.transform(["Chinese Chinese Chinese Tokyo Japan"]).toarray()
print("without smoothing:", plain.predict_proba(test)[0])
assert plain.predict_proba(test).tolist() == [[0.0, 1.0]]

smooth = MultinomialNB(alpha=1).fit(X, classes)
beta = [[Fraction(int(c) + 1, int(row.sum()) + 6) for c in row] for row in totals]
for label, row in zip("cj", beta, strict=True):
    print(f"β_{label}:", *row)
np.testing.assert_allclose(np.exp(smooth.feature_log_prob_), np.array(beta, dtype=float))

# %%
# The test document contains "Chinese" three times, and "Tokyo" and "Japan" once.
#
# .. math::
#
#    p(c, x) = \frac{3}{4} \left(\frac{3}{7}\right)^3 \frac{1}{14} \cdot \frac{1}{14} \approx 0.000301, \qquad
#    p(j, x) = \frac{1}{4} \left(\frac{2}{9}\right)^3 \frac{2}{9} \cdot \frac{2}{9} \approx 0.000135 .

joint = (
    Fraction(3, 4) * Fraction(3, 7) ** 3 * Fraction(1, 14) ** 2,
    Fraction(1, 4) * Fraction(2, 9) ** 5,
)
np.testing.assert_allclose(np.exp(smooth.predict_joint_log_proba(test))[0], [float(p) for p in joint])
posterior = joint[0] / sum(joint)
print(f"p(c | x) = {posterior} = {float(posterior):.3f}:", smooth.predict(test)[0])
np.testing.assert_allclose(smooth.predict_proba(test)[0, 0], float(posterior))

# %%
# From strings to the answer, a pipeline of two steps does it all.

pipeline = make_pipeline(CountVectorizer(), MultinomialNB()).fit(documents, classes)
assert pipeline.predict(["Chinese Chinese Chinese Tokyo Japan"]) == ["c"]

# %%
# How much smoothing, how long a document?
# ----------------------------------------
#
# The pseudo-count need not be 1. And since every word counts, a document written ten times has ten times the
# evidence: its log odds, less the prior log odds, grow tenfold. In the same way a long training document weighs
# more than a short one.

alphas = np.geomspace(1e-4, 1e4, 60)
by_alpha = [MultinomialNB(alpha=alpha).fit(X, classes).predict_proba(test)[0, 0] for alpha in alphas]
evidence = smooth.predict_joint_log_proba(test) - smooth.class_log_prior_
tenfold = smooth.predict_joint_log_proba(10 * test) - smooth.class_log_prior_
np.testing.assert_allclose(tenfold, 10 * evidence)
times = np.arange(1, 13)
by_times = [smooth.predict_proba(k * test)[0, 0] for k in times]
assert evidence[0, 1] > evidence[0, 0]
assert by_times[2] > 0.5 > by_times[3]

figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
axes[0].semilogx(alphas, by_alpha, "C0")
axes[0].plot(1, float(posterior), "o", color="C1")
axes[0].axhline(0.75, color="C3", ls=":")
axes[0].text(2e-4, 0.77, "prior: 3/4", color="C3")
axes[0].set(xlabel="α", ylabel="p(c | x)", title="α = 1 gives 0.690, α → 0 gives 0")
axes[1].plot(times, by_times, "C0o-", ms=4)
axes[1].set(xlabel="times the document is repeated", ylim=(0, 1), title="repeated, its words outweigh the prior")
plt.show()

# %%
# The words alone favour class j, if only by a little: the prior makes the document class c. Repeated four times, the
# words outweigh it.
#
# Presence instead of counts
# --------------------------
#
# A Bernoulli model uses only the presence or absence of each word. Under it the same document is of class j: three
# mentions of "Chinese" are one, and that "Beijing", "Shanghai" and "Macao" are absent is evidence against c.

bernoulli = BernoulliNB(alpha=1).fit(X, classes)
c = Fraction(3, 4) * Fraction(4, 5) * Fraction(1, 5) ** 2 * Fraction(3, 5) ** 3
j = Fraction(1, 4) * Fraction(2, 3) ** 6
np.testing.assert_allclose(np.exp(bernoulli.predict_joint_log_proba(test))[0], [float(c), float(j)])
print(f"{float(c):.4f} against {float(j):.4f}:", bernoulli.predict(test)[0])
assert bernoulli.predict(test) == ["j"]

# %%
# Any distribution in any column
# ------------------------------
#
# Nothing in the argument needs words. With :math:`p(x \mid y) = \prod_k p(x_k \mid y)` each column may have its own
# family: here patients with a normal maximal heart rate, a Poisson number of narrowed vessels, and pain under
# exercise or none.

ill = rng.integers(2, size=400)
patients = np.column_stack(
    [
        rng.normal(np.where(ill, 138, 160), 20),
        rng.poisson(np.where(ill, 1.2, 0.3)),
        rng.random(400) < np.where(ill, 0.55, 0.15),
    ]
)
families = {0: Gaussian(), 1: Poisson(), 2: Bernoulli()}
model = NaiveBayes(families=families, smoothing=0, var_smoothing=0).fit(patients, ill)

joint = np.empty((400, 2))
for k in (0, 1):
    rate, vessels, pain = patients[ill == k].T
    shares = np.where(patients[:, 2] == 1, pain.mean(), 1 - pain.mean())
    joint[:, k] = (
        np.log(np.mean(ill == k))
        + norm.logpdf(patients[:, 0], rate.mean(), rate.std())
        + poisson.logpmf(patients[:, 1], vessels.mean())
        + np.log(shares)
    )
np.testing.assert_allclose(model.predict_joint_log_proba(patients), joint)
print(f"{model.score(patients, ill):.0%} of the patients are classified correctly")

figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
rates = np.linspace(80, 220, 200)
for k, colour, name, shift in ((0, "C0", "well", -0.2), (1, "C1", "ill", 0.2)):
    rate, vessels, pain = patients[ill == k].T
    axes[0].hist(rate, bins=20, density=True, color=colour, alpha=0.3)
    axes[0].plot(rates, norm.pdf(rates, rate.mean(), rate.std()), color=colour, label=name)
    axes[1].bar(np.arange(6) + shift, poisson.pmf(np.arange(6), vessels.mean()), width=0.4, color=colour)
    axes[2].bar(np.arange(2) + shift, [1 - pain.mean(), pain.mean()], width=0.4, color=colour)
axes[0].set(xlabel="maximal heart rate", ylabel="density", title="normal")
axes[1].set(xlabel="narrowed vessels", ylabel="probability", title="Poisson")
axes[2].set(xlabel="pain under exercise", xticks=[0, 1], xticklabels=["no", "yes"], title="Bernoulli")
axes[0].legend(fontsize=8)
plt.show()

# %%
# A prediction uses the known values. A missing value is integrated out, which for independent columns means that its
# factor is left out.

gap = patients[:1].copy()
gap[0, 0] = np.nan
without_rate = joint[:1] - [
    [norm.logpdf(patients[0, 0], patients[ill == k, 0].mean(), patients[ill == k, 0].std()) for k in (0, 1)]
]
np.testing.assert_allclose(model.predict_joint_log_proba(gap), without_rate)
print("p(ill):", model.predict_proba(patients[:1])[0, 1].round(3), "and without the heart rate:", end=" ")
print(model.predict_proba(gap)[0, 1].round(3))
