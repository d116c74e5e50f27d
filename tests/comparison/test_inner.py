"""Choices of a model within its fit are made by folds that separate rows as the splits do."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from mercer import SVC, compare, load, save
from mercer._errors import DataError
from mercer.application.task_choice import task_for
from mercer.base import Question
from mercer.base.compared import INNER_FOLDS
from mercer.comparison._entrants import select_suitable
from mercer.comparison._inner_search import InnerFolds, Tuned
from mercer.comparison.comparison import Comparison
from mercer.comparison.pairs import innermost
from mercer.data import Table
from tests.comparison._models import logistic_path

GROUPS, COPIES = 40, 5
#: in no order, so that folds of neighbours part them
CASES = np.random.default_rng(0).permutation(np.repeat(np.arange(GROUPS), COPIES))


def chosen(found: Comparison) -> Any:
    return innermost(found.best_)


def copied(rng: np.random.Generator, columns: int) -> Any:
    """Each case several times, with a little noise, so that rows are close to their like."""
    return rng.normal(size=(GROUPS, columns))[CASES] + 1e-3 * rng.normal(size=(200, columns))


def classes_of_cases() -> tuple[Any, Any]:
    """Columns of which one says a little of the class, which is that of the case; its copies know it."""
    rng = np.random.default_rng(1)
    X = copied(rng, 30)
    return X, np.where(X[:, 0] + 2 * rng.normal(size=GROUPS)[CASES] > 0, "yes", "no")


def test_folds_of_groups_keep_groups_whole() -> None:
    labels = np.arange(200) % 2
    folds = InnerFolds(task_for(labels, 200, "classification"), groups=CASES)
    rows = np.flatnonzero(CASES >= 10)
    with folds.within(rows):
        splits = list(folds.splitter.split(rows))
        assert folds.splitter.get_n_splits() == len(splits) == INNER_FOLDS
    for train, test in splits:
        assert not set(CASES[rows][train]) & set(CASES[rows][test])
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(len(rows)))


def test_folds_of_time_go_forward() -> None:
    when = np.random.default_rng(0).permutation(200)
    folds = InnerFolds(task_for(np.arange(200.0), 200, "regression"), times=when)
    rows = np.arange(0, 200, 2)
    with folds.within(rows):
        for train, test in folds.splitter.split(rows):
            assert when[rows][train].max() < when[rows][test].min()


def test_inner_folds_exist_only_during_a_fit_and_are_not_stored_in_models() -> None:
    folds = InnerFolds(task_for(np.arange(200) % 2, 200, "classification"), groups=CASES)
    model = clone(Tuned(SVC(), "C", (1.0, 10.0), cv=folds.splitter))
    assert model.cv is folds.splitter
    assert len(pickle.dumps(folds.splitter)) < 200
    with pytest.raises(DataError, match="too few rows"):
        list(folds.splitter.split(CASES))


@pytest.mark.parametrize(("groups", "parted"), [(2, True), (1, False)])
def test_few_groups_have_fewer_folds_and_a_single_group_has_ordinary_folds(groups: int, parted: bool) -> None:
    cases = np.arange(60) % groups
    folds = InnerFolds(task_for(np.arange(60) // 2 % 2, 60, "classification"), groups=cases)
    with folds.within(np.arange(60)):
        splits = list(folds.splitter.split(cases))
    assert len(splits) == (2 if parted else INNER_FOLDS)
    assert all(bool(set(cases[train]) & set(cases[test])) != parted for train, test in splits)


def test_with_copies_of_rows_a_width_chosen_without_groups_is_too_narrow() -> None:
    """Each case has its own effect, which other cases do not show: only the slow wave can be learnt."""
    rng = np.random.default_rng(0)
    X = copied(rng, 1)
    y = np.sin(X[:, 0]) + rng.normal(size=GROUPS)[CASES]
    alone = chosen(compare(X, y, models=["NadarayaWatson"], task="regression"))
    grouped = compare(X, y, models=["NadarayaWatson"], task="regression", groups=CASES)
    assert np.max(alone.bandwidth_.value) < 0.1
    assert chosen(grouped).bandwidth >= 0.35


def test_a_note_says_how_it_is_chosen() -> None:
    """Nothing is chosen by leaving out each row in turn, where its like would be left in."""
    X, y = np.random.default_rng(0).normal(size=(200, 1)), np.arange(200.0)
    folds = InnerFolds(task_for(y, 200, "regression"), groups=CASES)
    selection = select_suitable(Table.of(X), Question("regression", inner=folds.splitter))
    how = "Chosen within each training set by folds of whole groups, without the held-out rows"
    searched = "alpha of Ridge, alpha of LassoCV, bandwidth of NadarayaWatson, bandwidth of LocalLinear, C of SVR"
    assert f"{how}: {searched}, " in selection.notes[-1]
    assert not any("loo" in repr(entrant.model) for entrant in selection.entrants)


def test_with_copies_of_rows_a_penalty_chosen_by_groups_scores_better() -> None:
    X, y = classes_of_cases()
    free = chosen(compare(X, y, models=["LogisticRegressionCV"]))
    grouped = compare(X, y, models=["LogisticRegressionCV"], groups=CASES)
    held = chosen(grouped)
    assert free.C == 100.0
    assert held.C == 0.01
    bold = compare(X, y, models={"bold": logistic_path([100.0], cv=2)}, groups=CASES)
    assert grouped.entries[0].mean("log_loss") < bold.entries[0].mean("log_loss")


@pytest.mark.parametrize("name", ["Ridge", "LassoCV", "KernelRidge"])
def test_penalties_of_regressions(name: str, tmp_path: Path) -> None:
    """If other cases share only the mean, the strongest penalty is best; copies suggest the weakest."""
    rng = np.random.default_rng(2)
    X = copied(rng, 30)
    y = rng.normal(size=GROUPS)[CASES]
    options: dict[str, Any] = {"models": [name], "task": "regression", "cv": 3}
    alone, grouped = compare(X, y, **options), compare(X, y, **options, groups=CASES)

    def strength(found: Comparison) -> float:
        last = found.best_.steps[-1][1]
        model = last.regressor_ if name == "KernelRidge" else last
        return float(np.max(model.alpha_ if hasattr(model, "alpha_") else model.alpha))

    assert strength(grouped) > 20 * strength(alone)
    assert name in grouped.names[0]
    save(grouped.best_, tmp_path / "best.mercer")
    np.testing.assert_allclose(load(tmp_path / "best.mercer").predict(X), grouped.best_.predict(X))


def test_a_comparison_loaded_from_a_file_chooses_as_before() -> None:
    X, y = classes_of_cases()
    found = compare(X, y, models=["LogisticRegressionCV"], groups=CASES, cv=2)
    again = pickle.loads(pickle.dumps(found))
    assert chosen(again).C == chosen(found).C == 0.01


def test_groups_do_not_change_models_given_by_the_user() -> None:
    rng = np.random.default_rng(3)
    mine = logistic_path([1.0, 10.0], cv=2)
    found = compare(copied(rng, 2), CASES % 2, models={"mine": mine}, groups=CASES)
    assert found.entries[0].model.cv == 2
