"""Codes of categories as a design; its products are tested with those of all designs, in `test_laws.py`."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.matrices import CategoricalMatrix


def test_codes_out_of_range_are_rejected() -> None:
    for bad in (3, -2, 2**31 - 1):
        with pytest.raises(IndexError, match="a code of column 0 lies outside"):
            CategoricalMatrix.of([np.array([0, bad])], [3])
