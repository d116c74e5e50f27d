"""Assertion of laws: each law is a function of a case, and its docstring states the law."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Case = TypeVar("Case")


def assert_laws(laws: Sequence[Callable[[Case], None]], case: Case, subject: str) -> list[str]:
    """Check all laws and return their sentences; an AssertionError names `subject` and the first law that it breaks."""
    for law in laws:
        try:
            law(case)
        except AssertionError as failure:
            raise AssertionError(f"{subject} breaks the law “{_sentence(law)}”: {failure}") from failure
    return [_sentence(law) for law in laws]


def assert_value(thing: Any, *copies: Any) -> None:
    """Check that a value equals its copies, has the same hash as they have, and is readable."""
    for copy in copies:
        assert copy == thing, "its copy is another"
        assert hash(copy) == hash(thing), "its copy has another hash"
    assert "object at" not in repr(thing), f"its repr is {thing!r}"


def pickled(thing: Any) -> Any:
    """Return a copy made by pickling."""
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 – its own bytes


def _sentence(law: Callable[[Case], None]) -> str:
    return (law.__doc__ or law.__name__).rstrip(".")
