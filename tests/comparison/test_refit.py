"""A model on all rows, with what its search chose."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, GaussianDiscriminant, GaussianNB, LogisticRegression, LogisticRegressionCV, Ridge
from mercer.comparison._cross_validation import find_choice, replace_search
from mercer.comparison._entry import ChosenParameter
from mercer.comparison._inner_search import Tuned
from tests.comparison._models import logistic_path

X, Y = load_iris(return_X_y=True)


def test_a_search_is_replaced_by_its_best_model() -> None:
    search = logistic_path([0.1, 10.0], cv=3, class_weight="balanced", fit_intercept=False, tol=1e-8)
    model = make_pipeline(StandardScaler(), search).fit(X, Y)
    before = model.predict_proba(X)
    found = replace_search(model, X, Y)
    assert type(found[-1]) is LogisticRegression
    assert found[-1].C == search.C_
    assert (found[-1].class_weight, found[-1].fit_intercept) == ("balanced", False)
    np.testing.assert_allclose(found.predict_proba(X), before, atol=1e-5)


def test_classes_of_a_search_may_have_names() -> None:
    names = np.array(["a", "b", "c"])[Y]
    path = make_pipeline(StandardScaler(), logistic_path([0.1, 10.0], cv=3)).fit(X, names)
    proba = path.predict_proba(X)
    found = replace_search(path, X, names)
    assert type(found[-1]) is LogisticRegression
    assert found[-1].C == 10.0
    np.testing.assert_allclose(found.predict_proba(X), proba, atol=1e-3)


def test_a_tuned_parameter_is_found() -> None:
    found = replace_search(Tuned(GaussianDiscriminant(), "shrinkage", (0.5, 0.0)).fit(X, Y), X, Y)
    assert found.shrinkage == 0.0
    after_others = make_pipeline(StandardScaler(), Tuned(SVC(), "C", (1.0, 10.0))).fit(X, Y)
    assert type(replace_search(after_others, X, Y)[-1]) is SVC


def test_the_choice_and_its_candidates_are_found() -> None:
    search = logistic_path([0.1, 10.0], cv=3)
    assert find_choice(make_pipeline(StandardScaler(), search).fit(X, Y)) == ChosenParameter("C", 10.0, (0.1, 10.0))
    tuned = Tuned(Ridge(), "alpha", (1e4, 1e-3), "regression")
    assert find_choice(TransformedTargetRegressor(tuned).fit(X, X[:, 0])) == ChosenParameter("alpha", 1e-3, (1e4, 1e-3))
    assert find_choice(GaussianNB().fit(X, Y)) is None


def test_a_target_in_other_units_does_not_hide_a_search() -> None:
    tuned = Tuned(Ridge(), "alpha", (1e4, 1e-3), "regression")
    model = make_pipeline(StandardScaler(), TransformedTargetRegressor(tuned, transformer=StandardScaler()))
    last = replace_search(model.fit(X, X[:, 0]), X, X[:, 0])[-1]
    assert type(last.regressor_) is type(last.regressor) is Ridge
    assert last.regressor.alpha == 1e-3


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_search_with_one_choice_per_class_is_kept() -> None:
    search = LogisticRegressionCV(Cs=[1.0], cv=2).fit(X, Y)
    assert replace_search(search, X, Y) is search


def test_a_pipeline_without_a_search_is_unchanged() -> None:
    model = Pipeline([("nothing", "passthrough"), ("bayes", GaussianNB())]).fit(X, Y)
    assert replace_search(model, X, Y) is model
    assert replace_search(model, X, Y)[-1].classes_.tolist() == [0, 1, 2]
