"""Writes docs/scikit-learn-tests.md: which of scikit-learn's tests run on our classes, and which do not and why.

`python -m tests.sklearn_suite._page` writes it anew.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from itertools import groupby
from pathlib import Path

from tests.sklearn_suite._swap import LOADED, Loaded

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "scikit-learn-tests.md"
HEAD = """# scikit-learn's tests with the classes of mercer

`tests/sklearn_suite` runs the tests of the installed scikit-learn with the classes of mercer in place of those that the
tests import: the tests of the classes themselves, and those of pipelines, searches, ensembles and
displays that use one of them. `make test` runs the former, `make test-slow` the latter.
`python -m tests.sklearn_suite._page` writes this page, and a test checks that it is up to date. Deliberate differences
are listed in [decision 5](decisions/0005-deviations-from-scikit-learn.md); the checks of conventions are in
`tests/base/test_check_estimator.py`.
"""

#: files that import a class that mercer has, too, but are about others
OTHERS = {
    "sklearn.tests.test_common": "checks scikit-learn's own estimators, one by one; ours are checked in "
    "tests/base/test_check_estimator.py",
    "sklearn.tests.test_docstring_parameters": "is about docstrings of scikit-learn's own modules",
}


def written() -> str:
    """The page."""
    found = sorted(loaded(), key=lambda one: (one.module, sorted(one.replaced)))
    ran, out = sum(len(one.runs) for one in found), sum(len(one.left_out) for one in found)
    return "\n".join(
        [
            HEAD,
            f"{ran} test functions of {len({one.module for one in found})} files run, {out} are left out.",
            "",
            "## What is left out, and why",
            "",
            "| file | tests | why |",
            "| --- | --- | --- |",
            *(row for one in found for row in reasons(one)),
            *(f"| {_file(module)} | all | {reason} |" for module, reason in OTHERS.items()),
            "",
            "## What runs",
            "",
            "| file | tests | left out | our classes in it |",
            "| --- | --- | --- | --- |",
            *(
                f"| {_file(one.module)} | {len(one.runs)} | {len(one.left_out)} | {_names(one.replaced)} |"
                for one in found
            ),
            "",
        ]
    )


def loaded() -> list[Loaded]:
    """Import all suites and return what they loaded."""
    for path in sorted(FOLDER.glob("test_*.py")):
        if path.stem not in ("test_page", "test_swap"):
            importlib.import_module(f"tests.sklearn_suite.{path.stem}")
    return LOADED


def reasons(one: Loaded) -> Iterator[str]:
    """A row for each reason."""
    ordered = sorted(one.left_out.items(), key=lambda item: item[1])
    for reason, tests in groupby(ordered, key=lambda item: item[1]):
        yield f"| {_file(one.module)} | {_names(name for name, _ in tests)} | {reason} |"


def _file(module: str) -> str:
    return f"`{module.removeprefix('sklearn.')}`"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


if __name__ == "__main__":
    with redirect_stdout(StringIO()):  # some test files print while they load
        page = written()
    if "--show" in sys.argv:
        sys.stdout.write(page)
    else:
        PAGE.write_text(page, encoding="utf-8")
