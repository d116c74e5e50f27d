"""Our classes inside scikit-learn's others: its tests of pipelines, searches, ensembles, with the import changed."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

import mercer
from tests.sklearn_suite._swap import LOADED, is_fixture, load_swapped, parsed

#: modules of scikit-learn's that tests import whole, and take our classes from by their names
WHOLE = ("linear_model", "naive_bayes", "svm")

#: what gives a name to something in a module
Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


def load_inside(modules: Mapping[str, Mapping[str, str]]) -> dict[str, type]:
    """A test class for each module, with those of its tests in which a class of ours takes part.

    `modules` maps their names, "sklearn.tests.test_pipeline" say, to the tests that are left out and the reasons.
    They are classes because fixtures and tests of different modules have the same names.
    """
    return {class_name(module): _as_class(module, exclude) for module, exclude in modules.items()}


def class_name(module: str) -> str:
    """TestPipeline for "sklearn.tests.test_pipeline"."""
    words = module.removeprefix("sklearn.").replace(".tests.test_", "_").replace("tests.test_", "")
    return "Test" + "".join(word.capitalize() for word in words.replace(".", "_").split("_"))


def _as_class(module: str, exclude: Mapping[str, str]) -> type:
    tree = parsed(module)
    replacements = replacements_in(tree)
    tests = load_swapped(module, replacements, exclude=exclude, only=about(set(replacements), tree))
    if not LOADED[-1].runs:
        raise LookupError(f"{module} has no test in which a class of ours takes part; take it off the list")
    return type(class_name(module), (), {name: _without_self(value) for name, value in tests.items()})


def _without_self(value: Any) -> Any:
    """A function or a fixture as a member of a class that does not get the instance."""
    if is_fixture(value):
        return value._fixture_function_marker(staticmethod(value._get_wrapped_function()))
    return staticmethod(value)


@cache
def drop_ins() -> dict[str, Any]:
    """Our classes and functions by name: what a test imports from scikit-learn under one of these names is replaced."""
    return {name: made for name in mercer.__all__ if not inspect.ismodule(made := getattr(mercer, name))}


def replacements_in(tree: ast.Module) -> dict[str, Any]:
    """Replacements of the names that a test module imports."""
    found: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
            names = {alias.name for alias in node.names if alias.asname is None}
            found |= {name: drop_ins()[name] for name in names & drop_ins().keys()}
            if node.module == "sklearn":
                found |= {name: _with_ours(name) for name in names.intersection(WHOLE)}
    return found


def _with_ours(name: str) -> SimpleNamespace:
    module = vars(importlib.import_module(f"sklearn.{name}"))
    return SimpleNamespace(**{**module, **{key: made for key, made in drop_ins().items() if key in module}})


def about(names: set[str], tree: ast.Module) -> set[str]:
    """The names a module defines that mention one of `names`, or a name that does, and so on."""
    found = set(names)
    before = 0
    while len(found) > before:
        before = len(found)
        for node in tree.body:
            if isinstance(node, Definition) and _mentions(node, found):
                found |= _defined(node)
    return found


def _mentions(node: ast.AST, names: set[str]) -> bool:
    """Return whether the node contains a class, or an argument that is the name of a fixture."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in WHOLE:
            if part.value.id in names and part.attr in drop_ins():
                return True
        elif (isinstance(part, ast.Name) and part.id in names - set(WHOLE)) or (
            isinstance(part, ast.arg) and part.arg in names
        ):
            return True
    return False


def _defined(node: Definition) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {target.id for target in targets if isinstance(target, ast.Name)}
