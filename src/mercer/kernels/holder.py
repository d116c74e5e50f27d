"""For estimators that hold a kernel: `kernel__gamma` in `set_params`, hence in searches over parameters."""

from __future__ import annotations

from typing import Any, Self

from mercer._errors import KernelError
from mercer.kernels._base import Kernel


class KernelHolder:
    """A mixin before scikit-learn's `BaseEstimator`, whose `set_params` would change a kernel in place.

    A kernel is a value that others may hold too, so `set_params(kernel__gamma=…)` puts another one in its place.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.kernels import RBF
    >>> k = RBF(gamma=1)
    >>> SVC(kernel=k).set_params(kernel__gamma=2).kernel, k
    (RBF(gamma=2.0), RBF(gamma=1.0))
    """

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of kernels inside, as `kernel__gamma`."""
        inside: dict[str, dict[str, Any]] = {}
        for key in list(params):
            name, nested, rest = key.partition("__")
            held = params.get(name, getattr(self, name, None))
            if nested and isinstance(held, Kernel):
                inside.setdefault(name, {})[rest] = params.pop(key)
            elif nested and name == "kernel" and isinstance(held, str):
                raise KernelError(
                    f"Invalid parameter {key!r}: the kernel {held!r} is a name, which has no parameters. Set "
                    f"{rest!r} of the model where it has one, or hold a Kernel such as RBF() instead of its name."
                )
        for name, changes in inside.items():
            params[name] = params.get(name, getattr(self, name)).replaced(**changes)
        super().set_params(**params)  # type: ignore[misc]
        return self
