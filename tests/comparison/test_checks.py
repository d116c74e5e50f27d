"""Every check fires on data with its problem, is silent otherwise, and is documented."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from mercer import GLM, LinearRegression, LogNormalRegressor, compare
from mercer.application.task_choice import task_for
from mercer.base.validation import Plan
from mercer.comparison._checks_of_shape import box_m, variance_inflation
from mercer.comparison._entry import Entry
from mercer.comparison._view import View
from mercer.comparison.checks import ASSUMPTION_CHECKS, AssumptionCheck, check_assumptions, find_problems, run_checks
from mercer.comparison.comparison import Comparison
from mercer.data import Table
from mercer.density import Bandwidth, Criterion
from mercer.families import NegativeBinomial
from mercer.kernels.positive_definite import PositiveDefinite
from mercer.optim.certificate import Certificate

DOCUMENT = Path(__file__).parents[2] / "docs" / "guides" / "assumption-checks.md"
RNG = np.random.default_rng(0)
N = 120
HOLDS, FAILS = Certificate("gradient norm", 1e-9, 1e-6, "small"), Certificate("gradient norm", 1.0, 1e-6, "too large")


@dataclass
class Fit:
    """A fitted model as the checks see it."""

    certificate_: Certificate = HOLDS
    plan_: Plan = field(default_factory=lambda: Plan("a formula", "float64", 1, 1))


def comparison(
    X: Any, y: Any, *, fitted: Any = None, held_out: Any = None, task: str = "auto", score: float = 0.1, folds: int = 4
) -> Comparison:
    """One entry with what it is said to have reached."""
    table = Table.of(X, dates=True)
    question = task_for(y, table.n_rows, task)
    rows = np.arange(table.n_rows)
    splits = [(rows[rows % folds != k], rows[rows % folds == k]) for k in range(folds)]
    if held_out is None:
        held_out = np.eye(len(question.labels))[question.codes] if question.name == "classification" else question.y
    scores = {
        metric.name: np.full(folds, score if place == 0 else np.nan) for place, metric in enumerate(question.metrics)
    }
    entry = Entry("model", fitted, table, "discriminative", None, scores, held_out,
                  fit_seconds=0.0, fitted=fitted or Fit(), probabilistic=question.name == "classification")  # fmt: skip
    return Comparison("", question, table, question.y, splits, (entry,))


def codes(found: Comparison) -> set[str]:
    report = check_assumptions(found)
    assert not report.undone
    return {finding.code for finding in report.findings}


def plain(n: int = N, **columns: Any) -> pd.DataFrame:
    """Two normal columns that have nothing to do with the target."""
    rng = np.random.default_rng(5)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)} | columns)


def classes(n: int = N) -> Any:
    return np.tile(["no", "yes", "yes", "no", "no", "yes"], n // 6)


def calm(**columns: Any) -> Comparison:
    return comparison(plain(**columns), classes())


def separated() -> Comparison:
    X, y = load_iris(return_X_y=True)
    return comparison(X[:100] + np.random.default_rng(0).normal(scale=1e-6, size=(100, 4)), y[:100].astype(str))


def covariances(scale: float) -> Comparison:
    y, rng = classes(), np.random.default_rng(2)
    X = rng.normal(size=(N, 2)) * np.where(y == "yes", scale, 1.0)[:, None]
    return comparison(pd.DataFrame(X, columns=["a", "b"]), y)


def counts(dispersion: float) -> Comparison:
    rng = np.random.default_rng(3)
    mean = rng.uniform(20, 60, size=N)
    y = rng.poisson(mean * rng.gamma(1 / dispersion, dispersion, size=N)) if dispersion else rng.poisson(mean)
    return comparison(plain(), y, task="counts", held_out=mean)


def residuals(growing: bool) -> Comparison:
    rng = np.random.default_rng(4)
    mean = rng.uniform(1, 10, size=300)
    y = mean + rng.normal(size=300) * (mean if growing else 1.0)
    return comparison(plain(300), y, task="regression", held_out=mean)


def fit(**attributes: Any) -> Comparison:
    result = Fit()
    for name, value in attributes.items():
        setattr(result, name, value)
    return comparison(plain(), classes(), fitted=result)


def definite(holds: bool) -> Comparison:
    return fit(diagnosis_=PositiveDefinite("on this sample", holds, "the least eigenvalue is −1"))


def bandwidth(values: list[float]) -> Comparison:
    widths = np.geomspace(0.1, 10, len(values))
    return fit(bandwidth_choice_=Bandwidth(1.0, "likelihood-cv", criterion=Criterion("loss", widths, np.array(values))))


def probabilities(sure: bool) -> Comparison:
    """Right in two of three cases, and said to be so sure."""
    n = 600
    y = np.tile(["no", "yes", "yes"], n // 3)
    high = 0.98 if sure else 2 / 3
    return comparison(plain(n), y, held_out=np.tile([1 - high, high], (n, 1)))


def missing(share: float, tells: bool = False) -> Comparison:
    gap = RNG.random(N) < share
    if tells:
        gap = classes() == "yes"
        gap[:3] = False
    c = np.where(gap, np.nan, np.random.default_rng(6).normal(size=N))
    return calm(c=c)


def twins() -> Comparison:
    frame = plain().assign(y=classes())
    frame = pd.concat([frame[:59], frame[:61]], ignore_index=True)
    return comparison(frame[["a", "b"]], frame["y"].to_numpy())


def alike() -> Comparison:
    """Rows of equal columns whose targets are all different."""
    frame = pd.concat([plain(60), plain(60)], ignore_index=True)
    return comparison(frame, np.arange(120.0) / 7, task="regression")


def contradicting() -> Comparison:
    frame = plain()
    frame.iloc[1] = frame.iloc[0]
    return comparison(frame, classes())


skewed = np.random.default_rng(7).lognormal(size=N)
Case = Callable[[], Comparison]


#: for each code a case in which it fires, and one in which it does not
def perfect(accuracy: float) -> Comparison:
    """Return predictions that are right this often, although no column is informative."""
    found = calm()
    entry = found.entries[0]
    scores = {**entry.scores, "accuracy": np.full(len(found.splits), accuracy)}
    return replace(found, entries=(replace(entry, scores=scores),))


def summed(*, exact: bool) -> Comparison:
    """A target that is a difference of two columns, or that with noise."""
    rng = np.random.default_rng(1)
    noise = 0.0 if exact else rng.normal(size=N)
    return comparison(plain(), 2 * plain()["a"] - plain()["b"] + noise, task="regression")


def days(*, drifting: bool) -> Comparison:
    """A target with a date in each row, that depends on the day before or does not; rows are not in order."""
    rng = np.random.default_rng(8)
    noise = rng.normal(size=N)
    frame = plain(day=pd.date_range("2024-01-01", periods=N)).assign(y=np.cumsum(noise) if drifting else noise)
    frame = frame.sample(frac=1, random_state=0)
    return comparison(frame[["a", "b", "day"]], frame["y"].to_numpy(), task="regression")


def species(singles: int) -> Comparison:
    """Classes of a single row each among rows of two others."""
    return comparison(plain(), [f"rare {k}" for k in range(singles)] + list(classes()[singles:]))


CASES: dict[str, tuple[Case, Case]] = {
    "MRC101": (twins, alike),
    "MRC102": (lambda: comparison(plain(), ["rare"] * 4 + ["often"] * (N - 4)), calm),
    "MRC103": (lambda: calm(code=np.where(classes() == "yes", "u", "v")), calm),
    "MRC104": (lambda: missing(0.8), lambda: missing(0.2)),
    "MRC105": (lambda: calm(c=np.ones(N)), calm),
    "MRC106": (contradicting, calm),
    "MRC107": (lambda: comparison(np.random.default_rng(0).normal(size=(12, 12)), classes(12)), calm),
    "MRC108": (lambda: missing(0.0, tells=True), lambda: missing(0.3)),
    "MRC109": (lambda: perfect(0.999), lambda: perfect(0.98)),
    "MRC110": (lambda: summed(exact=True), lambda: summed(exact=False)),
    "MRC111": (lambda: days(drifting=True), lambda: days(drifting=False)),
    "MRC112": (lambda: species(10), lambda: species(2)),
    "MRC201": (separated, calm),
    "MRC202": (lambda: calm(c=plain()["a"] + 1e-3 * plain()["b"]), calm),
    "MRC203": (lambda: counts(0.5), lambda: counts(0.0)),
    "MRC204": (lambda: covariances(3.0), lambda: covariances(1.0)),
    "MRC205": (lambda: calm(c=skewed), lambda: calm(c=np.log(skewed))),
    "MRC206": (lambda: calm(c=plain()["a"] + plain()["b"] / 2), calm),
    "MRC207": (lambda: residuals(True), lambda: residuals(False)),
    "MRC301": (lambda: fit(certificate_=FAILS), fit),
    "MRC302": (lambda: definite(False), lambda: definite(True)),
    "MRC303": (lambda: bandwidth([3.0, 2.0, 1.0]), lambda: bandwidth([3.0, 1.0, 2.0])),
    "MRC304": (lambda: fit(alpha_=10.0, alphas=[0.1, 1.0, 10.0]), lambda: fit(alpha_=1.0, alphas=[0.1, 1.0, 10.0])),
    "MRC305": (lambda: probabilities(True), lambda: probabilities(False)),
    "MRC306": (lambda: comparison(plain(), classes(), score=0.8), calm),
    "MRC307": (lambda: fit(plan_=Plan("Nyström", "float64", 1, 1, exact=False)), fit),
}


@pytest.mark.parametrize("each", ASSUMPTION_CHECKS, ids=lambda each: each.code)
def test_a_check_fires_where_it_should_and_is_silent_elsewhere(each: AssumptionCheck) -> None:
    fires, silent = CASES[each.code]
    found = [finding for finding in check_assumptions(fires()).findings if finding.code == each.code]
    assert found
    assert all(finding.sentence.endswith(".") and finding.remedy.endswith(".") for finding in found)
    assert each.code not in codes(silent())


def test_a_trend_is_reported_as_a_time_series_and_not_as_a_leak() -> None:
    """A year that orders the rows like the target is not a column recorded after the target."""
    years, rng = np.arange(1937, 1967), np.random.default_rng(9)
    rising = comparison(plain(30, year=years), np.exp(0.2 * (years - 1937)) + 0.01 * rng.random(30), task="regression")
    (found,) = rising.problems()
    assert (found.code, found.columns) == ("MRC111", ("year",))
    assert "--time year" in found.remedy
    forward = replace(rising, settings={"splits": "forward in time"})
    assert [each.code for each in forward.problems()] == ["MRC103"]


def test_dates_that_are_strings_are_read_by_the_checks() -> None:
    """Such columns order rows in time, and do not prevent the check for leakage."""
    dates, rng = np.datetime64("2024-01-01") + np.arange(60), np.random.default_rng(9)
    y = np.cumsum(rng.normal(size=60))
    for day in (dates, dates.astype(str)):
        found = comparison(plain(60, day=day, copy=2 * y + 1), y, task="regression").problems()
        assert [(each.code, each.columns) for each in found] == [("MRC103", ("copy",)), ("MRC111", ("day",))]


def test_a_check_that_fails_is_among_the_problems() -> None:
    def breaks(view: View) -> Any:
        raise ZeroDivisionError("nothing to divide by")

    leakage = next(each for each in ASSUMPTION_CHECKS if each.code == "MRC103")
    (found,) = find_problems(calm(), (leakage._replace(run=breaks),))
    assert (found.code, found.severity) == ("MRC103", "note")
    assert "could not be made: ZeroDivisionError: nothing to divide by" in found.sentence


def test_the_check_of_guessing_agrees_with_the_verdict() -> None:
    """Losses that differ much between splits, and little from those of the baseline on the same splits."""
    found = comparison(plain(), classes())
    losses = np.array([0.2, 0.9, 0.4, 0.7])

    def entry(name: str, kind: str, values: Any) -> Entry:
        return replace(found.entries[0], name=name, kind=kind, scores={**found.entries[0].scores, "log_loss": values})

    better = entry("better", "discriminative", losses)
    guess = entry("guess", "baseline", losses + np.array([0.1, 0.11, 0.1, 0.09]))
    clear = replace(found, entries=(better, guess))
    assert clear.interval("better").high > guess.mean("log_loss")
    assert clear.verdict().best is better
    assert "MRC306" not in codes(clear)
    unclear = replace(found, entries=(better, entry("guess", "baseline", losses[::-1] + 0.05)))
    assert unclear.verdict().best is None
    assert "MRC306" in codes(unclear)


def test_codes_are_unique_and_each_is_documented_once_with_its_name_and_severity() -> None:
    written = re.findall(r"^\| (MRC\d{3}) \| ([^|]+) \| (\w+) \|", DOCUMENT.read_text("utf-8"), flags=re.M)
    assert written == [(each.code, each.name, each.severity) for each in ASSUMPTION_CHECKS]
    assert len({code for code, *_ in written}) == len(ASSUMPTION_CHECKS) == len(CASES)


def test_a_check_that_fails_is_listed_and_the_others_continue() -> None:
    def breaks(view: View) -> Any:
        raise ZeroDivisionError("nothing to divide by")

    report = run_checks(View(calm(c=np.ones(N))), (ASSUMPTION_CHECKS[1]._replace(run=breaks), ASSUMPTION_CHECKS[4]))
    assert report.undone == ("MRC102 (rare class): ZeroDivisionError: nothing to divide by",)
    assert [finding.code for finding in report.findings] == ["MRC105"]


def test_constants_and_identifiers_are_distinguished() -> None:
    keys = [f"k{j:05d}" for j in np.random.default_rng(0).permutation(N)]
    findings = check_assumptions(calm(key=keys, c=np.ones(N), d=["same"] * N)).findings
    (finding,) = [each for each in findings if each.code == "MRC105"]
    assert finding.sentence == "key is an identifier; c and d are constant; they are not used."
    assert finding.columns == ("key", "c", "d")


def test_findings_name_the_columns() -> None:
    findings = check_assumptions(calm(copy=2 * plain()["a"] + 1)).findings
    collinear = next(finding for finding in findings if finding.code == "MRC202")
    assert set(collinear.columns) == {"a", "copy"}
    assert "without bound" in collinear.sentence


def test_counts_are_set_against_the_distribution_of_their_model() -> None:
    """A gamma mixture of counts with variance μ + μ²/2 is not more dispersed than a negative binomial with r = 2."""
    for r, name in ((2.0, ""), (50.0, "negative binomial")):
        fitted = Fit()
        fitted.family_ = NegativeBinomial(r)  # type: ignore[attr-defined]
        (entry,) = counts(0.5).entries
        findings = check_assumptions(replace(counts(0.5), entries=(replace(entry, fitted=fitted),))).findings
        spread = [finding.sentence for finding in findings if finding.code == "MRC203"]
        assert [name in sentence for sentence in spread] == [True] * bool(name)


def test_a_level_that_occurs_with_one_class_only_is_named() -> None:
    """All rows are used instead of a sample, in which other levels may occur with one class by chance."""
    where = np.where(np.arange(N) < 6, "here", np.where(np.arange(N) % 4 < 2, "there", "elsewhere"))
    y = np.where(where == "here", "yes", classes())
    found = comparison(plain(where=where), y)
    (separated,) = (each for each in check_assumptions(View(found, most_rows=40)).findings if each.code == "MRC201")
    assert separated.columns == ("where[here]",)
    assert "sample" not in separated.sentence


def test_separation_of_many_classes_is_not_searched_in_many_columns() -> None:
    """The linear programme has a coefficient for each column and class: 165 columns of six classes took minutes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 50))).rename(columns=lambda j: f"x{j}")
    report = check_assumptions(comparison(X, np.array(list("abcdef"))[np.arange(60) % 6]))
    assert any("50 features for each of 6 classes" in reason for reason in report.undone)
    assert not check_assumptions(comparison(X, np.array(list("ab"))[np.arange(60) % 2])).undone


def test_box_m_of_iris() -> None:
    """χ²(20) = 140.94: the value that is published for Fisher's iris."""
    X, y = load_iris(return_X_y=True)
    statistic, freedom, p = box_m([X[y == k] for k in range(3)])
    assert statistic == pytest.approx(140.943, abs=1e-3)
    assert freedom == 20
    assert p < 1e-15


@pytest.mark.parametrize("unit", [1e-300, 1e-3, 1e300])
def test_variance_inflation_does_not_depend_on_units(unit: float) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    np.testing.assert_allclose(variance_inflation(X * [1.0, unit, 1.0]), variance_inflation(X), rtol=1e-9)


def test_variance_inflation_is_one_over_the_unexplained_share() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    X[:, 2] += X[:, 0]
    for j, value in enumerate(variance_inflation(X)):
        others = np.column_stack([np.delete(X, j, axis=1), np.ones(50)])
        left = X[:, j] - others @ np.linalg.lstsq(others, X[:, j])[0]
        assert value == pytest.approx(X[:, j].var() / left.var())


@pytest.mark.parametrize(
    "model", [GLM("gamma", link="log"), GLM("inverse_gaussian", link="log"), LogNormalRegressor(alpha=0)]
)
def test_errors_that_grow_as_the_distribution_of_a_model_expects_are_not_reported(model: Any) -> None:
    """Pearson residuals of the model have equal variances, residuals of least squares do not."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 2, size=(600, 1))
    mean = np.exp(x[:, 0])
    power = 3 if getattr(model, "family", "") == "inverse_gaussian" else 2
    shape = mean ** (2 - power) * 4.0
    y = rng.wald(mean, 4.0) if power == 3 else rng.gamma(shape, mean / shape)
    assert "MRC207" not in codes(compare(x, y, models={"model": model}, task="amounts"))
    found = compare(x, y, models={"line": LinearRegression()}, task="amounts")
    (finding,) = [each for each in check_assumptions(found).findings if each.code == "MRC207"]
    assert "log-normal models expect such errors" in finding.remedy
    assert "GLM" not in finding.remedy


def test_remedies_for_unequal_errors_are_options_of_the_command_line() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 2, size=(600, 1))
    growing = np.exp(x[:, 0]) * rng.gamma(4.0, 0.25, size=600)
    remedies = {}
    for name, y, model in (
        ("positive", growing, LinearRegression()),
        ("signed", growing - 3, LinearRegression()),
        ("own", growing, GLM("poisson", link="log")),
    ):
        task = "amounts" if name == "own" else "regression"
        found = check_assumptions(compare(x, y, models={"model": model}, task=task)).findings
        (remedies[name],) = [each.remedy for each in found if each.code == "MRC207"]
    assert "--task amounts" in remedies["positive"]
    assert remedies["signed"].startswith("Transform the target")
    assert "--conformal" in remedies["own"]
