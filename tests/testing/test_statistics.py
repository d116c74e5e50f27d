"""`check_statistic` accepts every statistic and finds what is wrong with a broken one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pytest
from scipy import sparse

from mercer import families as f
from mercer.data.coding import Coded
from mercer.stats import (
    BinCounts,
    ByClass,
    ColumnMoments,
    ColumnSums,
    FourthMoments,
    LevelCounts,
    PatternMoments,
    ScatterMoments,
    Statistic,
    ValueCounts,
    VectorSums,
)
from mercer.testing import check_statistic

Draw = Callable[[np.random.Generator, int], Any]
GROUPS, COLUMNS = 3, 4


def normal(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(loc=[0.0, 5.0, -300.0, 1e-3], scale=[1.0, 2.0, 50.0, 1e-4], size=(n, COLUMNS))


def with_gaps(draw: Draw) -> Draw:
    def rows(rng: np.random.Generator, n: int) -> np.ndarray:
        x = draw(rng, n).astype(float)
        return np.where(rng.random(x.shape) < 0.3, np.nan, x)

    return rows


def counts(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.poisson(2.0, size=(n, COLUMNS)).astype(float)


def bits(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(0, 2, size=(n, COLUMNS)).astype(float)


def words(rng: np.random.Generator, n: int) -> Any:
    return sparse.csr_array(rng.poisson(0.7, size=(n, COLUMNS)))


def shares(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.dirichlet(np.ones(COLUMNS), size=n)


def positive(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.gamma(2.0, size=(n, COLUMNS))


def labels(rng: np.random.Generator, n: int) -> Coded:
    known = rng.permutation(np.array(["red", "green", "blue", "never"], dtype=object))
    codes = rng.integers(-1, 4, n).astype(np.int32)
    return Coded(np.where(known[codes] == "never", -1, codes).astype(np.int32), known)


def mixed(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return normal(rng, n), labels(rng, n), words(rng, n)


def by_class() -> ByClass:
    text = VectorSums.zero(f.Multinomial(), GROUPS, COLUMNS)
    parts = (ColumnMoments.zero(GROUPS, COLUMNS), LevelCounts.zero(GROUPS), text)
    return ByClass.zero(np.array(["a", "b", "c"]), parts)


CASES: dict[str, tuple[Statistic, Draw]] = {
    "moments": (ColumnMoments.zero(GROUPS, COLUMNS), normal),
    "moments with gaps": (ColumnMoments.zero(GROUPS, COLUMNS), with_gaps(normal)),
    "moments of logarithms": (ColumnMoments.zero(GROUPS, COLUMNS, np.log), positive),
    "moments of sparse rows": (ColumnMoments.zero(GROUPS, COLUMNS), words),
    "scatter": (ScatterMoments.zero(GROUPS, COLUMNS), normal),
    "scatter of sparse rows": (ScatterMoments.zero(GROUPS, COLUMNS), words),
    "patterns, none": (PatternMoments.zero(GROUPS, COLUMNS), normal),
    "patterns": (PatternMoments.zero(GROUPS, COLUMNS), with_gaps(normal)),
    "fourth": (FourthMoments.zero(GROUPS, COLUMNS), normal),
    "bernoulli": (ColumnSums.zero(f.Bernoulli(), GROUPS, COLUMNS), bits),
    "poisson with gaps": (ColumnSums.zero(f.Poisson(), GROUPS, COLUMNS), with_gaps(counts)),
    "poisson, sparse": (ColumnSums.zero(f.Poisson(), GROUPS, COLUMNS), words),
    "gamma with gaps": (ColumnSums.zero(f.Gamma(), GROUPS, COLUMNS), with_gaps(positive)),
    "multinomial": (VectorSums.zero(f.Multinomial(), GROUPS, COLUMNS), counts),
    "multinomial, sparse": (VectorSums.zero(f.Multinomial(), GROUPS, COLUMNS), words),
    "multinomial, fractional": (VectorSums.zero(f.Multinomial(), GROUPS, COLUMNS), positive),
    "dirichlet": (VectorSums.zero(f.Dirichlet(), GROUPS, COLUMNS), shares),
    "levels": (LevelCounts.zero(GROUPS), labels),
    "levels, declared": (LevelCounts.zero(GROUPS, declared=np.array(["red", "white"], dtype=object)), labels),
    "values": (ValueCounts.zero(GROUPS, COLUMNS), with_gaps(counts)),
    "bins": (BinCounts.zero(GROUPS, COLUMNS, edges=np.linspace(-3, 3, 6)), with_gaps(normal)),
    "by class": (by_class(), mixed),
}


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_every_statistic_obeys_the_laws(case: str, weighted: bool) -> None:
    zero, draw = CASES[case]
    assert len(check_statistic(zero, draw, np.random.default_rng(3), weighted=weighted)) == 13


@dataclass(frozen=True)
class Overwriting(ColumnMoments):
    def merge(self, other: Self) -> Self:
        return other


@dataclass(frozen=True)
class Hoarding(ColumnMoments):
    def subtract(self, other: Self) -> Self:
        return replace(ColumnMoments.subtract(self, other), rows=self.rows)


@dataclass(frozen=True)
class InPlace(ColumnMoments):
    def merge(self, other: Self) -> Self:
        self.scatter[:] += other.scatter
        return ColumnMoments.merge(self, other)


@pytest.mark.parametrize(
    ("broken", "law"),
    [(Overwriting, "commutative"), (Hoarding, "remove undoes update"), (InPlace, "associative|in place")],
)
def test_a_broken_statistic_gives_an_error_naming_the_law(broken: type[ColumnMoments], law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_statistic(broken.zero(GROUPS, COLUMNS), normal, np.random.default_rng(3))
