"""The only import of packages that mercer can do without: when they are needed, with a sentence if they are absent."""

from __future__ import annotations

import importlib
from types import ModuleType

from mercer._errors import MissingDependencyError


def require(package: str, *, purpose: str, extra: str | None = None) -> ModuleType:
    """Import `package`, or say what it is needed for and how to install it: by itself, or as an extra of mercer.

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
