"""
Learning curves of a generative–discriminative pair
===================================================

Naive Bayes with shared variances and logistic regression are the same linear model, one fitted by p(x, y), the other by
p(y|x). ``learning_curves`` fits both to the same growing sets. The generative half is better with few rows, and the
discriminative one, which assumes less, overtakes it.

Read on: :doc:`/generative-vs-discriminative`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianNB, counterpart, learning_curves

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 3000)
X = rng.normal(size=(3000, 30)) + 0.5 * rng.normal(size=(3000, 1))  # the columns have something in common
X += y[:, None] * rng.uniform(0, 0.5, 30)

generative = GaussianNB(shared_variance=True)
sizes = [20, 40, 80, 160, 320, 1280]
curves = learning_curves((generative, counterpart(generative)), X, y, sizes=sizes, repeats=12)
assert curves.crossover_.found
early, late = curves.difference(size=40), curves.difference(size=1280)  # generative less discriminative
assert early.high < 0 < late.low

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
curves.plot(ax=ax)
ax.set_ylabel("error on held-out rows, 95 % interval")
ax.set_title(f"From about {curves.crossover_.size:.0f} rows on the discriminative half is better")
plt.show()
