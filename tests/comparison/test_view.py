"""Samples of rows, and sections that use only the sample."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer import SVC, GaussianNB, LinearDiscriminantAnalysis, compare
from mercer.comparison._view import View, find_certified, sample_rows
from mercer.comparison.comparison import Comparison
from mercer.comparison.sections.useful import sort_by_usefulness
from mercer.comparison.sections.whole import PAGE_SECTIONS, page
from tests.comparison._models import Broken


@pytest.fixture(scope="module")
def iris() -> Comparison:
    X, y = load_iris(return_X_y=True, as_frame=True)
    return compare(X, y, models=[GaussianNB(), LinearDiscriminantAnalysis()], cv=3)


def test_a_sample_is_in_order_without_repeats_and_fixed_by_the_seed() -> None:
    assert sample_rows(10, 20).tolist() == list(range(10))
    chosen = sample_rows(1000, 30)
    assert len(np.unique(chosen)) == 30
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(chosen, sample_rows(1000, 30))
    assert chosen.tolist() != sample_rows(1000, 30, seed=1).tolist()


def test_all_sections_can_be_made_of_a_sample(iris: Comparison) -> None:
    view = View(iris, most_rows=60)
    assert view.note() == "From 60 of the 150 rows, drawn at random."
    assert len(view.numbers) == len(view.target) == 60
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [section(view) for section in PAGE_SECTIONS]
    assert sum(each is not None for each in made) >= 13


def test_the_most_useful_columns_of_iris(iris: Comparison) -> None:
    view = View(iris)
    assert [view.amounts[j] for j in sort_by_usefulness(view)][:2] == ["petal length (cm)", "petal width (cm)"]


def test_rows_that_were_never_held_out_are_left_out() -> None:
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    found = compare(X[order], y[order], models=[GaussianNB()], times=np.arange(150), cv=3)
    view = View(found)
    held, truth = view.held_out(found.entries[0])
    assert 0 < len(held) == len(truth) < 150
    assert np.isfinite(held).all()
    assert "left-out" not in {section.id for section in page(found).sections}


def test_a_model_that_cannot_be_fitted_to_all_rows_is_left_out(iris: Comparison) -> None:
    view = View(iris)
    assert view.fitted(iris.entries[0]) is not None
    assert find_certified(None) == []
    X, y = load_iris(return_X_y=True)
    failed = compare(X, y, models={"failing": Broken(), "fine": GaussianNB()}, cv=3)
    ids = {section.id for section in page(failed).sections}
    assert "left-out" not in ids
    assert [entry.name for entry in View(failed).ranked] == ["fine"]


def test_scores_without_probabilities_still_make_a_page() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    found = compare(X[:100], y[:100], models=[SVC(probability=False)], cv=3)
    made = {section.id: section for section in page(found).sections}
    assert "left-out" not in made
    assert "decisions" in made


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_any_library_are_accepted(library: str) -> None:
    from mercer.data.frame_like import frame_like

    rng = np.random.default_rng(0)
    y = np.tile(["a", "b"], 40)
    days = np.datetime64("2024-01-01") + rng.integers(0, 300, 80)
    columns = [rng.normal(size=80) + (y == "b"), rng.choice(["u", "v"], 80).astype(object), days]
    frame = frame_like(["size", "kind", "day"], columns, library)
    found = compare(frame, y, models=["LogisticRegression", "NaiveBayes"], cv=3)
    assert not any(entry.failed for entry in found.entries)
    assert "left-out" not in {section.id for section in page(found).sections}


def test_missing_values_of_an_array_are_shown() -> None:
    X, y = load_iris(return_X_y=True)
    X[::7, 1] = np.nan
    found = compare(X, y, models=[LinearDiscriminantAnalysis(), GaussianNB()], cv=3)
    assert "left-out" not in {section.id for section in page(found).sections}
