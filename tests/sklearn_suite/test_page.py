"""The page that lists the tests of scikit-learn that differ is what the suites say."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.sklearn_suite._page import PAGE


@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    """In a process of its own, where nothing but the suites has loaded tests."""
    command = [sys.executable, "-m", "tests.sklearn_suite._page", "--show"]
    shown = subprocess.run(command, cwd=PAGE.parents[1], capture_output=True, text=True, check=True)
    assert PAGE.read_text(encoding="utf-8") == shown.stdout, "run: python -m tests.sklearn_suite._page"
