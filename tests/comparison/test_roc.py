"""Curves over all thresholds have scikit-learn's areas."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from mercer.comparison._roc import precision_recall_points, roc_points


def test_areas_agree_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.3
    score = np.round(rng.normal(size=300) + positive, 1)
    false, true = roc_points(score, positive)
    assert np.trapezoid(true, false) == pytest.approx(roc_auc_score(positive, score))
    precision, recall, average = precision_recall_points(score, positive)
    assert average == pytest.approx(average_precision_score(positive, score))
    assert (precision[-1], recall[-1]) == (pytest.approx(positive.mean()), 1)


@pytest.mark.parametrize("positive", [np.zeros(4, bool), np.ones(4, bool)])
def test_rows_of_one_class_have_a_curve_with_both_ends(positive: np.ndarray) -> None:
    false, true = roc_points(np.array([0.1, 0.1, 0.5, 0.9]), positive)
    assert (false[0], true[0]) == (0, 0)
    assert (false[-1], true[-1]) == (float(not positive[0]), float(positive[0]))
