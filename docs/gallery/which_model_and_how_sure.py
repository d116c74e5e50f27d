"""
Which model, and how sure is that?
==================================

``compare`` fits models to the same folds, and gives an interval for the score of each. Logistic regression is ahead
here. ``differences()`` tests which are worse on the same folds, allowing for folds that share rows: kernel Bayes and
naive Bayes are worse beyond chance, the others are not. ``sentences()`` says what that means in words.

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
told = board.differences()
print(told, *board.sentences(), sep="\n")
assert [row[0] for row in told.rows if row[-1] == "yes"] == ["kernel Bayes", "naive Bayes"]

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
board.plot_leaderboard(ax=ax)
ax.set_title("Kernel Bayes and naive Bayes are worse beyond chance", fontsize=11)
plt.show()
