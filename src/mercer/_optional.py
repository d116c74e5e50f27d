"""Import of optional packages on first use, with a helpful error if they are not installed."""

from __future__ import annotations

import importlib
from types import ModuleType

from mercer._errors import MissingDependencyError


def require(package: str, *, purpose: str, extra: str | None = None) -> ModuleType:
    """Import `package`, or raise an error with its purpose and the command that installs it, or an extra of mercer.

    Examples
    --------
    >>> require("math", purpose="Counting").factorial(3)
    6
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as missing:
        if missing.name != package.split(".")[0]:
            raise
        wanted = missing.name if extra is None else f"'mercer[{extra}]'"
        raise MissingDependencyError(
            f"{purpose} needs the package {missing.name!r}, which is not installed: pip install {wanted}",
            name=missing.name,
        ) from None
