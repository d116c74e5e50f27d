"""A bandwidth: its three forms are one thing, what it rejects, and how it prints, plots and travels."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._errors import BandwidthError
from mercer.density import Bandwidth, Criterion

X = np.random.default_rng(0).normal(size=(20, 3))
SIGMA = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.5]])
FORMS = [0.7, [0.5, 2.0, 1.0], SIGMA]


@pytest.mark.parametrize("value", FORMS)
def test_colouring_is_the_inverse_of_whitening(value: object) -> None:
    bandwidth = Bandwidth(value)  # type: ignore[arg-type]
    np.testing.assert_allclose(bandwidth.coloured(bandwidth.whiten(X)), X, rtol=1e-13)


@pytest.mark.parametrize("value", FORMS)
def test_the_volume_agrees_with_the_determinant(value: object) -> None:
    bandwidth = Bandwidth(value)  # type: ignore[arg-type]
    L = bandwidth.coloured(np.eye(3)).T
    assert bandwidth.log_volume(3) == pytest.approx(np.linalg.slogdet(L)[1], abs=1e-13)


@settings(max_examples=50)
@given(st.floats(1e-3, 1e3))
def test_a_number_a_vector_and_a_matrix_agree(h: float) -> None:
    forms = [Bandwidth(h), Bandwidth([h, h, h]), Bandwidth(h**2 * np.eye(3))]
    for form in forms[1:]:
        np.testing.assert_allclose(form.whiten(X), forms[0].whiten(X), rtol=1e-12)
        assert form.log_volume(3) == pytest.approx(forms[0].log_volume(3), abs=1e-12)


@pytest.mark.parametrize("value", FORMS)
def test_twice_as_wide_halves_the_distances(value: object) -> None:
    bandwidth = Bandwidth(value)  # type: ignore[arg-type]
    np.testing.assert_allclose(bandwidth.scaled(2.0).whiten(X), bandwidth.whiten(X) / 2, rtol=1e-13)
    assert bandwidth.scaled(2.0).method == bandwidth.method


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "the bandwidth is 0"),
        (-1.0, "the bandwidth is -1"),
        (np.nan, "the bandwidth is nan"),
        (np.inf, "the bandwidth is inf"),
        ([1.0, -2.0], "bandwidth of column 1 is -2"),
        ([1.0, np.nan], "bandwidth of column 1 is nan"),
        ([], "cannot have shape"),
        (np.ones((2, 2, 2)), "cannot have shape"),
        (np.ones((2, 3)), "not square"),
        ([[1.0, np.inf], [np.inf, 1.0]], "not finite"),
        ([[1.0, 0.5], [0.2, 1.0]], r"not symmetric: entries \(0, 1\) and \(1, 0\) are 0.5 and 0.2"),
        ([[1.0, 2.0], [2.0, 1.0]], "not positive definite: its least eigenvalue is -1"),
        ("wide", "not a bandwidth"),
        ("0.5", "'0.5' is not a bandwidth"),
        (None, "None is not a bandwidth"),
        (True, "True is not a bandwidth"),
        ([[1.0], [1.0, 2.0]], "not a bandwidth"),
    ],
)
def test_invalid_bandwidths_are_rejected_by_name(value: object, said: str) -> None:
    with pytest.raises(BandwidthError, match=said):
        Bandwidth(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("sensitivity", [-0.1, 1.5, np.nan, "much", None])
def test_sensitivity_lies_between_0_and_1(sensitivity: Any) -> None:
    with pytest.raises(BandwidthError, match="from 0 to 1"):
        Bandwidth(1.0, sensitivity=sensitivity)


def test_a_bandwidth_for_other_columns_is_rejected() -> None:
    assert Bandwidth(1.0).check(7)
    with pytest.raises(BandwidthError, match="vector of bandwidths for 2 columns was given to data of 3"):
        Bandwidth([1.0, 2.0]).check(3)
    with pytest.raises(BandwidthError, match="matrix for 3 columns was given to data of 2"):
        Bandwidth(SIGMA).check(2)


def test_a_matrix_with_tiny_and_huge_entries_is_accepted() -> None:
    for scale in (1e-140, 1e140):
        np.testing.assert_allclose(
            Bandwidth(SIGMA * scale**2).whiten(X * scale), Bandwidth(SIGMA).whiten(X), rtol=1e-12
        )


def test_values_are_copied_and_cannot_be_changed() -> None:
    mine = np.array([1.0, 2.0])
    bandwidth = Bandwidth(mine)
    mine[0] = 5.0
    assert bandwidth == Bandwidth([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        bandwidth.value[0] = 3.0  # type: ignore[index]


def test_equal_bandwidths_have_equal_hashes() -> None:
    for value in FORMS:
        assert Bandwidth(value) == Bandwidth(value)  # type: ignore[arg-type]
        assert hash(Bandwidth(value)) == hash(Bandwidth(value))  # type: ignore[arg-type]
    assert Bandwidth(1.0) != Bandwidth(1.5)
    assert Bandwidth(1.0) != Bandwidth(1.0, sensitivity=0.5)
    assert Bandwidth(1.0) != 1.0


def test_the_repr_can_be_evaluated() -> None:
    for value in FORMS:
        made = Bandwidth(value, method="isj", sensitivity=0.25)  # type: ignore[arg-type]
        assert eval(repr(made)) == made


CURVE = Criterion("loss", np.array([0.5, 1.0, 2.0]), np.array([np.inf, 1.25, 3.0]))


def test_str_shows_width_rule_and_criterion() -> None:
    assert str(Bandwidth(0.25)) == "h = 0.25, given"
    assert str(Bandwidth(1.0, "likelihood-cv", 0.5, CURVE)) == (
        "h = 1, by likelihood-cv, loss 1.25, wider where points are sparse (sensitivity 0.5)"
    )
    assert str(Bandwidth(np.arange(1, 30.0))).endswith("12, …), given")
    assert str(Bandwidth(np.diag([1e-9, 2.0]))) == "Σ = [[1e-09, 0],\n     [0, 2]], given"


def test_the_curve_has_its_minimum_and_is_a_table() -> None:
    assert (CURVE.chosen, CURVE.best) == (1.0, 1.25)
    assert Bandwidth(1.0, criterion=CURVE).table() == {"bandwidth": [0.5, 1.0, 2.0], "loss": [np.inf, 1.25, 3.0]}


def test_a_given_bandwidth_has_no_curve() -> None:
    for ask in (Bandwidth(1.0).plot, Bandwidth(1.0).table):
        with pytest.raises(BandwidthError, match="not chosen by a criterion"):
            ask()


def test_the_curve_is_drawn_with_the_choice() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    axes = Bandwidth(1.0, criterion=CURVE).plot()
    assert axes.get_xlabel() == "bandwidth"
    assert any(list(line.get_xdata()) == [1.0, 1.0] for line in axes.get_lines())
    pyplot.close("all")


@pytest.mark.parametrize("value", FORMS)
def test_bandwidths_can_be_pickled(value: object) -> None:
    bandwidth = Bandwidth(value, "isj", 0.5, CURVE)  # type: ignore[arg-type]
    bandwidth.whiten(X)
    again = pickle.loads(pickle.dumps(bandwidth))
    assert again == bandwidth
    np.testing.assert_array_equal(again.criterion.values, CURVE.values)
