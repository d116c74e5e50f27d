"""scikit-learn's tests of kernel approximations, run on ours."""

from __future__ import annotations

from mercer.kernel_approximation import Nystroem, RBFSampler
from tests.sklearn_suite._swap import load_swapped

ARRAY_API = "attributes of a model fitted to tensors are arrays in main memory, so that it transforms both"

globals().update(
    load_swapped(
        "sklearn.tests.test_kernel_approximation",
        {"Nystroem": Nystroem, "RBFSampler": RBFSampler},
        exclude={"test_nystroem_approximation_array_api": ARRAY_API},
    )
)
