"""The intrinsic `wide_vectors`; imported when numba compiles a loop that calls it."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


@intrinsic
def wide_vectors(typing):  # type: ignore[no-untyped-def]
    """Set the preferred vector width to 512 bits; LLVM prefers 256, for old processors whose clock slowed down."""

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        # llvmlite supports attributes without values only, so the attribute is written out
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), write
