"""
The path of the lasso, with its duality gap
===========================================

Which columns enter first as the L1 penalty falls? ``lasso_path`` returns the coefficients for every penalty, each with
the duality gap, which bounds the distance of its objective from the optimum. Everywhere on the path it is below the
tolerance, the dashed line.

Read on: :doc:`/user-guide/linear-models`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from mercer import lasso_path

data = load_diabetes()
X, y = data.data, data.target - data.target.mean()
tol = 1e-8
alphas, coefs, gaps = lasso_path(X, y, alphas=80, eps=2e-3, tol=tol)
share = gaps / (y @ y / len(y))
assert np.all(share <= tol)
entered = [data.feature_names[j] for j in np.argsort(-(coefs != 0).sum(axis=1), kind="stable")]
assert set(entered[:2]) == {"bmi", "s5"}

plt.style.use("tableau-colorblind10")
figure, (upper, lower) = plt.subplots(2, 1, figsize=(6.4, 4.4), height_ratios=[3, 1], sharex=True, layout="constrained")
for name, path in zip(data.feature_names, coefs, strict=True):
    strong = name in entered[:3]
    upper.plot(alphas, path, color=f"C{entered.index(name)}" if strong else "0.75", linewidth=2 if strong else 1)
    if strong:
        upper.annotate(name, (alphas[-1], path[-1]), xytext=(4, 0), textcoords="offset points", va="center")
lower.plot(alphas, np.maximum(share, 1e-17), ".", color="C3", markersize=4)  # 0 is drawn as 1e-17
lower.axhline(tol, color="C5", linestyle="--", linewidth=1)
upper.set(xscale="log", ylabel="coefficient")
upper.set_xlim(1.1 * alphas[0], 0.55 * alphas[-1])
lower.set(yscale="log", xlabel="penalty α", ylabel="gap, relative")
upper.set_title("bmi and s5 enter first, and every point has its proof")
plt.show()
