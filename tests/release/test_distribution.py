"""Tests of the published files: a wheel with only the package, and a source archive with its tests."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import mercer

REPOSITORY = Path(__file__).parents[2]

pytest.importorskip("hatchling", reason="what builds the distribution is not installed: pip install 'mercer[release]'")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=REPOSITORY, check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def archived(built: Path) -> set[str]:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel: zipfile.ZipFile) -> None:
    source = REPOSITORY / "src"
    package = {
        path.relative_to(source).as_posix()
        for path in source.glob("mercer/**/*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == package


def test_the_wheel_runs_anywhere_and_brings_the_command(wheel: zipfile.ZipFile) -> None:
    assert wheel.filename is not None
    assert Path(wheel.filename).name == f"mercer-{mercer.__version__}-py3-none-any.whl"
    (points,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert "mercer = mercer.cli:main" in wheel.read(points).decode()


def test_extras_agree_with_those_named_in_error_messages(wheel: zipfile.ZipFile) -> None:
    """`pip install 'mercer[x]'` is said where a package is missing: each x exists, and `all` has them all."""
    (metadata,) = [name for name in wheel.namelist() if name.endswith("METADATA")]
    extras = set(Parser().parsestr(wheel.read(metadata).decode()).get_all("Provides-Extra") or [])
    sources = [path.read_text(encoding="utf-8") for path in (REPOSITORY / "src").rglob("*.py")]
    found = [pair for source in sources for pair in re.findall(r'extra="(\w+)"|mercer\[(\w+)\]', source)]
    named = {extra or written for extra, written in found}
    assert named
    assert named <= extras
    listed = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    (everything,) = listed["all"]
    assert named <= set(everything.removeprefix("mercer[").removesuffix("]").split(","))


def test_the_source_archive_holds_what_its_tests_need(archived: set[str]) -> None:
    wanted = {
        "pyproject.toml",
        "Makefile",
        "constraints.txt",
        "README.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "CITATION.cff",
        "LICENSE",
        "docs/upgrading.md",
    }
    assert (
        wanted | {"tests/conftest.py", "tests/release/public_names.txt", "bench/results.json", "tools/walk.py"}
        <= archived
    )


def test_the_citation_has_the_version() -> None:
    citation = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, flags=re.MULTILINE) == [mercer.__version__]


def test_the_changelog_has_the_version() -> None:
    headings = re.findall(r"^## (\S+)", (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert headings[0] == mercer.__version__
