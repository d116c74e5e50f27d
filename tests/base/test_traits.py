"""Traits: the declarations of a class of estimators, also of a class outside of mercer."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris

import mercer
from mercer._errors import ExportError, NoCounterpartError, UnsavableError
from mercer.base import (
    Question,
    Traits,
    declared_traits,
    estimator_named,
    estimators_for,
    model_names,
    resolve,
    traits,
    traits_of,
)
from mercer.comparison._entrants import select_suitable
from mercer.comparison.fitting import fit_named
from mercer.data import Table
from mercer.serve import make_app
from tests.export._languages import check

X, CODES = load_iris(return_X_y=True)
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
FRAME = pd.DataFrame(X, columns=NAMES)
Y = np.array(["setosa", "versicolor", "virginica"])[CODES]
#: whether the model below takes part in comparisons of this process, of which other tests have some
TAKES_PART = False


@pytest.fixture(scope="module")
def another() -> Iterator[Any]:
    """A package that the program has imported, for the tests that use it: no other test finds its classes."""
    name = "tests.base._another_package"
    yield importlib.import_module(name)
    del sys.modules[name]


@pytest.fixture
def taking_part(another: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(another, "TAKES_PART", True)


# A class of another package.


@pytest.mark.usefixtures("taking_part")
def test_it_takes_part_in_comparisons() -> None:
    entrants = {each.name: each for each in select_suitable(Table.of(FRAME), Question()).entrants}
    assert list(entrants)[-3] == "NearestMean"  # in its place, before the kernel machines
    assert entrants["NearestMean"].kind == "generative"
    assert entrants["NearestMean"].partner == "LogisticRegressionCV"
    assert "NearestMean" not in {
        each.name for each in select_suitable(Table.of(FRAME), Question("regression")).entrants
    }
    comparison = mercer.compare(FRAME, Y, models=["NearestMean", "LinearDiscriminantAnalysis"], cv=3)
    scores = {entry.name: entry.mean("accuracy") for entry in comparison.entries}
    assert 0.8 < scores["NearestMean"] < scores["LinearDiscriminantAnalysis"]
    fitted = comparison.fitted("NearestMean")
    assert (fitted.predict(FRAME) == Y).mean() > 0.8


def test_it_is_left_out_if_it_yields_nothing(another: Any) -> None:
    assert "NearestMean" not in {each.name for each in select_suitable(Table.of(FRAME), Question()).entrants}


@pytest.mark.usefixtures("taking_part")
def test_it_is_fitted_by_name(another: Any) -> None:
    assert "NearestMean" in model_names()
    assert estimator_named("NearestMean") is another.NearestMean
    ready = fit_named("NearestMean", FRAME, Y)
    assert ready.task == "classification"
    assert (ready.model.predict(FRAME) == Y).mean() > 0.8


def test_it_is_saved_loaded_exported_and_served(another: Any, tmp_path: Path) -> None:
    model = another.NearestMean().fit(FRAME, Y)
    mercer.save(model, tmp_path / "iris.mercer")
    loaded = mercer.load(tmp_path / "iris.mercer")
    assert isinstance(loaded, another.NearestMean)
    np.testing.assert_array_equal(loaded.predict_proba(FRAME), model.predict_proba(FRAME))
    check(loaded, FRAME)  # SQL, Python and ONNX predict the same
    client = TestClient(make_app(loaded))
    answer = client.post("/predict", json={"rows": FRAME[:2].to_dict("records")})
    assert answer.status_code == 200, answer.text
    assert [each["prediction"] for each in answer.json()["predictions"]] == Y[:2].tolist()
    answer = client.post("/explain", json={"rows": FRAME[:2].to_dict("records")})
    assert answer.status_code == 200, answer.text
    for each, expected in zip(answer.json()["explanations"], mercer.explain_rows(model, FRAME[:2]).totals, strict=True):
        assert each["of"].startswith("log odds of setosa"), each
        assert {one["name"] for one in each["contributions"]} == {*NAMES}
        assert each["total"] == pytest.approx(expected[0])


def test_it_explains_its_predictions_as_it_declares(another: Any) -> None:
    model = another.Explained().fit(FRAME, Y)
    found = mercer.explain_rows(model, FRAME[:5])
    log_p = np.log(model.predict_proba(FRAME[:5]))
    np.testing.assert_allclose(found.totals, log_p - log_p.mean(axis=1, keepdims=True))
    assert not np.allclose(
        found.contributions, mercer.explain_rows(another.NearestMean().fit(FRAME, Y), FRAME[:5]).contributions
    )


def test_it_has_a_counterpart(another: Any) -> None:
    assert [name for name, _ in mercer.counterpart(another.NearestMean()).steps] == ["imputer", "scaler", "logistic"]


def test_a_subclass_inherits_applicable_traits(another: Any) -> None:
    assert traits_of(another.Renamed).half == "columns"
    assert declared_traits(another.Renamed) is None
    assert another.Renamed not in estimators_for("classification")
    with pytest.raises(ExportError, match="Renamed cannot be exported"):
        mercer.export.to_python(another.Renamed().fit(FRAME, Y))


def test_a_class_without_traits_has_no_counterpart_and_is_not_saved(tmp_path: Path) -> None:

    class Bare(ClassifierMixin, BaseEstimator):
        def fit(self, X: Any, y: Any) -> Self:
            self.n_features_in_ = 1
            return self

    assert traits_of(Bare()) == Traits()
    with pytest.raises(NoCounterpartError, match="not a model of mercer"):
        mercer.counterpart(Bare())
    with pytest.raises(UnsavableError, match="which model files cannot contain"):
        mercer.save(Bare().fit(FRAME, Y), tmp_path / "bare.mercer")


def test_a_class_whose_module_is_gone_is_ignored(another: Any) -> None:
    class Gone(another.NearestMean): ...

    Gone.__module__, Gone.__qualname__ = "a_module_that_was_removed", "Gone"
    traits("classification", candidates=another.candidates)(Gone)
    assert Gone not in estimators_for("classification")
    assert "Gone" not in model_names()


def test_classes_of_this_test_do_not_leak_into_other_tests() -> None:
    """Collecting the tests imports no class that declares traits: it would be a model of all tests of the run."""
    code = "import tests.base.test_traits; from mercer.base import model_names; print('NearestMean' in model_names())"
    assert run_python(code) == "False"


@pytest.mark.usefixtures("another")
def test_names_listed_for_a_trait_belong_to_classes_that_declare_it() -> None:
    assert "NearestMean" in model_names("export")
    assert model_names("needs_full_rank") == ("QuadraticDiscriminantAnalysis",)


# The classes of mercer.

ESTIMATORS = [
    name for name in mercer.__all__ if isinstance(getattr(mercer, name), type) and hasattr(getattr(mercer, name), "fit")
]


def test_every_model_declares_its_tasks() -> None:
    for name in ESTIMATORS:
        declared = traits_of(getattr(mercer, name))
        assert declared.predicts == (name in model_names()), name
    assert len(model_names()) > 30


@pytest.mark.parametrize("name", ESTIMATORS)
def test_functions_named_by_traits_exist(name: str) -> None:
    declared = traits_of(getattr(mercer, name))
    for trait in fields(declared):
        value = getattr(declared, trait.name)
        if "Callable" in str(trait.type) and value is not None and (callable(value) or "." in value):
            assert callable(resolve(value)), trait.name


def test_the_sources_agree_with_the_classes() -> None:
    found = estimators_for("classification", "regression")
    names = {cls.__name__ for cls in found if cls.__module__.startswith("mercer.")}
    declared = {name for name in ESTIMATORS if traits_of(getattr(mercer, name)).candidates is not None}
    assert names - declared == {"Kernelized"}  # which `kernelize` makes, so that it has no public name
    assert declared <= names


def run_python(code: str) -> str:
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return finished.stdout.strip()


def test_traits_load_only_the_required_modules() -> None:
    code = (
        "import sys; from mercer import GaussianNB; "
        "print([m for m in sys.modules if m.startswith(('mercer.export', 'mercer.comparison', 'mercer.svm'))])"
    )
    assert run_python(code) == "[]"
    code = "from mercer.base import model_names; import sys; model_names(); print('mercer.linear_model' in sys.modules)"
    assert run_python(code) == "False"


def test_a_task_loads_only_its_own_models() -> None:
    code = (
        "from mercer.base import estimators_for; names = {cls.__name__ for cls in estimators_for('regression')}; "
        "import sys; print('Ridge' in names, 'mercer.naive_bayes._gaussian' in sys.modules)"
    )
    assert run_python(code) == "True False"
