"""Contributions add up to the output of any model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import expit, logit, softmax
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from mercer import (
    GLM,
    SVC,
    BernoulliNB,
    Calibrated,
    GaussianDiscriminant,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LinearThreshold,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
    Ridge,
    TableFeatures,
)
from mercer._errors import NoExplanationError
from mercer.data.frame_like import frame_like
from mercer.explanation import drivers, explain_rows
from mercer.explanation.explanation import ENUMERATED_METHOD

EXACTLY = 1e-9
X, SPECIES = load_iris(return_X_y=True)
TWO = SPECIES < 2


def mixed(n: int = 60) -> tuple[pd.DataFrame, Any]:
    """Numbers with gaps, a category, two values and text."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    age = rng.normal(40 + 5 * y, 10)
    age[::7] = np.nan
    frame = pd.DataFrame(
        {
            "age": age,
            "dose": rng.normal(size=n),
            "colour": np.where(rng.random(n) < 0.3 + 0.4 * y, "red", "blue"),
            "said": [" ".join(rng.choice(["good", "bad", "so", "what", "now", "then"], 4)) for _ in range(n)],
        }
    )
    return frame, np.where(y, "yes", "no")


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        GaussianNB(shared_variance=True),
        NaiveBayes(),
        LinearDiscriminantAnalysis(),
        GaussianDiscriminant(),
        GaussianDiscriminant(shrinkage="oas"),
        LogisticRegression(),
        BernoulliNB(),
        MultinomialNB(),
        make_pipeline(StandardScaler(), LogisticRegression(C=10)),
    ],
    ids=str,
)
def test_log_odds_of_two_classes_are_base_and_contributions(model: Any) -> None:
    found = explain_rows(model.fit(X[TWO], SPECIES[TWO]), X[TWO])
    assert found.what == "log odds"
    assert found.outputs == ("1",)
    log_proba = model.predict_log_proba(X[TWO])
    np.testing.assert_allclose(found.totals[:, 0], log_proba[:, 1] - log_proba[:, 0], rtol=EXACTLY, atol=EXACTLY)


@pytest.mark.parametrize(
    "model", [GaussianNB(), LinearDiscriminantAnalysis(), GaussianDiscriminant(), LogisticRegression()], ids=str
)
def test_probabilities_of_several_classes_follow_from_contributions(model: Any) -> None:
    found = explain_rows(model.fit(X, SPECIES), X)
    assert found.what == "log odds against the average class"
    np.testing.assert_allclose(softmax(found.totals, axis=1), model.predict_proba(X), atol=EXACTLY)
    np.testing.assert_allclose(found.contributions.sum(axis=2), 0, atol=1e-8)


def test_features_of_a_column_are_one_contribution_and_words_are_many() -> None:
    frame, y = mixed()
    model = make_pipeline(TableFeatures(unseen="ignore"), LogisticRegression()).fit(frame, y)
    found = explain_rows(model, frame)
    assert found.names[:3] == ("age", "dose", "colour")
    assert {"said[good]", "said[bad]"} <= set(found.names[3:])
    np.testing.assert_allclose(found.totals[:, 0], logit(model.predict_proba(frame)[:, 1]), atol=EXACTLY)


def test_steps_between_features_and_model_keep_the_columns() -> None:
    frame, y = mixed()
    features = TableFeatures(unseen="ignore", output="array", exclude=["said"])
    model = make_pipeline(features, StandardScaler(), LogisticRegression()).fit(frame, y)
    found = explain_rows(model, frame)
    assert found.names == ("age", "dose", "colour")
    np.testing.assert_allclose(expit(found.totals[:, 0]), model.predict_proba(frame)[:, 1], atol=EXACTLY)


def test_weight_of_evidence_of_naive_bayes_is_the_likelihood_ratio_of_each_column() -> None:
    frame, y = mixed()
    frame = frame[["dose", "age", "colour"]]
    model = NaiveBayes().fit(frame, y)
    found = explain_rows(model, frame)
    assert found.names == ("dose", "age", "colour")
    tables = model.tables()["colour"]
    red = frame["colour"] == "red"
    np.testing.assert_allclose(
        found.contributions[red, 2, 0], np.log(tables["yes"]["red"] / tables["no"]["red"]), atol=EXACTLY
    )
    # a missing value has no contribution
    assert (found.contributions[frame["age"].isna(), 1, 0] == 0).all()
    np.testing.assert_allclose(found.base, logit([(y == "yes").mean()]), atol=EXACTLY)
    np.testing.assert_allclose(found.totals[:, 0], logit(model.predict_proba(frame)[:, 1]), atol=EXACTLY)


def test_words_of_multinomial_naive_bayes() -> None:
    frame, y = mixed()
    model = make_pipeline(TableFeatures(text="counts", exclude=["age", "dose", "colour"]), MultinomialNB())
    found = explain_rows(model.fit(frame, y), frame)
    assert "said[good]" in found.names
    np.testing.assert_allclose(found.totals[:, 0], logit(model.predict_proba(frame)[:, 1]), atol=EXACTLY)


def test_predictions_of_numbers_and_counts() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(50, 2))
    counts = rng.poisson(np.exp(0.5 * rows[:, 0]))
    found = explain_rows(GLM("poisson").fit(rows, counts), rows)
    assert found.what == "log of the prediction"
    ridge = Ridge().fit(rows, counts)
    found = explain_rows(ridge, rows)
    assert (found.what, found.names) == ("prediction", ("x0", "x1"))
    np.testing.assert_allclose(found.totals[:, 0], ridge.predict(rows), atol=EXACTLY)


def test_scores_that_are_not_log_odds_are_called_scores() -> None:
    model = LinearThreshold("perceptron").fit(X[TWO], SPECIES[TWO])
    found = explain_rows(model, X[TWO])
    assert found.what == "score"
    np.testing.assert_allclose(found.totals[:, 0], model.decision_function(X[TWO]), atol=1e-8)


def test_a_kernel_machine_needs_background_rows() -> None:
    model = SVC().fit(X[TWO], SPECIES[TWO])
    with pytest.raises(NoExplanationError, match="SVC is not a sum over columns for these rows"):
        explain_rows(model, X[:1])
    found = explain_rows(model, X[:1], background=X[TWO])
    assert (found.what, found.method, found.error) == ("log odds", ENUMERATED_METHOD, None)
    np.testing.assert_allclose(found.totals[0], logit(model.predict_proba(X[:1])[0, 1]), atol=EXACTLY)


def test_pairs_of_classes_are_not_taken_for_classes() -> None:
    """Three classes have three pairs: the coefficients of a linear support vector machine are of these."""
    two = explain_rows(SVC(kernel="linear").fit(X[TWO], SPECIES[TWO]), X[TWO])
    assert (two.what, two.method) == ("score", "exact")
    model = SVC(kernel="linear").fit(X, SPECIES)
    three = explain_rows(model, X[::10], background=X)
    assert (three.method, three.outputs) == (ENUMERATED_METHOD, ("0", "1", "2"))
    np.testing.assert_allclose(softmax(three.totals, axis=1), np.clip(model.predict_proba(X[::10]), 1e-4, 1), atol=1e-3)


def test_gaps_that_a_discriminant_infers_from_other_columns_have_shapley_values() -> None:
    rows = X.copy()
    rows[0, 2] = np.nan
    model = LinearDiscriminantAnalysis().fit(rows, SPECIES)
    assert explain_rows(model, rows[1:]).method == "exact"
    found = explain_rows(model, rows[:1], background=rows)
    assert found.method == ENUMERATED_METHOD
    log_p = np.log(np.clip(model.predict_proba(rows[:1])[0], 1e-4, 1 - 1e-4))
    np.testing.assert_allclose(found.totals[0], log_p - log_p.mean(), atol=EXACTLY)


@pytest.mark.parametrize(
    "model",
    [
        Calibrated(GaussianNB()),
        Calibrated(LogisticRegression(), method="platt"),
        Calibrated(LinearThreshold("perceptron"), method="platt"),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3),
        make_pipeline(StandardScaler(), Calibrated(LinearDiscriminantAnalysis())),
    ],
    ids=lambda model: f"{type(model).__name__}({type(getattr(model, 'model', None)).__name__})",
)
def test_sums_within_searches_and_calibrations_stay_exact(model: Any) -> None:
    rows, y = X[50:, :2], SPECIES[50:]
    found = explain_rows(model.fit(rows, y), rows)
    assert (found.what, found.method) == ("log odds", "exact")
    np.testing.assert_allclose(found.totals[:, 0], logit(model.predict_proba(rows)[:, 1]), atol=1e-8)


def test_calibration_in_steps_has_shapley_values() -> None:
    rows, y = X[50:, :2], SPECIES[50:]
    model = Calibrated(LogisticRegression(), method="isotonic").fit(rows, y)
    found = explain_rows(model, rows[:5], background=rows)
    assert found.method == ENUMERATED_METHOD
    p = np.clip(model.predict_proba(rows[:5])[:, 1], 1e-4, 1 - 1e-4)
    np.testing.assert_allclose(found.totals[:, 0], logit(p), atol=1e-8)


def test_targets_in_other_units() -> None:
    rows, y = X[:, :3], np.exp(X[:, 3])
    scaled = TransformedTargetRegressor(Ridge(), transformer=StandardScaler()).fit(rows, y)
    found = explain_rows(scaled, rows)
    assert (found.what, found.method) == ("prediction", "exact")
    np.testing.assert_allclose(found.totals[:, 0], scaled.predict(rows), rtol=1e-9)
    logged = TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp).fit(rows, y)
    assert explain_rows(logged, rows).what == "log of the prediction"
    rooted = TransformedTargetRegressor(Ridge(), func=np.sqrt, inverse_func=np.square).fit(rows, y)
    found = explain_rows(rooted, rows[:3], background=rows)
    assert (found.what, found.method) == ("prediction", ENUMERATED_METHOD)
    np.testing.assert_allclose(found.totals[:, 0], rooted.predict(rows[:3]), rtol=1e-9)


def test_any_model_of_a_frame_with_categories_and_gaps_is_explained() -> None:
    frame, y = mixed()
    frame = frame.drop(columns="said").astype({"colour": "category"})
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=20, min_samples_leaf=5)
    model.fit(frame, y)
    found = explain_rows(model, frame[:8], background=frame)
    assert found.names == ("age", "dose", "colour")
    np.testing.assert_allclose(found.totals[:, 0], logit(model.predict_proba(frame[:8])[:, 1]), atol=1e-8)


def test_features_that_scikit_learn_names_are_summed_by_column() -> None:
    frame, y = mixed()
    frame = frame.drop(columns="said").assign(colour_2=np.where(frame["dose"] > 0, "x", "y"))
    features = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["age", "dose"]),
            ("levels", OneHotEncoder(), ["colour", "colour_2"]),
        ]
    )
    model = make_pipeline(features, LogisticRegression()).fit(frame, y)
    found = explain_rows(model, frame)
    assert (found.method, found.names) == ("exact", ("age", "dose", "colour", "colour_2"))
    np.testing.assert_allclose(found.totals[:, 0], logit(model.predict_proba(frame)[:, 1]), atol=EXACTLY)
    other = explain_rows(make_pipeline(features, SVC()).fit(frame, y), frame[:3], background=frame)
    assert (other.method, other.names) == (ENUMERATED_METHOD, found.names)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_libraries_of_frames_agree(library: str) -> None:
    frame, y = mixed()
    model = make_pipeline(TableFeatures(unseen="ignore", output="array", exclude=["said"]), SVC()).fit(frame, y)
    expected = explain_rows(model, frame[:3], background=frame)
    rows = frame_like(frame.columns, [frame[name].to_numpy() for name in frame], library)
    found = explain_rows(model, rows[:3] if library != "pyarrow" else rows.slice(0, 3), background=rows)
    assert found.names == expected.names == ("age", "dose", "colour")
    np.testing.assert_allclose(found.contributions, expected.contributions, atol=1e-9)


def test_columns_that_separate_the_classes_come_first() -> None:
    found = explain_rows(GaussianNB().fit(X[TWO], SPECIES[TWO]), X[TWO])
    assert found.strongest(2) == ["x2", "x3"]  # length and width of the petals


def test_a_pipeline_of_one_step_is_explained_as_its_model() -> None:
    plain = LogisticRegression().fit(X, SPECIES)
    found = explain_rows(make_pipeline(LogisticRegression()).fit(X, SPECIES), X[:3])
    assert found.method == "exact"
    np.testing.assert_allclose(found.contributions, explain_rows(plain, X[:3]).contributions)


def test_words_of_texts_are_named_where_a_model_is_not_a_sum_over_them() -> None:
    random = np.random.default_rng(0)
    filler = ["the", "house", "near", "a", "quiet", "lake", "and", "road"]
    good = random.random(120) < 0.5
    texts = [
        " ".join([*random.choice(filler, 5), "Splendid" if yes else "dreadful", *random.choice(filler, 2)])
        for yes in good
    ]
    size = random.normal(size=120)
    frame = pa.table({"said": texts, "size": size})
    y = np.where(good, "yes", "no")
    features = TableFeatures(kinds={"said": "text"}, output="array")
    model = make_pipeline(features, SVC()).fit(frame, y)
    found = explain_rows(model, frame.slice(0, 12), background=frame)
    p = model.predict_proba(frame.slice(0, 12))[:, 1]
    np.testing.assert_allclose(found.totals[:, 0], np.log(p / (1 - p)), rtol=1e-6)
    words = [name for name in found.names if name.startswith("said[")]
    strongest = sorted(words, key=lambda name: -np.abs(found.contributions[:, found.names.index(name), 0]).max())
    assert set(strongest[:2]) == {"said[splendid]", "said[dreadful]"}
    splendid = found.contributions[:, found.names.index("said[splendid]"), 0]
    assert (splendid[good[:12]] > 0).all()
    assert (splendid[~good[:12]] == 0).all()
    assert "words are named" in found.details
    driver = next(each for each in drivers(model, frame) if each.column == "said")
    assert "'splendid'" in driver.direction.partition(";")[0]
    assert "'dreadful'" in driver.direction.partition(";")[2]
