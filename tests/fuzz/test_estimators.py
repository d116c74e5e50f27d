"""Random inputs to every estimator: the laws are in `_laws`, the estimators in `_subjects`, the inputs in `_inputs`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import pytest

import mercer
from tests.fuzz._inputs import Case, cases, tame_cases
from tests.fuzz._laws import is_one_model, laws_of, survives
from tests.fuzz._subjects import CLASSIFIERS, DENSITIES, FEATURES, REGRESSORS, Subject

SUBJECTS = [*CLASSIFIERS, *REGRESSORS, *DENSITIES, *FEATURES]
every_estimator = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)


@every_estimator
def test_any_input_is_fitted_or_rejected(subject: Subject, campaign: Callable[..., None]) -> None:
    inputs = st.tuples(st.integers(0, len(subject.options) - 1), cases(subject.all_targets))
    campaign(lambda drawn: survives(subject, *drawn), inputs)


@every_estimator
def test_all_ways_to_fit_give_the_same_model(subject: Subject, campaign: Callable[..., None]) -> None:
    def tame(option: int) -> st.SearchStrategy[Case]:
        return tame_cases(subject.tame_targets, subject.values, subject.forms, wide=option in subject.wide)

    laws = st.sampled_from(laws_of(subject))
    options = st.integers(0, len(subject.options) - 1)
    inputs = options.flatmap(lambda option: st.tuples(st.just(option), tame(option), laws))
    campaign(lambda drawn: is_one_model(subject, *drawn), inputs)


def all_estimators() -> set[str]:
    public: dict[str, Any] = {name: getattr(mercer, name) for name in mercer.__all__}
    return {name for name, made in public.items() if inspect.isclass(made) and hasattr(made, "fit")}


def test_every_estimator_is_tested() -> None:
    texts = {"CountVectorizer", "HashingVectorizer", "TfidfVectorizer"}
    assert {subject.name for subject in SUBJECTS} - {"kernelize"} == all_estimators() - texts
