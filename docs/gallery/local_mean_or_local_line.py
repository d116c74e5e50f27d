"""
A local mean or a local line?
=============================

``NadarayaWatson`` averages the neighbours of a point, which at the edge of the data are all on one side: a slope there
is flattened. ``LocalLinear`` fits a line to the same neighbours and follows it. Both have intervals, which account for
the variance of the curve but not for its bias.

Read on: :doc:`/guides/tour`.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import LocalLinear, NadarayaWatson


def curve(x):
    return np.exp(1.2 * x) - 2 * x


rng = np.random.default_rng(0)
x = rng.uniform(0, 2, 150)
rows, y = pd.DataFrame({"x": x}), pd.Series(curve(x) + 0.5 * rng.normal(size=150), name="y")
models = NadarayaWatson(bandwidth=0.25).fit(rows, y), LocalLinear(bandwidth=0.25).fit(rows, y)
edge = pd.DataFrame({"x": [2.0]})
off = [abs(model.predict(edge)[0] - curve(2.0)) for model in models]
assert off[0] > 4 * off[1]
assert models[0].predict_interval(edge).upper[0] < curve(2.0)  # it is certain of what is wrong

plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(1, 2, figsize=(6.4, 4), sharey=True, layout="constrained")
grid = np.linspace(0, 2, 200)
for ax, model, name in zip(axes, models, ("local mean", "local line"), strict=True):
    model.plot(ax)
    (line,) = ax.plot(grid, curve(grid), "--", color="C5", linewidth=1.5, zorder=5, label="the true curve")
    ax.set_title(f"{name}: off by {off[axes.tolist().index(ax)]:.1f} at the edge", fontsize=10)
    ax.legend(handles=[line], frameon=False, loc="upper left")
axes[1].set_ylabel("")
figure.suptitle("A local line keeps its slope at the edge")
plt.show()
