"""Decision regions on the page."""

from __future__ import annotations

import numpy as np

from mercer.report import Chart, Heat, Page
from tests.comparison.sections._pages import blocks, section


def test_regions_show_every_class(of_iris: Page) -> None:
    heat, *points = blocks(section(of_iris, "regions"), Chart)[0].marks
    assert isinstance(heat, Heat)
    assert set(np.unique(heat.values)) == {0, 1, 2}
    assert len(points) == 3
