"""The section on reproducing the comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mercer.comparison._view import View
from mercer.comparison.comparing import format_setting
from mercer.report import Field, Grid, Section


def reproduction(view: View) -> Section:
    """Return the settings, the versions, and the command or call."""
    settings: dict[str, Any] = {str(key): value for key, value in view.comparison.settings.items()}
    command = settings.pop("command", None)
    rows = [(key, format_setting(value)) for key, value in settings.items() if value is not None]
    rows.append(("seconds", f"{view.comparison.seconds:.1f}"))
    blocks: list[Any] = [f"On the command line: `{command}`"] if command else []
    blocks.append(f"In Python: `{_call(settings)}`")
    blocks.append(Grid("Settings", (Field("what"), Field("value")), tuple(rows)))
    return Section(
        "reproduce",
        "How to reproduce this",
        tuple(blocks),
        "The same data, settings and versions give the same numbers, apart from times.",
    )


def _call(settings: Mapping[str, Any]) -> str:
    """Return the call with the same models and splits."""
    models = settings.get("models")
    named_models = [] if models is None else [f"models={models!r}" if isinstance(models, list) else "models=…"]
    by = {"by groups": "groups=…", "forward in time": "times=…"}.get(str(settings.get("splits")))
    named = {"task": "task", "folds": "cv", "repeats": "repeats", "seed": "random_state"}
    given = [f"{option}={settings[key]!r}" for key, option in named.items() if key in settings]
    return f"mercer.compare({', '.join(['X', 'y', *named_models, *given, *filter(None, [by])])})"
