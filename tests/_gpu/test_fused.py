"""The Triton kernels, in Triton's interpreter: in a process of its own, since Triton decides when it is imported."""

from __future__ import annotations

import os
import sys

import pytest

from tests._jit._process import printed

pytest.importorskip("torch")
pytest.importorskip("triton")

SCRIPT = """
import torch
from triton.runtime.interpreter import InterpretedFunction
from mercer._gpu import fused
from mercer._gpu.compiler import compiles
from mercer._gpu.fused import FusedSums
from mercer._gpu.profiles import FORMULAS, TensorProfile

fused.PROGRAMS = 4
assert isinstance(fused.products, InterpretedFunction) and isinstance(fused.differences, InterpretedFunction)
assert compiles(torch.device("cpu"))
generator = torch.Generator().manual_seed(0)

def check(name, d, columns, tolerance=3e-6, scale=0.5, **options):
    X, Z = (torch.randn(n, d, generator=generator) * scale / d**0.5 for n in (90, 140))
    rate, power = (1.0 if TensorProfile(name).ends else 1.3), (0.7 if name == "rational_quadratic" else 1.0)
    profile = TensorProfile(name, rate, power)
    K = profile.of(torch.cdist(X.double(), Z.double()).square())
    sums = FusedSums(profile, X, Z, **options)
    V, W = (torch.rand(n, columns, generator=generator) for n in (140, 90))
    for answer, expected in ((sums.matvec(V), K @ V.double()), (sums.rmatvec(W), K.T @ W.double())):
        error = float((answer - expected).norm() / expected.norm())
        assert error < tolerance, (name, d, columns, options, error)

for name in FORMULAS:
    check(name, 3, 1, by_products=True, scale=0.2)
# the interpreter takes a second for each column whose differences are squared
for name in ("gaussian", "epanechnikov"):
    check(name, 2, 2, by_products=False)
check("gaussian", 20, 2, by_products=True)
# too far apart for powers of 2 to be taken factor by factor
check("gaussian", 20, 2, tolerance=1e-4, by_products=True, scale=9.0)
check("gaussian", 20, 5, by_products=True)
check("matern_three", 80, 1, by_products=True)
check("gaussian", 20, 1, by_products=True, tf32=True, tolerance=2e-3)
# more columns than stay on the chip, or in registers
check("gaussian", 150, 1, by_products=True)
check("matern_five", 17, 1, by_products=False)
for name in ("matern_three", "matern_five", "gaussian"):
    far = FusedSums(TensorProfile(name), torch.tensor([[0.0], [1e25]]), torch.tensor([[0.0]]), by_products=False)
    assert far.matvec(torch.ones(1)).tolist() == [1.0, 0.0], name
print("done")
"""


def test_the_kernels_in_the_interpreter():
    assert "done" in printed(SCRIPT, TRITON_INTERPRET="1", PYTHONPATH=os.pathsep.join(sys.path))
