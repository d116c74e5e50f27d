"""
A model that merges, and forgets
================================

Three hospitals each fit the same model and ``merge`` the three: the result is the model of all rows together, and no
row leaves its hospital. Then the labels of one hospital turn out to be swapped. ``forget`` removes its rows, and the
model equals a fit without them.

Read on: :doc:`/guides/cluster`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from mercer import GaussianDiscriminant

X, y = make_blobs(600, centers=[[-1.5, -0.5], [1.5, 0.5]], cluster_std=[1.2, 0.8], random_state=0)
parts = [(X[k::3], y[k::3]) for k in range(3)]
parts[2] = parts[2][0], np.where(X[2::3, 1] > 0, 1 - parts[2][1], parts[2][1])  # the third one is wrong

merged = GaussianDiscriminant().fit(*parts[0])
for part in parts[1:]:
    merged.merge(GaussianDiscriminant().fit(*part))
X_all, y_all = (np.concatenate(each) for each in zip(*parts, strict=True))
together = GaussianDiscriminant().fit(X_all, y_all)
assert np.allclose(merged.predict_proba(X), together.predict_proba(X), atol=1e-10)

x0, x1 = np.meshgrid(np.linspace(-5, 4, 200), np.linspace(-4, 3.5, 200))
grid = np.column_stack([x0.ravel(), x1.ravel()])
before = merged.predict_proba(grid)[:, 1].reshape(x0.shape)
merged.forget(*parts[2])
after = merged.predict_proba(grid)[:, 1].reshape(x0.shape)
clean = GaussianDiscriminant().fit(*(np.concatenate(each) for each in zip(*parts[:2], strict=True)))
never = clean.predict_proba(grid)[:, 1].reshape(x0.shape)
assert np.allclose(after, never, atol=1e-10)
assert np.abs(before - never).max() > 0.3

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for label, marker in enumerate("os"):
    ax.plot(*X[y == label].T, marker, color=("C4", "C1")[label], markersize=3, alpha=0.6)
for p, colour, style, width, name in (
    (never, "0.75", "-", 6, "never saw the third"),
    (after, "C3", "-", 1.5, "has forgotten the third"),
    (before, "C5", "--", 1.5, "all three merged"),
):
    ax.contour(x0, x1, p, levels=[0.5], colors=[colour], linestyles=style, linewidths=width)
    ax.plot([], [], color=colour, linestyle=style, linewidth=width, label=name)
ax.set(xlabel="first column", ylabel="second column", title="After forgetting: as if the rows had never been seen")
ax.legend(framealpha=0.9, edgecolor="none", loc="lower left")
plt.show()
