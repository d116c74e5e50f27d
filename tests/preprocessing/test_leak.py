"""A target among the features is found, under its own labels or others."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from mercer import TableFeatures
from mercer._errors import TargetLeakError, TargetLeakWarning
from tests.preprocessing._frame import FRAME


@pytest.mark.parametrize("relabelled", [False, True])
def test_a_target_that_is_a_feature_is_named(relabelled: bool) -> None:
    y = np.where(FRAME.member, "in", "out") if relabelled else FRAME.member
    with pytest.warns(TargetLeakWarning, match=r"Column 'member' is the target.*exclude=\['member'\]"):
        TableFeatures().fit(FRAME, y)
    with pytest.raises(TargetLeakError, match="'member'"):
        TableFeatures(on_leak="error").fit(FRAME, y)
    TableFeatures(on_leak="ignore").fit(FRAME, y)
    TableFeatures(exclude=["member"]).fit(FRAME, y)


def test_a_leak_is_searched_in_all_rows() -> None:
    y = np.repeat([0, 1, 2], 2000)
    with pytest.warns(TargetLeakWarning, match="'x0' is the target"):
        TableFeatures().fit(np.where(y == 2, 7, y)[:, None], y)
    near = y.copy()
    near[1] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableFeatures().fit(near[:, None], y)


def test_a_column_of_distinct_values_does_not_rename_the_target(rng: np.random.Generator) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableFeatures().fit(pd.DataFrame({"x": rng.normal(size=30)}), rng.normal(size=30))
        TableFeatures().fit([[0], [1]], [0, 1])
