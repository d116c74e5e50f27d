"""How to have the same numbers again, on the page."""

from __future__ import annotations

import numpy as np

from mercer.report import Grid, Page
from tests.comparison.sections._pages import blocks, section


def test_the_call_the_seed_and_the_versions_are_told(of_iris: Page) -> None:
    told = dict(blocks(section(of_iris, "reproduce"), Grid)[0].rows)
    assert told["seed"] == "0"
    assert told["numpy"] == np.__version__
    call = section(of_iris, "reproduce").blocks[0]
    assert call == "In Python: `mercer.compare(X, y, task='classification', cv=5, repeats=1, random_state=0)`"
