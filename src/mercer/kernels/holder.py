"""The base of estimators that hold a kernel: `kernel__gamma` in `set_params`, hence in searches over parameters."""

from __future__ import annotations

from mercer._held import ValueHolder


class KernelHolder(ValueHolder):
    """A mixin before scikit-learn's `BaseEstimator`, whose `set_params` would change a kernel in place.

    A kernel is a value that may be shared, so `set_params(kernel__gamma=…)` replaces it by another one; the same holds
    for every frozen dataclass, such as a penalty, a family or a rule for bandwidths.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.kernels import RBF
    >>> k = RBF(gamma=1)
    >>> SVC(kernel=k).set_params(kernel__gamma=2).kernel, k
    (RBF(gamma=2.0), RBF(gamma=1.0))
    """
