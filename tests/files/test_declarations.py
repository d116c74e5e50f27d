"""Objects that contradict the declarations of their classes are neither saved nor loaded."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GroupKFold, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler

import mercer
from mercer import decision, density, families, kernels
from mercer._errors import ModelFileError, UnsavableError
from mercer._stored import ANYTHING, Unsafe, mark_loaded, stored
from mercer.base.sources import Outline
from mercer.comparison._inner_search import Tuned
from mercer.data.formats import DateFormat, NumberFormat
from mercer.files import load, save
from mercer.files._declarations import known_declaration
from mercer.kernel_approximation.fourier import FourierMap, Hadamard
from mercer.kernels._counting import Runs
from mercer.kernels._graphs import Neighbourhoods
from mercer.kernels._strings import Sequences, Substrings
from mercer.kernels.explicit import ComposedMap, MonomialFeatureMap
from mercer.kernels.monomials import MonomialOrder
from mercer.matrices.streamed import RowSample, Survey, SurveyLevels
from mercer.naive_bayes._unweighted import UnweightedPart
from mercer.preprocessing.table_source import ColumnScan
from mercer.preprocessing.treatments import NumberSpread
from mercer.stats.distinct_rows import DistinctRows
from mercer.stats.normal_equations import RFactor
from mercer.text._interpreted import OtherVocabulary
from tests.files._cases import CASES, Case, flat, line, mixed, numbers, positive, sparse, tally, two
from tests.files._forged import forged, octets_of, read, record_of, rewritten, taken_apart, with_array
from tests.files._tags import classes_by_tag


def cut(model: Any, holder: str, part: str) -> Any:
    """Return the model without the last row of a nested part."""
    value = getattr(model, holder)
    setattr(model, holder, replace(value, **{part: getattr(value, part)[:-1]}))
    return model


def holds_arrays(described: Any, objects: Any) -> bool:
    """Return whether a described value is or contains an array or a matrix, outside of objects with a class."""
    if isinstance(described, list):
        return any(holds_arrays(part, objects) for part in described)
    if not isinstance(described, dict):
        return False
    if "object" in described:
        described = objects[described["object"]]
        return "value" in described and holds_arrays(described["value"], objects)
    return not {"array", "strings", "things", "sparse"}.isdisjoint(described) or holds_arrays(
        list(described.values()), objects
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_array_is_declared(case: Case, tmp_path: Path) -> None:
    """Parameters are verified by their constraints."""
    _, described, _ = taken_apart(octets_of(case.fitted(), tmp_path))
    classes = classes_by_tag()
    undeclared = set()
    for record in described["objects"]:
        if "class" not in record:
            continue
        cls: Any = classes[record["class"]]
        declared = known_declaration(cls).fields
        parameters = cls._get_param_names() if issubclass(cls, BaseEstimator) else ()
        for name, part in record["state"].items():
            if declared.get(name, ANYTHING) is ANYTHING and name not in parameters:
                undeclared |= {f"{record['class']}.{name}"} if holds_arrays(part, described["objects"]) else set()
    assert undeclared == set()


@pytest.mark.parametrize("name", ["undeclared_", "_undeclared", "anything"])
def test_attributes_that_no_class_declares_are_neither_saved_nor_loaded(name: str, tmp_path: Path) -> None:
    """A part that is renamed in the code, but not in its declaration, would not be verified."""
    model = mercer.Ridge().fit(line().X, line().y)
    octets = octets_of(model, tmp_path)
    with pytest.raises(ModelFileError, match=f"a Ridge has no attribute '{name}'"):
        read(forged(octets, lambda d: record_of(d, "Ridge")["state"].update({name: 1.0})), tmp_path)
    with pytest.raises(UnsavableError, match=f"model.{name} is an attribute that its class does not declare"):
        save(setattr(model, name, 1.0) or model, tmp_path / "model.mercer")


@pytest.mark.parametrize("columns", [2, 4])
@pytest.mark.parametrize(
    ("model", "owner", "part"),
    [
        (mercer.SVC(), "SVC", "support_vectors_"),
        (mercer.SVR(), "SVR", "support_vectors_"),
        (mercer.SVR(), "ComparedByKernel", "support"),
        (mercer.KernelRidge(kernel="rbf"), "KernelRidge", "X_fit_"),
        (mercer.kernelize(mercer.Ridge(), kernels.RBF(0.1)), "Kernelized", "X_fit_"),
        (mercer.kernelize(mercer.Ridge(), kernels.RBF(0.1)), "KernelFunction", "rows"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_kept_rows_of_other_columns_are_rejected(
    model: Any, owner: str, part: str, columns: int, tmp_path: Path
) -> None:
    data = two() if owner == "SVC" else line()
    octets = octets_of(clone(model).fit(data.X, data.y), tmp_path)
    header, described, stored_arrays = taken_apart(octets)
    place = record_of(described, owner)["state"][part]
    place = described["objects"][place["object"]]["value"] if "object" in place else place
    rows = header[place["array"]]["shape"][0]
    # an array of its own, that none else refers to
    record_of(described, owner)["state"][part] = {"array": "other", "dtype": "<f8"}
    header["other"] = {"dtype": "F64", "shape": [0], "data_offsets": [len(stored_arrays)] * 2}
    header["__metadata__"]["model"] = json.dumps(described)
    with pytest.raises(ModelFileError, match="has the wrong size"):
        read(rewritten(header, stored_arrays, "other", np.ones((rows, columns))), tmp_path)


@pytest.mark.parametrize(
    ("model", "owner", "part"),
    [
        (mercer.LinearRegression(), "LinearRegression", "singular_"),
        (mercer.LassoCV(cv=3), "LassoCV", "mse_path_"),
        (mercer.ElasticNetCV(cv=3), "ElasticNetCV", "alphas_"),
        (mercer.KernelRidge(kernel="rbf", alpha="loo"), "KernelRidge", "loo_predictions_"),
        (mercer.KernelRidge(kernel="rbf", alpha="loo"), "KernelRidge", "alpha_errors_"),
    ],
)
def test_unused_arrays_are_verified(model: Any, owner: str, part: str, tmp_path: Path) -> None:
    octets = octets_of(model.fit(line().X, line().y), tmp_path)
    with pytest.raises(ModelFileError, match=f"{part} of a {owner}"):
        read(forged(octets, lambda d: record_of(d, owner)["state"].update({part: "x"})), tmp_path)


@pytest.mark.parametrize(
    "model",
    [
        mercer.LogisticRegressionCV(Cs=[1, 2], cv=3),
        mercer.LogisticRegressionCV(Cs=[1, 2], cv=3, use_legacy_attributes=False),
        mercer.LogisticRegressionCV(Cs=2, l1_ratios=[0.0, 0.5], solver="saga", cv=3),
        mercer.LassoCV(alphas=[1, 2], cv=3),
        mercer.LassoCV(alphas=[0.1], cv=3),
        mercer.ElasticNetCV(l1_ratio=[0.5, 0.9], alphas=3, cv=3),
        mercer.KernelRidge(kernel="rbf", alpha="loo", gamma="loo"),
        mercer.SVC(kernel="precomputed"),
        mercer.QuadraticDiscriminantAnalysis(store_covariance=True),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_attributes_in_other_forms_are_loaded(model: Any, tmp_path: Path) -> None:
    X, y = numbers().X, two().y
    X = X @ X.T if "precomputed" in str(model) else X
    fitted = clone(model).fit(X, y)
    loaded = read(octets_of(fitted, tmp_path), tmp_path)
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))


@pytest.mark.parametrize(
    ("model", "owner", "part", "ask"),
    [
        (StandardScaler(), "StandardScaler", "scale_", "transform"),
        (RobustScaler(), "RobustScaler", "center_", "transform"),
        (MaxAbsScaler(), "MaxAbsScaler", "scale_", "inverse_transform"),
        (OneHotEncoder(), "OneHotEncoder", "_infrequent_enabled", "transform"),
        (make_pipeline(RobustScaler(), DummyRegressor()), "RobustScaler", "scale_", "predict"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_missing_parts_of_scikit_learn_classes_are_named(
    model: Any, owner: str, part: str, ask: str, tmp_path: Path
) -> None:
    octets = octets_of(model.fit(line().X, line().y), tmp_path)
    loaded = read(forged(octets, lambda d: record_of(d, owner)["state"].pop(part)), tmp_path)
    with pytest.raises(ModelFileError, match=rf"`\w+` of this {owner} failed .*{part}"):
        getattr(loaded, ask)(line().X)
    if owner == "StandardScaler":  # others are as they were
        fitted = StandardScaler().fit(line().X)
        del fitted.scale_
        with pytest.raises(AttributeError, match="scale_"):
            fitted.transform(line().X)


@pytest.mark.parametrize(
    ("folds", "owner", "part", "other"),
    [
        (GroupKFold(3), "GroupKFold", "n_splits", None),
        (ShuffleSplit(), "ShuffleSplit", "train_size", "x"),
        (ShuffleSplit(), "ShuffleSplit", "n_splits", None),
        (TimeSeriesSplit(), "TimeSeriesSplit", "gap", "x"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_incomplete_folds_are_rejected(folds: Any, owner: str, part: str, other: Any, tmp_path: Path) -> None:
    octets = octets_of(folds, tmp_path)
    with pytest.raises(ModelFileError, match=f"a {owner} in it lacks {part}"):
        read(forged(octets, lambda d: record_of(d, owner)["state"].pop(part)), tmp_path)
    with pytest.raises(ModelFileError, match=f"{part} of a {owner}"):
        read(forged(octets, lambda d: record_of(d, owner)["state"].update({part: other})), tmp_path)


@pytest.mark.parametrize(
    ("model", "holder", "part", "owner"),
    [
        (mercer.GaussianNB(), "_scores", "mean", "GaussianScores"),
        (mercer.GaussianNB(), "_scores", "constants", "GaussianScores"),
        (mercer.GaussianDiscriminant(), "_densities", "centre", "GaussianClasses"),
        (mercer.GaussianDiscriminant(), "_densities", "has_rows", "GaussianClasses"),
        (mercer.LinearDiscriminantAnalysis(), "_decision", "centre", "LinearScores"),
    ],
)
def test_a_part_that_is_too_short_is_rejected(model: Any, holder: str, part: str, owner: str, tmp_path: Path) -> None:
    model.fit(numbers().X, numbers().y)
    octets = octets_of(model, tmp_path)
    values = getattr(getattr(model, holder), part)
    with pytest.raises(ModelFileError, match=r"of a \w+ has the wrong size"):
        read(with_array(octets, owner, part, values[:-1]), tmp_path)
    with pytest.raises(UnsavableError, match=r"has the wrong size, so that a model file with it could not be loaded"):
        save(cut(model, holder, part), tmp_path / "model.mercer")


def test_fewer_word_statistics_than_columns_are_rejected(tmp_path: Path) -> None:
    model = mercer.MultinomialNB().fit(sparse().X, sparse().y)
    with pytest.raises(UnsavableError, match="_product has the wrong size"):
        save(cut(model, "_product", "logs"), tmp_path / "model.mercer")


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (FourierMap(np.ones((3, 8)), np.ones(7), 1.0), "offset has the wrong size"),
        (FourierMap(np.ones((3, 8)), np.ones(8), 1.0, np.ones(2)), "shift has the wrong size"),
        (Hadamard(np.ones((1, 3, 12)), np.ones(8), 3), "model contradicts itself"),
        (Hadamard(np.ones((1, 3, 4)), np.ones(8), 3), "model contradicts itself"),
        (Hadamard(np.ones((2, 3, 4)), np.ones(8), 5), "model contradicts itself"),
    ],
)
def test_inconsistent_random_features_are_rejected(broken: Any, why: str, tmp_path: Path) -> None:
    with pytest.raises(UnsavableError, match=why):
        save(broken, tmp_path / "features.mercer")


LETTERS = Sequences(np.zeros(0, np.int32), np.zeros(1, np.int64), str)
SAMPLE = DistinctRows.zero(2, most=4)
NONE, WORDS = np.zeros(0), np.array(["a", "b"])


@pytest.mark.parametrize(
    "broken",
    [
        # numbers that compiled loops follow
        Runs(np.arange(3), np.array([1, 10**8])),
        Runs(np.arange(3), np.array([2, 1, 3])),
        Neighbourhoods(kernels.WeisfeilerLehman(), {"a": 10**8}, ()),
        Sequences(np.zeros(3, np.int32), np.array([0, 10**8]), str),
        Sequences(np.zeros(1, np.int32), np.array([0, 1]), str, {"a": -5}),
        Substrings(1, Runs(np.array([2**40]), np.array([1])), LETTERS),
        Substrings(3, Runs(np.array([97, 98]), np.array([2])), LETTERS),
        # times without bound
        MonomialFeatureMap(3, 10**6, 1.0, 1.0),
        MonomialOrder(3, 0, 10**6),
        # parts of another kind
        families.Distribution(families.Gaussian(), families.BernoulliParameters(np.ones(2))),
        families.Distribution(families.Gaussian(), None),
        families.CategoricalParameters(np.ones((2, 0))),
        ComposedMap(kernels.Linear().feature_map(3), "x"),  # type: ignore[arg-type]
        UnweightedPart(None),
        NumberFormat("x"),
        DateFormat(""),
        ColumnScan(SAMPLE, None, None),  # type: ignore[arg-type]
        SurveyLevels(([],), ()),
        OtherVocabulary([1, []], np.array([1, 1]), np.array([1, 2]), 2),
        # sizes that disagree
        RowSample(8, ((np.zeros(2), (np.zeros((3, 1)),)),)),
        RFactor(1, np.zeros(4), np.zeros((0, 5)), 3),
        RFactor(0, np.zeros(4), np.zeros((0, 4)), 3),
        Outline(SAMPLE, np.zeros(2), np.zeros(2), np.zeros(2)),
        Outline(SAMPLE, np.zeros(3), np.zeros(3), np.zeros(3, dtype=bool)),
        NumberSpread(1, 0.0, 0.0, 0.0, 1.0, 1.0),
        Survey(0, 0, 0.0, 0.0, 0.0, NONE, NONE, np.ones(2), np.ones(3), NONE, (), RowSample(8, ()), False, False),
        Survey(0, 0, 0.0, 0.0, 0.0, NONE, NONE, WORDS, WORDS, NONE, (), RowSample(8, ()), False, False),
    ],
    ids=lambda broken: type(broken).__name__,
)
def test_values_that_contradict_themselves_are_rejected(broken: Any, tmp_path: Path) -> None:
    with pytest.raises(UnsavableError):
        save(broken, tmp_path / "value.mercer")


def test_consistent_random_features_are_loaded(tmp_path: Path) -> None:
    chain = Hadamard(np.ones((2, 3, 4)), np.ones(8), 3)
    save(FourierMap(np.ones((3, 8)), np.ones(8), 1.0, np.ones(3), chain), tmp_path / "features.mercer")
    assert load(tmp_path / "features.mercer").chain.columns == 3


@pytest.mark.parametrize("ends", [[0, 10**8, 0], [0, -5, 0], [0, 0, 10**8], [1, 1, 1], [0, 0]])
def test_a_sparse_matrix_that_points_outside_is_rejected(ends: list[int], tmp_path: Path) -> None:
    """SciPy does not check indices if the last pointer is 0."""
    X = sp.csr_array(np.eye(2))
    model = mercer.KernelRidge().fit(X, [0.0, 1.0])
    header, described, data = taken_apart(octets_of(model, tmp_path))
    (place,) = (record["value"] for record in described["objects"] if "sparse" in record.get("value", {}))
    octets = rewritten(header, data, place["indptr"]["array"], np.array(ends, dtype=place["indptr"]["dtype"]))
    with pytest.raises(ModelFileError, match="sparse matrix has indices out of bounds"):
        read(octets, tmp_path)


def test_points_with_more_columns_than_the_model_are_rejected(tmp_path: Path) -> None:
    octets = octets_of(mercer.LocalLinear().fit(line().X, line().y), tmp_path)
    with pytest.raises(ModelFileError, match="wrong size"):
        read(with_array(octets, "KernelSums", "points", np.ones((45, 40))), tmp_path)


@pytest.mark.parametrize(
    "model", [mercer.KernelBayes(bandwidth=2.5), mercer.NaiveBayes(families=density.Parzen(bandwidth=1.5))]
)
def test_windows_of_more_columns_than_the_model_are_rejected(model: Any, tmp_path: Path) -> None:
    octets = octets_of(model.fit(numbers().X, numbers().y), tmp_path)
    with pytest.raises(ModelFileError, match="contradicts itself"):
        read(with_array(octets, "Windows", "points", np.ones((16, 40))), tmp_path)


@pytest.mark.parametrize(
    ("model", "owner"),
    [
        (mercer.NadarayaWatson(bandwidth=[0.5]), "LocalMeans"),
        (mercer.LocalLinear(bandwidth=[0.5]), "LocalLines"),
        (mercer.KernelDensity(bandwidth=[0.5]), "Windows"),
    ],
)
def test_bandwidths_of_more_columns_than_the_points_are_rejected(model: Any, owner: str, tmp_path: Path) -> None:
    """Divided by five widths, one column became five, of which loops read four beyond the points."""
    octets = octets_of(model.fit(line().X[:, :1], line().y), tmp_path)
    with pytest.raises(ModelFileError, match=f"(bandwidth|points) of a {owner} has the wrong size"):
        read(with_array(octets, "Bandwidth", "value", np.full(5, 0.5)), tmp_path)


@pytest.mark.parametrize("model", [mercer.NadarayaWatson(), mercer.LocalLinear()])
def test_smoothers_without_a_bandwidth_are_rejected(model: Any, tmp_path: Path) -> None:
    octets = octets_of(model.fit(line().X, line().y), tmp_path)
    owner = "LocalMeans" if isinstance(model, mercer.NadarayaWatson) else "LocalLines"
    with pytest.raises(ModelFileError, match=f"{owner} in it contradicts itself"):
        read(forged(octets, lambda d: record_of(d, owner)["state"].update(bandwidth=None)), tmp_path)


@pytest.mark.parametrize(
    ("model", "owner", "part", "other"),
    [
        (mercer.LinearDiscriminantAnalysis(), "LinearDiscriminantAnalysis", "_densities", 1),
        (mercer.GaussianDiscriminant(), "GaussianDiscriminant", "_flaw", "x"),
        (mercer.NadarayaWatsonClassifier(), "NadarayaWatsonClassifier", "_weightless_rows", 0),
        (mercer.DensityOutliers(random_state=0), "DensityOutliers", "offset_", "x"),
        (mercer.kernelize(mercer.LogisticRegression(), "rbf"), "Kernelized", "_function", [0]),
        (decision.Decision(mercer.GaussianNB()), "Decision", "model_", 3),
        (decision.Decision(mercer.GaussianNB()), "Decision", "model_", {"object": 2}),
        (decision.Calibrated(mercer.GaussianNB(), cv=3), "Calibrated", "model_", "x"),
        (mercer.NaiveBayes(), "NumbersPart", "names", None),
        (mercer.NaiveBayes(), "GaussianConditional", "parameters", 2.5),
        (mercer.SVC(), "SVC", "_comparison", 0),
        (mercer.TableFeatures(), "TableFeatures", "_treatments", 3),
        (mercer.TableFeatures(), "TableFeatures", "_treatments", {"dict": [[], []]}),
        (mercer.CategoryFeatures(), "CategoryFeatures", "_names", 1),
        (mercer.CategoryFeatures(hashed=8), "HashedLevels", "buckets", 2**62),
        (OrdinalEncoder(), "OrdinalEncoder", "dtype", False),
        (StandardScaler().set_output(transform="pandas"), "StandardScaler", "_sklearn_output_config", 0),
    ],
)
def test_attributes_of_another_type_are_rejected(model: Any, owner: str, part: str, other: Any, tmp_path: Path) -> None:
    """These errors were formerly found by the methods that use the arrays."""
    octets = octets_of(model.fit(numbers().X, two().y), tmp_path)
    with pytest.raises(ModelFileError, match=owner):
        read(forged(octets, lambda d: record_of(d, owner)["state"].update({part: other})), tmp_path)


@pytest.mark.parametrize(
    ("model", "owner", "part", "values"),
    [
        (mercer.SVR(), "SVR", "dual_coef_", np.empty((0, 1))),
        (mercer.GLM(), "DesignCoordinates", "shift", np.ones(3, dtype=np.float16)),
        (mercer.RandomFourierFeatures(n_components=8), "RandomFourierFeatures", "_sample", np.ones((5, 40))),
        (mercer.RandomFourierFeatures(n_components=8), "RandomFourierFeatures", "_sample", np.ones((5, 3), dtype=int)),
        (mercer.GLM(), "DesignCoordinates", "shift", np.ones(40)),
        (mercer.GLM(), "GLM", "_w", np.ones(40)),
    ],
)
def test_arrays_of_wrong_shapes_are_rejected(model: Any, owner: str, part: str, values: Any, tmp_path: Path) -> None:
    octets = octets_of(model.fit(line().X, line().y), tmp_path)
    with pytest.raises(ModelFileError, match=f"a {owner.removeprefix('Design')} (has the wrong|in it contradicts)"):
        read(with_array(octets, owner, part, values), tmp_path)


@pytest.mark.parametrize(
    ("model", "data", "owner", "part", "values"),
    [
        (mercer.LogNormalRegressor(), positive, "LogNormalRegressor", "coef_", np.ones((1, 3))),
        (mercer.PoissonRegressor(), positive, "PoissonRegressor", "coef_", np.ones((1, 3))),
        (mercer.GLM("poisson"), positive, "GLM", "_w", np.ones((4, 1))),
        (mercer.GLM("bernoulli", penalty=families.L2(1.0)), two, "GLM", "classes_", np.arange(3)),
        (mercer.GLM("bernoulli", penalty=families.L2(1.0), kernel="rbf"), two, "GLM", "classes_", np.arange(1)),
        (mercer.SVC(), two, "SVC", "_intercept_", np.zeros(0)),
        (mercer.SVC(), two, "SVC", "classes_", np.arange(3)),
        (mercer.LinearSVC(), two, "LinearSVC", "classes_", np.arange(3)),
        (mercer.LogisticRegression(), two, "LogisticRegression", "classes_", np.arange(1)),
        (mercer.kernelize(mercer.LogisticRegression(), "rbf"), two, "Kernelized", "classes_", np.arange(1)),
        (mercer.NaiveBayes(families="poisson"), tally, "PoissonParameters", "rate", np.ones(3)),
        (mercer.NaiveBayes(families="poisson"), tally, "PoissonParameters", "rate", np.ones((2, 5))),
        (mercer.NaiveBayes(), mixed, "LevelCounts", "declared", np.ones(9, dtype=bool)),
        (mercer.SplineFeatures(), numbers, "Splines", "knots", np.ones(1)),
        (mercer.SVC(), two, "Calibration", "codes", np.full(45, 1000)),
        (mercer.SVC(), two, "Calibration", "positions", np.full(45, 10**6)),
        (mercer.KernelDensity(bandwidth=1.0), flat, "Windows", "points", np.ones((0, 2))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parts_that_methods_could_not_combine_are_rejected(
    model: Any, data: Any, owner: str, part: str, values: Any, tmp_path: Path
) -> None:
    """Methods raised errors of NumPy, or numba compiled the loop of a score for arrays that no fit makes."""
    octets = octets_of(model.fit(data().X, data().y), tmp_path)
    with pytest.raises(ModelFileError, match="damaged or was tampered with"):
        read(with_array(octets, owner, part, values), tmp_path)


@pytest.mark.parametrize(
    ("model", "owner", "part"),
    [
        (mercer.KernelDensity(bandwidth=1.0), "Windows", "bandwidth"),
        (mercer.NadarayaWatson(), "LocalMeans", "_values"),
        (mercer.NadarayaWatsonClassifier(), "KernelSums", "kernel"),
    ],
)
def test_missing_parts_of_objects_are_named(model: Any, owner: str, part: str, tmp_path: Path) -> None:
    octets = octets_of(model.fit(line().X, two().y), tmp_path)
    with pytest.raises(ModelFileError, match=f"a {owner} in it lacks {part}"):
        read(forged(octets, lambda d: record_of(d, owner)["state"].pop(part)), tmp_path)


def test_a_machine_compares_rows_with_support_vectors(tmp_path: Path) -> None:
    octets = octets_of(mercer.SVC().fit(two().X, two().y), tmp_path)

    def change(described: Any) -> None:
        kernel = next(i for i, each in enumerate(described["objects"]) if each.get("class") == "RBF")
        record_of(described, "SVC")["state"]["_comparison"] = {"object": kernel}

    with pytest.raises(ModelFileError, match="_comparison of a SVC is a RBF"):
        read(forged(octets, change), tmp_path)


def test_a_conformal_model_has_errors_of_calibration_rows(tmp_path: Path) -> None:
    model = decision.ConformalRegressor(mercer.Ridge(), random_state=0).fit(line().X, line().y)
    model.calibration_scores_ = [np.zeros(0)]
    with pytest.raises(UnsavableError, match="contradicts itself"):
        save(model, tmp_path / "model.mercer")


def test_more_columns_than_tables_are_rejected(tmp_path: Path) -> None:
    octets = octets_of(mercer.BernoulliNB().fit(tally().X, tally().y), tmp_path)

    def change(described: Any) -> None:
        record_of(described, "BernoulliNB")["state"]["n_features_in_"] = 1000

    with pytest.raises(ModelFileError, match="of a BernoulliNB has the wrong size"):
        read(forged(octets, change), tmp_path)


@pytest.mark.parametrize(
    ("value", "owner", "part", "other"),
    [
        (kernels.RBF(0.5), "RBF", "gamma", -1.0),
        (kernels.Matern(), "Matern", "nu", 7),
        (kernels.Spectrum(2), "Spectrum", "length", 0),
        (kernels.Polynomial(2), "Polynomial", "degree", "x"),
        (families.Tweedie(1.5), "Tweedie", "power", None),
        (density.Scott(), "Scott", "shape", "round"),
        (MonomialFeatureMap(2, 2, 1.0, 0.0), "MonomialFeatureMap", "degree", 1001),
        (MonomialOrder(2, 0, 2), "MonomialOrder", "highest", 1001),
    ],
    ids=["RBF", "Matern", "Spectrum", "Polynomial", "Tweedie", "Scott", "MonomialFeatureMap", "MonomialOrder"],
)
def test_values_are_verified_as_in_their_constructors(
    value: Any, owner: str, part: str, other: Any, tmp_path: Path
) -> None:
    octets = octets_of(value, tmp_path)
    with pytest.raises(ModelFileError, match=owner):
        read(forged(octets, lambda d: record_of(d, owner)["state"].update({part: other})), tmp_path)


def test_attributes_declared_unsafe_are_neither_saved_nor_loaded(tmp_path: Path) -> None:
    @stored(unsafe=lambda script: Unsafe("code", "a call", "leave it out") if "(" in script.code else None)
    @dataclass(frozen=True)
    class Script:
        code: str

    with pytest.raises(UnsavableError, match=r"model\.code is a call, which model files cannot contain; leave it out"):
        save(Script("exit()"), tmp_path / "script.mercer")
    octets = octets_of(Script("x + 1"), tmp_path)
    with pytest.raises(ModelFileError, match=r"\.code is a call"):
        read(forged(octets, lambda d: d["objects"][0]["state"].update(code="exit()")), tmp_path)


@pytest.mark.parametrize(
    ("model", "owner", "part", "other"),
    [
        (mercer.SVR(), "SVR", "C", -1.0),
        (mercer.Ridge(), "Ridge", "alpha", "x"),
        (mercer.Lasso(), "Lasso", "max_iter", -1),
        (mercer.RandomFourierFeatures(), "RandomFourierFeatures", "n_components", 0),
        (mercer.NadarayaWatson(), "NadarayaWatson", "_y_shape", [-5]),
        (mercer.GaussianDiscriminant(), "GaussianDiscriminant", "statistic_", None),
        (decision.Decision(mercer.GaussianNB()), "Decision", "actions", 3),
        (decision.Decision(mercer.GaussianNB()), "Decision", "threshold", [0.5]),
        (decision.Calibrated(mercer.GaussianNB(), cv=3), "Calibrated", "temperature_", 0.0),
    ],
)
def test_parameters_and_attributes_are_verified(model: Any, owner: str, part: str, other: Any, tmp_path: Path) -> None:
    data = numbers() if hasattr(model, "predict_proba") or owner in ("Decision", "Calibrated") else line()
    octets = octets_of(model.fit(data.X, data.y), tmp_path)
    with pytest.raises(ModelFileError, match=owner):
        read(forged(octets, lambda d: record_of(d, owner)["state"].update({part: other})), tmp_path)


@pytest.mark.parametrize(
    ("model", "owner"),
    [
        (mercer.kernelize(mercer.Ridge(), kernels.RBF(0.1)), "Kernelized"),
        (Tuned(mercer.Ridge(), "alpha", (1.0, 0.1), "regression"), "Tuned"),
    ],
)
@pytest.mark.parametrize("other", [None, "x", {"constant": "SOFTMAX"}])
def test_an_estimator_around_none_is_rejected(model: Any, owner: str, other: Any, tmp_path: Path) -> None:
    """Methods would fail where scikit-learn reads the tags of the inner estimator."""
    octets = octets_of(model.fit(line().X, line().y), tmp_path)
    with pytest.raises(ModelFileError, match=f"{owner} in it contradicts itself"):
        read(forged(octets, lambda d: record_of(d, owner)["state"].update(model=other)), tmp_path)


def test_a_model_with_an_invalid_parameter_is_not_saved(tmp_path: Path) -> None:
    model = mercer.Ridge().fit(line().X, line().y).set_params(alpha=-1.0)
    with pytest.raises(UnsavableError, match="a model file with it could not be loaded"):
        save(model, tmp_path / "model.mercer")


def test_factors_of_other_columns_than_are_read_are_rejected(tmp_path: Path) -> None:
    """A loop over the columns that were read would go beyond the parameters of fewer."""
    model = mercer.NaiveBayes(families={("x0", "x1"): families.MultivariateGaussian()})
    octets = octets_of(model.fit(numbers().X, numbers().y), tmp_path)

    def change(described: Any) -> None:
        parts = record_of(described, "NaiveBayes")["state"]["parts_"]["tuple"]
        parts[1] = parts[0]

    with pytest.raises(ModelFileError, match="NaiveBayes in it contradicts itself"):
        read(forged(octets, change), tmp_path)


def test_more_columns_than_coordinates_are_rejected_at_once(tmp_path: Path) -> None:
    """A name for each of them would take all memory."""
    octets = octets_of(mercer.GLM().fit(line().X, line().y), tmp_path)
    with pytest.raises(ModelFileError, match="Terms in it contradicts itself"):
        read(forged(octets, lambda d: record_of(d, "Terms")["state"].update(n_columns=2**62)), tmp_path)


@pytest.mark.parametrize("model", [mercer.LogFeatures(), Normalizer()])
def test_columns_absent_from_every_part_are_rejected_at_once(model: Any, tmp_path: Path) -> None:
    """`get_feature_names_out` would make a name for each of them."""
    name = type(model).__name__
    octets = octets_of(model.fit(np.abs(line().X)), tmp_path)
    with pytest.raises(ModelFileError, match=f"n_features_in_ of a {name} is larger than all other parts"):
        read(forged(octets, lambda d: record_of(d, name)["state"].update(n_features_in_=2**40)), tmp_path)


def test_counts_of_records_are_rejected(tmp_path: Path) -> None:
    octets = octets_of(mercer.HashingVectorizer(n_features=8).fit(["a b"]), tmp_path)
    with pytest.raises(ModelFileError, match="HashingVectorizer"):
        read(forged(octets, lambda d: record_of(d, "HashingVectorizer")["state"].update(dtype=[])), tmp_path)


def test_a_random_generator_with_a_constant_state_is_rejected(tmp_path: Path) -> None:
    """Rejection sampling of two points in a circle would never end."""
    model = mercer.RandomFourierFeatures(n_components=8, random_state=np.random.RandomState(1)).fit(line().X)
    header, described, data = taken_apart(octets_of(model, tmp_path))
    state = record_of(described, "RandomFourierFeatures")["state"]["random_state"]
    if "object" in state:
        state = described["objects"][state["object"]]["value"]
    key = dict(zip(*state["random_state"]["dict"], strict=True))["state"]
    key = dict(zip(*key["dict"], strict=True))["key"]
    with pytest.raises(ModelFileError, match="random numbers would always be the same"):
        read(rewritten(header, data, key["array"], np.zeros(624, dtype=key["dtype"])), tmp_path)


class Answering(BaseEstimator):
    """An estimator whose properties fail."""

    __module__ = "mercer.testing"

    @property
    def broken_(self) -> float:
        return float([])  # type: ignore[arg-type]

    @property
    def absent_(self) -> float:
        return self.nothing_  # type: ignore[attr-defined,no-any-return]

    @cached_property
    def once_(self) -> float:
        return 1 / len([])


def test_properties_of_a_loaded_model_explain_their_errors() -> None:
    stored(tag=None)(Answering)
    fresh, loaded = Answering(), Answering()
    mark_loaded(loaded)
    with pytest.raises(TypeError):
        _ = fresh.broken_
    with pytest.raises(ModelFileError, match="`broken_` of this Answering failed"):
        _ = loaded.broken_
    with pytest.raises(ModelFileError, match="`once_` of this Answering failed"):
        _ = loaded.once_
    assert not hasattr(loaded, "absent_")


def test_a_loaded_model_reports_unsupported_methods_like_a_fitted_one(tmp_path: Path) -> None:
    model = mercer.LinearDiscriminantAnalysis(solver="lsqr").fit(numbers().X, numbers().y)
    with pytest.raises(NotImplementedError, match="transform not implemented"):
        read(octets_of(model, tmp_path), tmp_path).transform(numbers().X)


def test_a_fit_that_fails_leaves_a_loaded_model_guarded(tmp_path: Path) -> None:
    data = numbers()
    octets = octets_of(mercer.QuadraticDiscriminantAnalysis().fit(data.X, data.y), tmp_path)
    state = "statistic_"
    model = read(forged(octets, lambda d: record_of(d, "QuadraticDiscriminantAnalysis")["state"].pop(state)), tmp_path)
    with pytest.raises(ValueError, match="not full rank"):
        model.fit(np.ones((6, 3)), [0, 0, 0, 1, 1, 1])
    with pytest.raises(ModelFileError, match="`forget` of this QuadraticDiscriminantAnalysis failed"):
        model.forget(data.X[:5], data.y[:5])
