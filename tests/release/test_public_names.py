"""Tests that public names, parameters and commands do not change by accident: they are listed in a file.

docs/upgrading.md says what may change when. A line that goes or changes is a break and needs what that page asks for;
`python -m tests.release._names` writes the list anew.
"""

from __future__ import annotations

import pytest

from tests.release._names import LIST, public_lines


@pytest.fixture(scope="module")
def promised() -> list[str]:
    return LIST.read_text(encoding="utf-8").splitlines()


def test_every_promised_name_exists(promised: list[str]) -> None:
    assert [line for line in promised if line not in public_lines()] == []


def test_every_public_name_is_promised(promised: list[str]) -> None:
    assert [line for line in public_lines() if line not in promised] == []


def test_the_list_has_estimators_packages_and_commands(promised: list[str]) -> None:
    assert "mercer.GaussianNB.predict(self, X)" in promised
    assert "mercer.GaussianNB.theta_" in promised
    assert "mercer.kernels.RBF(gamma=, sigma=)" in promised
    assert any(line.startswith("$ mercer compare data --target ") for line in promised)
