"""
Spline features bend a linear model
===================================

A straight line cannot follow a day's temperature, and a polynomial of high degree swings at its ends.
``SplineFeatures`` are cubic pieces between knots; natural ones have no bend at the ends. The model behind them stays
linear, and with natural splines every coefficient is the height of the curve at a knot.

Read on: :doc:`/guides/nonlinear`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import LinearRegression, MonomialFeatures, SplineFeatures


def temperature(hour):
    return 14 - 6 * np.cos(2 * np.pi * (hour - 4) / 24) + 2 * np.exp(-((hour - 15) ** 2) / 4)


rng = np.random.default_rng(1)
hour = rng.uniform(0, 24, 80)[:, None]
measured = temperature(hour[:, 0]) + rng.normal(size=80)
grid = np.linspace(0, 24, 300)[:, None]

splines = SplineFeatures(n_knots=9, natural=True, extrapolation="linear")
smooth = make_pipeline(splines, LinearRegression(fit_intercept=False)).fit(hour, measured)
swinging = make_pipeline(StandardScaler(), MonomialFeatures(14), LinearRegression()).fit(hour, measured)
knots = np.quantile(hour, np.linspace(0, 1, 9))[:, None]
assert np.allclose(smooth[-1].coef_, smooth.predict(knots))
off = [np.abs(model.predict(grid) - temperature(grid[:, 0])).max() for model in (swinging, smooth)]
assert off[1] < off[0] / 2

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot(hour, measured, ".", color="0.5", label="measured")
ax.plot(grid, swinging.predict(grid), "--", color="C1", label=f"degree 14: off by up to {off[0]:.1f} °C")
ax.plot(grid, smooth.predict(grid), color="C0", linewidth=2, label=f"splines: off by up to {off[1]:.1f} °C")
ax.plot(knots, smooth[-1].coef_, "o", color="C0", fillstyle="none", markersize=8, label="coefficients, at the knots")
ax.set(xlabel="hour of the day", ylabel="temperature in °C", ylim=(3, 30), xticks=range(0, 25, 6))
ax.set_title("Natural splines: the coefficients are points of the curve")
ax.legend(frameon=False, ncols=2, loc="upper left", fontsize=9)
plt.show()
