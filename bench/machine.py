"""What the measurements were made on, in one line: processor, threads, versions."""

from __future__ import annotations

import datetime
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import mercer

#: rivals, those of the extra "bench", and what mercer and they are made of
PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-learn-intelex",
    "glum",
    "skglm",
    "celer",
    "grakel",
    "KDEpy",
    "statsmodels",
    "numba",
)


def describe_environment(threads: int) -> str:
    versions = ", ".join(f"{name} {found}" for name in PACKAGES if (found := _version(name)))
    return (
        f"{datetime.date.today().isoformat()}, {processor()}, {threads} thread{'s' * (threads > 1)}, "
        f"Python {platform.python_version()}, mercer {mercer.__version__}, {versions}"
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
