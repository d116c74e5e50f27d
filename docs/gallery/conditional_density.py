"""
A conditional density, cut out of a joint one
=============================================

How wide is a petal of a given length? ``KernelDensity`` of both columns has ``conditional``, which is p(width | length)
with quantiles of its own. The widths of short petals vary little; the longer they are, the wider is the range that
contains nine in ten.

Read on: :doc:`/guides/tour`.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from mercer import KernelDensity

petals = pd.DataFrame(load_iris().data[:, 2:], columns=["length in cm", "width in cm"])
joint = KernelDensity(bandwidth="likelihood-cv").fit(petals)

plt.style.use("tableau-colorblind10")
figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 4), sharey=True, width_ratios=[3, 2], layout="constrained")
joint.plot(left)
widths = np.linspace(0, 2.8, 300)
spread = {}
for length, style, colour in ((1.5, "-", "C0"), (4.5, "--", "C1"), (5.5, "-.", "C3")):
    slice_ = joint.conditional({"length in cm": length})
    low, high = slice_.quantile([0.05, 0.95])
    spread[length] = high - low
    left.axvline(length, color=colour, linestyle=style, linewidth=1.5)
    label = f"{length} cm:\n{low:.1f} to {high:.1f}"
    right.plot(np.exp(slice_.log_density(widths[:, None])), widths, linestyle=style, color=colour, label=label)
assert spread[1.5] < spread[4.5] < spread[5.5]
right.set_xlabel("density given the length")
right.legend(frameon=False, title="nine in ten widths", fontsize=9)
figure.suptitle("The longer a petal, the less its length tells of its width")
plt.show()
