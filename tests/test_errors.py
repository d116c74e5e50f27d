"""The errors and warnings to catch are public, and they are the ones that are raised."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mercer import _errors, errors

#: met only by those who write a part of the report, a room that is not public
PRIVATE = {"RecordError"}
RAISED = {name for name, thing in vars(_errors).items() if isinstance(thing, type) and issubclass(thing, BaseException)}


def test_exactly_the_exceptions_that_users_may_meet_are_public() -> None:
    assert len(RAISED) > 70
    assert set(errors.__all__) == RAISED - PRIVATE


@pytest.mark.parametrize("name", errors.__all__)
def test_public_exceptions_are_the_internal_classes(name: str) -> None:
    found = getattr(errors, name)
    assert found is getattr(_errors, name)
    assert found.__doc__
    assert issubclass(found, (errors.MercerError, errors.MercerWarning, KeyboardInterrupt))


def test_importing_them_imports_nothing_else() -> None:
    code = "import sys; old = set(sys.modules); import mercer.errors; print(sorted(set(sys.modules) - old))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = ("numpy", "scipy", "sklearn", "numba", "pandas", "pyarrow")
    assert "'mercer.errors'" in done.stdout
    assert [name for name in heavy if f"'{name}'" in done.stdout] == []
