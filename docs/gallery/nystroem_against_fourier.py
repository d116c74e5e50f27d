"""
Nyström against Fourier features: error against number
======================================================

Both are features that approximate a kernel, so that linear models can use it on millions of rows. Fourier features
do not depend on the data, and their error falls as one over the square root of their number. Nyström features are
made of rows; where the kernel is smooth they need far fewer, and chosen landmarks fewer still.

Read on: :doc:`/guides/large-kernels`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Nystroem, RandomFourierFeatures, kernels

rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 6)) @ np.diag([2, 1, 0.7, 0.4, 0.2, 0.1])
kernel = kernels.RBF(gamma=0.1)
K = kernel(X)
ways = {
    "Fourier, independent": lambda m: RandomFourierFeatures(kernel, n_components=m, random_state=0),
    "Fourier, orthogonal": lambda m: RandomFourierFeatures(
        kernel, n_components=m, form="pairs", sampling="orthogonal", random_state=0
    ),
    "Nyström, any rows": lambda m: Nystroem(kernel, n_components=m, random_state=0),
    "Nyström, chosen rows": lambda m: Nystroem(kernel, n_components=m, landmarks="rpcholesky", random_state=0),
}
numbers = np.array([10, 20, 40, 80, 160, 320])


def error(features):
    return np.sqrt(np.mean((features @ features.T - K) ** 2))


errors = {name: [error(way(int(m)).fit_transform(X)) for m in numbers] for name, way in ways.items()}
slope = np.polyfit(np.log(numbers), np.log(errors["Fourier, independent"]), 1)[0]
assert abs(slope + 0.5) < 0.15
assert errors["Nyström, chosen rows"][-1] < errors["Nyström, any rows"][-1] < errors["Fourier, orthogonal"][-1] / 100

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for (name, values), style in zip(errors.items(), ("s--", "D--", "o-", "^-"), strict=True):
    ax.plot(numbers, values, style, color="C1" if "Fourier" in name else "C0", markersize=5, label=name)
ax.set(xscale="log", yscale="log", xlabel="features", ylabel="error of an entry, root mean square")
ax.set_xticks(numbers, numbers)
ax.minorticks_off()
ax.set_title("Smooth kernels need few landmarks and many waves")
ax.legend(frameon=False)
plt.show()
