"""Models by their names: classes of mercer and scikit-learn, and models written as in Python."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from mercer._errors import DataError
from mercer._suggest import did_you_mean
from mercer.base import estimator_named, model_names
from mercer.using.preparing import model_named

#: penalties that may stand within a model; kernels may, too
PENALTIES = ("L1", "L2")


def parse_model(text: str) -> Any | None:
    """Return the model that is written as in Python, such as `SVC(C=10)`; None where the text is not a call.

    Only models, kernels and penalties of mercer can be written, with numbers, strings, truth values and None as
    parameters: nothing else is evaluated.

    Examples
    --------
    >>> parse_model("SVC(C=10)"), parse_model("LogisticRegression of products")
    (SVC(C=10), None)
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None
    return _called(call, text) if isinstance(call, ast.Call) else None


def _called(call: ast.Call, text: str) -> Any:
    makers = _makers()
    if not isinstance(call.func, ast.Name) or call.func.id not in makers:
        name = ast.unparse(call.func)
        raise DataError(f"There is no model {name!r}, as in {text!r}. {did_you_mean(name, sorted(makers))}")
    values = [_value(each, text) for each in call.args]
    named = {each.arg: _value(each.value, text) for each in call.keywords if each.arg is not None}
    name = call.func.id
    try:
        if name in model_names() and not values:
            return model_named(name, named)
        return makers[name](*values, **named)
    except (TypeError, ValueError) as refusal:
        raise DataError(f"{text!r} is not a model: {' '.join(str(refusal).split())}") from None


def _value(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Call):
        return _called(node, text)
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise DataError(
            f"{text!r} has {ast.unparse(node)!r}, which is neither a number, a string, a model, a kernel nor a penalty."
        ) from None


def _makers() -> dict[str, Callable[..., Any]]:
    """Return what may be called, by name."""
    from mercer import families, kernels, models

    of_kernels = {name: getattr(kernels, name) for name in kernels.__all__ if isinstance(getattr(kernels, name), type)}
    penalties = {name: getattr(families, name) for name in PENALTIES}
    return {
        **of_kernels,
        **penalties,
        **{name: estimator_named(name) for name in model_names()},
        "kernelize": models.kernelize,
    }


def find_sklearn(name: str) -> Any | None:
    """Return a classifier or regressor of scikit-learn by its class, or its full path; None where there is none.

    Examples
    --------
    >>> find_sklearn("sklearn.ensemble.RandomForestRegressor")
    RandomForestRegressor()
    """
    from sklearn.utils import all_estimators

    *path, last = name.split(".")
    if path and path[0] != "sklearn":
        return None
    for found, kind in all_estimators(type_filter=["classifier", "regressor"]):
        if found.casefold() == last.casefold() and kind.__module__.startswith(".".join(path) or "sklearn"):
            try:
                return kind()
            except TypeError:  # it is built around another model
                raise DataError(
                    f"{found} needs parameters, and cannot be made by its name alone; give it in Python."
                ) from None
    return None
