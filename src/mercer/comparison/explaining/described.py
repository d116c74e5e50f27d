"""A fitted model in a few lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._suggest import listed
from mercer.comparison.taking_part.kinds import innermost
from mercer.comparison.using.reading import columns_of, reader_of
from mercer.data import Schema


def described(model: Any) -> Iterator[str]:
    """Lines about the model, what it answers with, and the columns that it reads."""
    yield " ".join(repr(innermost(model)).split())
    if innermost(model) is not model:
        yield f"within {type(model).__name__}"
    if hasattr(model, "classes_"):
        yield f"Classes: {listed([str(label) for label in np.asarray(model.classes_).tolist()])}"
    for about, value in (("Certificate", "certificate_"), ("Plan", "plan_")):
        found = getattr(innermost(model), value, None)
        if found is not None:
            yield f"{about}: {found}"
    reader = reader_of(model)
    schema = getattr(reader, "schema_", None) or getattr(reader, "families", None)
    names = columns_of(model)
    if isinstance(schema, Schema):
        yield str(schema)
    elif names is not None:
        yield f"Columns: {listed(names)}"
