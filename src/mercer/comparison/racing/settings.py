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
    from mercer import __version__

    return {
        "task": task.name,
        "folds": cv,
        "repeats": repeats,
        "seed": random_state,
        "splits": "forward in time" if times is not None else "by groups" if groups is not None else "random",
        "mercer": __version__,
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }
