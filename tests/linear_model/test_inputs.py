"""Inputs of a GLM: rows of any container and size, and errors that name invalid values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from mercer import GLM
from mercer._errors import (
    DataError,
    FamilyError,
    LinkError,
    NonFiniteError,
    PenaltyError,
    SupportError,
    UnseenCategoryError,
    UnsuitableSolverError,
)
from mercer.families import L2
from tests.base._layouts import read_only
from tests.linear_model._responses import COUNTS, FAMILIES, LABELS, X0, N, made, rows_of

# Containers.


def containers() -> dict[str, Any]:
    X, _ = rows_of("poisson")
    return {
        "Fortran order": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=0)[::2],
        "read-only": read_only(X),
        "CSR": sp.csr_array(X),
        "CSC": sp.csc_matrix(X),
        "list": X.tolist(),
    }


@pytest.mark.parametrize("container", containers())
def test_any_container_gives_the_same_fit(container: str) -> None:
    X, y = rows_of("poisson")
    expected = GLM("poisson").fit(X, y)
    model = GLM("poisson").fit(containers()[container], y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.predict(containers()[container]), expected.predict(X), rtol=1e-8)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_names_and_categories(library: str) -> None:
    frames = pytest.importorskip(library, reason="frames are optional")
    rng = np.random.default_rng(0)
    x, city = rng.normal(size=N), rng.choice(["Bonn", "Köln", "Ulm"], size=N)
    y = rng.poisson(np.exp(0.3 * x + (city == "Ulm")))
    frame = frames.DataFrame({"x": x, "city": city})
    model = GLM("poisson").fit(frame, y)
    assert model.coefficient_names_ == ["x", "city[Köln]", "city[Ulm]"]
    indicators = np.column_stack([x, city == "Köln", city == "Ulm"]).astype(float)
    expected = GLM("poisson").fit(indicators, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-7)
    np.testing.assert_allclose(model.predict(frame), expected.predict(indicators), rtol=1e-7)
    with pytest.raises(UnseenCategoryError, match="'Hamm'"):
        model.predict(frames.DataFrame({"x": [0.0], "city": ["Hamm"]}))


def test_with_a_penalty_every_level_has_a_coefficient() -> None:
    pd = pytest.importorskip("pandas", reason="frames are optional")
    rng = np.random.default_rng(0)
    city = rng.choice(["Bonn", "Köln", "Ulm"], size=N)
    y = rng.poisson(1 + (city == "Ulm"))
    model = GLM("poisson", penalty=L2(1.0)).fit(pd.DataFrame({"city": city}), y)
    assert model.coefficient_names_ == ["city[Bonn]", "city[Köln]", "city[Ulm]"]
    assert model.coef_.sum() == pytest.approx(0.0, abs=1e-6)  # the prior is the same for all levels


def test_float32_loses_only_the_digits_of_the_data() -> None:
    X, y = rows_of("poisson")
    narrow = X.astype(np.float32)
    wide = GLM("poisson").fit(narrow.astype(float), y)
    np.testing.assert_allclose(GLM("poisson").fit(narrow, y).coef_, wide.coef_, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e150, 1e-150])
@FAMILIES
def test_columns_of_any_size(family: str, scale: float) -> None:
    X, y = rows_of(family)
    model, expected = made(family).fit(X * [scale, 1, 1], y), made(family).fit(X, y)
    np.testing.assert_allclose(model.coef_ * [scale, 1, 1], expected.coef_, rtol=1e-6)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "gamma"])
def test_columns_far_from_zero_keep_their_digits(family: str) -> None:
    X, y = rows_of(family)
    model, expected = made(family).fit(X + 1e8, y), made(family).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6)
    # what is lost is lost when 1e8 is added
    np.testing.assert_allclose(model.predict_linear(X + 1e8), expected.predict_linear(X), atol=1e-6)


# Invalid input.


def _with(values: Any, value: Any) -> Any:
    """The values, the first of them replaced."""
    return np.r_[value, np.asarray(values, dtype=float)[1:]]


AMOUNTS = rows_of("gamma")[1]
#: row 7 has no number in its first two columns
HOLE = np.where(np.arange(N)[:, None] * [1, 1, 0] == 7, np.nan, X0)
REJECTED: dict[str, tuple[Any, Any, Any, dict[str, Any], type[Exception], str]] = {
    "negative count": (GLM("poisson"), X0, _with(COUNTS, -1), {}, SupportError, "-1 in row 0"),
    "half a label": (GLM("bernoulli"), X0, _with(LABELS, 0.5), {}, DataError, r"not whole is 0\.5"),
    "amount of 0": (GLM("gamma"), X0, _with(AMOUNTS, 0), {}, SupportError, "0 in row 0"),
    "NaN in y": (GLM("gamma"), X0, _with(AMOUNTS, np.nan), {}, NonFiniteError, "row 0"),
    "text in y": (GLM("poisson"), X0, ["3"] * N, {}, DataError, "'3'.*bernoulli"),
    "NaN in X": (GLM("poisson"), HOLE, COUNTS, {}, NonFiniteError, "'x0'.*row 7"),
    "NaN in X, least squares": (GLM(), HOLE, COUNTS, {}, NonFiniteError, "'x0'.*row 7"),
    "infinity in X": (GLM("poisson"), np.nan_to_num(HOLE, nan=np.inf), COUNTS, {}, NonFiniteError, "'x0' is inf"),
    "no weight": (GLM("poisson"), X0, COUNTS, {"sample_weight": np.zeros(N)}, DataError, "above 0"),
    "negative weight": (GLM("poisson"), X0, COUNTS, {"sample_weight": _with(np.ones(N), -1)}, DataError, "Row 0"),
    "one class": (GLM("bernoulli"), X0, np.ones(N), {}, DataError, "one class"),
    "one class with weight": (GLM("bernoulli"), X0, LABELS, {"sample_weight": LABELS * 1.0}, DataError, "one class"),
    "three classes": (GLM("bernoulli"), X0, np.arange(N) % 3, {}, SupportError, "categorical"),
    "short offset": (GLM("poisson"), X0, COUNTS, {"offset": np.zeros(3)}, DataError, r"\(3,\).*240 rows"),
    "NaN in offset": (GLM("poisson"), X0, COUNTS, {"offset": np.full(N, np.nan)}, NonFiniteError, "offset is nan"),
    "exposure without log": (GLM(), X0, COUNTS, {"exposure": np.ones(N)}, DataError, "link='log'"),
    "no exposure": (GLM("poisson"), X0, COUNTS, {"exposure": np.zeros(N)}, DataError, "above 0"),
    "negative penalty": (GLM("poisson", penalty=L2(-1)), X0, COUNTS, {}, PenaltyError, "-1"),
    "too many strengths": (GLM("poisson", penalty=L2(np.ones(5))), X0, COUNTS, {}, PenaltyError, "3 coefficients"),
    "unknown penalty": (GLM("poisson", penalty="l3"), X0, COUNTS, {}, PenaltyError, "'l3'"),
    "unknown family": (GLM("poison"), X0, COUNTS, {}, FamilyError, "'poison'. Did you mean 'poisson'"),
    "no family of a response": (GLM("beta"), X0, COUNTS, {}, FamilyError, "does not describe a response"),
    "unknown link": (GLM("poisson", link="lgo"), X0, COUNTS, {}, LinkError, "'lgo'"),
    "link of classes": (GLM("categorical", link="log"), X0, COUNTS, {}, LinkError, "softmax"),
    "offset of classes": (GLM("categorical"), X0, COUNTS, {"offset": np.ones(N)}, DataError, "each class"),
    "unknown reference": (GLM("categorical", reference=-7), X0, COUNTS, {}, DataError, "-7"),
    "no closed form": (GLM("poisson", solver="direct"), X0, COUNTS, {}, UnsuitableSolverError, "auto"),
    "smooth solver for L1": (
        GLM("poisson", penalty="l1", solver="newton"), X0, COUNTS, {}, UnsuitableSolverError, "auto"
    ),
    "absolute values to a reference": (
        GLM("categorical", penalty="l1", reference=0), X0, COUNTS, {}, UnsuitableSolverError, "L2"
    ),
    "no y": (GLM("poisson"), X0, None, {}, DataError, "requires y"),
}  # fmt: skip


@pytest.mark.parametrize("what", REJECTED)
def test_errors_name_values_that_cannot_be_fitted(what: str) -> None:
    model, X, y, more, error, message = REJECTED[what]
    with pytest.raises(error, match=message):
        clone(model).fit(X, y, **more)


def test_a_failed_fit_leaves_the_old_model() -> None:
    model = GLM("poisson").fit(X0, COUNTS)
    before = model.coef_.copy()
    with pytest.raises(SupportError):
        model.fit(X0[:, :2], _with(COUNTS, -1))
    np.testing.assert_array_equal(model.coef_, before)
    assert model.n_features_in_ == 3


def test_new_rows_must_match_those_of_the_fit() -> None:
    model = GLM("poisson").fit(X0, COUNTS)
    with pytest.raises(DataError, match="2 features"):
        model.predict(X0[:, :2])
    with pytest.raises(NonFiniteError, match="'x0'"):
        model.predict(HOLE)


def test_extreme_rows_without_a_finite_mean() -> None:
    with pytest.raises(DataError, match="link='log'"):
        GLM("gamma", fit_intercept=False).fit([[1.0], [-1.0], [2.0]], [1.0, 2.0, 3.0])
