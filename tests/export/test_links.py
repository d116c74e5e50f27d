"""Means from linear predictors: every link a GLM has, in every language."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mercer as m
from mercer import families as f
from mercer._errors import ExportError
from mercer.export.expression import ColumnValue
from mercer.export.links import inverse
from mercer.families.links import NEGATIVE_INVERSE
from tests.export._languages import LANGUAGES

RNG = np.random.default_rng(0)
X = RNG.random((60, 2))
MEAN = 1 + X @ [1.0, 2.0]


@pytest.mark.parametrize(
    "model",
    [
        m.GLM("gaussian"),
        m.GLM("poisson"),
        m.GLM("poisson", link="sqrt"),
        m.GLM("gamma"),
        m.GLM("gamma", link="identity"),
        m.GLM("inverse_gaussian", link="inverse_squared"),
        m.GLM(f.NegativeBinomial(3.0), link="log"),
        m.GLM(f.Binomial(8)),
        m.GLM(f.Binomial(8), link="probit"),
        m.GLM(f.Tweedie(1.5), link="log"),
    ],
    ids=repr,
)
def test_means_agree_with_the_model(model: Any) -> None:
    y = RNG.poisson(MEAN) if model.family not in ("gamma", "inverse_gaussian") else MEAN * RNG.uniform(0.9, 1.1, 60)
    model.fit(X, np.minimum(y, 8))
    for language, said in LANGUAGES.items():
        off = 1e-9 if model.link != "probit" else 2e-6
        np.testing.assert_allclose(said(model, X).prediction, model.predict(X), atol=off, err_msg=language)


def test_shares_of_trials_that_differ() -> None:
    successes = RNG.integers(0, 9, 60)
    model = m.GLM("binomial").fit(X, np.column_stack([successes, RNG.integers(1, 9, 60)]))
    for language, said in LANGUAGES.items():
        np.testing.assert_allclose(said(model, X).prediction, model.predict(X), atol=1e-9, err_msg=language)


def test_an_unknown_link_is_rejected() -> None:
    with pytest.raises(ExportError, match="cannot be exported"):
        inverse(NEGATIVE_INVERSE, ColumnValue("x"))
