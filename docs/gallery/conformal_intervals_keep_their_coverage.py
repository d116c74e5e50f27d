"""
Conformal intervals and their coverage
======================================

``ConformalRegressor`` gives any model intervals that contain the true value with a stated probability, here nine times
out of ten, even around a straight line through a curve. With ``method="normalised"`` they are narrow where the errors
are small. Over a hundred fits, both have the stated coverage.

Read on: :doc:`/guides/imbalanced-costs`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import ConformalRegressor, LinearRegression, NadarayaWatson


def rows(n, rng):
    x = rng.uniform(0, 4, n)
    return x[:, None], np.sin(1.5 * x) + x + (0.1 + 0.25 * x) * rng.normal(size=n)


def share_inside(model, X, y):
    low, high = model.predict_interval(X).T
    return np.mean((low <= y) & (y <= high))


models = {
    "a line": ConformalRegressor(LinearRegression(), coverage=0.9, random_state=0),
    "a local mean, normalised": ConformalRegressor(
        NadarayaWatson(bandwidth=0.2), method="normalised", spread=NadarayaWatson(bandwidth=0.5), random_state=0
    ),
}
rng = np.random.default_rng(0)
shares = {
    name: [share_inside(model.fit(*rows(400, rng)), *rows(1000, rng)) for _ in range(100)]
    for name, model in models.items()
}
assert all(abs(np.mean(each) - 0.9) < 0.01 for each in shares.values())

plt.style.use("tableau-colorblind10")
figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 4), width_ratios=[2, 1], layout="constrained")
X, y = rows(400, rng)
grid = np.linspace(0, 4, 200)[:, None]
left.plot(X[:, 0], y, ".", color="0.7", markersize=4)
for colour, (name, model) in zip(("C1", "C0"), models.items(), strict=True):
    low, high = model.fit(X, y).predict_interval(grid).T
    left.fill_between(grid[:, 0], low, high, color=colour, alpha=0.25, linewidth=0)
    left.plot(grid[:, 0], model.predict(grid), color=colour, label=name)
    right.hist(shares[name], bins=np.arange(0.80, 0.99, 0.02), color=colour, histtype="step", linewidth=2)
right.axvline(0.9, color="0.2", linestyle="--", linewidth=1)
left.set(xlabel="x", ylabel="y")
left.legend(frameon=False, loc="upper left")
right.set(xlabel="share of new rows inside", ylabel="fits out of 100")
figure.suptitle("Nine in ten are inside, however poor the model")
plt.show()
