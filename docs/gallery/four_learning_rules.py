"""
Four learning rules on the same rows
====================================

The perceptron, LMS, the sigmoid rule and logistic regression are one loop with four definitions of the error of a unit.
``LinearThreshold`` has them all, and ``trace_`` records each pass. If classes overlap, the perceptron does not
converge, and the others do.

Read on: :doc:`/generated/tutorials/lecture_2a_threshold_units`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from mercer import LinearThreshold

X, y = make_blobs(300, centers=[[-1, 0], [1, 0]], cluster_std=0.9, random_state=3)

plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(2, 2, figsize=(6.4, 4.4), sharex=True, sharey=True, layout="constrained")
restless = {}
for ax, rule in zip(axes.flat, ("perceptron", "lms", "sigmoid", "logistic"), strict=True):
    model = LinearThreshold(rule, rate=0.002, max_iter=60, tol=None).fit(X, y)
    error = model.trace_.error
    restless[rule] = np.abs(np.diff(error[20:])).mean()
    ax.plot(np.arange(1, len(error) + 1), error, color="C0")
    ax.set_title(f"{rule}: {model.score(X, y):.1%} right in the end", fontsize=9)
assert restless["perceptron"] > 100 * max(restless[rule] for rule in ("lms", "sigmoid", "logistic"))
figure.supxlabel("pass over the rows", fontsize=10)
figure.supylabel("share of rows misclassified", fontsize=10)
figure.suptitle("Where classes overlap, the perceptron does not settle")
plt.show()
