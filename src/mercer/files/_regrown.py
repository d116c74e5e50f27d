"""Parts that no file holds and that are made again of the others: trees of scikit-learn."""

from __future__ import annotations

from typing import Any

#: the attribute that a tree is in
TREE = "density_"


def without_regrown(thing: Any, state: dict[str, Any]) -> dict[str, Any]:
    """The parts of an object without those that `regrow` makes."""
    if _may_have_tree(thing) and type(state.get(TREE)).__name__ == "TreeDensity":
        return {name: part for name, part in state.items() if name != TREE}
    return state


def regrow(thing: Any) -> None:
    """Make what was left out, the same as it was: the order of the rows decides it."""
    if _may_have_tree(thing) and hasattr(thing, "_rows") and not hasattr(thing, TREE):
        thing._regrow()


def _may_have_tree(thing: Any) -> bool:
    return type(thing).__name__ == "KernelDensity"
