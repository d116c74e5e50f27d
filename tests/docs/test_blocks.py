"""Every block of code is fenced, has a language, and is run unless its page gives a reason."""

from __future__ import annotations

import ast
import re
import tomllib

import pytest

from tests.docs._pages import DATA, PRINTED, PYTHON, REPOSITORY, SHELL, Page, blocks_of, indented_in, pages

#: pages with blocks that no test can run, and the reason they give; may it stay empty
NOT_RUN: dict[str, list[str]] = {}

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)

EVERY_PAGE = pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)


@EVERY_PAGE
def test_code_is_fenced_and_names_its_language(page: Page) -> None:
    known = PYTHON | SHELL | PRINTED | DATA
    assert [block.line for block in page.blocks if block.language not in known and not block.directive] == []
    assert [
        block.line for block in page.blocks if block.language in {"{code-block}", "{code-cell}", "{eval-rst}"}
    ] == []
    assert indented_in(page.text) == []


def test_blocks_that_are_not_run_are_listed_here() -> None:
    excuses = {page.name: [block.excuse for block in page.blocks if block.excuse] for page in pages()}
    assert {name: reasons for name, reasons in excuses.items() if reasons} == NOT_RUN


@EVERY_PAGE
def test_every_excuse_belongs_to_a_block(page: Page) -> None:
    """Reasons have one spelling, since a comment that is spelt differently would have no effect."""
    excused = [block for block in page.blocks if block.excuse]
    assert len(excused) == len(re.findall(r"<!--\s*not run", page.text))


SOURCES = sorted(REPOSITORY.glob("src/mercer/**/*.py"))


def test_all_code_in_docstrings_is_run() -> None:
    """Examples after >>> are run; a block after two colons would be on a page of the reference without a test."""
    said = [
        (path, ast.get_docstring(node))
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, DOCUMENTED)
    ]
    assert len(said) > 1000
    assert [path.name for path, text in said if re.search(r"::$|\.\. code", text or "", flags=re.MULTILINE)] == []


def targets_of_make() -> set[str]:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    return set(re.search(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)[1].split())


def extras() -> set[str]:
    return set(
        tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    )


@EVERY_PAGE
def test_targets_of_make_exist(page: Page) -> None:
    code = "\n".join(
        [*(block.code for block in page.blocks if block.language in SHELL), *re.findall(r"`(make [^`]+)`", page.text)]
    )
    named = re.findall(r"^make(?: [A-Z]+=\S+)* ([a-z][\w-]*)", code, flags=re.MULTILINE)
    assert set(named) - targets_of_make() == set()


@EVERY_PAGE
def test_extras_to_install_exist(page: Page) -> None:
    named = re.findall(r"pip install '?(?:mercer|\.)\[([\w,]+)\]", page.text)
    assert {extra for one in named for extra in one.split(",")} - extras() == set()


PAGE = """Text.

```python
x = 1
```

    indented = "nobody knows what"

- an item

    that goes on

<!-- not run: needs a comet -->
```bash
observe
```

<!-- hidden
```python
y = 2
```
-->
"""


def test_blocks_are_found_with_their_lines_and_excuses() -> None:
    found = [(block.line, block.language, block.code, block.excuse) for block in blocks_of(PAGE)]
    first, second, third = found
    assert first == (4, "python", "x = 1\n", None)
    assert second == (15, "bash", "observe\n", "needs a comet")
    assert third == (20, "python", "y = 2\n", None)
    assert indented_in(PAGE) == [7]
