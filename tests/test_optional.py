"""Packages that mercer can do without."""

from __future__ import annotations

from pathlib import Path

import pytest

from mercer._errors import MissingDependencyError
from mercer._optional import require


def test_a_missing_package_is_named_with_its_purpose_and_installation() -> None:
    with pytest.raises(MissingDependencyError, match=r"Teleporting needs .*'absent', .*pip install absent$"):
        require("absent.part", purpose="Teleporting")


def test_packages_of_an_extra_are_installed_by_the_extra() -> None:
    with pytest.raises(MissingDependencyError, match=r"pip install 'mercer\[teleport\]'$"):
        require("absent.part", purpose="Teleporting", extra="teleport")


def test_it_can_be_caught_as_an_import_error() -> None:
    with pytest.raises(ImportError):
        require("no_such_package", purpose="Teleporting")


def test_an_error_inside_an_installed_package_is_raised_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_package.py").write_text("import something_it_needs")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_it_needs") as caught:
        require("broken_package", purpose="Teleporting")
    assert not isinstance(caught.value, MissingDependencyError)
