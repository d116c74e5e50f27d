"""
Calibration: one temperature for an overconfident model
=======================================================

Naive Bayes counts evidence twice where columns repeat each other, and its probabilities are too extreme. ``Calibrated``
divides its log odds by one number, learnt on rows held out. The classes it predicts stay the same, and its
probabilities are off by no more than chance.

Read on: :doc:`/guides/imbalanced-costs`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Calibrated, GaussianNB
from mercer.decision import calibration_curve_with_intervals, calibration_error

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 6000)
measured = 0.6 * y[:, None] + rng.normal(size=(6000, 3))
X = np.repeat(measured, 4, axis=1) + 0.3 * rng.normal(size=(6000, 12))  # everything is measured four times
X_train, X_test, y_train, y_test = X[:3000], X[3000:], y[:3000], y[3000:]

sure = GaussianNB().fit(X_train, y_train)
calibrated = Calibrated(GaussianNB(), method="temperature").fit(X_train, y_train)
errors = [calibration_error(model.predict_proba(X_test), y_test) for model in (sure, calibrated)]
assert np.array_equal(sure.predict(X_test), calibrated.predict(X_test))
print(errors[0].sentence(), errors[1].sentence(), sep="\n")
assert errors[0].matters
assert not errors[1].matters

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot([0, 1], [0, 1], color="0.6", linewidth=1)
for model, error, name, marker in zip((sure, calibrated), errors, ("GaussianNB", "calibrated"), "os", strict=True):
    curve = calibration_curve_with_intervals(model.predict_proba(X_test), y_test)
    bars = np.abs([curve.low, curve.high] - curve.observed)
    label = f"{name}: off by {error.error:.3f}"
    ax.errorbar(curve.predicted, curve.observed, bars, marker=marker, markersize=5, capsize=2, label=label)
ax.set(xlabel="predicted probability", ylabel="observed frequency, 95 % interval")
ax.set_title("A temperature makes probabilities frequencies again")
ax.legend(frameon=False)
plt.show()
