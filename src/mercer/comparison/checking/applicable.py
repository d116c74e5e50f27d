"""Which checks apply to a comparison: one that cannot find anything is not listed as passed."""

from __future__ import annotations

from collections.abc import Callable

from mercer.comparison.view import View
from mercer.models.reader import part_of


def applies(code: str, view: View) -> bool:
    """Return whether the check of that code is about data and models such as these."""
    return code not in _CONDITIONS or _CONDITIONS[code](view)


def _classes(view: View) -> bool:
    return view.classification


def _several_amounts(view: View) -> bool:
    return not view.sparse and len(view.amounts) > 1


def _has_gaps(view: View) -> bool:
    return any("missing" in note for column in view.schema for note in column.notes)


def _some_model(*attributes: str) -> Callable[[View], bool]:
    """Whether a model that took part has one of these attributes once it is fitted."""

    def found(view: View) -> bool:
        models = (part_of(entry.fitted, -1) for entry in view.ranked if entry.fitted is not None)
        return any(hasattr(model, name) for model in models for name in attributes)

    return found


_CONDITIONS: dict[str, Callable[[View], bool]] = {
    "MRC102": _classes,
    "MRC104": _has_gaps,
    "MRC106": _classes,
    "MRC108": _has_gaps,
    "MRC201": _classes,
    "MRC202": _several_amounts,
    "MRC203": lambda view: view.comparison.task.name == "counts",
    "MRC204": lambda view: _classes(view) and _several_amounts(view),
    "MRC205": lambda view: _classes(view) and bool(view.amounts),
    "MRC206": lambda view: _classes(view) and _several_amounts(view),
    "MRC207": lambda view: view.comparison.task.name in ("regression", "amounts"),
    "MRC302": _some_model("kernel_", "dual_coef_"),
    "MRC303": _some_model("bandwidth_"),
    "MRC304": lambda view: any(entry.choice is not None for entry in view.ranked),
    "MRC305": lambda view: _classes(view) and bool(view.probable),
    "MRC307": _some_model("kernel_", "dual_coef_"),
}
