"""Round trips of plain values, arrays, kernels, families, penalties and smoothing kernels."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mercer import Schema, density, families, kernels
from mercer.data.kinds import Kind
from tests.files._again import again


def same(one: Any, other: Any) -> bool:
    """Return whether values and their nested types are equal; NaN equals NaN, and −0 differs from 0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return same(list(one), list(other)) and same(list(one.values()), list(other.values()))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    if isinstance(one, complex):
        return same(one.real, other.real) and same(one.imag, other.imag)
    if isinstance(one, np.ndarray):
        return same_arrays(one, other)
    return bool(one == other)


def same_arrays(one: Any, other: Any) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape or one.flags.writeable != other.flags.writeable:
        return False
    return same(one.tolist(), other.tolist()) if one.dtype == object else one.tobytes() == other.tobytes()


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.binary(max_size=20)
    | st.complex_numbers()
    | st.datetimes()
    | st.dates()
    | st.timedeltas()
    | st.builds(slice, st.none() | st.integers(), st.none() | st.integers()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(
            st.text(max_size=4) | st.integers() | st.tuples(st.integers(), st.text(max_size=2)), inner, max_size=4
        )
        | st.frozensets(st.integers() | st.text(max_size=3), max_size=4)
        | st.sets(st.integers() | st.text(max_size=3), max_size=4)
    ),
    max_leaves=20,
)
dtypes = (
    hnp.boolean_dtypes()
    | hnp.integer_dtypes()
    | hnp.unsigned_integer_dtypes()
    | hnp.floating_dtypes(sizes=(16, 32, 64))
    | hnp.complex_number_dtypes(sizes=(64, 128))
    | hnp.datetime64_dtypes()
    | hnp.timedelta64_dtypes()
    | hnp.unicode_string_dtypes()
    | hnp.byte_string_dtypes()
)
once = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@once
@given(value=plain)
def test_plain_values_are_restored(value: Any, tmp_path: Path) -> None:
    assert same(again(value, tmp_path), value)


@once
@given(
    values=hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)),
    fortran=st.booleans(),
    locked=st.booleans(),
)
def test_arrays_are_restored_with_order_and_writeable_flag(
    values: Any, fortran: bool, locked: bool, tmp_path: Path
) -> None:
    values = np.asfortranarray(values) if fortran else values
    values.flags.writeable = not locked
    found = again(values, tmp_path)
    little = values.dtype.newbyteorder("<")
    assert found.dtype == little
    assert same_arrays(found, values.astype(little, order="K", copy=False)) or locked
    assert (found.flags.writeable, found.flags.f_contiguous) == (values.flags.writeable, values.flags.f_contiguous)
    assert found.tobytes() == values.astype(little).tobytes()


@pytest.mark.parametrize(
    "value",
    [
        np.float64(np.nan),
        np.float32(0.1),
        np.int64(-3),
        np.uint8(200),
        np.bool_(True),
        np.str_("naïve"),
        np.datetime64("2024-02-29"),
        np.complex128(1 - 2j),
        np.dtype("float32"),
        np.dtype("<M8[ns]"),
        np.float64,
        float,
        sp.csr_array,
        Kind.COUNT,
        range(3, 9, 2),
        datetime.datetime(2024, 5, 31, 17, tzinfo=datetime.UTC),
    ],
    ids=repr,
)
def test_scalars_types_and_names_are_restored(value: Any, tmp_path: Path) -> None:
    found = again(value, tmp_path)
    assert type(found) is type(value)
    assert found == value or (np.isnan(found) and np.isnan(value))


@pytest.mark.parametrize(
    "values",
    [["naïve", "", "\ud800", "Bayes"], ["a", None, math.nan, 3], [("a", 1), frozenset({2})], []],
    ids=["strings", "gaps", "others", "none"],
)
def test_arrays_of_objects_are_restored(values: list[Any], tmp_path: Path) -> None:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    assert same(again(array, tmp_path), array)
    if len(values) == 4:
        square = array.reshape(2, 2)
        assert same(again(square, tmp_path), square)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix])
def test_sparse_matrices_are_restored(kind: Any, tmp_path: Path) -> None:
    matrix = kind(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
    found = again(matrix, tmp_path)
    assert type(found) is kind
    np.testing.assert_array_equal(found.toarray(), matrix.toarray())


def test_an_array_that_is_referred_to_twice_is_written_once(tmp_path: Path) -> None:
    values = np.arange(10_000.0)
    one, other = again([values, values], tmp_path)
    assert one is other
    assert (tmp_path / "value.mercer").stat().st_size < 1.2 * values.nbytes


def test_an_object_that_is_referred_to_twice_is_restored_as_one_object(tmp_path: Path) -> None:
    kernel = kernels.RBF(0.5)
    found = again(kernel + kernel, tmp_path)
    assert found == kernel + kernel
    assert found.k1 is found.k2


@pytest.mark.parametrize(
    "make", [np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64]
)
def test_random_generators_continue_their_sequence(make: Any, tmp_path: Path) -> None:
    generator, state = np.random.Generator(make(5)), np.random.RandomState(make(5))
    for random in (generator, state):
        random.normal(size=3)
        np.testing.assert_array_equal(again(random, tmp_path).normal(size=5), random.normal(size=5))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"n": [1.5, None], "c": pd.Categorical(["x", "y"]), "t": pd.to_datetime(["2024-01-01", None])}),
        pl.DataFrame({"n": [1, None], "s": ["naïve", None]}),
        pa.table({"n": [1, 2], "s": ["a", "b"]}),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_frames_are_restored(frame: Any, tmp_path: Path) -> None:
    found = again(frame, tmp_path)
    assert type(found) is type(frame)
    assert found.equals(frame)


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.RBF(0.3),
        kernels.Matern(length_scale=2.0),
        kernels.RationalQuadratic(),
        kernels.Laplacian(0.1),
        kernels.Polynomial(3),
        kernels.Linear() ** 2 + 3 * kernels.Constant(2.0),
        kernels.Normalised(kernels.Quadratic()),
        kernels.Columns(kernels.RBF(1.0), [0, 2]),
        kernels.ChiSquared(),
        kernels.HistogramIntersection(),
        kernels.Spectrum(3),
        kernels.Subsequence(2),
        kernels.WeisfeilerLehman(),
    ],
    ids=repr,
)
def test_kernels_are_restored(kernel: Any, tmp_path: Path) -> None:
    assert again(kernel, tmp_path) == kernel


VALUES = [
    families.Gaussian(),
    families.NegativeBinomial(),
    families.Tweedie(1.5),
    families.Dirichlet(),
    families.LogNormal(),
    families.CLOGLOG,
    families.SOFTMAX,
    families.NEGATIVE_INVERSE,
    families.power_link(0.3),
    families.L2(0.5),
    families.L1([1.0, 2.0]),
    families.ElasticNet(1.0, 0.3),
    density.Epanechnikov(),
    density.Scott(),
    density.PlugIn(),
    density.LeastSquaresCV(),
    density.Parzen(),
    Schema.infer(pa.table({"age": [31.5, 40.0, 28.0] * 5, "city": ["Ulm", "Bonn", None] * 5})),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_families_links_penalties_rules_and_schemas_are_restored(value: Any, tmp_path: Path) -> None:
    found = again(value, tmp_path)
    assert type(found) is type(value)
    assert repr(found) == repr(value)


def test_constants_are_restored_as_the_same_object(tmp_path: Path) -> None:
    assert again(families.SOFTMAX, tmp_path) is families.SOFTMAX
