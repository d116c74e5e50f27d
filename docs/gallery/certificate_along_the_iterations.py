"""
The certificate along the iterations of a solver
================================================

How far is a fit that was stopped early from the optimum? ``certificate_`` states it in standard errors, from the
gradient and curvature at the returned point, without the optimum itself. Near the optimum it equals the distance
measured afterwards, √(deviance − least deviance), for solvers that use the curvature; elsewhere it is within a factor
of 2.5.

Read on: :doc:`/quick-start`.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from mercer import GLM

X, y = load_breast_cancer(return_X_y=True)
X = scale(X[:, [1, 4, 8, 9, 11]])
least = GLM("bernoulli", tol=1e-12).fit(X, y).deviance_

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for solver, steps, colour in (("newton", 5, "C0"), ("lbfgs", 10, "C1"), ("gradient", 160, "C3")):
    stopped = np.unique(np.geomspace(1, steps, 12).astype(int))
    claimed, true = [], []
    for step in stopped:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has not converged, which is the point here
            model = GLM("bernoulli", solver=solver, max_iter=int(step)).fit(X, y)
        claimed.append(model.certificate_.value)
        true.append(np.sqrt(model.deviance_ - least))
    ratio = np.divide(claimed, true)
    measurable = np.array(true) > 1e-5  # closer, the difference of two deviances is mostly rounding
    assert np.all((ratio > 0.4) & (ratio < 1.01) | ~measurable)
    assert solver == "lbfgs" or ratio[-1] > 0.99
    ax.plot(stopped, claimed, color=colour, label=f"{solver}: certificate")
    ax.plot(stopped, true, "o", color=colour, fillstyle="none", label=f"{solver}: true distance")
ax.set(xscale="log", yscale="log", xlabel="step after which the fit was stopped")
ax.set_ylabel("distance to the optimum, in standard errors")
ax.set_title("The certificate measures the distance from the optimum")
ax.legend(frameon=False, fontsize=9)
plt.show()
