"""Naive Bayes with categorical columns: levels that are declared, appear later, disappear, or are unseen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer import NaiveBayes
from mercer._errors import ColumnTypeError, MercerWarning, UnseenCategoryError, UnseenRowsError
from tests.naive_bayes._visits import assert_same, frame


@pytest.mark.parametrize("alpha", [0.25, 1.0])
def test_an_unseen_level_has_the_probability_of_one_more_level(alpha):
    X = np.array([["u"], ["u"], ["v"], ["w"]], dtype=object)
    model = NaiveBayes(smoothing=alpha).fit(X, [0, 0, 0, 1])
    joint = model.predict_joint_log_proba(np.array([["new"]], dtype=object))[0]
    np.testing.assert_allclose(np.exp(joint), [0.75 * alpha / (3 + 3 * alpha), 0.25 * alpha / (1 + 3 * alpha)])


def test_an_unseen_level_may_be_ignored_or_rejected():
    X = np.array([["red"], ["green"], ["red"]], dtype=object)
    new = np.array([["reed"]], dtype=object)
    ignoring = NaiveBayes(unseen="ignore").fit(X, [0, 1, 1])
    np.testing.assert_allclose(ignoring.predict_proba(new)[0], ignoring.class_prior_)
    with pytest.raises(UnseenCategoryError, match=r"column 'x0' holds 'reed'.*mean 'red'.*unseen="):
        NaiveBayes(unseen="error").fit(X, [0, 1, 1]).predict(new)
    with pytest.raises(UnseenCategoryError, match=r"holds 'reed reed .*…', which") as rejection:
        NaiveBayes(unseen="error").fit(X, [0, 1, 1]).predict(np.array([["reed " * 300]], dtype=object))
    assert len(str(rejection.value)) < 400


@pytest.mark.parametrize(
    ("name", "levels", "is_scale"), [("grade", 6, True), ("shop_id", 6, False), ("grade", 2, False)]
)
def test_a_number_beyond_a_scale_is_the_nearest_level(name, levels, is_scale):
    """Few consecutive integers, unless their column has the name of an identifier; in any order of the batches."""
    codes = np.arange(60) % levels
    X, y = pd.DataFrame({name: codes}), codes >= levels / 2
    nearest, new = pd.DataFrame({name: [0, levels - 1]}), pd.DataFrame({name: [-3, levels + 4.5]})
    model = NaiveBayes({name: "categorical"}).fit(X, y)
    same = model.predict_proba(new) == model.predict_proba(nearest)
    assert same.all() == is_scale
    model = NaiveBayes({name: "categorical"}, unseen="ignore").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(new), [model.class_prior_] * 2)
    with pytest.raises(UnseenCategoryError):
        NaiveBayes({name: "categorical"}, unseen="error").fit(X, y).predict(new)


def test_levels_that_the_type_declares_count():
    column = pd.Categorical(["a", "b", "a"], categories=["a", "b", "c"])
    model = NaiveBayes().fit(pd.DataFrame({"x": column}), [0, 0, 1])
    np.testing.assert_allclose(model.parameters_["x"].probabilities, [[2 / 5, 2 / 5, 1 / 5], [2 / 4, 1 / 4, 1 / 4]])


def test_shards_with_different_levels_merge_to_one_fit():
    table, y = frame()
    first = (table.town != "Ulm").to_numpy()
    a, b = NaiveBayes().fit(table[first], y[first]), NaiveBayes().fit(table[~first], y[~first])
    assert a.tables()["town"]["a"].keys() != b.tables()["town"]["a"].keys()
    assert_same(a.merge(b), NaiveBayes().fit(table, y), table)


def test_forgetting_drops_levels_and_classes_exactly():
    table, y = frame()
    gone = ((table.town == "Ulm") | (y == "b")).to_numpy()
    model = NaiveBayes().fit(table, y).forget(table[gone], y[gone])
    assert_same(model, NaiveBayes().fit(table[~gone], y[~gone]), table[~gone])
    assert "Ulm" not in model.tables()["town"]["a"]
    with pytest.raises(UnseenRowsError, match="'Ulm'"):
        model.forget(table[table.town == "Ulm"].head(1), ["a"])


@pytest.mark.parametrize(("learnt", "now"), [(["1", "2"], [1, 2]), ([1, 2], ["1", "2"])])
def test_categories_that_changed_their_type_are_not_taken_for_unseen_ones(learnt, now):
    model = NaiveBayes("categorical").fit(pd.DataFrame({"ward": learnt}), ["a", "b"])
    with pytest.raises(ColumnTypeError, match=rf"'ward' held .* such as {learnt[0]!r} .* now {now[0]!r}"):
        model.predict(pd.DataFrame({"ward": now}))
    assert model.predict(pd.DataFrame({"ward": [np.nan]})).size == 1
    mixed = NaiveBayes().fit(pd.DataFrame({"ward": [learnt[0], now[0]]}, dtype=object), ["a", "b"])
    assert mixed.predict(pd.DataFrame({"ward": [learnt[0]]}))[0] == "a"
    assert mixed.predict(pd.DataFrame({"ward": [now[0]]}))[0] == "b"


TEXTS = [f"the {kind} cat number {i} sat on my mat" for i in range(30) for kind in ("old", "new")]


def test_free_text_taken_for_a_category_is_named() -> None:
    frame = pd.DataFrame({"review": TEXTS, "city": ["Ulm", "Bonn"] * 30})
    with pytest.warns(MercerWarning, match=r"'review' holds free text, 60 different values .* TableFeatures") as caught:
        NaiveBayes().fit(frame, [0, 1] * 30)
    assert len(caught) == 1
    with pytest.warns(MercerWarning, match="'review'"):
        NaiveBayes({"city": "categorical"}).fit(frame, [0, 1] * 30)


@pytest.mark.filterwarnings("error")
def test_a_requested_or_declared_category_is_not_taken_for_text() -> None:
    frame = pd.DataFrame({"review": TEXTS})
    NaiveBayes({"review": "categorical"}).fit(frame, [0, 1] * 30)
    NaiveBayes().fit(frame.astype("category"), [0, 1] * 30)
    NaiveBayes().fit(pd.DataFrame({"name": [text.split()[4] for text in TEXTS]}), [0, 1] * 30)
