"""
Highest-density regions: the shortest sets of a given probability
=================================================================

Where are nine in ten petals? An interval between two quantiles has to span the gap between the species, where there are
none. ``highest_density_region`` may have several pieces, and is the shortest set with this probability.

Read on: :doc:`/guides/tour`.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from mercer import KernelDensity

lengths = pd.DataFrame({"petal length in cm": load_iris().data[:, 2]})
density = KernelDensity(bandwidth="isj").fit(lengths)
region = density.highest_density_region(0.9)
central = density.quantile([0.05, 0.95])
length = np.diff(region.intervals).sum()
assert len(region.intervals) == 2
assert length < np.diff(central)[0]
ends = pd.DataFrame({"petal length in cm": region.intervals.ravel()})
assert np.isclose(np.diff(density.cdf(ends).reshape(-1, 2)).sum(), 0.9)

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
density.plot(ax)
ax.axhline(region.level, color="0.6", linestyle=":", linewidth=1)
for piece in region.intervals:
    ax.plot(piece, [-0.04, -0.04], color="C0", linewidth=6, solid_capstyle="butt")
ax.plot(central, [-0.09, -0.09], color="C1", linewidth=6, solid_capstyle="butt")
ax.text(7.1, -0.04, f"region: {length:.1f} cm", va="center", color="C0")
ax.text(7.1, -0.09, f"quantiles: {np.diff(central)[0]:.1f} cm", va="center", color="C5")
ax.set(xlim=(0.5, 9), ylim=(-0.13, None), yticks=np.arange(0, 0.7, 0.1))
ax.set_title(f"90 % of petals: {length:.1f} cm in two pieces, or {np.diff(central)[0]:.1f} cm in one")
plt.show()
