"""
A graph kernel, and how far it sees
===================================

``WeisfeilerLehman(rounds)`` compares graphs by the neighbourhoods of their nodes: after each round a node knows one step
more of what is around it. Two kinds of made molecules have the same atoms, and differ only in how far an oxygen is from
a nitrogen. Without rounds they are alike; once neighbourhoods reach from one to the other, they are told apart.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from mercer import SVC, kernels

rng = np.random.default_rng(0)


def molecule(apart):
    """A chain of carbons with an oxygen and a nitrogen on it, so many steps apart, and with side branches."""
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
graphs = np.empty(200, dtype=object)
graphs[:] = [molecule(3 if each else 5) for each in kind]
rounds = range(7)
scores = []
for r in rounds:
    model = SVC(C=100, kernel=kernels.WeisfeilerLehman(rounds=r).normalised())
    scores.append(cross_val_score(model, list(graphs), kind, cv=5))
print([round(float(np.mean(s)), 3) for s in scores])
plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.errorbar(rounds, np.mean(scores, axis=1), np.std(scores, axis=1), marker="o", capsize=3)
ax.axhline(0.5, color="0.6", linestyle="--", linewidth=1)
ax.set(xlabel="rounds", ylabel="share of molecules recognised")
plt.show()
