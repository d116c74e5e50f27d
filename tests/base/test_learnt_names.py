"""A fit sets the attributes of the docstring; `tests/release` pins these names."""

from __future__ import annotations

import warnings

import pytest

import mercer
from tests.fuzz._inputs import Case
from tests.fuzz._subjects import Subject
from tests.fuzz.test_estimators import SUBJECTS
from tests.release._names import learnt_names

#: what only an option sets that is not among those of the subjects: approximations, searches, other kinds of response
BY_OPTION = {
    "QuadraticDiscriminantAnalysis": {"covariance_"},
    "SVC": {"approximation_"},
    "SVR": {"approximation_"},
    "GLM": {"approximation_", "classes_"},
    "KernelRidge": {"approximation_", "gamma_", "gammas_", "gamma_errors_"},
    "Ridge": {"alphas_", "alpha_errors_"},
    "RidgeCV": {"cv_results_"},
    "Calibrated": {"slopes_", "intercepts_", "steps_"},
    "TfidfTransformer": {"log_count_ratio_", "classes_"},
}


@pytest.mark.parametrize(
    "subject", [one for one in SUBJECTS if isinstance(getattr(mercer, one.name), type)], ids=lambda one: one.name
)
def test_a_fit_sets_what_the_docstring_names(subject: Subject) -> None:
    names = set(learnt_names(getattr(mercer, subject.name)))
    case = Case(40, 3, subject.values[0], form="pandas", target=subject.tame_targets[0], seed=3)
    for option in range(len(subject.options)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = subject.model(option).fit(*subject.arguments(case))
            except ValueError:  # an option for other data: the others suffice
                continue
        names -= {name for name in names if hasattr(model, name)}
    assert names == BY_OPTION.get(subject.name, set())
