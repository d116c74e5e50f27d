"""Families by name, the names the room exports, and the link that each family has."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mercer import families as f
from mercer._errors import FamilyError
from mercer.families.named import FAMILIES, RESPONSES


def test_every_family_is_found_by_its_name() -> None:
    everything = {
        value.name
        for value in vars(f).values()
        if isinstance(value, type) and issubclass(value, f.Family) and value is not f.Family
    }
    assert everything == {*FAMILIES, "binomial"}
    assert all(f.family_from(name).name == name for name in FAMILIES)


def test_a_family_object_is_returned_unchanged() -> None:
    family = f.Gaussian(variance=2.0)
    assert f.family_from(family) is family


@pytest.mark.parametrize("wrong", [3, None, ["poisson"]])
def test_an_invalid_family_is_rejected_with_the_known_names(wrong: object) -> None:
    with pytest.raises(FamilyError, match="bernoulli, beta, categorical"):
        f.family_from(wrong)


@pytest.mark.parametrize("find", [f.family_from, f.response_family_from])
@pytest.mark.parametrize(("wrong", "meant"), [("gausian", "gaussian"), ("Gaussian", "gaussian"), ("poison", "poisson")])
def test_a_misspelt_family_is_recognised(find: Callable[[object], f.Family], wrong: str, meant: str) -> None:
    with pytest.raises(FamilyError, match=f"no family is called '{wrong}'. Did you mean '{meant}'"):
        find(wrong)
    assert issubclass(FamilyError, ValueError)


def test_a_binomial_needs_more_than_its_name() -> None:
    with pytest.raises(FamilyError, match="trials"):
        f.family_from("binomial")


def test_only_families_of_a_response_are_offered_for_one() -> None:
    with pytest.raises(FamilyError, match="There are 'bernoulli', 'categorical', 'gamma'") as rejection:
        f.response_family_from("weibull")
    assert "histogram" not in str(rejection.value)
    assert f.response_family_from(f.Binomial(3)) == f.Binomial(3)


@pytest.mark.parametrize("name", sorted({*FAMILIES} - {*RESPONSES}))
def test_families_without_a_response_are_rejected(name: str) -> None:
    for family in (name, FAMILIES[name]()):
        with pytest.raises(FamilyError, match=r"does not describe a response; .* poisson, tweedie"):
            f.response_family_from(family)
    with pytest.raises(TypeError):
        _ = FAMILIES[name]().row_loss


LINKED = [
    (f.Gaussian(), np.array([-1.0, 2.0])),
    (f.Gaussian(variance=2.0), np.array([-1.0, 2.0])),
    (f.Bernoulli(), np.array([0.1, 0.7])),
    (f.Binomial(5), np.array([0.1, 4.7])),
    (f.Poisson(), np.array([0.1, 4.7])),
    (f.Exponential(), np.array([0.1, 4.7])),
    (f.InverseGaussian(), np.array([0.1, 4.7])),
    (f.Tweedie(1.5), np.array([0.1, 4.7])),
    (f.Tweedie(0.0), np.array([-0.1, 4.7])),
    (f.Tweedie(1.0), np.array([0.1, 4.7])),
    (f.Tweedie(2.0, dispersion=3.0), np.array([0.1, 4.7])),
    (f.NegativeBinomial(2.0), np.array([0.1, 4.7])),
    (f.NegativeBinomial(), np.array([0.1, 4.7])),
    (f.Categorical(2), np.array([0.1, 0.9])),
    (f.Dirichlet(), np.array([-1.0, -2.0])),
    (f.Beta(), np.array([-1.0, -2.0])),
    (f.LogNormal(), np.array([-1.0, 2.0])),
    (f.MultivariateGaussian(), np.array([-1.0, 2.0])),
]


@pytest.mark.parametrize(("family", "mean"), LINKED, ids=[repr(case[0]) for case in LINKED])
def test_a_link_and_its_inverse_cancel(family: f.Family, mean: np.ndarray) -> None:
    np.testing.assert_allclose(family.link.inverse(family.link.forward(mean)), mean, rtol=1e-9)
    assert repr(family.link).startswith("<link ")


@pytest.mark.parametrize(
    "family",
    [f.Gaussian(variance=2.0), f.Bernoulli(), f.Binomial(5), f.Poisson(), f.Exponential(), f.NegativeBinomial(2.0)]
    + [f.Tweedie(power, dispersion=0.5) for power in (0.0, 1.5, 2.0, 3.0)],
)
def test_a_canonical_link_maps_the_mean_to_the_natural_parameter(family: f.Family) -> None:
    mean = np.array([0.2, 0.8])
    np.testing.assert_allclose(
        family.link.forward(mean), family.natural(family.from_mean(mean[:, None]))[:, 0], rtol=1e-12
    )


def test_links_by_component_map_the_mean_of_t() -> None:
    for family, parameters in [
        (f.Dirichlet(), f.DirichletParameters(np.array([2.0, 0.5, 1.0]))),
        (f.Beta(), f.BetaParameters(np.array(2.0), np.array(0.5))),
        (f.Categorical(2), f.CategoricalParameters(np.array([0.3, 0.7]))),
    ]:
        np.testing.assert_allclose(
            family.link.forward(family.expected(parameters)), family.natural(parameters), rtol=1e-9
        )
