"""What somebody should know who runs mercer for the first time on a machine."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path


def remark_first_run(quiet: bool) -> None:
    """Say why the first answer takes so long, where nothing has been compiled yet."""
    from mercer.cli._printing import remark

    if _nothing_compiled():
        remark("The first run compiles what it needs, which takes half a minute or more; later ones need not.", quiet)


def _nothing_compiled() -> bool:
    """Whether the place where numba keeps machine code has none; False where it would be kept elsewhere."""
    if told := os.environ.get("NUMBA_CACHE_DIR"):
        place = Path(told)
    else:
        loops = find_spec("mercer._jit")
        if loops is None or loops.origin is None or not os.access(folder := Path(loops.origin).parent, os.W_OK):
            return False
        place = folder
    return next(place.rglob("*.nbi"), None) is None
