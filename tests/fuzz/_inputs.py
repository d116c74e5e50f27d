"""Rows, targets and weights of every kind, each described by words and a seed, so that a failure prints its input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
import numpy as np
import scipy.sparse as sp

Array = Any
Draw = Callable[[np.random.Generator, int, int], Array]


def _collinear(rng: np.random.Generator, n: int, d: int) -> Array:
    few = rng.normal(size=(n, max(1, d // 2)))
    return few @ rng.integers(-2, 3, size=(few.shape[1], d))


def _with_invalid_values(values: Array, rng: np.random.Generator, by: float, share: float = 0.2) -> Array:
    values = np.array(values, dtype=float)
    values[rng.random(values.shape) < share] = by
    return values


def _with_column(values: Array, filling: float) -> Array:
    values = np.array(values, dtype=float)
    values[:, :1] = filling
    return values


VALUES: dict[str, Draw] = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "counts": lambda rng, n, d: rng.poisson(2.0, size=(n, d)),
    "binary": lambda rng, n, d: rng.integers(0, 2, size=(n, d)),
    "positive": lambda rng, n, d: rng.gamma(2.0, size=(n, d)),
    "mostly zero": lambda rng, n, d: rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.2),
    "duplicate rows": lambda rng, n, d: rng.normal(size=(n, d))[rng.integers(0, max(1, n // 3), size=n)],
    "offset": lambda rng, n, d: rng.normal(size=(n, d)) + 1e8,
    "huge": lambda rng, n, d: rng.normal(size=(n, d)) * 1e150,
    "tiny": lambda rng, n, d: rng.normal(size=(n, d)) * 1e-150,
    "denormal": lambda rng, n, d: rng.integers(-3, 4, size=(n, d)) * 5e-324,
    "mixed scales": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.integers(-150, 151, size=d),
    "largest": lambda rng, n, d: rng.choice([-1.0, 0.0, 1.0], size=(n, d)) * np.finfo(float).max,
    "constant": lambda rng, n, d: np.full((n, d), 3.0),
    "zeros": lambda rng, n, d: np.zeros((n, d)),
    "a constant column": lambda rng, n, d: _with_column(rng.normal(size=(n, d)), 7.0),
    "collinear": _collinear,
    "gaps": lambda rng, n, d: _with_invalid_values(rng.normal(size=(n, d)), rng, np.nan),
    "a column of gaps": lambda rng, n, d: _with_column(rng.normal(size=(n, d)), np.nan),
    "infinite": lambda rng, n, d: _with_invalid_values(rng.normal(size=(n, d)), rng, np.inf, 0.1),
    "negatively infinite": lambda rng, n, d: _with_column(rng.normal(size=(n, d)), -np.inf),
}
TAME_VALUES = ("normal", "counts", "binary", "positive", "mostly zero", "duplicate rows")

DTYPES = (
    "float64", "float32", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint64", "bool", "object",
)  # fmt: skip

DENSE = ("C", "Fortran", "strided", "reversed", "read-only", "list")
SPARSE = (
    "csr_matrix", "csr_array", "csc_matrix", "csc_array", "coo_array", "bsr_array", "lil_matrix", "dok_array",
    "dia_array", "long indices", "unsorted", "entries twice", "explicit zeros",
)  # fmt: skip
FRAMES = ("pandas", "pandas nullable", "pandas categories", "polars", "pyarrow")
TAME_FRAMES = ("pandas", "polars", "pyarrow")  # in which numbers are not categories, for models that distinguish them

LABELS: dict[str, Draw] = {
    "two": lambda rng, n, k: rng.integers(0, 2, size=n),
    "three": lambda rng, n, k: rng.integers(0, 3, size=n),
    "many": lambda rng, n, k: rng.integers(0, max(1, n), size=n),
    "one": lambda rng, n, k: np.zeros(n, dtype=int),
    "words": lambda rng, n, k: np.array(["yes", "no", "perhaps ü"])[rng.integers(0, 3, size=n)],
    "objects": lambda rng, n, k: np.array(["a", "b"], dtype=object)[rng.integers(0, 2, size=n)],
    "truths": lambda rng, n, k: rng.random(n) < 0.5,
    "floats": lambda rng, n, k: rng.integers(0, 2, size=n) * 1.0,
    "far apart": lambda rng, n, k: rng.choice([-(2**40), 5, 2**40], size=n),
    "bytes": lambda rng, n, k: rng.integers(0, 2, size=n).astype(np.uint8),
    "continuous": lambda rng, n, k: rng.normal(size=n),
    "missing": lambda rng, n, k: np.array([0.0, 1.0, np.nan])[rng.integers(0, 3, size=n)],
    "none": lambda rng, n, k: np.array(["a", None], dtype=object)[rng.integers(0, 2, size=n)],
    "mixed": lambda rng, n, k: np.array(["a", 1], dtype=object)[rng.integers(0, 2, size=n)],
    "short": lambda rng, n, k: rng.integers(0, 2, size=max(0, n - 1)),
    "two columns": lambda rng, n, k: rng.integers(0, 2, size=(n, 2)),
    "one column": lambda rng, n, k: rng.integers(0, 2, size=(n, 1)),
}
TAME_LABELS = ("two", "three", "words", "objects", "truths")

RESPONSES: dict[str, Draw] = {
    "normal": lambda rng, n, k: rng.normal(size=n),
    "positive": lambda rng, n, k: rng.gamma(2.0, size=n) + 0.1,
    "counts": lambda rng, n, k: rng.poisson(2.0, size=n),
    "constant": lambda rng, n, k: np.full(n, 2.5),
    "zeros": lambda rng, n, k: np.zeros(n),
    "offset": lambda rng, n, k: rng.normal(size=n) + 1e8,
    "huge": lambda rng, n, k: rng.normal(size=n) * 1e150,
    "tiny": lambda rng, n, k: rng.normal(size=n) * 1e-150,
    "denormal": lambda rng, n, k: rng.integers(0, 4, size=n) * 5e-324,
    "single": lambda rng, n, k: rng.normal(size=n).astype(np.float32),
    "truths": lambda rng, n, k: rng.random(n) < 0.5,
    "objects": lambda rng, n, k: rng.normal(size=n).astype(object),
    "missing": lambda rng, n, k: _with_invalid_values(rng.normal(size=n), rng, np.nan),
    "infinite": lambda rng, n, k: _with_invalid_values(rng.normal(size=n), rng, np.inf),
    "words": lambda rng, n, k: np.array(["yes", "no"])[rng.integers(0, 2, size=n)],
    "short": lambda rng, n, k: rng.normal(size=max(0, n - 1)),
    "two columns": lambda rng, n, k: rng.normal(size=(n, 2)),
    "one column": lambda rng, n, k: rng.normal(size=(n, 1)),
}
TAME_RESPONSES = ("normal", "positive", "counts")

WEIGHTS: dict[str, Draw] = {
    "absent": lambda rng, n, k: None,
    "ones": lambda rng, n, k: np.ones(n),
    "integers": lambda rng, n, k: rng.integers(1, 4, size=n),
    "some zero": lambda rng, n, k: rng.integers(0, 2, size=n) * 1.0,
    "random": lambda rng, n, k: rng.random(n),
    "huge": lambda rng, n, k: rng.random(n) * 1e150,
    "tiny": lambda rng, n, k: rng.random(n) * 1e-150,
    "zeros": lambda rng, n, k: np.zeros(n),
    "negative": lambda rng, n, k: rng.normal(size=n),
    "missing": lambda rng, n, k: _with_invalid_values(np.ones(n), rng, np.nan),
    "infinite": lambda rng, n, k: _with_invalid_values(np.ones(n), rng, np.inf),
    "short": lambda rng, n, k: np.ones(max(0, n - 1)),
}


@dataclass(frozen=True)
class Case:
    """Input of a fit in words; `X`, `y` and `weight` generate it, identically at every call."""

    rows: int
    columns: int
    values: str = "normal"
    dtype: str = "float64"
    form: str = "C"
    target: str = "two"
    weight_of: str = "absent"
    separable: bool = False
    seed: int = 0

    @property
    def numbers(self) -> Array:
        drawn = VALUES[self.values](np.random.default_rng(self.seed), self.rows, self.columns)
        with np.errstate(all="ignore"):
            return np.asarray(drawn).astype(self.dtype)

    @property
    def X(self) -> Any:
        return in_form(self.numbers, self.form)

    @property
    def labels(self) -> Array:
        labels = LABELS[self.target](np.random.default_rng(self.seed + 1), self.rows, self.columns)
        if self.separable and self.columns and labels.shape == (self.rows,):
            ordered = sorted(labels.tolist(), key=str)
            return np.array(ordered, dtype=labels.dtype)[_ranks(self.numbers[:, -1])]
        return labels

    @property
    def response(self) -> Array:
        response = RESPONSES[self.target](np.random.default_rng(self.seed + 1), self.rows, self.columns)
        if self.separable and self.columns and response.shape == (self.rows,):  # an exact fit
            with np.errstate(all="ignore"):
                return 0.5 * self.numbers[:, -1].astype(float) + 1.0
        return response

    @property
    def weight(self) -> Array:
        return WEIGHTS[self.weight_of](np.random.default_rng(self.seed + 2), self.rows, self.columns)


def _ranks(column: Array) -> Array:
    return np.argsort(np.argsort(column.astype(float)))


def in_form(numbers: Array, form: str) -> Any:
    """The same numbers as another kind of matrix or table."""
    if form in DENSE:
        return _dense(numbers, form)
    if form in SPARSE:
        return _sparse(numbers, form)
    return _frame(numbers, form)


def _dense(numbers: Array, form: str) -> Any:
    if form == "list":
        return numbers.tolist()
    if form == "Fortran":
        return np.asfortranarray(numbers)
    if form == "strided":
        wide = np.repeat(np.repeat(numbers, 2, axis=0), 2, axis=1)
        return wide[::2, ::2]
    if form == "reversed":
        return np.ascontiguousarray(numbers[::-1, ::-1])[::-1, ::-1]
    numbers = np.ascontiguousarray(numbers)
    numbers.flags.writeable = form != "read-only"
    return numbers


def _sparse(numbers: Array, form: str) -> Any:
    if numbers.dtype in (object, np.float16):  # SciPy has no such
        numbers = numbers.astype(np.float64)
    if form in ("csr_matrix", "csr_array", "csc_matrix", "csc_array", "coo_array", "bsr_array", "lil_matrix"):
        return getattr(sp, form)(numbers)
    if form in ("dok_array", "dia_array"):
        return getattr(sp, form)(sp.coo_array(numbers))
    rows = sp.csr_array(numbers)
    if form == "long indices":
        rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    elif form == "unsorted":
        for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
            rows.indices[start:stop] = rows.indices[start:stop][::-1].copy()
            rows.data[start:stop] = rows.data[start:stop][::-1].copy()
        rows.has_sorted_indices = False
    elif form == "entries twice" and rows.dtype.kind == "f":
        twice = sp.coo_array(numbers)
        return sp.coo_array((np.tile(twice.data / 2, 2), tuple(np.tile(at, 2) for at in twice.coords)), twice.shape)
    elif form == "explicit zeros":
        full = np.indices(numbers.shape).reshape(2, -1)
        return sp.csr_array(sp.coo_array((numbers.ravel(), (full[0], full[1])), numbers.shape))
    return rows


def _frame(numbers: Array, form: str) -> Any:
    if numbers.dtype in (object, np.float16):  # neither Arrow nor nullable columns take them everywhere
        numbers = numbers.astype(np.float64)
    columns = {f"x{j}": np.ascontiguousarray(numbers[:, j]) for j in range(numbers.shape[1])}
    if form.startswith("pandas"):
        import pandas as pd

        frame = pd.DataFrame(columns, index=range(len(numbers)))
        if form == "pandas nullable":
            with np.errstate(invalid="ignore"):  # pandas tries whether numbers of 1e150 are whole
                return frame.convert_dtypes()
        return frame.astype("category") if form == "pandas categories" else frame
    if form == "polars":
        import polars as pl

        return pl.DataFrame(columns)
    import pyarrow as pa

    return pa.table(columns)


def cases(targets: Sequence[str]) -> st.SearchStrategy[Case]:
    """Anything, however unreasonable; half of the draws are reasonable in all but one or two respects."""

    def mostly(usual: str, others: Sequence[str]) -> st.SearchStrategy[str]:
        return st.one_of(st.just(usual), st.sampled_from(others))

    return st.builds(
        Case,
        rows=st.one_of(st.integers(8, 60), st.integers(0, 3)),
        columns=st.one_of(st.integers(1, 6), st.integers(0, 30)),
        values=st.sampled_from(list(VALUES)),
        dtype=mostly("float64", DTYPES),
        form=mostly("C", DENSE + SPARSE + FRAMES),
        target=mostly(targets[0], targets),
        weight_of=mostly("absent", list(WEIGHTS)),
        separable=st.sampled_from([False, False, False, True]),
        seed=st.integers(0, 2**16),
    )


def tame_cases(
    targets: Sequence[str], values: Sequence[str], forms: Sequence[str], *, wide: bool
) -> st.SearchStrategy[Case]:
    """Generate harmless numbers with a unique result, which can be obtained in several ways."""
    few, many = st.integers(1, 6), st.integers(20, 80)
    return st.builds(
        Case,
        rows=st.integers(20, 60),
        columns=st.one_of(few, many) if wide else few,
        values=st.sampled_from(values),
        form=st.sampled_from(forms),
        target=st.sampled_from(targets),
        weight_of=st.sampled_from(["absent", "integers", "some zero"]),
        seed=st.integers(0, 2**16),
    )
