"""
A graph kernel and its range
============================

``WeisfeilerLehman(rounds)`` compares graphs by the neighbourhoods of their nodes: each round extends the neighbourhood
of a node by one step. Two kinds of invented molecules have the same atoms, and differ only in how far an oxygen is
from a nitrogen. After three rounds the neighbourhood of a carbon between the two has both, which distinguishes the
kinds.

Read on: :doc:`/guides/tour`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from mercer import SVC, kernels

rng = np.random.default_rng(0)


def molecule(apart):
    """Return a chain of carbons with an oxygen and a nitrogen at this distance, and with side branches."""
    length, first = 12, int(rng.integers(0, 12 - apart))
    edges = [(i, i + 1) for i in range(length - 1)]
    atoms = ["C"] * length
    for atom, place in (("O", first), ("N", first + apart)):
        edges.append((place, len(atoms)))
        atoms.append(atom)
    for place in rng.choice(length, 3, replace=False):
        edges.append((int(place), len(atoms)))
        atoms.append("C")
    return edges, atoms


kind = np.tile([0, 1], 100)
graphs = [molecule(3 if each else 5) for each in kind]
rounds = range(7)
right = []
for r in rounds:
    model = SVC(C=100, kernel=kernels.WeisfeilerLehman(rounds=r).normalised())
    right.append(cross_val_score(model, graphs, kind, cv=5).mean())
assert max(right[:3]) < 0.65
assert min(right[3:]) > 0.85

plt.style.use("tableau-colorblind10")
figure, axes = plt.subplot_mosaic([["a", "c"], ["b", "c"]], figsize=(6.4, 4), width_ratios=[2, 3], layout="constrained")
for panel, (edges, atoms) in zip("ab", graphs, strict=False):
    place = {i: (i, 0) for i in range(12)}
    place |= {leaf: (at, 1 if atoms[leaf] != "C" else -1) for at, leaf in edges if leaf >= 12}
    for edge in edges:
        axes[panel].plot(*zip(*(place[node] for node in edge), strict=True), color="0.7", zorder=1)
    for node, atom in enumerate(atoms):
        colour = {"C": "0.5", "O": "C5", "N": "C0"}[atom]
        axes[panel].plot(*place[node], "o", color=colour, markersize=6 if atom == "C" else 13)
        axes[panel].text(*place[node], atom if atom != "C" else "", color="w", ha="center", va="center", fontsize=9)
    axes[panel].set(ylim=(-2, 2), title=f"oxygen and nitrogen, {5 - 2 * 'ab'.index(panel)} steps")
    axes[panel].title.set_fontsize(9)
    axes[panel].axis("off")
axes["c"].plot(rounds, right, "o-")
axes["c"].axhline(0.5, color="0.6", linestyle="--", linewidth=1)
axes["c"].text(6, 0.51, "chance", color="0.4", ha="right")
axes["c"].set(ylim=(0.4, 1), xlabel="rounds", ylabel="share recognised, in cross-validation")
figure.suptitle("Three rounds see from the oxygen to the nitrogen")
plt.show()
