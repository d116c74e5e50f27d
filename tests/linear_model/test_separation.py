"""Separation: detected, described term by term, and treated as `on_separation` requires."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer import GLM, load, save, summary
from mercer._errors import NonFiniteError, SeparationError, SeparationWarning, UnsuitableSolverError
from mercer.families import LOGIT, Bernoulli, Binomial, NegativeBinomial, Tweedie
from mercer.families.penalties import Strengths
from mercer.families.response import Response, SoftmaxResponse
from mercer.linear_model import separation
from mercer.linear_model.separation import SEPARATION_CODE, SeparationFinding
from mercer.matrices import Observations, matrix_of
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.problem import Problem
from tests.known import endometrial
from tests.linear_model._responses import rows_of

FRAME = pd.DataFrame(endometrial.X, columns=endometrial.NAMES)


def finding_of(model: Any) -> SeparationFinding:
    (finding,) = (finding for finding in model.diagnosis_ if finding.code == SEPARATION_CODE)
    return finding


def fitted(X: Any, y: Any, *arguments: Any, **options: Any) -> Any:
    with pytest.warns(SeparationWarning, match="separates the responses"):
        return GLM(*arguments, **options).fit(X, y)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "cauchit"])
def test_the_endometrial_cancer_study_is_quasi_separated_by_neovascularisation(link: str) -> None:
    finding = finding_of(fitted(FRAME, endometrial.y, "bernoulli", link))
    assert finding.limits == {"NV": "+∞", "PI": "finite", "EH": "finite", "(intercept)": "finite"}
    assert finding.columns == ("NV",)
    assert "for some of the rows" in finding.sentence
    assert "NV → +∞" in finding.sentence


def test_the_finite_coefficients_are_those_of_the_rows_that_are_not_separated() -> None:
    rest = endometrial.X[:, 0] == 0
    model = fitted(FRAME, endometrial.y, "bernoulli")
    alone = GLM("bernoulli").fit(endometrial.X[rest, 1:], endometrial.y[rest])
    np.testing.assert_allclose(model.coef_[1:], alone.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, alone.intercept_, rtol=1e-6)


def test_complete_separation_has_a_direction_for_the_intercept_too() -> None:
    x = np.arange(10.0)[:, None]
    finding = finding_of(fitted(x, x[:, 0] > 4.5, "bernoulli"))
    assert finding.limits == {"x0": "+∞", "(intercept)": "−∞"}
    assert "completely" in finding.sentence


def test_the_sign_of_infinite_coefficients_is_in_the_units_of_the_data() -> None:
    x = np.arange(10.0)[:, None]
    finding = finding_of(fitted(1e8 - x, x[:, 0] > 4.5, "bernoulli"))
    assert finding.limits == {"x0": "−∞", "(intercept)": "+∞"}


def test_counts_that_are_zero_for_a_whole_level() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(size=60), "city": np.array(["Bonn", "Kiel", "Ulm"])[np.arange(60) % 3]})
    y = np.where(frame["city"] == "Kiel", 0, 1 + rng.poisson(2, 60))
    for family in ("poisson", Binomial(100)):
        finding = finding_of(fitted(frame, y, family))
        assert finding.limits == {"age": "finite", "city[Kiel]": "−∞", "city[Ulm]": "finite", "(intercept)": "finite"}


def test_classes() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.array(["a", "b", "c"])[np.where(X[:, 0] > 1, 2, rng.integers(0, 2, 90))]
    finding = finding_of(fitted(X, y, "categorical"))
    assert finding.limits["c: x0"] == "+∞"
    assert {"a: x0", "b: x0"} < set(finding.limits)


def test_firth_gives_the_published_estimates() -> None:
    model = GLM("bernoulli", on_separation="firth").fit(FRAME, endometrial.y)
    np.testing.assert_allclose(model.coef_, endometrial.FIRTH_COEFFICIENTS, rtol=1e-6)
    assert model.intercept_ == pytest.approx(endometrial.FIRTH_INTERCEPT, rel=1e-6)
    assert finding_of(model).limits["NV"] == "+∞"
    table = summary(model, FRAME, endometrial.y)
    assert table.standard_errors[1] < 3
    assert "Firth's" in str(table)


def test_firth_is_not_used_without_separation() -> None:
    X, y = endometrial.X[:, 1:], endometrial.y
    plain, other = (GLM("bernoulli", on_separation=choice).fit(X, y) for choice in ("warn", "firth"))
    np.testing.assert_array_equal(plain.coef_, other.coef_)
    assert SEPARATION_CODE not in other.diagnosis_.codes


def test_firth_is_not_for_classes() -> None:
    x = np.arange(12.0)[:, None]
    with pytest.raises(UnsuitableSolverError, match='on_separation="ridge"'):
        GLM("categorical", on_separation="firth").fit(x, x[:, 0] // 4)


@pytest.mark.parametrize("family", ["bernoulli", "categorical"])
def test_ridge_is_a_posterior_whose_prior_has_no_units(family: str) -> None:
    model = GLM(family, on_separation="ridge").fit(FRAME, endometrial.y)
    moved = FRAME * [1.0, 1e3, 1e-3] + [0.0, 1e5, 0.0]
    other = GLM(family, on_separation="ridge").fit(moved, endometrial.y)
    np.testing.assert_allclose(other.coef_ * [1.0, 1e3, 1e-3], model.coef_, rtol=1e-6)
    table = summary(model, FRAME, endometrial.y)
    assert table.posterior
    assert table.standard_errors[1] < 10
    # the gradient of the penalised losses vanishes: this is the prior that was used
    assert np.abs(table._fitted.free.T @ table._fitted.at(table._fitted.theta).gradient).max() < 1e-6


def test_the_prior_has_a_deviation_of_two_and_a_half_per_deviation_of_a_column() -> None:
    model = GLM("bernoulli", on_separation="ridge").fit(FRAME, endometrial.y)
    A, s = np.column_stack([endometrial.X, np.ones(79)]), endometrial.X.std(axis=0)
    p = 1 / (1 + np.exp(-A @ np.append(model.coef_, model.intercept_)))
    pull = A.T @ (endometrial.y - p)
    np.testing.assert_allclose(pull, np.append(model.coef_ * s**2 / 2.5**2, 0.0), atol=1e-6)


def test_an_error_names_the_columns() -> None:
    with pytest.raises(SeparationError, match=r"NV → \+∞.*firth"):
        GLM("bernoulli", on_separation="error").fit(FRAME, endometrial.y)


def test_a_healthy_fit_solves_no_linear_programme(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(separation.separation, "bernoulli", fail)
    monkeypatch.setattr(separation.separation, "poisson", fail)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    GLM("bernoulli").fit(X, rng.uniform(size=500) < 1 / (1 + np.exp(-2 * X[:, 0])))
    GLM("poisson").fit(X, rng.poisson(np.exp(X[:, 0])))
    # a penalty keeps every coefficient finite
    GLM("bernoulli", penalty="l2").fit(X, X[:, 0] > 0)


def test_probabilities_near_one_without_separation_are_not_reported() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-40, 40, 400), [0.01, -0.01]])[:, None]
    y = np.append(x[:-2, 0] > 0, [False, True])
    model = GLM("bernoulli").fit(x, y)
    assert SEPARATION_CODE not in model.diagnosis_.codes


def test_on_separation_determines_warning_or_error() -> None:
    X, _ = rows_of("bernoulli")
    y = X[:, 0] > 0
    with pytest.warns(SeparationWarning, match=r"x0 → \+∞"):
        model = GLM("bernoulli").fit(X, y)
    assert model.diagnosis_.codes == ("separation",)
    with pytest.raises(SeparationError, match="x0"):
        GLM("bernoulli", on_separation="error").fit(X, y)
    for remedy in ("firth", "ridge"):
        model = GLM("bernoulli", on_separation=remedy).fit(X, y)
        assert model.diagnosis_.codes == ("separation",)
        assert model.certificate_.holds
        assert np.abs(model.coef_).max() < 100


def test_a_model_of_separated_responses_can_be_saved(tmp_path: Path) -> None:
    X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    model = fitted(X, y, family="bernoulli")
    save(model, tmp_path / "model")
    assert finding_of(load(tmp_path / "model")) == finding_of(model)


@pytest.mark.filterwarnings("ignore::mercer.errors.CollinearWarning")
def test_counts_of_too_many_columns_look_separated_and_are_still_fitted() -> None:
    """More columns than a Gram matrix is formed of, which directions that leave counts alone are found by."""
    X = sparse.random(40, 12_500, density=0.01, random_state=0, format="csr")
    y = np.random.default_rng(0).poisson(0.5, 40)
    with pytest.warns(SeparationWarning, match="too many columns to search for"):
        model = GLM("poisson", max_iter=20).fit(X, y)
    assert SEPARATION_CODE in model.diagnosis_.codes
    assert "sample" not in finding_of(model).remedy  # of rows that are in memory anyhow


@pytest.mark.filterwarnings("ignore::mercer.errors.CollinearWarning")
@pytest.mark.parametrize("family", ["bernoulli", "categorical"])
def test_a_few_rows_of_many_columns_are_reported_as_separated(family: str) -> None:
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(20, 2500)), np.arange(20) % (2 if family == "bernoulli" else 3)
    model = fitted(X, y, family)
    assert model.n_iter_ < separation.STEPS_OF_HEALTHY_FIT
    assert model.diagnosis_.codes == ("collinear", SEPARATION_CODE)
    with pytest.raises(SeparationError, match="separates the responses completely"):
        GLM(family, on_separation="error").fit(X, y)
    assert np.abs(GLM(family, on_separation="ridge").fit(X, y).coef_).max() < 0.1 < np.abs(model.coef_).max()


@pytest.mark.filterwarnings("ignore::mercer.errors.CollinearWarning")
def test_a_few_counts_of_many_columns_need_no_eigenvectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np.linalg, "eigh", lambda *_: pytest.fail("the eigenvectors of 2501 columns take minutes"))
    X, y = np.random.default_rng(6).normal(size=(20, 2500)), np.arange(20) % 3
    with pytest.warns(SeparationWarning, match="too many columns to search for"):
        GLM("poisson").fit(X, y)


@pytest.mark.filterwarnings("ignore::mercer.errors.CollinearWarning")
@pytest.mark.parametrize("family", ["bernoulli", "categorical"])
def test_rows_that_do_not_fit_into_memory_are_not_copied(family: str) -> None:
    n, columns = 1000, 140_000
    classes = np.arange(n) % 3
    X = sparse.csr_array((classes - 1.0, (np.arange(n), np.zeros(n, dtype=int))), shape=(n, columns))
    design, terms = matrix_of(X, intercept=False)
    stuck = Certificate("gradient norm", 1.0, 1e-8, "no step leads down")
    if family == "bernoulli":
        problem = Problem(
            Observations(design, 1.0 * (classes > 0)), Response(Bernoulli(), LOGIT), Strengths.none(columns)
        )
        w = np.zeros(columns)
        w[0] = 100.0
        finding = separation.examine(problem, Solution(w, stuck, (0.0,)), terms.names)
    else:
        W = np.zeros((columns, 3))
        W[0] = [-100.0, 0.0, 100.0]
        observations, response = Observations(design, classes), SoftmaxResponse(3)
        finding = separation.examine_classes(observations, response, Solution(W, stuck, (0.0,)), terms.names, "abc")
    assert finding is not None
    assert "too many columns to search for" in finding.sentence


@pytest.mark.parametrize("power", [1.1, 1.5, 1.9])
def test_a_level_without_events_has_a_coefficient_of_minus_infinity(power: float) -> None:
    """Separation of amounts is found as for counts."""
    rng = np.random.default_rng(0)
    claims, region = rng.poisson(0.4, 412), np.repeat(["a", "b", "c"], [200, 200, 12])
    y = np.where(region == "c", 0.0, rng.gamma(2.0 * np.maximum(claims, 1), 100.0) * (claims > 0))
    X = pd.DataFrame({"region": region})
    finding = finding_of(fitted(X, y, Tweedie(power), "log"))
    assert finding.limits == {"region[b]": "finite", "region[c]": "−∞", "(intercept)": "finite"}
    with pytest.raises(SeparationError, match=r"region\[c\] → −∞"):
        GLM(Tweedie(power), "log", on_separation="error").fit(X, y)
    ridge = GLM(Tweedie(power), "log", on_separation="ridge").fit(X, y)
    assert ridge.certificate_.holds
    assert -50 < ridge.coef_[1] < -5


@pytest.mark.parametrize("power", [2.0, 2.5])
def test_a_family_without_zeros_is_never_separated(power: float) -> None:
    y = np.append(np.full(10, 1e-30), np.ones(10))
    model = GLM(Tweedie(power), "log").fit(np.repeat(["a", "b"], 10)[:, None].astype(object), y)
    assert SEPARATION_CODE not in model.diagnosis_.codes


@pytest.mark.parametrize(
    ("family", "link", "named"),
    [
        ("bernoulli", "logit", True),
        ("poisson", "log", True),
        ("bernoulli", "probit", False),
        ("categorical", "canonical", False),
        (Tweedie(1.5), "log", False),
        (NegativeBinomial(2.0), "log", False),
    ],
)
def test_the_remedy_names_firth_only_if_it_applies(family: Any, link: str, named: bool) -> None:
    X = np.repeat([1.0, 0.0], 10)[:, None]
    remedy = finding_of(fitted(X, np.where(X[:, 0] == 1, 0, np.arange(20) % 2), family, link)).remedy
    assert ("firth" in remedy) == named
    assert '"ridge"' in remedy


def test_rows_whose_sums_overflow_are_rejected_by_the_search() -> None:
    X = sparse.csr_array(np.full((2, 3), np.finfo(float).max) * [[1.0], [-1.0]])
    with pytest.raises(NonFiniteError, match="too large for float64"):
        GLM("bernoulli").fit(X, [0, 1])
