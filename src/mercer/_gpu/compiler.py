"""Test whether Triton works: it has to be installed, to find a C compiler, and to support the GPU."""

from __future__ import annotations

from functools import cache
from typing import Any

from mercer._errors import MercerWarning
from mercer._warn import warn


@cache
def compiles(device: Any) -> bool:
    """Return whether a small kernel runs on a GPU; if Triton is installed and fails, warn once with the reason."""
    import torch

    try:
        from mercer._gpu.triton_probe import works

        return works(device)
    except torch.cuda.OutOfMemoryError:
        raise
    except ModuleNotFoundError as missing:
        if missing.name != "triton":
            raise
    except Exception as broken:  # the errors depend on the installation
        why = (str(broken).strip() or type(broken).__name__).splitlines()[0]
        warn(
            f"Triton does not run on {device} ({why}), so that torch takes its place, which is slower. It needs a C "
            "compiler (gcc, or one that CC names) and the headers of Python.",
            MercerWarning,
        )
    return False
