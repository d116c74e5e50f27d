"""Newton for the shapes of the gamma and the Dirichlet: from 1e-3 to 1e6, and a clear rejection of constant data."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import polygamma, psi

from mercer import families as f
from mercer._errors import DegenerateDataError
from mercer.families._shapes import dirichlet_shapes, gamma_shape, log_minus_digamma, trigamma_excess
from mercer.stats import statistic_for

SHAPES = np.geomspace(1e-3, 1e6, 46)


def test_differences_of_digammas_agree_with_the_plain_formulas() -> None:
    a = np.geomspace(1e-3, 1e3, 40)
    np.testing.assert_allclose(log_minus_digamma(a), np.log(a) - psi(a), rtol=1e-10)
    np.testing.assert_allclose(trigamma_excess(a), a * polygamma(1, a) - 1, rtol=1e-10)


def test_gamma_shape_solves_its_equation() -> None:
    spread = log_minus_digamma(SHAPES)
    np.testing.assert_allclose(gamma_shape(np.zeros(len(SHAPES)), -spread), SHAPES, rtol=1e-12)


def test_dirichlet_shapes_solve_their_equations() -> None:
    alpha = np.array(list(product([1e-3, 0.1, 1.0, 30.0, 1e6], repeat=3)))
    target = f.Dirichlet().expected(f.DirichletParameters(alpha))
    found = dirichlet_shapes(target)
    again = f.Dirichlet().expected(f.DirichletParameters(found))
    np.testing.assert_allclose(again, target, rtol=1e-12, atol=1e-14)
    # the means of logs hold a share of one to 1e-16, hence a total of a million to 1e-10 at best
    np.testing.assert_allclose(found, alpha, rtol=1e-6)


def test_leading_axes_are_free_and_unknown_means_stay_unknown() -> None:
    target = np.stack([[-1.0, -1.2], [np.nan, np.nan], [-3.0, -0.1]])[:, None]
    shapes = dirichlet_shapes(target)
    assert shapes.shape == (3, 1, 2)
    assert np.isnan(shapes[1]).all()
    assert np.isfinite(shapes[[0, 2]]).all()
    assert np.isnan(gamma_shape(np.array([np.nan, 0.0]), np.array([np.nan, -0.2]))).tolist() == [True, False]


@pytest.mark.parametrize("value", [1.0, 3.3, 1e-150, 1e150])
def test_constant_data_have_no_gamma_fit(value: float) -> None:
    mean = f.Gamma().sufficient(np.full((4, 2), value)).mean(axis=0)
    with pytest.raises(DegenerateDataError, match=r"without spread \(at index \(0,\), \(1,\)"):
        f.Gamma().from_mean(mean)


def test_constant_data_have_no_beta_or_dirichlet_fit() -> None:
    with pytest.raises(DegenerateDataError, match="give a prior"):
        f.Beta().from_mean(f.Beta().sufficient(np.full(5, 0.3)).mean(axis=0))
    with pytest.raises(DegenerateDataError, match="give a prior"):
        f.Dirichlet().from_mean(f.Dirichlet().sufficient(np.array([0.2, 0.3, 0.5])))


def test_data_on_the_edge_of_the_support_have_no_fit() -> None:
    """The logarithm of a 0 is the least of numbers: no parameters expect it."""
    with pytest.raises(DegenerateDataError, match=r"a gamma .*not all above 0"):
        f.Gamma().from_mean(f.Gamma().sufficient(np.array([0.0, 1.0, 2.0])).mean(axis=0))
    with pytest.raises(DegenerateDataError, match=r"a gamma .*not all above 0"):
        f.Gamma().from_mean(f.Gamma().sufficient(np.zeros(3)).mean(axis=0))
    with pytest.raises(DegenerateDataError, match=r"a beta or Dirichlet .*not all above 0"):
        f.Beta().from_mean(f.Beta().sufficient(np.array([0.5, 1.0])).mean(axis=0))
    with pytest.raises(DegenerateDataError, match=r"a beta or Dirichlet .*not all above 0"):
        f.Dirichlet().from_mean(f.Dirichlet().sufficient(np.array([[0.0, 1.0], [0.3, 0.7]])).mean(axis=0))
    statistic = statistic_for(f.LogNormal(), 1, 1).update(np.array([[0.0], [1.0]]), np.zeros(2, dtype=np.int32))
    with pytest.raises(DegenerateDataError, match=r"a log-normal .*not all above 0"):
        f.LogNormal().fit(statistic)
