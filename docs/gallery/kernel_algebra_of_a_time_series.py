"""
Kernel algebra on a time series: trend, season, and their product
=================================================================

Kernels compose like formulas: a sum adds effects, a product lets one change with the other. Passengers, say, grow by
the year, and so does their summer peak. Trend + season forecasts a peak of constant height; trend + trend × season lets
it grow, and forecasts three years to come with less than half the error.

Read on: :doc:`/guides/tour`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, kernels


def on_the_circle(t):
    """The time of the year, so that December is next to January."""
    return np.column_stack([np.cos(2 * np.pi * t[:, 0]), np.sin(2 * np.pi * t[:, 0])])


rng = np.random.default_rng(0)
t = np.arange(0, 11, 1 / 12)[:, None]
passengers = (2 + 0.5 * t[:, 0]) * (4 + np.exp(np.sin(2 * np.pi * t[:, 0]))) + 0.4 * rng.normal(size=len(t))
known = t[:, 0] < 8

trend = kernels.Linear() + 1
season = kernels.RBF(gamma=1.0).of(on_the_circle)
forecasts = {
    kernel: KernelRidge(alpha=0.1, kernel=kernel).fit(t[known], passengers[known]).predict(t)
    for kernel in (trend + season, trend + trend * season)
}
added, multiplied = (np.sqrt(np.mean((each - passengers)[~known] ** 2)) for each in forecasts.values())
assert multiplied < added / 2

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.axvspan(8, 11, color="0.93")
ax.plot(t, passengers, ".", color="0.5", markersize=4)
for colour, name, error, style, forecast in zip(
    ("C1", "C0"), ("trend + season", "trend + trend × season"), (added, multiplied), ("--", "-"), forecasts.values(),
    strict=True,
):  # fmt: skip
    ax.plot(t, forecast, style, color=colour, linewidth=1.5, label=f"{name}: error {error:.2f}")
ax.text(8.1, passengers.min(), "forecast", color="0.4")
ax.set(xlabel="year", ylabel="passengers, in thousands", title="A product of kernels lets the season grow")
ax.legend(frameon=False, loc="upper left")
plt.show()
