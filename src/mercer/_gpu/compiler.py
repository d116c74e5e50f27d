"""Whether Triton can be used: it has to be there, to find a C compiler, and to know the card."""

from __future__ import annotations

from functools import cache
from typing import Any

from mercer._errors import MercerWarning
from mercer._warn import warn


@cache
def compiles(device: Any) -> bool:
    """Whether a small kernel runs on a card; where Triton is there and fails, a warning says why, once."""
    import torch

    try:
        from mercer._gpu.triton_probe import works

        return works(device)
    except torch.cuda.OutOfMemoryError:
        raise
    except ModuleNotFoundError as missing:
        if missing.name != "triton":
            raise
    except Exception as broken:  # a compiler fails in as many ways as there are installations
        why = (str(broken).strip() or type(broken).__name__).splitlines()[0]
        warn(
            f"Triton does not run on {device} ({why}), so that torch takes its place, which is slower. It needs a C "
            "compiler (gcc, or one that CC names) and the headers of Python.",
            MercerWarning,
        )
    return False
