"""What kernels made of other kernels have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer._errors import KernelError
from mercer._typing import Array
from mercer.kernels._base import Kernel
from mercer.kernels.views import Memo, Several, Views


@dataclass(frozen=True, repr=False)
class OfOne(Kernel):
    """A kernel made of one other; a subclass says in what it differs from that one."""

    kernel: Kernel

    def __post_init__(self) -> None:
        _refuse_others(self.kernel, type(self).__name__)

    def prepared(self, views: Views) -> Any:
        return self.kernel.prepared(views)

    def tile(self, left: Any, right: Any, memo: Memo) -> Array:
        return self.kernel.tile(left, right, memo)

    def diagonal(self, side: Any) -> Array:
        return self.kernel.diagonal(side)

    def sensitivity(self, left: Any, right: Any) -> float:
        return self.kernel.sensitivity(left, right)

    def fits_single(self, side: Any) -> bool:
        return super().fits_single(side) and self.kernel.fits_single(side)


@dataclass(frozen=True, repr=False)
class OfTwo(Kernel):
    """A kernel made of two others, each of which sees the rows in its own way."""

    k1: Kernel
    k2: Kernel

    def __post_init__(self) -> None:
        for part in (self.k1, self.k2):
            _refuse_others(part, type(self).__name__)

    def prepared(self, views: Views) -> Several:
        return Several((self.k1.prepared(views), self.k2.prepared(views)))

    def fits_single(self, side: Several) -> bool:
        own = super().fits_single(side)
        return own and self.k1.fits_single(side.sides[0]) and self.k2.fits_single(side.sides[1])


def written(kernel: Kernel, binding: int) -> str:
    """A kernel inside the repr of another, in brackets where it binds less tightly."""
    return repr(kernel) if kernel.binding >= binding else f"({kernel!r})"


def _refuse_others(part: Any, name: str) -> None:
    """An error unless what a kernel is made of is a kernel."""
    if not isinstance(part, Kernel):
        raise KernelError(
            f"{name} takes a Kernel such as RBF(), got {part!r}; kernel_from makes one of a name or a function."
        )
