"""The recommended model, the rule, and the sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.naive_bayes import GaussianNB

from mercer import LinearRegression, Ridge
from mercer.base.diagnosis import Finding
from mercer.comparison import Comparison, Entry, compare
from mercer.comparison._verdict import find_within_chance
from mercer.comparison._view import View

X, Y = load_iris(return_X_y=True)
REGRESSORS = {"ridge": Ridge(), "nothing": DummyRegressor()}


class TooSure(GaussianNB):  # type: ignore[misc]
    """Decides well, with probabilities that are too extreme."""

    def predict_log_proba(self, X: Any) -> Any:
        return 1e4 * super().predict_log_proba(X)


def reached(comparison: Comparison, name: str, losses: list[float], **what: Any) -> Entry:
    """An entry with these values of every measure."""
    scores = {metric.name: np.array(losses) for metric in comparison.task.metrics}
    settings = {"calibration": None, "additive": True, "obstacle": None, "by_unit": {}, "signal": {}, **what}
    return replace(comparison.entry("bayes"), name=name, scores=scores, **settings)


def test_the_simplest_model_within_chance_is_recommended(five: Comparison) -> None:
    """Exact explanations come before exports, exports before size, size before score."""
    top = reached(five, "top", [0.20, 0.30, 0.25], additive=False, obstacle="It is a kernel machine.", size_bytes=10.0)
    plain = reached(five, "plain", [0.24, 0.28, 0.26], size_bytes=1000.0)
    small = reached(five, "small", [0.25, 0.29, 0.27], size_bytes=100.0)
    smallest = reached(five, "smallest", [0.26, 0.29, 0.27], size_bytes=9.0)
    verdict = replace(five, entries=(top, plain)).verdict()
    assert (verdict.best, verdict.top, verdict.runner_up) == (plain, top, top)
    assert "It is the simplest of the 2 models within chance of the best score, which top has" in verdict.sentences[1]
    assert "explained exactly and it can be exported" in verdict.sentences[1]
    assert replace(five, entries=(top, plain, small)).verdict().best is plain  # not ten times as large
    assert replace(five, entries=(top, plain, smallest)).verdict().best is smallest
    blocked, long = replace(plain, obstacle="Dates."), replace(plain, long_export="Its export is long: 88,790 terms.")
    assert replace(five, entries=(top, long, small)).verdict().best is small
    assert replace(five, entries=(top, replace(blocked, size_bytes=9.0), long)).verdict().best is long
    chosen = replace(five, entries=(replace(top, additive=True, obstacle=None, long_export="It is."), plain)).verdict()
    assert chosen.best is plain
    assert "its export is short" in chosen.sentences[1]
    assert replace(five, entries=(top, blocked, small)).verdict().best is small
    assert replace(five, entries=(top, blocked)).verdict().best is blocked
    chosen = replace(five, entries=(top, plain))
    assert chosen.entry() is plain
    assert View(chosen).learning == (plain, top)  # as sections show them


def test_the_only_model_that_beats_the_baseline_is_named(five: Comparison) -> None:
    guess = replace(reached(five, "guess", [0.85, 0.85, 0.85]), kind="baseline")
    top = reached(five, "top", [0.10, 0.80, 0.45])  # the best on average, but not beyond chance
    sure = reached(five, "sure", [0.48, 0.47, 0.46])
    verdict = replace(five, entries=(top, sure, guess)).verdict()
    assert verdict.best is sure
    assert verdict.sentences[1] == (
        "It is the only model within chance of the best score that beats the baseline beyond chance; top, which has "
        "the best score (log loss 0.450 against 0.470), does not."
    )


def test_a_simpler_model_must_keep_most_of_the_gain(five: Comparison) -> None:
    best = reached(five, "best", [0.20, 0.30, 0.25], additive=False)
    guess = replace(reached(five, "guess", [0.80, 0.90, 0.85]), kind="baseline")
    near = reached(five, "near", [0.22, 0.31, 0.28])
    far = reached(five, "far", [0.22, 0.45, 0.32])
    # no difference is beyond chance in three splits, but this is not a reason to recommend it
    erratic = reached(five, "erratic", [0.20, 9.0, 0.25])
    worse = reached(five, "worse", [0.40, 0.50, 0.4501])
    found = replace(five, entries=(best, near, far, worse, erratic, guess))
    within = find_within_chance(found, found.metric(), list(found.entries[:-1]))
    assert [entry.name for entry in within] == ["best", "near"]
    assert found.verdict().best is near
    without = replace(five, entries=(best, near, far, worse, erratic))  # nothing to measure the gain by
    assert [entry.name for entry in find_within_chance(without, without.metric(), list(without.entries))] == [
        "best",
        "near",
        "far",
    ]


def test_a_runner_up_is_named(five: Comparison) -> None:
    best = reached(five, "best", [0.20, 0.30, 0.25])
    worse, worst = reached(five, "worse", [0.40, 0.50, 0.4501]), reached(five, "worst", [0.5, 0.6, 0.5501])
    verdict = replace(five, entries=(best, worse, worst)).verdict()
    assert verdict.runner_up is worse
    assert verdict.sentences[0].startswith("Use best: log loss 0.250 on rows that it was not fitted to")
    assert (
        verdict.sentences[1] == "It has the best score; the runner-up, worse, has log loss 0.450, worse beyond chance."
    )
    alike = reached(five, "alike", [0.24, 0.28, 0.26])
    assert replace(five, entries=(best, alike)).verdict().sentences[1] == (
        "It has the best score; alike may be about as good, and is not simpler."
    )


def test_limitations_of_the_model_are_listed(five: Comparison) -> None:
    only = reached(five, "only", [0.2, 0.3, 0.25], additive=False, obstacle="It is a kernel machine.")
    *_, explained, exported = replace(five, entries=(only,)).verdict().sentences
    assert explained.startswith("It is not a sum over columns")
    assert exported == "It is a kernel machine."
    long = reached(five, "long", [0.2, 0.3, 0.25], long_export="Its export is long: 88,790 terms.")
    assert replace(five, entries=(long,)).verdict().sentences[-1] == "Its export is long: 88,790 terms."


def test_the_reference_is_compared_with_the_recommended_model(five: Comparison) -> None:
    best = reached(five, "best", [0.20, 0.30, 0.25])
    better = replace(reached(five, "trees", [0.10, 0.20, 0.1501]), kind="reference")
    alike = replace(reached(five, "trees", [0.21, 0.28, 0.26]), kind="reference")
    costs, chance = (replace(five, entries=(best,), reference=each) for each in (better, alike))
    assert costs.verdict().sentences[-1].startswith("The reference, trees, has log loss 0.150: best costs 0.100")
    assert (
        chance.verdict().sentences[-1] == "The reference, trees, has log loss 0.250: the difference is within chance."
    )
    assert costs.verdict().best is best
    assert [row[0] for row in costs.leaderboard().rows] == ["trees (reference)", "best"]
    assert costs.entry("trees") is better
    assert not any(row[0] == "trees" for row in costs.differences().rows)


def test_guessing_is_not_recommended_if_a_model_decides_better() -> None:
    comparison = compare(X, Y, models={"sure": TooSure(), "guess": DummyClassifier()}, cv=3)
    assert comparison.entry("sure").mean("log_loss") > comparison.entry("guess").mean("log_loss")
    verdict = comparison.verdict()
    assert verdict.best is not None
    assert verdict.best.name == "sure"
    assert any(
        sentence.startswith("It is right more often than guessing (guess) beyond chance")
        for sentence in verdict.sentences
    )


def of_noise() -> Comparison:
    rng = np.random.default_rng(4)
    noise, labels = rng.normal(size=(60, 2)), np.arange(60) % 2
    return compare(noise, labels, models={"sure": TooSure(), "guess": DummyClassifier()}, cv=5)


def test_nothing_is_recommended_on_noise() -> None:
    """Half of the models that learn from noise are right more often than guessing."""
    comparison = of_noise()
    verdict = comparison.verdict()
    assert verdict.best is None
    assert verdict.sentences[0].startswith("No model is recommended: none beats guessing without the columns (guess")
    late = replace(comparison, unfinished=("lr",)).verdict()
    assert late.sentences[0].endswith("lr was not finished.")
    assert late.sentences[1].startswith("Give more time")
    forward = replace(comparison, settings={"splits": "forward in time"}).verdict()
    assert "--repeats" in verdict.sentences[1]
    assert "its values in earlier rows" in forward.sentences[1]
    assert comparison.entry().name == "guess"  # the first by score


def test_nothing_is_recommended_on_noise_without_a_listed_baseline() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=90), "b": rng.normal(size=90)})
    for y, baseline in ((rng.normal(size=90), "DummyRegressor"), (np.arange(90) % 2, "DummyClassifier")):
        names = ["KNeighborsRegressor", "Ridge"] if baseline == "DummyRegressor" else ["GaussianNB"]
        found = compare(X, y, models=names, cv=3)
        assert len(found.entries) == len(names)
        assert baseline not in found.names
        verdict = found.verdict()
        assert verdict.best is None
        assert verdict.baseline is found.baseline is found.entry(baseline)
        assert verdict.sentences[0].startswith(
            f"No model is recommended: none beats guessing without the columns ({baseline}"
        )
    good = compare(X, X["a"] + 0.1 * y, models={"DummyRegressor": Ridge()}, cv=3)
    assert good.verdict().best is good.entries[0]
    assert good.baseline is not None
    assert good.baseline.name == "DummyRegressor (baseline)"
    assert compare(X, y, models={"sure": TooSure(), "guess": DummyClassifier()}, cv=3).unlisted_baseline is None


def test_a_baseline_that_is_not_listed_does_not_hide_a_model_that_decides_better() -> None:
    (only,) = (comparison := compare(X, Y, models={"sure": TooSure()}, cv=3)).entries
    assert comparison.baseline is not None
    assert only.mean("log_loss") > comparison.baseline.mean("log_loss")
    assert comparison.verdict().best is only
    assert any("guessing (DummyClassifier) beyond chance" in each for each in comparison.verdict().sentences)


def test_scores_that_are_not_finite_recommend_nothing(five: Comparison) -> None:
    endless = [reached(five, name, [0.3, np.inf, 0.2]) for name in ("one", "other")]
    verdict = replace(five, entries=tuple(endless)).verdict()
    assert verdict.best is None
    assert verdict.sentences[0].startswith("No model is recommended: no log loss is finite.")


def test_models_that_were_not_finished_are_not_called_useless() -> None:
    """A comparison in which only the baseline was done in time is not evidence about the columns."""
    guess = compare(X, Y, models={"guess": DummyClassifier()}, cv=3)
    late = replace(guess, unfinished=("bayes", "lr"))
    (sentence,) = late.sentences()
    assert sentence.startswith("Only guessing without the columns (guess) was scored: bayes and lr were not")
    failed = replace(guess, entries=(*guess.entries, replace(guess.entry(), name="nb", kind="generative", failed=True)))
    assert failed.sentences()[0].endswith("nb could not be fitted; the notes say why.")


def test_a_single_split_shows_no_difference(five: Comparison) -> None:
    best, guess = reached(five, "lr", [0.2]), replace(reached(five, "guess", [0.5]), kind="baseline")
    single = replace(five, entries=(best, guess), splits=five.splits[:1]).verdict()
    assert single.best is best
    assert "A single split cannot show whether it beats the baseline beyond chance." in single.sentences


def test_a_classifier_without_probabilities_is_recommended_if_others_do_not_beat_the_baseline(
    five: Comparison,
) -> None:
    def scored(name: str, loss: list[float], accuracy: list[float], **what: Any) -> Entry:
        entry = reached(five, name, loss, **what)
        return replace(entry, scores={**entry.scores, "accuracy": np.array(accuracy)})

    guess = scored("guess", [0.30, 0.31, 0.32], [0.6, 0.61, 0.6], kind="baseline")
    sure = scored("sure", [5.0, 6.0, 5.5], [0.5, 0.52, 0.51], probabilistic=True)
    rule = scored("rule", [np.nan] * 3, [0.8, 0.81, 0.8], probabilistic=False)
    verdict = replace(five, entries=(guess, sure, rule)).verdict()
    assert verdict.best is rule
    assert verdict.metric.name == "accuracy"
    assert verdict.sentences[0].startswith("Use rule: accuracy 0.803")


def test_scores_have_the_unit_of_the_target() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(100, 200, size=90)
    priced = [f"${value:,.0f}" for value in 1000 * x + 4000 * rng.normal(size=90)]
    found = compare(pd.DataFrame({"x": x, "price": priced}), "price", models=REGRESSORS, cv=3)
    first = found.verdict().sentences[0]
    assert f"RMSE ${found.entry('ridge').mean('rmse'):,.0f}" in first
    assert f"the baseline, nothing, has RMSE ${found.entry('nothing').mean('rmse'):,.0f}" in first
    headings = [field.heading for field in found.leaderboard().fields]
    assert headings[1:4] == ["RMSE ($)", "share explained", "MAE ($)"]


def test_an_error_that_is_rounding_is_zero() -> None:
    X = np.random.default_rng(0).normal(size=(60, 1))
    found = compare(X, 3 * X[:, 0] + 1, models={"least squares": LinearRegression(), **REGRESSORS}, cv=3)
    sentence = next(each for each in found.verdict().sentences if each.startswith("Use"))
    assert sentence.startswith("Use least squares: RMSE 0 on rows")


def test_a_model_with_impossible_predictions_is_replaced_by_a_close_one() -> None:
    """Amounts below 0 are impossible, too; where every other model is far behind, the next one without is named."""
    rng = np.random.default_rng(0)
    found = compare(rng.normal(size=(40, 2)), np.exp(rng.normal(size=40)), models=REGRESSORS, cv=3, task="amounts")

    def amounts(name: str, losses: list[float], **what: Any) -> Entry:
        scores = {metric.name: np.array(losses) for metric in found.task.metrics}
        settings = {"additive": True, "obstacle": None, "impossible": 0, "by_unit": {}, "signal": {}, **what}
        return replace(found.entry("ridge"), name=name, scores=scores, **settings)

    guess = amounts("guess", [0.85, 0.86, 0.87], kind="baseline")
    below = amounts("below", [0.20, 0.21, 0.22], impossible=3)
    near, far = amounts("near", [0.25, 0.26, 0.27]), amounts("far", [0.50, 0.51, 0.52])
    verdict = replace(found, entries=(below, near, guess)).verdict()
    assert verdict.best is near
    assert "all of its predictions are possible" in verdict.sentences[1]
    verdict = replace(found, entries=(below, far, guess)).verdict()
    assert verdict.best is below
    assert verdict.sentences[-1] == (
        "Its prediction is impossible for 3 of the held-out rows; far, the best model without such predictions, has "
        "RMSE 0.510."
    )
    behind = amounts("behind", [0.39, 0.40, 0.41])  # 29 % of the gain, and 3 of 40 rows are more than 1 %
    verdict = replace(found, entries=(below, behind, guess)).verdict()
    assert verdict.best is behind
    assert verdict.sentences[1] == (
        "below has the best score (RMSE 0.210 against 0.400), but its prediction is impossible for 3 of the held-out "
        "rows; of the models near it this is the simplest, and all of its predictions are possible."
    )
    # no difference from an erratic model is beyond chance, but this is not a reason to prefer it
    erratic = amounts("erratic", [0.21, 0.90, 0.35])
    few = [(train, np.repeat(test, 10)) for train, test in found.splits]
    for splits in (found.splits, few):
        verdict = replace(found, entries=(below, erratic, guess), splits=splits).verdict()
        assert verdict.best is below
        assert "erratic, the best model without such predictions, has RMSE 0.487" in verdict.sentences[-1]
    many = tuple((train, np.repeat(test, 10)) for train, test in found.splits)
    assert replace(found, entries=(below, behind, guess), splits=many).verdict().best is below


def test_a_model_of_impossible_counts_is_recommended_only_if_no_other_beats_the_baseline() -> None:
    rng = np.random.default_rng(0)
    found = compare(rng.normal(size=(40, 2)), rng.poisson(2.0, size=40), models=REGRESSORS, cv=3, task="counts")

    def counts(name: str, losses: list[float], **what: Any) -> Entry:
        scores = {metric.name: np.array(losses) for metric in found.task.metrics}
        settings = {"additive": True, "obstacle": None, "impossible": 0, "by_unit": {}, "signal": {}, **what}
        return replace(found.entry("ridge"), name=name, scores=scores, **settings)

    guess = counts("guess", [0.85, 0.86, 0.87], kind="baseline")
    below = counts("below", [0.20, 0.21, 0.22], impossible=3)
    far, useless = counts("far", [0.50, 0.51, 0.52]), counts("useless", [0.86, 0.84, 0.88])
    verdict = replace(found, entries=(below, far, guess)).verdict()
    assert verdict.best is far
    assert verdict.sentences[1] == (
        "below has the best score (deviance 0.210 against 0.510), but its prediction is impossible for 3 of the "
        "held-out rows; this is the simplest of the models within chance of the best score among those whose "
        "predictions are all possible."
    )
    verdict = replace(found, entries=(below, useless, guess)).verdict()
    assert verdict.best is below
    assert verdict.sentences[-1].startswith("Its prediction is impossible for 3 of the held-out rows; useless, the")
    # no possible model within chance beats the baseline, but one with impossible predictions does
    erratic = counts("erratic", [0.21, 0.90, 0.20])
    assert replace(found, entries=(below, erratic, guess)).verdict().best is below


def test_a_negligible_difference_does_not_justify_a_complex_model(five: Comparison) -> None:
    """With many rows it is beyond chance, and with few 10 % of the gain are less than its error."""
    guess = reached(five, "guess", [0.85, 0.86, 0.87], kind="baseline")
    complex_ = reached(five, "complex", [0.200, 0.210, 0.220], additive=False)
    plain = reached(five, "plain", [0.203, 0.213, 0.223])
    assert replace(five, entries=(complex_, plain, guess)).verdict().best is plain
    assert five.differences().rows
    noisy = reached(five, "noisy", [0.35, 0.10, 0.45], additive=False)
    level = reached(five, "level", [0.37, 0.36, 0.38])
    assert replace(five, entries=(noisy, level, guess)).verdict().best is level


def test_a_model_that_is_worse_beyond_chance_is_not_called_about_as_good(five: Comparison) -> None:
    """The sentence agrees with the table of differences where a model gives up less than 1 % of the gain."""
    guess = reached(five, "guess", [0.85, 0.86, 0.87], kind="baseline")
    best = reached(five, "best", [0.2000, 0.2100, 0.2200])
    close = reached(five, "close", [0.2010, 0.2110, 0.22101])  # always by 0.001
    level = reached(five, "level", [0.2100, 0.1990, 0.2230])
    found = replace(five, entries=(best, close, guess))
    assert found.differences().rows[0][-1] == "yes"
    assert found.verdict().best is best
    assert found.verdict().sentences[1] == (
        "It has the best score; close is worse beyond chance, but gives up at most 1% of the gain over the baseline."
    )
    both = replace(five, entries=(best, level, close, guess))
    assert [row[-1] for row in both.differences().rows] == ["no", "yes", "yes"]
    assert both.verdict().sentences[1] == (
        "It has the best score; level may be about as good, and is not simpler; close is worse beyond chance, but "
        "gives up at most 1% of the gain over the baseline."
    )
    tangled = replace(best, additive=False)
    assert replace(five, entries=(tangled, close, guess)).verdict().sentences[1] == (
        "best has the best score (log loss 0.210 against 0.211), beyond chance, but close gives up at most 1% of the "
        "gain over the baseline and is simpler: its predictions are explained exactly."
    )


def test_models_about_as_good_are_not_named_where_columns_reveal_the_target(five: Comparison) -> None:
    best, level = reached(five, "best", [0.200, 0.210, 0.220]), reached(five, "level", [0.21, 0.199, 0.223])
    found = replace(five, entries=(best, level))
    found._problems = [Finding("MRC103", "error", "petal reveals the target.", "Leave it out.", columns=("petal",))]
    assert found.verdict().best is best
    assert not any("about as good" in sentence for sentence in found.verdict().sentences)


def test_the_models_that_the_simplest_is_chosen_from_are_described_as_in_the_table(five: Comparison) -> None:
    """Models with impossible predictions, and those too far behind, are within chance of the table of differences."""
    rng = np.random.default_rng(0)
    numbers = compare(rng.normal(size=(40, 2)), rng.normal(size=40), models=REGRESSORS, cv=3)

    def reached_numbers(name: str, losses: list[float], **what: Any) -> Entry:
        scores = {metric.name: np.array(losses) for metric in numbers.task.metrics}
        settings = {"additive": True, "obstacle": None, "impossible": 0, "by_unit": {}, "signal": {}, **what}
        return replace(numbers.entry("ridge"), name=name, scores=scores, **settings)

    guess = reached_numbers("guess", [0.85, 0.86, 0.87], kind="baseline")
    top = reached_numbers("top", [0.20, 0.30, 0.25], impossible=3)
    level = reached_numbers("level", [0.21, 0.29, 0.26], impossible=2)
    possible = reached_numbers("possible", [0.24, 0.28, 0.26])
    verdict = replace(numbers, entries=(top, level, possible, guess)).verdict()
    assert verdict.best is possible
    assert verdict.sentences[1] == (
        "It is the only model within chance of the best score whose predictions are all possible. top has the best "
        "score (RMSE 0.250 against 0.260), but its prediction is impossible for 3 of the held-out rows."
    )
    best = reached(five, "best", [0.20, 0.30, 0.25], additive=False)
    near = reached(five, "near", [0.22, 0.31, 0.28])
    erratic = reached(five, "erratic", [0.20, 0.9, 0.35])
    guess = reached(five, "guess", [0.80, 0.90, 0.85], kind="baseline")
    found = replace(five, entries=(best, near, erratic, guess))
    assert [row[-1] for row in found.differences().rows] == ["no", "no", "yes"]
    assert (
        "the simplest of the 2 models within chance of the best score and near it: its" in found.verdict().sentences[1]
    )
