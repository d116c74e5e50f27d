"""Packages whose public names are loaded on first use, so that importing a package takes no time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, Sequence[str]], packages: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package that imports each public name on first use.

    Parameters
    ----------
    package : str
        The dotted name of the package.
    modules : mapping from str to sequence of str
        The public names, by the module of the package from which they are imported.
    packages : sequence of str, default=()
        Modules of the package that are public themselves.
    """
    homes = {name: module for module, names in modules.items() for name in names}
    public = sorted([*homes, *packages])

    def load(name: str) -> Any:
        if name in packages:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}; see dir({package}) for the public names."
            )
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: public
