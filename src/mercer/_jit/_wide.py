"""The widest vectors of the machine; imported when numba compiles a loop that asks for them."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


@intrinsic
def wide_vectors(typing):  # type: ignore[no-untyped-def]
    """LLVM prefers vectors of 256 bits even where there are 512: its reason, a slower clock, is gone."""

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        # llvmlite knows attributes by name only; those with a value are to be written out
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), write
