"""
Missing values in new rows: integrated out, or imputed
======================================================

What if values are missing when a model is used? A generative model integrates them out: its prediction depends on the
other columns only. A discriminative one needs imputed values. ``stress`` removes more and more of the test rows:
logistic regression is better on complete ones, and naive Bayes if most values are missing.

Read on: :doc:`/guides/mixed-columns`.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from mercer import GaussianNB, counterpart, stress

X, y = load_wine(return_X_y=True)
generative = GaussianNB(shared_variance=True)
found = stress(
    (generative, counterpart(generative)), X, y, noise=(0,), missing=(0, 0.15, 0.3, 0.45, 0.6, 0.75), repeats=8
)
before, after = (found.measured["missing"][:, amount, :, 0].mean(axis=1) for amount in (0, -1))  # accuracy
assert before[1] > before[0]
assert after[0] > after[1] + 0.05

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
found.plot("missing", ax=ax)
ax.set(xlabel="share of values removed from new rows", ylabel="accuracy")
ax.set_title("With most values gone, the generative half errs less")
plt.show()
