"""How to have the same numbers again."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

from mercer.using.tasks import Task

#: packages that numbers may depend on
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def settings_of(
    task: Task, *, cv: int, repeats: int, random_state: int | None, groups: Any, times: Any
) -> dict[str, Any]:
    """What was asked for, and the versions of what answered."""
    return {
        "task": task.name,
        "folds": cv,
        "repeats": repeats,
        "seed": random_state,
        "splits": "forward in time" if times is not None else "by groups" if groups is not None else "random",
        **installed(),
    }


def installed() -> dict[str, str]:
    """Versions of mercer, of Python, and of the packages that numbers depend on."""
    from mercer import __version__

    versions = {package: version(package) for package in PACKAGES}
    return {"mercer": __version__, "python": platform.python_version(), **versions}
