"""
Which model, and with which uncertainty?
========================================

``compare`` fits models to the same folds, and gives an interval for the score of each. Logistic regression is ahead
here. ``differences()`` compares the losses of the same rows: only support vectors may be as good, the other three
models are worse beyond chance. ``sentences()`` states what that means.

Read on: :doc:`/which-model`.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, GaussianNB, KernelBayes, LinearDiscriminantAnalysis, compare, counterpart

X, y = load_breast_cancer(return_X_y=True)
models = {
    "naive Bayes": GaussianNB(),
    "kernel Bayes": make_pipeline(StandardScaler(), KernelBayes()),
    "linear discriminant": LinearDiscriminantAnalysis(),
    "logistic regression": counterpart(LinearDiscriminantAnalysis()),
    "support vectors": make_pipeline(StandardScaler(), SVC()),
}
board = compare(X, y, models=models, repeats=4)
differences = board.differences()
print(differences, *board.sentences(), sep="\n")
assert [row[0] for row in differences.rows if row[-1] == "yes"] == [
    "linear discriminant",
    "kernel Bayes",
    "naive Bayes",
]

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
board.plot_leaderboard(ax=ax)
ax.set_title("Support vectors may be as good, the others are worse", fontsize=11)
plt.show()
