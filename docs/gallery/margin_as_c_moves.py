"""
Support vectors and the margin as C changes
===========================================

C is the price of a row inside the margin. A low price gives a wide margin with many rows in or on it, the support
vectors; a high price gives a narrow margin with few of them. The duality gap shows that each picture is the optimum.

Read on: :doc:`/generated/tutorials/lecture_1b_kernels`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from mercer import SVC

X, y = make_blobs(80, centers=[[-1.2, 0], [1.2, 0.5]], cluster_std=0.85, random_state=1)
x0, x1 = np.meshgrid(np.linspace(-3.8, 3.8, 120), np.linspace(-2.6, 3.2, 120))
grid = np.column_stack([x0.ravel(), x1.ravel()])

plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(1, 3, figsize=(7.2, 3.2), sharey=True, layout="constrained")
widths, counts = [], []
for ax, C in zip(axes, (0.01, 0.3, 100), strict=True):
    model = SVC(C=C, kernel="linear").fit(X, y)
    assert model.certificate_.holds
    widths.append(2 / np.linalg.norm(model.coef_))
    counts.append(len(model.support_))
    score = model.decision_function(grid).reshape(x0.shape)
    ax.contourf(x0, x1, score, levels=[-1, 1], colors=["0.85"])
    ax.contour(x0, x1, score, levels=[-1, 0, 1], colors="0.3", linestyles=["--", "-", "--"], linewidths=1)
    for label, marker in enumerate("os"):
        ax.plot(*X[y == label].T, marker, color=f"C{label}", markersize=4)
    ax.plot(*X[model.support_].T, "o", color="0.1", fillstyle="none", markersize=8, markeredgewidth=0.8)
    ax.set(xlabel="first column", xlim=(-3.8, 3.8), ylim=(-2.6, 3.2))
    ax.set_title(f"C = {C}: {counts[-1]} support vectors,\nmargin {widths[-1]:.1f} wide", fontsize=9)
assert np.all(np.diff(widths) < 0)
assert np.all(np.diff(counts) < 0)
axes[0].set_ylabel("second column")
figure.suptitle("The higher C, the narrower the margin")
plt.show()
