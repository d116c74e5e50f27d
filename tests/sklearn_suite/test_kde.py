"""scikit-learn's tests of kernel density estimation, run on ours."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.density import KernelDensity
from tests.sklearn_suite._swap import load_swapped

globals().update(
    load_swapped(
        "sklearn.neighbors.tests.test_kde",
        {"KernelDensity": KernelDensity},
        exclude={"test_kernel_density_sampling": "wants other kernels than two to reject draws; ours has draws of all"},
    )
)


@pytest.mark.parametrize("kernel", ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"])
def test_sampling_as_in_the_remaining_test_of_scikit_learn(kernel: str) -> None:
    X = np.random.RandomState(0).randn(100, 3)
    drawn = KernelDensity(bandwidth=0.2, kernel=kernel).fit(X).sample(100)
    assert drawn.shape == X.shape
    nearest = np.sqrt(np.square(drawn[:, None] - X).sum(axis=2)).min(axis=1)
    assert nearest.max() < (5.0 if kernel == "exponential" else 1.2 if kernel == "gaussian" else 0.2)
    assert KernelDensity(kernel=kernel).fit(X[:4, :1]).sample().shape == (1, 1)
