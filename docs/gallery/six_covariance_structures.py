"""
Six covariance structures side by side
======================================

``GaussianDiscriminant`` has one covariance for each class or one for all, and either may be full, diagonal or a
multiple of the identity. Shared covariances give straight boundaries, those of each class curved ones. Here the
classes differ in their correlations, which only a full covariance of each class can represent.

Read on: :doc:`/generated/tutorials/lecture_2b_logistic_and_discriminants`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianDiscriminant

rng = np.random.default_rng(0)
true = [([0, 0], [[1.0, 0.8], [0.8, 1.0]]), ([1.5, 0], [[1.0, -0.8], [-0.8, 1.0]])]


def rows(n):
    X = np.vstack([rng.multivariate_normal(mean, cov, n) for mean, cov in true])
    return X, np.repeat([0, 1], n)


X, y = rows(200)
X_test, y_test = rows(5000)
x0, x1 = np.meshgrid(np.linspace(-3.5, 5, 150), np.linspace(-3.5, 3.5, 150))
grid = np.column_stack([x0.ravel(), x1.ravel()])

plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(2, 3, figsize=(6.4, 4.4), sharex=True, sharey=True, layout="constrained")
right = {}
for ax, structure in zip(
    axes.flat, ["full", "diagonal", "spherical", "shared full", "shared diagonal", "shared spherical"], strict=True
):
    model = GaussianDiscriminant(structure).fit(X, y)
    right[structure] = model.score(X_test, y_test)
    p = model.predict_proba(grid)[:, 1].reshape(x0.shape)
    ax.contourf(x0, x1, p, levels=[0, 0.5, 1], colors=["C0", "C1"], alpha=0.25)
    ax.contour(x0, x1, p, levels=[0.5], colors="0.2", linewidths=1.2)
    for label, marker in enumerate("os"):
        ax.plot(*X[y == label].T, marker, color=f"C{label}", markersize=2, alpha=0.8)
    ax.set(xlim=(-3.5, 5), ylim=(-3.5, 3.5))
    ax.set_title(f"{structure}: {right[structure]:.1%}", fontsize=9)
assert max(right, key=right.get) == "full"
assert right["full"] > max(value for name, value in right.items() if name != "full") + 0.05
figure.suptitle("Only a full covariance for each class sees the correlations")
figure.supxlabel("first column", fontsize=9)
figure.supylabel("second column", fontsize=9)
plt.show()
