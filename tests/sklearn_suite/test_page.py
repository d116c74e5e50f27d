"""The page that lists the tests of scikit-learn that differ is what the suites say."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

from tests.sklearn_suite._inside import about, replacements_in
from tests.sklearn_suite._page import OTHERS, PAGE, loaded
from tests.sklearn_suite._swap import parsed


@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    """In a process of its own, where nothing but the suites has loaded tests."""
    command = [sys.executable, "-m", "tests.sklearn_suite._page", "--show"]
    shown = subprocess.run(command, cwd=PAGE.parents[1], capture_output=True, text=True, check=True)
    assert PAGE.read_text(encoding="utf-8") == shown.stdout, "run: python -m tests.sklearn_suite._page"


@pytest.mark.slow
def test_every_file_that_tests_a_replaced_class_is_listed() -> None:
    root = Path(sklearn.__file__).parent
    modules = {
        ".".join(("sklearn", *path.relative_to(root).with_suffix("").parts)) for path in root.glob("**/tests/test_*.py")
    }
    ours = {module for module in modules if replacements_in(parsed(module))}
    assert ours - {one.module for one in loaded()} == set(OTHERS)


def test_an_annotated_list_refers_to_its_elements() -> None:
    tree = ast.parse("CASES: list = [Lasso]\ndef test_one(): CASES\ndef test_other(): ...")
    assert about({"Lasso"}, tree) == {"Lasso", "CASES", "test_one"}
