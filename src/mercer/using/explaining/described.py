"""A fitted model in a few lines."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._suggest import listed
from mercer.data import Schema
from mercer.decide.wrapped import layers
from mercer.models.reader import columns_of_fit, schema_of
from mercer.report.wording import shortened
from mercer.using.reading import columns_of, reader_of

#: characters of what is no model
LONGEST = 200


def described(model: Any, *, columns: bool = True) -> Iterator[str]:
    """Yield lines about the model and what it answers with, and by default the columns that it reads."""
    *around, predicts = layers(model)
    yield _written(predicts)
    if around:
        yield ", ".join(f"within {type(each).__name__}" for each in reversed(around))
    if hasattr(model, "classes_"):
        yield f"Classes: {listed([str(label) for label in np.asarray(model.classes_).tolist()])}"
    for about, value in (("Certificate", "certificate_"), ("Plan", "plan_")):
        found = getattr(predicts, value, None)
        if found is not None:
            yield f"{about}: {found}"
    if not columns:
        return
    names = columns_of(model)
    if (schema := schema_of(reader := reader_of(model))) is not None:
        yield str(schema if names is None else Schema(tuple(columns_of_fit(reader))))
    elif names is not None:
        yield f"Columns: {listed(names)}"


def _written(model: Any) -> str:
    """A model with the parameters that differ from their defaults; a schema is shown as a table instead.

    Files may hold a family or a kernel by itself, too, or numbers.
    """
    if not hasattr(model, "get_params"):
        return shortened(repr(model), LONGEST)
    usual = {name: each.default for name, each in inspect.signature(type(model)).parameters.items()}
    changed = [
        f"{name}={value!r}"
        for name, value in model.get_params(deep=False).items()
        if repr(value) != repr(usual.get(name)) and not isinstance(value, Schema)
    ]
    return " ".join(f"{type(model).__name__}({', '.join(changed)})".split())
