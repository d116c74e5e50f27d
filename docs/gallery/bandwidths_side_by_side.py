"""
Bandwidths side by side
=======================

Rules of thumb for the bandwidth of a density assume one normal distribution, and smooth two narrow peaks away.
``"isj"`` and cross-validation adapt to the data and keep the peaks. ``"scott"`` is scikit-learn's number, which depends
only on the number of rows.

Read on: :doc:`/guides/tour`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from mercer import KernelDensity

rng = np.random.default_rng(0)
peaks = [(0.45, 0.0, 0.15), (0.2, 1.2, 0.1), (0.35, 5.0, 0.5)]
x = np.concatenate([rng.normal(mean, sd, int(1000 * share)) for share, mean, sd in peaks])[:, None]
grid = np.linspace(-1.5, 7, 1500)
true = sum(share * norm.pdf(grid, mean, sd) for share, mean, sd in peaks)

plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(2, 2, figsize=(6.4, 4.4), sharex=True, sharey=True, layout="constrained")
missed = {}
for ax, rule in zip(axes.flat, ("scott", "silverman-scaled", "likelihood-cv", "isj"), strict=True):
    model = KernelDensity(bandwidth=rule).fit(x)
    density = np.exp(model.score_samples(grid[:, None]))
    missed[rule] = np.trapezoid(np.abs(density - true), grid) / 2
    ax.fill_between(grid, true, color="0.85", linewidth=0)
    ax.plot(grid, density, color="C0")
    ax.set_title(f'"{rule}": {100 * missed[rule]:.0f} % misplaced', fontsize=9)
assert max(missed["likelihood-cv"], missed["isj"]) < 0.1 < 0.2 < min(missed["scott"], missed["silverman-scaled"])
figure.supxlabel("x", fontsize=10)
figure.supylabel("density; the true one is grey", fontsize=10)
figure.suptitle("Rules of thumb smooth peaks away")
plt.show()
