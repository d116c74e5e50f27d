"""Section on the reproduction of the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer import GaussianNB, compare
from mercer.comparison._view import View
from mercer.comparison.sections.reproduction import reproduction
from mercer.report import Grid, Page
from tests.comparison.sections._pages import blocks, section


def test_the_call_the_seed_and_the_versions_are_shown(of_iris: Page) -> None:
    settings = dict(blocks(section(of_iris, "reproduce"), Grid)[0].rows)
    assert settings["seed"] == "0"
    assert settings["numpy"] == np.__version__
    call = section(of_iris, "reproduce").blocks[0]
    assert call == "In Python: `mercer.compare(X, y, models=…, task='classification', cv=5, repeats=1, random_state=0)`"


@pytest.mark.parametrize(
    ("models", "argument"),
    [
        (["GaussianNB", "LogisticRegression"], "models=['GaussianNB', 'LogisticRegression']"),
        ("GaussianNB", "models=['GaussianNB']"),
        ([GaussianNB(var_smoothing=0.1)], "models=…"),
        ({"GaussianNB": GaussianNB(var_smoothing=0.1)}, "models=…"),
    ],
)
def test_the_call_contains_the_requested_models(models: Any, argument: str) -> None:
    X, y = load_iris(return_X_y=True)
    found = reproduction(View(compare(X, y, models=models, cv=2)))
    assert found.blocks[0] == (
        f"In Python: `mercer.compare(X, y, {argument}, task='classification', cv=2, repeats=1, random_state=0)`"
    )
