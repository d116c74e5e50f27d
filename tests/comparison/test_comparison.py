"""The object behind the page."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB

from mercer import LogisticRegression
from mercer._errors import DataError
from mercer.comparison import Comparison, Entry, compare
from mercer.comparison.results.sentences import tied
from mercer.comparison.sections.whole import SECTIONS

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


class Broken(GaussianNB):  # type: ignore[misc]
    def fit(self, X: Any, y: Any) -> Any:
        raise ValueError("not | today")


@pytest.fixture(scope="module")
def iris() -> Comparison:
    models = {
        "bayes": GaussianNB(),
        "guess": DummyClassifier(),
        "ridge": RidgeClassifier(),
        "broken": Broken(),
        "sure": DummyClassifier(strategy="most_frequent"),
    }
    return compare(X, NAMES, models=models, cv=3)


def test_the_best_model_is_fitted_to_all_rows_once(iris: Comparison) -> None:
    best = iris.best_
    np.testing.assert_array_equal(best.predict(X), GaussianNB().fit(X, NAMES).predict(X))
    assert iris.fitted("bayes") is best is iris.entry().fitted
    assert iris.fitted("guess") is not best


def test_models_and_measures_by_name(iris: Comparison) -> None:
    assert iris.entry("ridge").name == "ridge"
    with pytest.raises(DataError, match=r"No model 'bays' took part.*'bayes'"):
        iris.entry("bays")
    with pytest.raises(DataError, match=r"no measure 'acuracy' of classification.*'accuracy'"):
        iris.metric("acuracy")
    mean, low, high = iris.interval("bayes", "accuracy")
    assert mean == iris.entry("bayes").mean("accuracy")
    assert low < mean < high <= 1


def test_where_nothing_could_be_fitted() -> None:
    comparison = compare(X, Y, models={"broken": Broken()}, cv=2)
    assert comparison.sentences() == ["No model could be fitted; the notes say why."]
    assert comparison.differences().rows == ()
    assert json.dumps(comparison.json(), allow_nan=False)
    with pytest.raises(DataError, match=r"None of the models could be fitted: fold 1: ValueError: not \| today"):
        _ = comparison.best_


@pytest.mark.parametrize("library", [None, "pandas", "polars", "pyarrow"])
def test_as_a_frame(iris: Comparison, library: str | None) -> None:
    frame = iris.frame(library)
    assert frame.shape[0] == 5
    assert [str(name) for name in frame["model"]] == iris.names
    assert {"log_loss", "log_loss_low", "auc_high", "brier", "calibration_error", "size_bytes"} <= set(
        frame.columns if library != "pyarrow" else frame.column_names
    )


def test_as_strict_json(iris: Comparison) -> None:
    found = json.loads(json.dumps(iris.json(), allow_nan=False))
    assert [model["name"] for model in found["models"]] == iris.names
    by_name = {model["name"]: model for model in found["models"]}
    assert by_name["bayes"]["measures"]["accuracy"]["mean"] == iris.entry("bayes").mean("accuracy")
    assert by_name["ridge"]["measures"]["log_loss"]["mean"] is None
    assert by_name["sure"]["measures"]["log_loss"]["mean"] == "inf"
    assert by_name["broken"]["failed"]
    assert found["labels"] == ["setosa", "versicolor", "virginica"]
    assert found["settings"]["seed"] == 0


def test_as_markdown(iris: Comparison) -> None:
    text = iris.markdown()
    assert text.startswith("# 150 rows × 4 columns, 3 classes; 3 stratified folds\n")
    assert "| bayes |" in text
    assert "not \\| today" in text
    assert "## Differences from bayes" in text


def test_as_html_and_text(iris: Comparison) -> None:
    assert iris._repr_html_().startswith("<table>")
    title, headings, *_ = str(iris).splitlines()
    assert title == iris.title
    assert "calibration error" in headings


def test_as_a_page(iris: Comparison, tmp_path: Path) -> None:
    stages: list[str] = []
    path = iris.report(tmp_path / "report.html", progress=lambda stage, done, total, name: stages.append(stage))
    assert stages == ["refit"] * 2 + ["page"] * (len(SECTIONS) + 2)  # each section, the writing, and the end
    assert path == tmp_path / "report.html"
    assert "bayes" in path.read_text()


def test_the_leaderboard_has_intervals(iris: Comparison) -> None:
    board = iris.leaderboard()
    assert [field.heading for field in board.fields] == [
        "model",
        "log loss",
        "accuracy",
        "AUC",
        "calibration error",
        "fit s",
        "predict s",
        "size",
    ]
    rows = {row[0]: row for row in board.written()}
    mean, low, high = iris.interval("bayes", "accuracy")
    assert high == 1.0  # cut off there: the margin is that to the other side
    assert rows["bayes"][2] == f"{mean:.4f} ± {mean - low:.4f}"
    assert rows["sure"][1] == "inf"
    assert rows["ridge"][1] == rows["broken"][2] == "–"
    assert "broken: fold 1: ValueError: not | today" in board.notes


def test_differences_say_which_are_real(iris: Comparison) -> None:
    rows = {row[0]: row for row in iris.differences().rows}
    assert set(rows) == {"guess", "ridge", "sure"}
    assert rows["guess"][-1] == "yes"
    assert rows["guess"][2] == pytest.approx(
        iris.entry("guess").mean("log_loss") - iris.entry("bayes").mean("log_loss")
    )
    assert rows["ridge"][1] == "accuracy"
    assert rows["sure"][-1] == "yes, without bound"
    assert all(row[6] >= row[5] for row in rows.values() if not math.isnan(row[5]))


def test_of_a_regression() -> None:
    models = {"line": LinearRegression(), "mean": DummyRegressor()}
    comparison = compare(X[:, :3], X[:, 3], models=models, cv=3)
    assert comparison.names == ["line", "mean"]
    assert comparison.sentences()[0].startswith("Use line: it has the lowest RMSE")
    assert comparison.frame().shape[0] == 2
    assert json.dumps(comparison.json(), allow_nan=False)
    assert [field.heading for field in comparison.leaderboard().fields[1:4]] == ["RMSE", "explained", "MAE"]


def test_sentences_name_the_best_and_the_pair() -> None:
    comparison = compare(X, Y, models={"nb": GaussianNB(), "lr": LogisticRegression(C=100)}, cv=3)
    text = " ".join(comparison.sentences())
    assert f"Use {comparison.names[0]}: it has the lowest log loss on rows it had not seen" in text
    assert "Of the pair nb (generative) and lr (discriminative)" in text
    assert "on 100 training rows" in text


class TooSure(GaussianNB):  # type: ignore[misc]
    """Decides well, and will not hear of being wrong."""

    def predict_log_proba(self, X: Any) -> Any:
        return 1e4 * super().predict_log_proba(X)


def test_nobody_is_told_to_guess_where_a_model_decides_better() -> None:
    comparison = compare(X, Y, models={"sure": TooSure(), "guess": DummyClassifier()}, cv=3)
    assert comparison.entry("sure").mean("log_loss") > comparison.entry("guess").mean("log_loss")
    assert comparison.names == ["sure", "guess"]
    first, second, *_ = comparison.sentences()
    assert first.startswith("Use sure: it is right more often than guessing, beyond chance")
    assert second.startswith("But guessing (guess) has the better log loss")
    assert "sure comes before guess although its log loss is higher" in str(comparison)


def test_luck_beats_no_guess() -> None:
    """Of models that learn from noise, half are right more often than guessing."""
    rng = np.random.default_rng(4)
    noise, labels = rng.normal(size=(60, 2)), np.arange(60) % 2
    comparison = compare(noise, labels, models={"sure": TooSure(), "guess": DummyClassifier()}, cv=5)
    assert comparison.entry("sure").mean("accuracy") > comparison.entry("guess").mean("accuracy")
    assert comparison.names == ["guess", "sure"]
    assert any(sentence.startswith("Nothing beats guessing") for sentence in comparison.sentences())


def test_models_that_were_not_finished_are_not_called_useless() -> None:
    """That guessing alone was done in time says nothing about the columns."""
    guess = compare(X, Y, models={"guess": DummyClassifier()}, cv=3)
    late = replace(guess, unfinished=("bayes", "lr"))
    (sentence,) = late.sentences()
    assert sentence.startswith("Only guessing without looking at the columns (guess) was done: bayes and lr were not")
    failed = replace(guess, entries=(*guess.entries, replace(guess.entry(), name="nb", kind="generative", failed=True)))
    assert failed.sentences()[0].endswith("nb could not be fitted; the notes say why.")


def test_who_was_not_finished_may_be_better(iris: Comparison) -> None:
    assert replace(iris, unfinished=("late",)).sentences()[-1] == "late was not finished, and may be better."
    assert not any("not finished" in sentence for sentence in iris.sentences())


def test_nothing_beats_guessing_of_those_that_were_done() -> None:
    rng = np.random.default_rng(4)
    noise, labels = rng.normal(size=(60, 2)), np.arange(60) % 2
    comparison = compare(noise, labels, models={"sure": TooSure(), "guess": DummyClassifier()}, cv=5)
    assert "the target, but 1 model was not finished." in " ".join(replace(comparison, unfinished=("lr",)).sentences())


def test_sentences_warn_where_nothing_was_learnt() -> None:
    rng = np.random.default_rng(1)
    noise = compare(rng.normal(size=(80, 2)), np.arange(80) % 2, models=[GaussianNB(), DummyClassifier()], cv=4)
    assert any("guessing" in sentence for sentence in noise.sentences())


def reached(comparison: Comparison, name: str, losses: list[float], **what: float) -> Entry:
    scores = {metric.name: np.array(losses) for metric in comparison.task.metrics}
    return replace(comparison.entry("bayes"), name=name, scores=scores, calibration=None, **what)


def test_who_is_as_good_within_chance_and_faster_is_told(iris: Comparison) -> None:
    best = reached(iris, "best", [0.20, 0.30, 0.25], fit_seconds=9.0, size_bytes=100.0)
    alike = reached(iris, "alike", [0.24, 0.28, 0.26], fit_seconds=1.0, size_bytes=10.0)
    # no difference is beyond chance in three splits, but this is no reason to recommend it
    erratic = reached(iris, "erratic", [0.20, 9.0, 0.25], fit_seconds=0.1)
    worse = reached(iris, "worse", [0.40, 0.50, 0.4501], fit_seconds=0.1)
    found = replace(iris, entries=(best, alike, worse, erratic))
    assert [entry.name for entry in tied(found)] == ["alike"]
    assert found.sentences()[1] == (
        "alike may be as good: the difference is within chance, "
        "and it is fitted 9 times as fast and is 10 times smaller."
    )
    assert replace(found, entries=(best, worse, reached(iris, "worst", [0.5, 0.6, 0.5501]))).sentences()[1] == (
        "Every other model is worse beyond chance."
    )


def test_who_is_not_shown_to_be_worse_is_not_called_worse(iris: Comparison) -> None:
    best = reached(iris, "best", [0.20, 0.30, 0.25])
    erratic, worse = reached(iris, "erratic", [0.20, 9.0, 0.25]), reached(iris, "worse", [0.40, 0.50, 0.4501])
    assert replace(iris, entries=(best, erratic, worse)).sentences()[1] == (
        "worse is worse beyond chance; of the others, more repeats would tell."
    )


def test_a_pair_is_judged_as_in_the_table_of_differences(iris: Comparison) -> None:
    """One test of several that are beyond chance by themselves is not, among them."""
    best = replace(reached(iris, "lr", [0.20, 0.30, 0.25]), kind="discriminative")
    worse = replace(reached(iris, "nb", [0.40, 0.55, 0.47]), kind="generative", partner="lr")
    others = [reached(iris, f"other {i}", [0.5 + i, 0.5, 0.5]) for i in range(9)]
    alone, among = (replace(iris, entries=(best, worse, *some)) for some in ([], others))
    assert "but not beyond chance" not in alone.sentences()[-1]
    assert "but not beyond chance" in among.sentences()[-1]


@pytest.fixture
def pyplot() -> Any:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_pictures(iris: Comparison, pyplot: Any) -> None:
    board = iris.plot_leaderboard("accuracy")
    assert [label.get_text() for label in board.get_yticklabels()][-1] == "bayes"
    assert board.get_xlabel().startswith("accuracy")
    assert len(iris.plot_calibration(["bayes"]).get_lines()) == 2
    roc = iris.plot_roc(["bayes", "guess"], "setosa")
    assert roc.get_ylabel() == "true positives (setosa)"
    _, ax = pyplot.subplots()
    assert iris.plot_roc(ax=ax) is ax
    with pytest.raises(DataError, match="no class 'rose'"):
        iris.plot_roc(label="rose")
    with pytest.raises(DataError, match="ridge has no probabilities"):
        iris.plot_calibration(["ridge"])
    with pytest.raises(DataError, match="only of classes"):
        compare(X[:, :3], X[:, 3], models=[LinearRegression()], cv=2).plot_roc()
