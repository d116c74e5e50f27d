"""Parameters of any frozen value inside an estimator: penalties, families, links, bandwidths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import GLM, KernelBayes, KernelDensity, NadarayaWatson, NaiveBayes
from mercer._errors import DataError
from mercer.density import Adaptive, Silverman
from mercer.families import L1, L2, ElasticNet, Histogram, Tweedie
from mercer.kernels import RBF

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
y = X @ [1.0, -1.0, 0.5] + rng.normal(size=90)
amounts = np.maximum(0.0, y + 1)


def test_set_params_replaces_the_value() -> None:
    shared = L2(1.0, mean=0.5)
    one, other = GLM(penalty=shared), GLM(penalty=shared)
    assert one.set_params(penalty__strength=5.0, tol=1e-6) is one
    assert (one.penalty, one.tol, other.penalty) == (L2(5.0, mean=0.5), 1e-6, shared)
    assert one.set_params(penalty=ElasticNet(), penalty__l1_ratio=0.1).penalty == ElasticNet(l1_ratio=0.1)
    assert GLM(Tweedie(1.5)).set_params(family__power=1.2).family == Tweedie(1.2)
    both = GLM(penalty=L2(), kernel=RBF(gamma=1)).set_params(penalty__strength=2.0, kernel__gamma=3)
    assert (both.penalty, both.kernel) == (L2(2.0), RBF(gamma=3))


@pytest.mark.parametrize("model", [GLM(Tweedie(1.5), penalty=L2(3.0)), GLM(kernel=RBF(gamma=1), penalty=L2(3.0))])
def test_nested_parameters_are_listed_and_can_be_set(model: Any) -> None:
    listed = model.get_params()
    assert listed["penalty__strength"] == 3.0
    assert "penalty__strength" not in model.get_params(deep=False)
    assert clone(model).set_params(**listed).get_params() == listed
    assert "penalty__" not in repr(model)
    assert "3.0" in model._repr_html_()


@pytest.mark.parametrize(
    ("model", "params", "sentence"),
    [
        (GLM(penalty=L2()), {"penalty__strenght": 1}, r"'penalty__strenght'.*L2.*Did you mean 'strength'\?"),
        (GLM(penalty=L1()), {"penalty__strength__x": 1}, r"'penalty__strength__x'.*Did you mean 'strength'\?"),
        (GLM("poisson"), {"family__power": 1}, "'family__power': the family 'poisson' is a name"),
        (GLM(), {"penalty__strength": 1}, "'penalty__strength': penalty is None"),
        (GLM(penalty=L2()), {"penalty": None, "penalty__strength": 1}, "penalty is None"),
    ],
)
def test_an_unknown_parameter_is_rejected(model: Any, params: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        model.set_params(**params)


def test_searches_over_parameters_of_values() -> None:
    search = GridSearchCV(GLM(penalty=L2()), {"penalty__strength": [1e-2, 1e4]}, cv=3).fit(X, y)
    assert search.best_params_ == {"penalty__strength": 1e-2}
    assert search.best_estimator_.penalty == L2(1e-2)
    assert len(set(search.cv_results_["mean_test_score"])) == 2
    both = {"glm__penalty": [L1(), L2()], "glm__penalty__strength": [0.1, 1.0], "glm__family__power": [1.2, 1.8]}
    model = make_pipeline(StandardScaler(), GLM(Tweedie(), "log", L2()))
    assert len(GridSearchCV(model, both, cv=2).fit(X, amounts).cv_results_["params"]) == 8


@pytest.mark.parametrize(
    ("model", "params", "held"),
    [
        (KernelDensity(bandwidth=Adaptive()), {"bandwidth__sensitivity": 0.2}, Adaptive(sensitivity=0.2)),
        (NadarayaWatson(bandwidth=Silverman()), {"bandwidth__shape": "matrix"}, Silverman("matrix")),
        (KernelBayes(bandwidth=Adaptive()), {"bandwidth__sensitivity": 0.2}, Adaptive(sensitivity=0.2)),
        (NaiveBayes(families=Histogram(5)), {"families__bins": 9}, Histogram(9)),
    ],
)
def test_bandwidths_and_families_of_columns_are_values_too(model: Any, params: dict[str, Any], held: Any) -> None:
    (name,) = {key.partition("__")[0] for key in params}
    assert getattr(clone(model).set_params(**params), name) == held
