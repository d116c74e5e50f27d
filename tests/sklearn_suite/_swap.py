"""scikit-learn's own tests, run on classes of mercer: what passes there must pass here."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Loaded(NamedTuple):
    """Outcomes of the tests of a module, for the page of differences."""

    module: str
    replaced: tuple[str, ...]
    runs: tuple[str, ...]
    left_out: Mapping[str, str]


#: every module that has been loaded in this process
LOADED: list[Loaded] = []


def load_swapped(
    module_name: str,
    replacements: Mapping[str, Any],
    *,
    exclude: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
    naming: str | None = None,
) -> dict[str, Any]:
    """The tests of an installed test module, with `replacements` in place of the names it imports.

    Parameters
    ----------
    module_name : str
        For example "sklearn.tests.test_naive_bayes".
    replacements : mapping from name to object
        Every name must be imported by the module; the import is dropped and the object put in its place.
    exclude : mapping from test name to reason
        Tests that are left out. A name that the module no longer has is an error, so that the list stays true.
    only : collection of test names
        Those that are about the replacements, where others are not; all of them by default.
    naming : str
        A pattern that the code of a test must have; the others are scikit-learn's own, or of another suite.

    Returns
    -------
    tests : dict
        To be put into the globals of the module that pytest collects.
    """
    tree = parsed(module_name)
    _drop_imports(tree, set(replacements))
    path = str(_source_of(module_name))
    namespace: dict[str, Any] = {"__name__": f"swapped.{module_name}", "__file__": path, **replacements}
    exec(compile(tree, path, "exec"), namespace)
    tests = {name: value for name, value in namespace.items() if _is_test(name, only) or is_fixture(value)}
    for name, reason in (exclude or {}).items():
        if tests.pop(name, None) is None:
            raise LookupError(f"{module_name} has no test {name!r} to exclude ({reason}); take it off the list")
    if naming is not None:
        tests = {name: value for name, value in tests.items() if is_fixture(value) or _names(value, naming)}
    runs = tuple(name for name in tests if _is_test(name, only))
    LOADED.append(Loaded(module_name, tuple(replacements), runs, exclude or {}))
    return tests


def parsed(module_name: str) -> ast.Module:
    """The source of an installed test module."""
    return ast.parse(_source_of(module_name).read_text(encoding="utf-8"))


def _is_test(name: str, only: Collection[str] | None) -> bool:
    return name.startswith("test_") and (only is None or name in only)


def _names(test: Any, pattern: str) -> bool:
    return re.search(pattern, inspect.getsource(test)) is not None


def is_fixture(value: Any) -> bool:
    return type(value).__name__ == "FixtureFunctionDefinition"


def _source_of(module_name: str) -> Path:
    spec = importlib.util.find_spec(module_name)
    if spec is None or spec.origin is None:
        pytest.skip(f"{module_name} is not installed with scikit-learn", allow_module_level=True)
    return Path(spec.origin)


def _drop_imports(tree: ast.Module, names: set[str]) -> None:
    """Take `names` out of the module's imports; each must be there."""
    missing = set(names)
    for node in list(tree.body):
        if isinstance(node, ast.ImportFrom):
            missing -= {alias.name for alias in node.names}
            node.names = [alias for alias in node.names if alias.name not in names]
            if not node.names:
                tree.body.remove(node)
    if missing:
        raise LookupError(f"the test module does not import {sorted(missing)}")
