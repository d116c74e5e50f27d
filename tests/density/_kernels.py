"""Every smoothing kernel, as a class and by its name."""

from __future__ import annotations

import pytest

from mercer import density as sm

EVERY = [sm.Uniform, sm.Gaussian, sm.Epanechnikov, sm.Triangular, sm.Biweight, sm.Triweight, sm.Cosine, sm.Exponential]
NAMES = [kind.name for kind in EVERY]
every_kernel = pytest.mark.parametrize("kind", EVERY, ids=NAMES)
