"""Which model to use and why, in plain words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from mercer import LogisticRegression
from mercer.comparison import Comparison, Entry, compare
from mercer.comparison.results.sentences import tied

X, Y = load_iris(return_X_y=True)


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


def test_guessing_that_is_ahead_beyond_chance_is_not_called_worse(five: Comparison) -> None:
    best = reached(five, "sure", [0.80, 0.90, 0.85])
    guess = replace(reached(five, "guess", [0.55, 0.65, 0.6001]), kind="baseline")
    worse = reached(five, "nb", [1.80, 1.90, 1.8501])
    found = replace(five, entries=(best, guess, worse))
    assert found.sentences()[1].startswith("But guessing (guess) has the better log loss")
    assert found.sentences()[2] == "nb is worse beyond chance."
    also = replace(found, entries=(*found.entries, reached(five, "worst", [2.0, 2.1, 2.0501])))
    assert also.sentences()[2] == "nb and worst are worse beyond chance."
    alone = replace(five, entries=(best, guess)).sentences()
    assert not any("worse" in sentence for sentence in alone)


def of_noise() -> Comparison:
    rng = np.random.default_rng(4)
    noise, labels = rng.normal(size=(60, 2)), np.arange(60) % 2
    return compare(noise, labels, models={"sure": TooSure(), "guess": DummyClassifier()}, cv=5)


def test_luck_beats_no_guess() -> None:
    """Of models that learn from noise, half are right more often than guessing."""
    comparison = of_noise()
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


def test_who_was_not_finished_may_be_better(five: Comparison) -> None:
    assert replace(five, unfinished=("late",)).sentences()[-1] == "late was not finished, and may be better."
    assert not any("not finished" in sentence for sentence in five.sentences())


def test_nothing_beats_guessing_of_those_that_were_done() -> None:
    late = replace(of_noise(), unfinished=("lr",))
    assert "the target, but 1 model was not finished." in " ".join(late.sentences())


def test_sentences_warn_where_nothing_was_learnt() -> None:
    rng = np.random.default_rng(1)
    noise = compare(rng.normal(size=(80, 2)), np.arange(80) % 2, models=[GaussianNB(), DummyClassifier()], cv=4)
    assert any("guessing" in sentence for sentence in noise.sentences())


def reached(comparison: Comparison, name: str, losses: list[float], **what: float) -> Entry:
    scores = {metric.name: np.array(losses) for metric in comparison.task.metrics}
    return replace(comparison.entry("bayes"), name=name, scores=scores, calibration=None, **what)


def test_who_is_as_good_within_chance_and_faster_is_told(five: Comparison) -> None:
    best = reached(five, "best", [0.20, 0.30, 0.25], fit_seconds=9.0, size_bytes=100.0)
    alike = reached(five, "alike", [0.24, 0.28, 0.26], fit_seconds=1.0, size_bytes=10.0)
    # no difference is beyond chance in three splits, but this is no reason to recommend it
    erratic = reached(five, "erratic", [0.20, 9.0, 0.25], fit_seconds=0.1)
    worse = reached(five, "worse", [0.40, 0.50, 0.4501], fit_seconds=0.1)
    found = replace(five, entries=(best, alike, worse, erratic))
    assert [entry.name for entry in tied(found)] == ["alike"]
    assert found.sentences()[1] == (
        "alike may be as good: the difference is within chance, "
        "and it is fitted 9 times as fast and is 10 times smaller."
    )
    assert replace(found, entries=(best, worse, reached(five, "worst", [0.5, 0.6, 0.5501]))).sentences()[1] == (
        "Every other model is worse beyond chance."
    )


def test_who_is_not_shown_to_be_worse_is_not_called_worse(five: Comparison) -> None:
    best = reached(five, "best", [0.20, 0.30, 0.25])
    erratic, worse = reached(five, "erratic", [0.20, 9.0, 0.25]), reached(five, "worse", [0.40, 0.50, 0.4501])
    assert replace(five, entries=(best, erratic, worse)).sentences()[1] == (
        "worse is worse beyond chance; of the others, more repeats would tell."
    )


def test_a_pair_is_judged_as_in_the_table_of_differences(five: Comparison) -> None:
    """One test of several that are beyond chance by themselves is not, among them."""
    best = replace(reached(five, "lr", [0.20, 0.30, 0.25]), kind="discriminative")
    worse = replace(reached(five, "nb", [0.40, 0.55, 0.47]), kind="generative", partner="lr")
    others = [reached(five, f"other {i}", [0.5 + i, 0.5, 0.5]) for i in range(9)]
    alone, among = (replace(five, entries=(best, worse, *some)) for some in ([], others))
    assert "but not beyond chance" not in alone.sentences()[-1]
    assert "but not beyond chance" in among.sentences()[-1]


def test_figures_of_a_pair_tell_who_is_ahead(five: Comparison) -> None:
    lr = replace(reached(five, "lr", [0.48, 0.49, 0.4724]), kind="discriminative")
    nb = replace(reached(five, "nb", [0.48, 0.48, 0.4830]), kind="generative", partner="lr")
    near, level = (replace(five, entries=(lr, each)).sentences()[-1] for each in (nb, replace(nb, scores=lr.scores)))
    assert "lr is ahead on 100 training rows (log loss 0.4808 against 0.4810)" in near
    assert level.endswith("none is ahead on 100 training rows (log loss 0.481 each).")


def test_what_no_test_has_shown_is_not_told_as_a_finding(five: Comparison) -> None:
    """A single split has no p-value, and two infinite losses have no difference."""
    best = replace(reached(five, "lr", [0.2]), kind="discriminative")
    worse = replace(reached(five, "nb", [0.4]), kind="generative", partner="lr")
    guess = replace(reached(five, "guess", [0.5]), kind="baseline")
    single = replace(five, entries=(best, worse, guess), splits=five.splits[:1]).sentences()
    assert single[1] == "But a single split cannot tell whether it is better than guessing (guess) beyond chance."
    assert "lr is ahead" in single[-1]
    assert "but not beyond chance" in single[-1]
    endless = [
        replace(each, scores={**each.scores, "log_loss": np.array([0.3, np.inf, 0.2])}) for each in (best, worse)
    ]
    told = replace(five, entries=tuple(endless)).sentences()
    assert not any("Of the pair" in sentence for sentence in told)
    infinite = replace(reached(five, "nb", [0.4, np.inf, 0.3]), kind="generative", partner="lr")
    ahead = replace(five, entries=(replace(best, scores=reached(five, "", [0.2, 0.3, 0.25]).scores), infinite))
    assert "(log loss 0.250 against inf): there are rows enough" in ahead.sentences()[-1]
