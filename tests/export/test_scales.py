"""Numbers beyond a scale count as its nearest level, to a model and in every language."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import NaiveBayes
from tests.export._languages import check

RNG = np.random.default_rng(0)
N = 200
GRADES = RNG.integers(0, 6, N)
NOISE = RNG.normal(size=N)
PASSED = np.where(GRADES + NOISE > 2.5, "yes", "no")
FRAME = pd.DataFrame({"grade": GRADES, "size": NOISE})
BEYOND = [-1e300, -4.0, -1.0, -0.5, 0.0, 2.5, 5.0, 5.5, 6.0, 10.0, 1e300, np.nan]


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "with gaps"])
def test_naive_bayes_with_ordered_scales(gaps: bool) -> None:
    learnt = FRAME.assign(grade=FRAME["grade"].where(np.arange(N) % 9 > 0)) if gaps else FRAME
    model = NaiveBayes(mercer.Schema.infer(learnt)).fit(learnt, PASSED)
    rows = pd.DataFrame({"grade": BEYOND, "size": 0.0})
    check(model, rows)
    nearest = model.predict_proba(rows.assign(grade=rows["grade"].clip(0, 5)))
    np.testing.assert_array_equal(model.predict_proba(rows), nearest)
    np.testing.assert_array_equal(model.predict_proba(rows)[BEYOND.index(10.0)], nearest[BEYOND.index(5.0)])
