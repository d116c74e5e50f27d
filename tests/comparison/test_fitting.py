"""Names of the leaderboard are accepted by a fit and by a comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

from mercer import SVC
from mercer._errors import DataError
from mercer.comparison import compare
from mercer.comparison.fitting import fit_named

RNG = np.random.default_rng(0)
N = 90
AGES = RNG.normal(45, 10, size=N)
PATIENTS = pd.DataFrame(
    {
        "age": np.where(RNG.random(N) < 0.1, np.nan, AGES),
        "sex": RNG.choice(["male", "female"], size=N),
        "visits": RNG.poisson(2, size=N),
    }
)
ILL = np.where(AGES + RNG.normal(size=N) * 8 > 45, "yes", "no")


def predictions(model: Any, X: Any) -> Any:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


#: a column of each kind, some of which no model is shown, and some of which not every model
EVERYTHING = PATIENTS.assign(
    rownames=np.arange(1, N + 1),
    stage=RNG.integers(1, 6, size=N),
    member=RNG.random(N) < 0.5,
    since=pd.date_range("2024-01-01", periods=N),
    ward=3,
    price=[f"{age:.2f}".replace(".", ",") for age in AGES],
)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (PATIENTS, ILL),
        (EVERYTHING, ILL),
        (EVERYTHING.drop(columns=["sex", "price"]), ILL),
        (EVERYTHING[["rownames", "member", "ward"]].assign(sex=AGES > 40), ILL),
        (PATIENTS.drop(columns="visits"), PATIENTS["visits"].to_numpy()),
        (load_iris(as_frame=True).data.iloc[::3, :2], load_iris().target[::3]),
        (load_diabetes(as_frame=True).data.iloc[:90, :2], load_diabetes().target[:90]),
    ],
    ids=[
        "mixed columns",
        "columns of all kinds",
        "numbers of all kinds",
        "zero and one",
        "counts",
        "numbers",
        "regression",
    ],
)
def test_every_name_of_the_leaderboard_can_be_fitted_with_the_same_predictions(X: Any, y: Any) -> None:
    comparison = compare(X, y, cv=2, reference=False)
    for entry in comparison.done:
        if entry.kind != "baseline":
            named = fit_named(entry.name, X, y)
            expected = predictions(comparison.fitted(entry.name), X)
            np.testing.assert_array_equal(predictions(named.model, named.frame), expected, err_msg=entry.name)


def test_a_name_of_the_leaderboard_gives_the_same_entry_in_another_comparison() -> None:
    first = compare(PATIENTS, ILL, cv=2)
    name = first.names[0]
    second = compare(PATIENTS, ILL, cv=2, models=[name])
    np.testing.assert_array_equal(second.entry(name).scores["log_loss"], first.entry(name).scores["log_loss"])
    assert first.reference is not None
    trees = compare(PATIENTS, ILL, cv=2, models=[f"{first.reference.name} (reference)"]).entry()
    np.testing.assert_array_equal(trees.scores["log_loss"], first.reference.scores["log_loss"])


def test_a_model_may_be_written_as_in_python() -> None:
    X = load_iris(as_frame=True).data
    y = load_iris().target
    model = fit_named("SVC(C=3, gamma=0.5)", X, y).model
    assert isinstance(model[-1], SVC)
    assert (model[-1].C, model[-1].gamma) == (3, 0.5)
    assert fit_named("kernelize(LogisticRegression(C=10), RBF(gamma=0.7))", X, y).model.predict(X).shape == (150,)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("LogisticRegresion of products", "Did you mean 'LogisticRegressionCV of products'"),
        ("RandomForestClassifier", "which a model file cannot hold"),
        ("__import__('os').getcwd()", "There is no model"),
        ("SVC(C=open('x'))", "There is no model 'open'"),
        ("SVC(C=[x for x in 'a'])", "neither a number"),
        ("SVC(c=3)", "has no parameter 'c'"),
    ],
)
def test_other_names_are_errors_with_a_remedy(name: str, message: str) -> None:
    with pytest.raises(DataError, match=message.replace("(", r"\(")):
        fit_named(name, load_iris(as_frame=True).data, load_iris().target)


def test_models_of_scikit_learn_take_columns_of_any_kind() -> None:
    from sklearn.ensemble import ExtraTreesClassifier

    found = compare(
        PATIENTS,
        ILL,
        cv=2,
        models=[
            "sklearn.neighbors.KNeighborsClassifier",
            "LogisticRegression",
            ExtraTreesClassifier(10, random_state=0),
        ],
    )
    assert set(found.names) == {"KNeighborsClassifier", "LogisticRegression", "ExtraTreesClassifier"}
    assert not any(entry.failed for entry in found.entries)
    with pytest.raises(DataError, match="KNeighborsRegressor is not a model for the task classification"):
        compare(PATIENTS, ILL, models="KNeighborsRegressor")
    with pytest.raises(DataError, match="needs parameters"):
        compare(PATIENTS, ILL, models="VotingClassifier")


def test_a_parameter_of_a_listed_model_may_be_set() -> None:
    X, y = PATIENTS.drop(columns="visits"), PATIENTS["visits"].to_numpy()
    name = "GLM(family='poisson', penalty=L2(1.0))"
    assert name in compare(X, y, cv=2, task="counts", reference=False).names
    model = fit_named(name, X, y, settings={"max_iter": 7}).model
    assert model[-1].max_iter == 7
    with pytest.raises(DataError, match=r"GLM has no parameter 'maxiter'\. Did you mean 'max_iter'"):
        fit_named(name, X, y, settings={"maxiter": 7})


def test_the_task_gives_a_glm_its_family() -> None:
    """Counts have Poisson's, positive amounts Gamma's; a family that is set, or another task, comes first."""
    X, visits = PATIENTS[["age"]], PATIENTS["visits"].to_numpy()
    cost = np.exp(RNG.normal(size=N))
    found = fit_named("GLM", X, visits)
    assert (found.task, found.model[-1].family) == ("counts", "poisson")
    assert found.notes[0].endswith("because the target is read as counts.")
    assert fit_named("GLM", X, cost).model[-1].family == "gamma"
    assert (fit_named("GLM", X, np.where(cost < 1, 0.0, cost), task="amounts").model.predict(X) > 0).all()
    assert fit_named("GLM", X, visits, settings={"family": "gaussian"}).model[-1].family == "gaussian"
    numbers = fit_named("GLM", X, visits, task="regression")
    assert (numbers.task, numbers.model[-1].family) == ("regression", "gaussian")
    with pytest.raises(DataError, match="Counts are 0, 1, 2"):
        fit_named("GLM", X, cost, task="counts")
    with pytest.raises(DataError, match="Ridge is not a model for the task classification"):
        fit_named("Ridge", X, visits, task="classification")
