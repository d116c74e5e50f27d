"""How simple a fitted model is to use: whether it explains its predictions exactly, and whether it can be exported."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from mercer._errors import ExportError


class Simplicity(NamedTuple):
    """Whether the score is a sum over columns, and why the model cannot be exported (None where it can be)."""

    additive: bool
    obstacle: str | None


def simplicity_of(model: Any, row: Any) -> Simplicity:
    """Return the simplicity of a fitted model, of which one row is explained.

    Examples
    --------
    >>> from mercer import LogisticRegression
    >>> simplicity_of(LogisticRegression().fit([[0.0], [2.0]], ["no", "yes"]), [[1.0]])
    Simplicity(additive=True, obstacle=None)
    """
    model = without_search(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Simplicity(_is_additive(model, row), _obstacle(model))


def without_search(model: Any) -> Any:
    """Return a fitted model with the estimator that a search within it chose in the place of the search."""
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        *first, (name, last) = model.steps
        return Pipeline([*first, (name, without_search(last))])
    return getattr(model, "best_estimator_", model)


def _is_additive(model: Any, row: Any) -> bool:
    from mercer.using.explaining.explanation import explain_rows

    try:
        explain_rows(model, row)
    except Exception:  # a model of another library may raise anything; it is not known to be additive
        return False
    return True


def _obstacle(model: Any) -> str | None:
    from mercer.export.lower import lower

    try:
        lower(model)
    except ExportError as error:
        return str(error).partition(". ")[0].rstrip(".") + "."
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
