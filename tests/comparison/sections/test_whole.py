"""What the page says of small tables: facts that are known beforehand."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline

from mercer import (
    GLM,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LinearRegression,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
    TableFeatures,
    compare,
)
from mercer.comparison.comparison import Comparison
from mercer.comparison.racing import budget
from mercer.comparison.racing.budget import Budget
from mercer.comparison.sections import whole
from mercer.comparison.sections.leaders import leaders
from mercer.comparison.sections.overview import far_out
from mercer.comparison.sections.predictions import binned_means
from mercer.comparison.sections.ranking import thinned
from mercer.comparison.sections.whole import SECTIONS, page
from mercer.report import Bars, Chart, Costs, Grid, Heat, Line, Note, Page, Points, Rows, Section
from mercer.report.page import page_html


def linear(model: Any) -> Any:
    return make_pipeline(TableFeatures(unseen="ignore"), model)


def section(made: Page, name: str) -> Section:
    return next(each for each in made.sections if each.id == name)


def blocks(of: Section, kind: Any) -> list[Any]:
    return [block for block in of.blocks if isinstance(block, kind)]


@pytest.fixture(scope="module")
def iris() -> Comparison:
    X, y = load_iris(return_X_y=True, as_frame=True)
    models = {
        "normal": GaussianNB(),
        "LDA": LinearDiscriminantAnalysis(),
        "logistic": linear(LogisticRegression()),
        "nothing": DummyClassifier(strategy="prior"),
    }
    return compare(X, np.array(["setosa", "versicolor", "virginica"])[y], models=models)


@pytest.fixture(scope="module")
def of_iris(iris: Comparison) -> Page:
    return page(iris)


@pytest.fixture(scope="module")
def mixed() -> Comparison:
    """Numbers with gaps, a category, text, an identifier: all that a person may bring."""
    rng = np.random.default_rng(0)
    n = 90
    y = rng.integers(0, 2, n)
    age = rng.normal(40 + 8 * y, 8)
    age[::9] = np.nan
    frame = pd.DataFrame(
        {
            "id": [f"p{i:03d}" for i in range(n)],
            "age": age,
            "colour": np.where(rng.random(n) < 0.2 + 0.6 * y, "red", "blue"),
            "said": [
                " ".join(rng.choice(["good", "fine", "nice"] if each else ["bad", "poor", "ill"], 3)) + f" {i % 7} day"
                for i, each in enumerate(y)
            ],
        }
    )
    models = {
        "logistic": linear(LogisticRegression()),
        "words": make_pipeline(TableFeatures(text="counts", exclude=["id", "age", "colour"]), MultinomialNB()),
        "mixed": make_pipeline(TableFeatures(exclude=["id", "said"], unseen="ignore"), LogisticRegression()),
    }
    return compare(frame, np.where(y, "yes", "no"), models=models, cv=3)


@pytest.fixture(scope="module")
def of_mixed(mixed: Comparison) -> Page:
    return page(mixed)


def numbers(count: bool) -> Comparison:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(150, 3)), columns=["a", "b", "c"])
    eta = 1.5 + 0.6 * X["a"] - 0.3 * X["b"]
    y = rng.poisson(np.exp(eta)) if count else 10 * eta + rng.normal(size=150)
    models = {"poisson": GLM("poisson")} if count else {"least squares": linear(LinearRegression())}
    return compare(X, np.asarray(y, dtype=float), models=models, task="counts" if count else "regression", cv=3)


@pytest.fixture(scope="module")
def of_numbers() -> Page:
    return page(numbers(count=False))


@pytest.fixture(scope="module")
def of_counts() -> Page:
    return page(numbers(count=True))


# The page as a whole.


def test_every_section_is_there(of_iris: Page, of_numbers: Page) -> None:
    classes = {"leaderboard", "checks", "data", "decisions", "calibration", "ranking", "rows", "coefficients"}
    classes |= {"likelihoods", "regions", "densities", "unusual", "certificates", "reproduce"}
    ids = [each.id for each in of_iris.sections]
    assert classes <= set(ids)
    assert "left-out" not in ids
    assert {"predictions", "regions", "rows", "coefficients"} <= {each.id for each in of_numbers.sections}
    assert not {"ranking", "calibration", "decisions"} & {each.id for each in of_numbers.sections}


def test_pages_are_small_and_can_be_written(of_iris: Page, of_mixed: Page, of_numbers: Page, of_counts: Page) -> None:
    for each in (of_iris, of_mixed, of_numbers, of_counts):
        assert len(page_html(each).encode()) < 2_000_000
        assert not [found.id for found in each.sections if found.id == "left-out"]


def test_no_chart_is_empty(of_iris: Page, of_mixed: Page, of_numbers: Page, of_counts: Page) -> None:
    for each in (of_iris, of_mixed, of_numbers, of_counts):
        for chart in (block for found in each.sections for block in blocks(found, Chart)):
            assert chart.marks, chart.title
            for mark in chart.marks:
                if isinstance(mark, Line | Points):
                    assert np.isfinite(mark.y).any(), chart.title
                if isinstance(mark, Bars):
                    assert len(mark.values), chart.title


def test_a_section_that_fails_is_left_out_with_a_note(iris: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(view: Any) -> Any:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("mercer.comparison.sections.whole.SECTIONS", (breaks, SECTIONS[0]))
    made = page(iris)
    assert [each.id for each in made.sections] == ["leaderboard", "left-out"]
    assert made.sections[1].blocks == (Note("breaks: ZeroDivisionError: by nothing"),)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that pass when a section says so."""
    passed = [0.0]
    monkeypatch.setattr(budget, "now", lambda: passed[0])
    return passed


def test_what_is_not_done_in_time_is_left_out_by_name(
    iris: Comparison, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sections that fit models come last, though they stand first on the page."""
    begun: list[str] = []

    def taking(name: str, seconds: float) -> Any:
        def write(view: Any) -> Section:
            begun.append(name)
            clock[0] += seconds
            return Section(name, name, ("something",))

        write.__name__ = name
        return write

    fits, quick, slow = taking("fits", 1), taking("quick", 5), taking("slow", 5)
    late = taking("late", 1)
    monkeypatch.setattr(whole, "SECTIONS", (fits, late, quick, slow, leaders))
    monkeypatch.setattr(whole, "FITTING", (fits, late))
    made = page(iris, budget=Budget(10.5))
    assert begun == ["quick", "slow", "fits"]
    assert [each.id for each in made.sections] == ["fits", "quick", "slow", "leaderboard", "left-out"]
    assert made.sections[-1].blocks == (Note("late: left out for want of time (not begun)."),)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer that rings")
def test_a_section_is_cut_short_when_the_time_is_up(iris: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(view: Any) -> Any:
        signal.raise_signal(signal.SIGALRM)

    monkeypatch.setattr(whole, "SECTIONS", (endless, leaders))
    made = page(iris, budget=Budget(3600))
    assert made.sections[-1].blocks == (Note("endless: left out for want of time (cut short when the time was up)."),)


def test_models_are_not_fitted_again_when_their_fits_took_longer_than_what_is_left(
    iris: Comparison, clock: list[float]
) -> None:
    slow = replace(iris, entries=tuple(replace(entry, fit_seconds=9.0, fitted=None) for entry in iris.entries))
    ids = {each.id for each in page(slow, budget=Budget(5)).sections}
    assert all(entry.fitted is None for entry in slow.entries)
    assert {"leaderboard", "data", "decisions", "calibration", "ranking", "densities"} <= ids
    assert not {"coefficients", "likelihoods", "regions"} & ids


def test_every_section_is_told(iris: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "SECTIONS", SECTIONS[:3])
    told: list[tuple[Any, ...]] = []
    page(iris, progress=lambda *step: told.append(step))
    assert [name for *_, name in told] == ["leaders", "overview", "findings", "writing"]
    assert [step[:3] for step in told[:3]] == [("page", number, whole.STEPS) for number in range(3)]
    assert told[-1] == ("page", whole.STEPS - 1, whole.STEPS, "writing")


# Its sections.


def test_columns_are_described(of_iris: Page, of_mixed: Page) -> None:
    grid = blocks(section(of_iris, "data"), Grid)[0]
    row = dict(zip([field.heading for field in grid.fields], grid.rows[0], strict=True))
    assert row["column"] == "sepal length (cm)"
    assert (row["mean"], row["sd"], row["least"], row["most"]) == ("5.843", "0.828", "4.3", "7.9")
    assert row["distinct"] == 35
    kinds = {row[0]: row[1:3] for row in blocks(section(of_mixed, "data"), Grid)[0].rows}
    assert kinds["id"] == ("identifier", 0.0)
    assert kinds["said"][0] == "text"
    assert kinds["age"][1] == pytest.approx(1 / 9)


def test_values_far_from_most_are_counted() -> None:
    values = np.append(np.random.default_rng(0).normal(size=100), [50.0, -60.0])
    assert np.flatnonzero(far_out(values)).tolist() == [100, 101]
    assert not far_out(np.append(np.zeros(60), np.ones(40))).any()


def test_confusions_add_up_to_the_accuracy(iris: Comparison, of_iris: Page) -> None:
    heat = blocks(section(of_iris, "decisions"), Chart)[0].marks[0]
    assert isinstance(heat, Heat)
    counts = np.array(heat.values)
    assert counts.sum() == 150
    assert counts.sum(axis=1).tolist() == [50, 50, 50]
    best = iris.entries[0]
    assert np.trace(counts) / 150 == pytest.approx((best.held_out.argmax(axis=1) == iris.task.truth).mean())


def test_costs_hold_probabilities_of_the_rows(of_iris: Page) -> None:
    (costs,) = blocks(section(of_iris, "decisions"), Costs)
    assert costs.classes == ("setosa", "versicolor", "virginica")
    assert "nothing" not in costs.models
    proba, codes = next(iter(costs.models.values()))
    assert len(codes) == 150
    np.testing.assert_allclose(np.array(proba).sum(axis=1), 1, atol=1e-3)


def test_a_curve_is_thinned_with_its_ends_kept() -> None:
    x, y = thinned(np.linspace(0, 1, 5000), np.linspace(0, 1, 5000) ** 2)
    assert (len(x) <= 150, x[0], x[-1], y[-1]) == (True, 0, 1, 1)


def test_learning_curves_of_the_pair_that_took_part(of_iris: Page) -> None:
    charts = blocks(section(of_iris, "curves"), Chart)
    assert charts
    assert all({mark.name for mark in chart.marks[:2]} <= {"normal", "LDA", "logistic"} for chart in charts)


def test_rows_add_up_to_what_the_model_says(mixed: Comparison, of_mixed: Page) -> None:
    (rows,) = blocks(section(of_mixed, "rows"), Rows)
    picked = [int(name.removeprefix("row ")) for name in rows.names]
    for told in rows.models:
        model = mixed.fitted(told.model)
        proba = model.predict_proba(mixed.table.take(np.array(picked)).native)
        sums = told.base + np.array(told.contributions).sum(axis=1)
        np.testing.assert_allclose(sums, np.log(proba[:, 1] / proba[:, 0]), atol=1e-8)
    assert rows.columns == ("id", "age", "colour", "said")
    assert {each.model for each in rows.models} == {"logistic", "words", "mixed"}


def test_a_nomogram_has_what_each_value_adds() -> None:
    found = numbers(count=False)
    grid = next(grid for grid in blocks(section(page(found), "rows"), Grid))
    values, added = np.array([[float(row[1]), row[2]] for row in grid.rows if row[0] == "a"]).T
    # a column of numbers adds a linear function, with the coefficient per standard deviation
    coefficient = found.fitted("least squares")[-1].coef_[0]
    np.testing.assert_allclose(
        np.diff(added) / np.diff(values), coefficient / found.table.numbers([0]).std(), rtol=1e-2
    )
    assert grid.rows[0][0] == "a"  # which moves the prediction most


def test_a_single_value_far_out_does_not_fill_a_nomogram() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    X.loc[0, "a"] = 1e6
    found = compare(X, X["b"] + rng.normal(size=200), models={"lines": linear(LinearRegression())}, task="regression")
    chart = next(chart for chart in blocks(section(page(found), "rows"), Chart) if chart.title.startswith("Nomogram"))
    dots = [mark for mark in chart.marks if isinstance(mark, Points)]
    widths = sorted(np.ptp(mark.x) for mark in dots)
    assert widths[-1] < 10


def test_numbers_of_thousands_have_no_exponent() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.normal(190_000, 100_000, size=60).round(), "age": rng.normal(40, 10, size=60)})
    found = compare(X, np.tile(["a", "b"], 30), models=[GaussianNB()], cv=2)
    made = page(found)
    shown = [cell for grid in blocks(section(made, "data"), Grid) for line in grid.written() for cell in line[4:8]]
    shown += [cell for grid in blocks(section(made, "likelihoods"), Grid) for line in grid.written() for cell in line]
    assert not [cell for cell in shown if "e+" in cell]


def test_coefficients_are_those_of_the_fit_by_their_names(of_numbers: Page, iris: Comparison, of_iris: Page) -> None:
    (grid,) = blocks(section(of_numbers, "coefficients"), Grid)
    named = {row[0]: row[1] for row in grid.rows}
    assert named["a"] == pytest.approx(6, rel=0.15)  # per standard deviation
    assert named["b"] == pytest.approx(-3, rel=0.15)
    assert "(intercept)" in named
    lower, upper = ([field.heading for field in grid.fields].index(name) for name in ("lower", "upper"))
    assert all(row[lower] < row[1] < row[upper] for row in grid.rows)
    names = {row[0] for row in blocks(section(of_iris, "coefficients"), Grid)[0].rows}
    assert any("petal length (cm)" in name for name in names)
    assert not any("x0" in name for name in names)


def test_columns_that_are_called_like_positions_keep_their_names() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x0": rng.choice(["u", "v"], 100), "x1": rng.normal(size=100), "x2": rng.normal(size=100)})
    y = 5 * frame["x2"] + 0.1 * rng.normal(size=100)
    found = compare(frame, y.to_numpy(), models={"ols": linear(LinearRegression())}, task="regression", cv=3)
    (grid,) = blocks(section(page(found), "coefficients"), Grid)
    assert grid.rows[0][0] == "x2"
    assert grid.rows[0][1] == pytest.approx(5 * frame["x2"].std(ddof=0), rel=0.02)


def test_likelihood_tables_have_means_and_words(of_iris: Page, of_mixed: Page) -> None:
    grid = blocks(section(of_iris, "likelihoods"), Grid)[0]
    assert grid.rows[0][:2] == ("sepal length (cm)", "5.006 ± 0.349")
    words = {row[0]: row[1:] for row in blocks(section(of_mixed, "likelihoods"), Grid)[0].rows}
    assert words["said[bad]"][0] > 10 * words["said[bad]"][1]


def test_regions_know_the_classes_and_densities_integrate_to_one(of_iris: Page) -> None:
    heat, *points = blocks(section(of_iris, "regions"), Chart)[0].marks
    assert isinstance(heat, Heat)
    assert set(np.unique(heat.values)) == {0, 1, 2}
    assert len(points) == 3
    chart = blocks(section(of_iris, "densities"), Chart)[0]
    assert chart.title.startswith("petal")
    for line in chart.marks:
        assert isinstance(line, Line)
        assert np.trapezoid(line.y, line.x) == pytest.approx(1, abs=0.05)


def test_predictions_of_numbers_and_of_counts(of_numbers: Page, of_counts: Page) -> None:
    against = blocks(section(of_numbers, "predictions"), Chart)[0]
    means = against.marks[-1]
    assert isinstance(means, Points)
    np.testing.assert_allclose(means.x, means.y, atol=2)
    counted = [chart.title for chart in blocks(section(of_counts, "predictions"), Chart)]
    assert "How often each count occurs" in counted
    x, y, low, high, rows = binned_means(np.arange(100.0), 2 * np.arange(100.0))
    np.testing.assert_allclose(y, 2 * x)
    assert sum(rows) == 100
    assert (low < y).all()
    assert (y < high).all()


def test_certificates_hold_and_the_seed_is_told(of_iris: Page) -> None:
    grid = blocks(section(of_iris, "certificates"), Grid)[0]
    assert [row[0] for row in grid.rows if row[4] == "yes"] == [row[0] for row in grid.rows]
    assert {"normal", "LDA", "logistic"} == {row[0] for row in grid.rows}
    told = dict(blocks(section(of_iris, "reproduce"), Grid)[0].rows)
    assert told["seed"] == "0"
    assert told["numpy"] == np.__version__
    call = section(of_iris, "reproduce").blocks[0]
    assert call == "In Python: `mercer.compare(X, y, task='classification', cv=5, repeats=1, random_state=0)`"


def test_naive_bayes_of_a_frame_with_gaps_is_explained() -> None:
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 40)
    frame = pd.DataFrame({"size": rng.normal(size=80) + y, "kind": np.where(rng.random(80) < 0.5, "a", "b")})
    frame.loc[::5, "size"] = np.nan
    made = page(compare(frame, np.where(y, "on", "off"), models={"bayes": NaiveBayes()}, cv=3))
    assert "left-out" not in {each.id for each in made.sections}
    (rows,) = blocks(section(made, "rows"), Rows)
    gap = [row[0] for row in rows.rows].index("missing")
    assert rows.models[0].contributions[gap][0] == 0


def test_sparse_rows_and_a_target_of_many_classes() -> None:
    from scipy import sparse

    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 10)
    counts = rng.poisson(0.3 + 3.0 * (np.arange(24) % 12 == y[:, None]))
    found = compare(sparse.csr_matrix(counts), y.astype(str), models={"words": MultinomialNB()}, cv=3)
    made = page(found)
    assert "left-out" not in {each.id for each in made.sections}
    assert blocks(section(made, "data"), Grid)[0].title == "A sparse matrix"


def test_the_same_seed_makes_the_same_page_but_for_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.comparison.sections.curves.REPEATS", 1)
    X, y = load_iris(return_X_y=True, as_frame=True)
    models = {"LDA": LinearDiscriminantAnalysis(), "logistic": LogisticRegression()}
    one, other = (page(compare(X[::3], y[::3], models=models, cv=3)) for _ in range(2))
    timed = {"leaderboard", "reproduce"}
    assert [each.id for each in one.sections] == [each.id for each in other.sections]
    for first, second in zip(one.sections, other.sections, strict=True):
        assert first.id in timed or repr(first) == repr(second)
