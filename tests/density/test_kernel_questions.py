"""Methods of a kernel density: conditions, quantiles, regions, grids and plots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mercer import KernelDensity
from mercer._errors import ColumnMismatchError, DataError, SupportError
from tests.density._rows import rows


def test_conditions_by_name_or_number() -> None:
    frame = pd.DataFrame(rows(d=3), columns=["a", "b", "c"])
    model = KernelDensity(bandwidth=[0.5, 0.6, 0.7]).fit(frame)
    by_name, by_number = model.conditional({"b": 0.3}), model.conditional({1: 0.3})
    assert by_name.columns == 2
    np.testing.assert_array_equal(by_name.log_density(rows()), by_number.log_density(rows()))
    assert by_name.sample(4, np.random.default_rng(0)).shape == (4, 2)
    for conditions, error, said in (
        ({"z": 0.0}, ColumnMismatchError, "no column 'z'"),
        ({7: 0.0}, ColumnMismatchError, "no column 7"),
        ({True: 0.0}, ColumnMismatchError, "no column True"),
        ({}, DataError, "at least one column"),
        ({"a": np.nan}, DataError, "'a' was given as nan"),
        ({"a": "high"}, DataError, "'a' was given as 'high'"),
        ([("a", 0.0)], DataError, "given by column"),
    ):
        with pytest.raises(error, match=said):
            model.conditional(conditions)


@pytest.mark.parametrize(("boundary", "outside"), [("reflect", -0.1), ("transform", 0.0)])
def test_a_condition_outside_the_bounds_names_its_column(boundary: str, outside: float) -> None:
    frame = pd.DataFrame(np.abs(rows()), columns=["age", "income"])
    model = KernelDensity(support={"income": (0, None)}, boundary=boundary).fit(frame)
    with pytest.raises(SupportError, match="'income' was given as"):
        model.conditional({"income": outside})
    assert model.conditional({"income": 0.5}).mean().shape == (1,)


def test_quantiles_regions_and_grids() -> None:
    X = rows(200, 1)
    model = KernelDensity(bandwidth="silverman-scaled").fit(X)
    q = np.array([0.05, 0.5, 0.95])
    np.testing.assert_allclose(model.cdf(model.quantile(q)[:, None]), q, rtol=1e-10)
    assert model.cdf([[-np.inf], [np.inf]]).tolist() == [0, 1]
    region = model.highest_density_region(0.9)
    assert region.contains(X).mean() == pytest.approx(0.9, abs=0.05)
    grid, density = model.on_grid(64)
    np.testing.assert_allclose(np.log(density), model.score_samples(grid[:, None]), rtol=1e-9)
    np.testing.assert_allclose(
        model.leave_one_out_log_density()[3],
        KernelDensity(bandwidth=model.bandwidth_).fit(np.delete(X, 3, axis=0)).score_samples(X[[3]])[0],
        rtol=1e-10,
    )


@pytest.mark.parametrize("n_points", [0, 1, -2, 2.5, [3, 4, 5], "many"])
def test_invalid_grids_are_rejected(n_points: Any) -> None:
    with pytest.raises(DataError, match="n_points"):
        KernelDensity().fit(rows()).on_grid(n_points)


def test_a_plot_of_one_or_two_columns() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    assert KernelDensity().fit(rows(d=1)).plot().lines
    axes = KernelDensity().fit(pd.DataFrame(rows(), columns=["a", "b"])).plot()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("a", "b")
    with pytest.raises(DataError, match="one or two"):
        KernelDensity().fit(rows(d=3)).plot()
