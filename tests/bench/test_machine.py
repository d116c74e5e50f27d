"""The line about the machine of a measurement."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from bench.machine import PACKAGES, commit, describe_environment

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_every_rival_has_its_version_in_the_line() -> None:
    wanted = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]["bench"]
    rivals = {re.split(r"[>=\[]", each)[0] for each in wanted} - {"mercer"}
    assert rivals
    assert rivals <= set(PACKAGES)


def test_the_measured_code_has_its_commit_and_a_mark_for_changes(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    (package := tmp_path / "src").mkdir()
    (package / "__init__.py").touch()

    def git(*words: str) -> str:
        author = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *author, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init")
    assert commit(package) is None
    git("add", ".")
    git("commit", "-m", "first")
    short = git("rev-parse", "--short", "HEAD")
    (tmp_path / "elsewhere").touch()
    assert commit(package) == short
    (package / "new.py").touch()
    assert commit(package) == f"{short}+"


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit() is None
    assert re.search(r", mercer [\d.]+, numpy ", describe_environment(2))
