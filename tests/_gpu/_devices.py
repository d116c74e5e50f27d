"""Devices of tensors, and the precision of their results."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

card = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no card")
DEVICES = ["cpu", pytest.param("cuda", marks=card)]
#: of each type of number, relative to the largest result
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-9}
