"""How laws are asserted: each is a function of a case, and its docstring the sentence that says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Case = TypeVar("Case")


def assert_laws(laws: Sequence[Callable[[Case], None]], case: Case, subject: str) -> list[str]:
    """The sentences of all laws; an AssertionError names the `subject` and the first that it breaks."""
    for law in laws:
        try:
            law(case)
        except AssertionError as failure:
            raise AssertionError(f"{subject} breaks the law “{_sentence(law)}”: {failure}") from failure
    return [_sentence(law) for law in laws]


def _sentence(law: Callable[[Case], None]) -> str:
    return (law.__doc__ or law.__name__).rstrip(".")
