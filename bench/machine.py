"""What the measurements were made on, in one line: processor, threads, versions, commit."""

from __future__ import annotations

import datetime
import platform
import subprocess
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
    code = f"mercer {mercer.__version__}" + (f" ({found})" if (found := commit()) else "")
    return (
        f"{datetime.date.today().isoformat()}, {processor()}, {threads} thread{'s' * (threads > 1)}, "
        f"Python {platform.python_version()}, {code}, {versions}"
    )


def commit(package: Path = Path(mercer.__file__).parent) -> str | None:
    """The short hash of the code that runs, with a "+" if it has changes; None where git does not know that code."""
    try:
        _git(package, "ls-files", "--error-unmatch", "__init__.py")  # an installed copy may lie inside a repository
        changed = _git(package, "status", "--porcelain", "--", ".")
        return _git(package, "rev-parse", "--short", "HEAD") + "+" * bool(changed)
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


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
