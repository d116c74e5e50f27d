"""Sentences besides the verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from mercer import LogisticRegression
from mercer.comparison import Comparison, compare
from mercer.data import Table
from tests.comparison.test_verdict import reached

X, Y = load_iris(return_X_y=True)


def test_sentences_name_the_pair() -> None:
    comparison = compare(X, Y, models={"nb": GaussianNB(), "lr": LogisticRegression(C=100)}, cv=3)
    text = " ".join(comparison.sentences())
    assert text.startswith(f"Use {comparison.entry().name}: ")
    assert "Of the pair nb (generative) and lr (discriminative)" in text
    assert "on 100 training rows" in text


def test_an_unfinished_model_may_be_better(five: Comparison) -> None:
    assert replace(five, unfinished=("late",)).sentences()[-1] == "late was not finished, and may be better."
    assert not any("not finished" in sentence for sentence in five.sentences())


def test_a_pair_is_judged_as_in_the_table_of_differences(five: Comparison) -> None:
    """One test of several that are beyond chance by themselves is not, among them."""
    best = replace(reached(five, "lr", [0.80, 0.90, 0.85]), kind="discriminative")
    worse = replace(reached(five, "nb", [0.90, 1.03, 0.96]), kind="generative", partner="lr")
    others = [reached(five, f"other {i}", [1.5 + i, 1.0, 1.0]) for i in range(9)]
    alone, among = (replace(five, entries=(best, worse, *some)) for some in ([], others))
    assert "but not beyond chance" not in alone.sentences()[-1]
    assert "but not beyond chance" in among.sentences()[-1]


def test_figures_of_a_pair_show_the_leading_model(five: Comparison) -> None:
    lr = replace(reached(five, "lr", [0.48, 0.49, 0.4724]), kind="discriminative")
    nb = replace(reached(five, "nb", [0.48, 0.48, 0.4830]), kind="generative", partner="lr")
    near, level = (replace(five, entries=(lr, each)).sentences()[-1] for each in (nb, replace(nb, scores=lr.scores)))
    assert "lr is ahead on 100 training rows (log loss 0.4808 against 0.4810)" in near
    assert level.endswith("neither is ahead on 100 training rows (log loss 0.481 each).")


def test_an_untested_difference_is_not_reported_as_a_finding(five: Comparison) -> None:
    """A single split has no p-value, and two infinite losses have no difference."""
    best = replace(reached(five, "lr", [0.2]), kind="discriminative")
    worse = replace(reached(five, "nb", [0.4]), kind="generative", partner="lr")
    single = replace(five, entries=(best, worse), splits=five.splits[:1]).sentences()
    assert "lr is ahead" in single[-1]
    assert "but not beyond chance" in single[-1]
    endless = [
        replace(each, scores={**each.scores, "log_loss": np.array([0.3, np.inf, 0.2])}) for each in (best, worse)
    ]
    sentences = replace(five, entries=tuple(endless)).sentences()
    assert not any("Of the pair" in sentence for sentence in sentences)
    infinite = replace(reached(five, "nb", [0.4, np.inf, 0.3]), kind="generative", partner="lr")
    ahead = replace(five, entries=(replace(best, scores=reached(five, "", [0.2, 0.3, 0.25]).scores), infinite))
    assert "(log loss 0.250 against inf): there are enough rows" in ahead.sentences()[-1]


def test_fewer_rows_than_columns_are_not_called_enough(five: Comparison) -> None:
    best = replace(reached(five, "lr", [0.20, 0.21, 0.22]), kind="discriminative")
    worse = replace(reached(five, "nb", [0.90, 0.91, 0.92]), kind="generative", partner="lr")
    found = replace(five, entries=(best, worse))
    assert "there are enough rows to learn the boundary itself" in found.sentences()[-1]
    wide = replace(found, table=Table.of(np.zeros((150, 101))))
    assert wide.sentences()[-1].endswith("lr is ahead on 100 training rows (log loss 0.210 against 0.910).")
