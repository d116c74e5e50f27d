"""
A string kernel on sequences
============================

Sequences of any length have no columns, but a kernel can compare them: ``Spectrum(3)`` counts the substrings of three
letters that two of them share. Members of a family share a motif, with one mutation and at any place. That is enough:
blocks show in the matrix, and ``SVC`` recognises new members.

Read on: :doc:`/guides/text`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, kernels

MOTIFS = ("GATTACAGATCA", "CCGTTGGACCTA", "TTAGGCATTCGG")
rng = np.random.default_rng(0)


def member(motif):
    letters = list(motif)
    letters[rng.integers(len(letters))] = rng.choice(list("ACGT"))
    around = rng.choice(list("ACGT"), rng.integers(8, 25))
    cut = rng.integers(len(around))
    return "".join([*around[:cut], *letters, *around[cut:]])


def members(each):
    return [member(motif) for motif in MOTIFS for _ in range(each)], np.repeat(range(len(MOTIFS)), each)


kernel = kernels.Spectrum(3).normalised()
genes, family = members(20)
new, new_family = members(100)
right = SVC(C=10, kernel=kernel).fit(genes, family).score(new, new_family)
assert right > 0.9
K = kernel(genes)
within, same = ~np.eye(len(K), dtype=bool), family[:, None] == family
assert K[within & same].mean() > 1.5 * K[~same].mean()

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
image = ax.imshow(np.where(within, K, np.nan), cmap="cividis", vmin=0)
ticks = [9.5, 29.5, 49.5]
ax.set_xticks(ticks, [f"family {i}" for i in range(3)])
ax.set_yticks(ticks, [f"{motif}\nfamily {i}" for i, motif in enumerate(MOTIFS)], fontsize=8)
figure.colorbar(image, label="kernel: substrings in common, normalised")
ax.set_title(f"Families show in the matrix: {right:.0%} of new ones are recognised")
plt.show()
