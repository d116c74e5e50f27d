"""
Outliers, with a bound on false discoveries
===========================================

Which of these new rows are unlike the usual ones? ``DensityOutliers`` flags them such that on average at most the share
``fdr`` of the flagged rows is usual, for any distribution of the data. The number of outliers need not be
known.

Read on: :doc:`/guides/tour`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import DensityOutliers


def new_rows(rng):
    usual = make_moons(190, noise=0.1, random_state=int(rng.integers(1 << 30)))[0]
    return np.vstack([usual, rng.uniform([-2, -1.5], [3, 2], (30, 2))]), np.arange(220) < 190


rng = np.random.default_rng(0)
falsely, found = [], []
for seed in range(40):
    detector = DensityOutliers(fdr=0.1, random_state=seed).fit(make_moons(1500, noise=0.1, random_state=seed)[0])
    X, usual = new_rows(rng)
    flagged = detector.predict(X) == -1
    falsely.append(usual[flagged].mean() if flagged.any() else 0.0)
    found.append(flagged[~usual].mean())
assert np.mean(falsely) <= 0.1  # the promise is for the average over fits and batches
assert np.mean(found) > 0.6

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot(*X[~flagged].T, ".", color="0.6", label=f"not flagged ({(~flagged).sum()})")
ax.plot(*X[flagged & ~usual].T, "D", color="C5", markersize=5, label=f"rightly flagged ({(flagged & ~usual).sum()})")
ax.plot(*X[flagged & usual].T, "D", color="C5", fillstyle="none", label=f"falsely flagged ({(flagged & usual).sum()})")
ax.set(xlabel="first column", ylabel="second column")
ax.set_title(f"Over 40 batches {100 * np.mean(falsely):.0f} % of the flagged are usual; 10 % were allowed", fontsize=11)
figure.legend(frameon=False, loc="outside lower center", ncols=3)
plt.show()
