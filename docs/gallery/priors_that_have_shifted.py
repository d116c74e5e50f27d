"""
Class priors that have shifted, estimated without labels
========================================================

A model was trained where a third of the patients were ill; now it is used where hardly anyone is. ``estimate_priors``
finds the new share from rows without labels, with its standard error, and ``Decision`` corrects the probabilities by
it. No model is fitted again.

Read on: :doc:`/guides/imbalanced-costs`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Decision, LinearDiscriminantAnalysis


def patients(n, share, rng):
    ill = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, 3)) + ill[:, None] * [1.0, 0.8, 0.5], ill


rng = np.random.default_rng(0)
model = LinearDiscriminantAnalysis().fit(*patients(30_000, 1 / 3, rng))
decision = Decision(model)
shares = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8])
found, naive = [], []
for share in shares:
    X, _ = patients(4000, share, rng)
    found.append(decision.estimate_priors(X))
    naive.append(np.mean(model.predict(X)))
estimate = np.array([shift.priors[1] for shift in found])
error = np.array([shift.standard_errors[1] for shift in found])
assert np.all(np.abs(estimate - shares) < 3 * error)

X, ill = patients(4000, 0.05, rng)
decision.set_params(priors=decision.estimate_priors(X).priors)
assert decision.score(X, ill) > model.score(X, ill)

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
ax.plot(shares, naive, "s--", color="C1", markersize=5, label="how many the old model calls ill")
ax.errorbar(shares, estimate, 2 * error, fmt="o", color="C0", capsize=3, label="estimate_priors, ± 2 standard errors")
ax.axvline(1 / 3, ymax=0.8, color="0.6", linestyle=":", linewidth=1)
ax.text(0.345, 0.02, "in training", color="0.4")
ax.set(xlabel="true share of ill patients", ylabel="share found, without labels", xlim=(0, 0.85), ylim=(0, 0.85))
ax.set_title("Counting predictions is biased, the likelihood is not")
ax.legend(frameon=False, loc="upper left")
plt.show()
