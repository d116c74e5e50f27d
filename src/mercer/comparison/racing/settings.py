"""How to have the same numbers again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mercer.using.model_cards import installed
from mercer.using.tasks import Task


def settings_of(
    task: Task,
    *,
    models: Mapping[str, Any] | Sequence[Any] | None,
    cv: int,
    repeats: int,
    random_state: int | None,
    groups: Any,
    times: Any,
) -> dict[str, Any]:
    """What was asked for, and the versions of what answered."""
    return {
        **_asked_for(models),
        "task": task.name,
        "folds": cv,
        "repeats": repeats,
        "seed": random_state,
        "splits": "forward in time" if times is not None else "by groups" if groups is not None else "random",
        **installed(),
    }


def _asked_for(models: Mapping[str, Any] | Sequence[Any] | None) -> dict[str, Any]:
    """The names of models, if some were asked for; of objects no name says which parameters they had."""
    if models is None:
        return {}
    if isinstance(models, Mapping) or not all(isinstance(each, str) for each in models):
        return {"models": "as given"}
    return {"models": [str(each) for each in models]}


def in_words(value: Any) -> str:
    """A setting as it is shown."""
    return ", ".join(value) if isinstance(value, list) else str(value)
