"""Parameters of kernels inside estimators: clone, set_params, GridSearchCV."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import kernels as k
from mercer._errors import FrozenKernelError, KernelError
from tests.kernels._ridge import Ridge

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
y = np.sin(3 * X[:, 0])


def test_parameters_are_nested() -> None:
    kernel = k.Linear() + 2 * k.RBF(gamma=1)
    assert kernel.get_params()["k2__kernel__gamma"] == 1.0
    assert kernel.replaced(k2__kernel__gamma=3, k2__scale=5) == k.Linear() + 5 * k.RBF(gamma=3)
    assert kernel.replaced(k2=k.RBF(gamma=2), k2__gamma=7) == k.Linear() + k.RBF(gamma=7)
    assert k.RBF(sigma=2).replaced(gamma=3) == k.RBF(gamma=3)
    assert k.RBF(gamma=2).replaced(sigma=3) == k.RBF(sigma=3)
    with pytest.raises(KernelError, match="Did you mean 'gamma'"):
        k.RBF(gamma=1).replaced(gama=2)
    with pytest.raises(KernelError, match="Invalid parameter"):
        k.RBF(gamma=1).replaced(gamma__x=2)


def test_set_params_without_parameters_has_no_effect() -> None:
    kernel = k.RBF()
    assert kernel.set_params() is kernel


def test_set_params_replaces_the_kernel() -> None:
    shared = k.RBF(gamma=1)
    one, other = Ridge(shared), Ridge(shared)
    assert one.set_params(kernel__gamma=5, alpha=2) is one
    assert (one.kernel, one.alpha, other.kernel) == (k.RBF(gamma=5), 2, shared)
    assert one.set_params(kernel=k.Matern(), kernel__nu=2.5).kernel == k.Matern(nu=2.5)
    with pytest.raises(ValueError, match="Invalid parameter"):
        one.set_params(kern__gamma=1)


def test_a_clone_shares_the_kernel() -> None:
    scaler = StandardScaler().fit(X)
    model = Ridge(k.RBF(gamma=1).of(scaler))
    assert clone(model).kernel is model.kernel  # a copy of the scaler would not be fitted
    assert clone(k.RBF(gamma=1)) == k.RBF(gamma=1)


def test_a_search_over_parameters_of_a_kernel() -> None:
    grid = {"kernel__gamma": [1e-3, 1.0, 1e3]}
    search = GridSearchCV(Ridge(), grid, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel__gamma": 1.0}
    assert search.best_estimator_.kernel == k.RBF(gamma=1.0)
    assert len(set(search.cv_results_["mean_test_score"])) == 3
    assert Ridge().kernel == k.RBF()
    nested = GridSearchCV(
        make_pipeline(StandardScaler(), Ridge(k.Linear() + k.RBF())), {"ridge__kernel__k2__gamma": [1e-3, 1.0]}, cv=3
    ).fit(X, y)
    assert nested.best_params_ == {"ridge__kernel__k2__gamma": 1.0}


def test_an_estimator_of_scikit_learn_searches_over_kernels() -> None:
    """set_params would have to change a kernel in place: it is rejected instead of having no effect."""
    labels = y > 0
    search = GridSearchCV(SVC(), {"kernel": [k.RBF(gamma=1e-6), k.RBF(gamma=1.0)]}, cv=3).fit(X, labels)
    assert search.best_params_ == {"kernel": k.RBF(gamma=1.0)}
    with pytest.raises(FrozenKernelError, match="search"):
        SVC(kernel=k.RBF()).set_params(kernel__gamma=2)


def test_a_kernel_given_by_name_has_no_nested_parameters() -> None:
    with pytest.raises(KernelError, match="is a name"):
        Ridge("rbf").set_params(kernel__gamma=1)
