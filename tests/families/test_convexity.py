"""Convexity of losses in η, as families and links declare it, against second derivatives over grids of y and η."""

from pathlib import Path

import numpy as np
import pytest

from mercer import GLM
from mercer.families import (
    Bernoulli,
    Binomial,
    Gamma,
    Gaussian,
    InverseGaussian,
    NegativeBinomial,
    Poisson,
    Response,
    Tweedie,
    family_from,
    link_from,
    power_link,
)
from mercer.families.links import LINKS

ABOVE = 10.0 ** np.linspace(-6, 6, 25)
LINE = np.concatenate([-ABOVE[::-1], [0.0], ABOVE])
#: every response family with responses from its whole support
FAMILIES = [
    (Gaussian(), LINE),
    (Bernoulli(), np.array([0.0, 1.0])),
    (Binomial(7), np.arange(8.0)),
    (Poisson(), np.concatenate([[0.0], ABOVE])),
    (Gamma(), ABOVE),
    (InverseGaussian(), ABOVE),
    (NegativeBinomial(0.3), np.concatenate([[0.0], ABOVE])),
    (NegativeBinomial(4.0), np.concatenate([[0.0], ABOVE])),
    (Tweedie(-1.5), LINE),
    (Tweedie(0.0), LINE),
    (Tweedie(1.0), np.concatenate([[0.0], ABOVE])),
    (Tweedie(1.2), np.concatenate([[0.0], ABOVE])),
    (Tweedie(1.9), np.concatenate([[0.0], ABOVE])),
    (Tweedie(2.0), ABOVE),
    (Tweedie(2.5), ABOVE),
    (Tweedie(3.0), ABOVE),
    (Tweedie(4.0), ABOVE),
]
#: of η; where an interval of them has no mean, the loss is infinite
ETA = np.unique(
    np.concatenate([np.linspace(-6, 6, 241), 10.0 ** np.linspace(-4, 2, 61), -(10.0 ** np.linspace(-4, 2, 61))])
)


def curvatures(response: Response, y: np.ndarray) -> np.ndarray:
    """∂²loss/∂η² in units of the expected one and of its own largest terms, wherever the loss is finite."""
    eta, responses = (values.ravel() for values in np.meshgrid(ETA, y))
    with np.errstate(all="ignore"):
        finite = np.isfinite(response.losses(responses, eta))
        return response.curvature(responses[finite], eta[finite])


def finite_on_an_interval(response: Response, y: np.ndarray) -> bool:
    with np.errstate(all="ignore"):
        finite = np.isfinite(response.losses(np.full(len(ETA), y[len(y) // 2]), ETA))
    return bool((np.diff(np.flatnonzero(finite)) == 1).all())


@pytest.mark.parametrize("name", ["canonical", *LINKS])
@pytest.mark.parametrize(
    ("family", "y"), FAMILIES, ids=lambda value: repr(value) if not isinstance(value, np.ndarray) else ""
)
def test_convexity_is_declared_if_no_second_derivative_is_negative(family, y, name):
    response = Response(family, link_from(name, family))
    observed = curvatures(response, y)
    convex = bool((observed >= -1e-9).all()) and finite_on_an_interval(response, y)
    assert response.is_convex == convex


@pytest.mark.parametrize("exponent", [-2.5, -1.4, -0.7, -0.3, 0.2, 0.8, 1.0, 1.5])
@pytest.mark.parametrize(
    ("family", "y"), FAMILIES[1:], ids=lambda value: repr(value) if not isinstance(value, np.ndarray) else ""
)
def test_power_links_of_any_exponent(family, y, exponent):
    response = Response(family, power_link(exponent))
    assert response.is_convex == bool((curvatures(response, y) >= -1e-9).all())


def test_tables_of_the_documentation_agree_with_the_code():
    families = {
        "Gaussian()": Gaussian(),
        "Bernoulli()": Bernoulli(),
        "Binomial(5)": Binomial(5),
        "Poisson()": Poisson(),
        "Gamma()": Gamma(),
        "InverseGaussian()": InverseGaussian(),
        "NegativeBinomial(2.0)": NegativeBinomial(2.0),
        "Tweedie(1.5)": Tweedie(1.5),
        "Tweedie(3.0)": Tweedie(3.0),
    }
    page = (Path(__file__).parents[2] / "docs/packages/optim.md").read_text()
    section = page.split("## Where the objective is not convex")[1].split("\n## ")[0]
    documented = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| `")
    ]
    assert len(documented) == 9
    for name, convex, others in documented:
        family = families[name.strip("`")]
        of = {link: Response(family, link_from(link, family)).is_convex for link in (*LINKS, "canonical")}
        assert {link for link in LINKS if of[link]} == set(convex.split(", ")) - {"canonical"}
        assert {link for link in LINKS if not of[link]} == set(others.split(", "))
        assert of["canonical"]


def test_the_links_that_the_docstring_of_GLM_lists_are_convex():
    lines = {
        line.split(": ")[0].strip(" -"): line.split(": ")[1]
        for line in GLM.__doc__.splitlines()
        if line.startswith("    - ")
    }
    plain = ("gaussian", "bernoulli", "poisson", "gamma", "inverse_gaussian")
    families = {name: family_from(name) for name in plain}
    families |= {"binomial": Binomial(3), "negative_binomial": NegativeBinomial(2.0)}
    for name, family in families.items():
        convex = {link for link in LINKS if Response(family, link_from(link, family)).is_convex}
        assert convex == set(lines[name].replace(", and its canonical link", "").split(", "))
