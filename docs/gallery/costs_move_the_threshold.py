"""
Costs that move the threshold without a refit
=============================================

What if a missed tumour costs twenty times as much as a needless biopsy? ``Decision`` accepts costs and chooses for
every patient the action of the lowest expected cost; the model is fitted once. The further the costs are from equal,
the more expensive it becomes to decide at one half.

Read on: :doc:`/guides/imbalanced-costs`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from mercer import Decision, LogisticRegression

X, y = load_breast_cancer(return_X_y=True)
ill = np.where(y == 0, "ill", "well")
X_train, X_test, y_train, y_test = train_test_split(X[:, [1, 4, 8]], ill, test_size=0.5, random_state=0, stratify=ill)
model = LogisticRegression(C=1e4).fit(X_train, y_train)

prices = np.geomspace(1, 50, 12)
decision, paid, at_half = Decision(model), [], []
for price in prices:
    decision.set_params(costs={"ill": {"well": price}, "well": {"ill": 1}}, threshold=None)
    assert np.isclose(decision.threshold_, price / (1 + price))  # of the probability of "well"
    paid.append(decision.average_cost(X_test, y_test))
    at_half.append(decision.set_params(threshold=0.5).average_cost(X_test, y_test))
assert paid[-1] < at_half[-1] / 5

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot(prices, at_half, "s--", color="C1", label="well where p(well) is above ½")
ax.plot(prices, paid, "o-", color="C0", label="well where p(well) is above price/(1 + price)")
ax.set(xscale="log", ylim=(0, None), xlabel="price of a missed tumour, in needless biopsies")
ax.set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
ax.set_ylabel("average cost of a new patient")
ax.set_title("One model, any costs: only the threshold moves")
ax.legend(frameon=False)
plt.show()
