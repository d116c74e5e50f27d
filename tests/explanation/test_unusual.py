"""The most unusual row is found, with the columns in which it is unusual."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer._errors import DataError
from mercer.data import Table
from mercer.explanation.unusual import unusual_rows


def mixed(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(10, 2, n),
            "weight": rng.normal(50, 5, n),
            "colour": rng.choice(["red", "blue"], n),
            "visits": rng.integers(0, 2, n),
        }
    )
    frame.loc[3, "weight"] = np.nan
    frame.loc[17, "size"] = 60.0
    return frame


def test_the_unusual_row_comes_first_with_its_unusual_column() -> None:
    found = unusual_rows(Table.of(mixed()), most=5)
    assert found.rows[0] == 17
    assert found.odd[0][0] == "size"
    assert found.scores.tolist() == sorted(found.scores.tolist())
    assert "naive Bayes" in found.description
    assert not found.flagged.any()
    assert len(found.rows) == 5


def test_a_few_complete_columns_of_numbers_are_described_together() -> None:
    """The pair of values is unusual, but neither value alone."""
    x = np.random.default_rng(1).normal(size=300)
    X = np.column_stack([x, x + 0.05 * np.random.default_rng(2).normal(size=300)])
    X[40] = [1.5, -1.5]
    found = unusual_rows(Table.of(X), most=3)
    assert found.rows[0] == 40
    assert "kernel density" in found.description


def test_p_values_are_ranks_and_reproducible() -> None:
    table = Table.of(mixed())
    found, again = unusual_rows(table, most=None), unusual_rows(table, most=None)
    assert sorted(found.rows.tolist()) == list(range(200))
    np.testing.assert_array_equal(found.p_values, again.p_values)
    assert found.p_values.min() == pytest.approx(1 / 100)
    assert found.p_values.max() == 1


def test_rows_are_compared_with_usual_ones() -> None:
    usual = mixed(600).drop(index=17)
    rows = mixed()[10:30]
    found = unusual_rows(Table.of(rows), reference=Table.of(usual), fdr=0.1)
    assert found.rows[0] == 7
    assert found.flagged.tolist() == [True] + [False] * 19
    assert "10%" in found.description


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_a_missing_value_is_not_unusual_in_any_unit(unit: float) -> None:
    """A missing value has density 1; values have larger densities in small units and smaller ones in large units."""
    frame = mixed()
    frame["weight"] *= unit
    frame.loc[100:150, "weight"] = np.nan
    frame.loc[3, "size"] = -30.0
    frame.loc[5, "weight"] = 90 * unit
    found = unusual_rows(Table.of(frame), most=None)
    odd = dict(zip(found.rows.tolist(), found.odd, strict=True))
    assert odd[3] == ["size"]
    assert odd[5] == ["weight"]
    assert not any("weight" in odd[row] for row in range(100, 151))


def test_a_small_share_is_not_rounded_to_zero() -> None:
    found = unusual_rows(Table.of(mixed()), reference=Table.of(mixed()), fdr=0.001).description
    assert "at most 0.1% are usual" in found


def test_tables_without_a_density_are_rejected() -> None:
    with pytest.raises(DataError, match="sparse"):
        unusual_rows(Table.of(sparse.csr_matrix(np.eye(4))))
    with pytest.raises(DataError, match="no column"):
        unusual_rows(Table.of(pd.DataFrame({"name": [f"person number {i} of many" for i in range(40)]})))
