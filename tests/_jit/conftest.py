"""A package like mercer with two loops, so that caches are filled and spoiled in a second."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import mercer
from tests._jit._process import CALLER, HELPER


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with the decorator and two loops, one calling the other, in files of their own."""
    folder = tmp_path / "mercer" / "_jit"
    folder.mkdir(parents=True)
    (tmp_path / "mercer" / "__init__.py").touch()
    for name in ("_jit/__init__.py", "_jit/_cache.py", "_atomic.py", "_errors.py", "_warn.py"):
        shutil.copy(Path(mercer.__file__).parent / name, tmp_path / "mercer" / name)
    (folder / "helper.py").write_text(HELPER.format(constant=1.0))
    (folder / "caller.py").write_text(CALLER)
    return tmp_path
