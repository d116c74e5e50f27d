"""Obstacles to the export of a model, determined without writing it."""

from __future__ import annotations

import re
from typing import Any, Literal

from mercer._errors import ExportError
from mercer.export import onnx, python, sql
from mercer.export.lower import check_kinds, lower

Language = Literal["sql", "onnx", "python"]
LANGUAGE_NAMES: dict[Language, str] = {"sql": "SQL", "onnx": "ONNX", "python": "Python"}
FORMULA_CHECKS = {"sql": sql.check_formula, "onnx": onnx.check_formula, "python": python.check_formula}


def obstacle(model: Any, to: Language | None = None) -> str | None:
    """Return why a fitted model cannot be exported, or None if it can be.

    Parameters
    ----------
    model : estimator
        A fitted model, alone or in a `Pipeline`.
    to : {"sql", "onnx", "python"} or None, default=None
        The language; None for all three.

    Returns
    -------
    reason : str or None
        One sentence. Without `to`, it also names the other languages. The result is None, too, if only rows with
        missing values have no prediction in the export, and the rows of the fit were complete: see `remark_on`.

    Examples
    --------
    >>> from mercer import LogisticRegression
    >>> from mercer.export import obstacle
    >>> print(obstacle(LogisticRegression().fit([[0.0], [2.0]], ["no", "yes"])))
    None
    """
    try:
        formula = lower(model)
    except ExportError as error:
        return _reason(error)
    reasons: dict[Language, str] = {}
    for language in [to] if to else LANGUAGE_NAMES:
        try:
            FORMULA_CHECKS[language](formula)
        except ExportError as error:
            reasons[language] = _reason(error)
    if not reasons:
        return None
    first = next(iter(reasons.values()))
    left = [name for language, name in LANGUAGE_NAMES.items() if language not in reasons]
    if to or not left:
        return first
    uncapitalised = first[0].lower() + first[1:] if first[1:2].islower() else first
    return f"It can be exported to {' and '.join(left)} only: {uncapitalised}"


def obstacle_of_kind(model: Any) -> str | None:
    """Return why models of this kind cannot be exported, or None, without the formula of this one.

    Examples
    --------
    >>> from mercer import LogisticRegression
    >>> from mercer.export.obstacle import obstacle_of_kind
    >>> print(obstacle_of_kind(LogisticRegression().fit([[0.0], [2.0]], ["no", "yes"])))
    None
    """
    try:
        check_kinds(model)
    except ExportError as error:
        return _reason(error)
    return None


def remark_on(model: Any) -> str:
    """Return a remark on rows that a fitted model predicts and its exports do not; "" if there are none.

    Examples
    --------
    >>> from mercer import LogisticRegression
    >>> from mercer.export.obstacle import remark_on
    >>> remark_on(LogisticRegression().fit([[0.0], [2.0]], ["no", "yes"]))
    ''
    """
    return lower(model).remark


def _reason(error: ExportError) -> str:
    """Return the first sentence of an error; the remedy follows it."""
    return re.split(r"(?<=\.) (?=[A-Z])", str(error), maxsplit=1)[0]
