"""scikit-learn's tests of kernel ridge regression, run on ours."""

from __future__ import annotations

from mercer.kernel_ridge import KernelRidge
from tests.sklearn_suite._swap import load_swapped

globals().update(load_swapped("sklearn.tests.test_kernel_ridge", {"KernelRidge": KernelRidge}))
