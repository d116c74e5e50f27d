"""Make the card of a fitted model, which `mercer.files` stores and prints."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np

from mercer._errors import MercerError
from mercer._suggest import listed
from mercer.application.reading import columns_of
from mercer.base.pipelines import innermost_part
from mercer.data import Schema, Table
from mercer.files.model_card import NOT_MEASURED, ModelCard, Score, hash_of_data, summarize_columns
from mercer.report.wording import join_words

#: packages on which results may depend
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
#: classes that a question names
MAX_QUESTION_CLASSES = 6


def make_card(
    model: Any,
    table: Table,
    y: Any,
    *,
    task: str,
    target: str = "",
    source: str = "",
    name: str | None = None,
    schema: Schema | None = None,
    rows: int | None = None,
    scores: Sequence[Score] = (),
    measured: str = NOT_MEASURED,
    problems: Sequence[str] = (),
    whole: bool = True,
    unit: str = "",
) -> ModelCard:
    """Return the card of a fitted model.

    Parameters
    ----------
    model : estimator
        Fitted.
    table, y : Table and array
        The training data, or its first rows.
    task : str
        Name of the task.
    target, source, name : str
        The predicted column, the file without its folder, and the name of the model.
    schema : Schema, default=None
        Kinds of the columns; inferred if not given.
    rows : int, default=None
        Number of training rows; by default that of the table.
    scores, measured
        Held-out scores and how they were measured.
    problems : sequence of str
        Sentences about the data that a user of the model should know.
    whole : bool, default=True
        Whether `table` holds all training rows; the hash of the data is computed only then.
    unit : str
        Symbol of the unit of the target: "$", "%".
    """
    read = _columns_read(model)
    schema = schema or Schema.infer(table)
    table = table.with_formats(schema.formats)
    columns = summarize_columns(table, schema, None if read is None else set(read))
    outcome = replace(summarize_columns(_one_column(target or "target", y))[0], unit=unit)
    classes = _classes(model)
    return ModelCard(
        target=target or "target",
        task=task,
        question=question_of(task, target or "target", classes),
        model=name or type(innermost_part(model, -1)).__name__,
        source=source,
        rows=table.n_rows if whole and rows is None else rows,
        date=_now(),
        data_hash=hash_of_data(table, y) if whole else "",
        scores=tuple(scores),
        measured=measured,
        columns=columns,
        outcome=outcome,
        limits=(*problems, *_limits(model, [column.name for column in columns if not column.used], whole)),
        versions=tuple(installed_versions().items()),
    )


def installed_versions() -> dict[str, str]:
    """Return the versions of mercer, of Python, and of the packages on which results depend."""
    from mercer import __version__

    versions = {package: version(package) for package in PACKAGES}
    return {"mercer": __version__, "python": platform.python_version(), **versions}


def update_card(card: ModelCard, rows: int | None, limit: str) -> ModelCard:
    """Return the card of a model after rows were added or removed: its scores and its hash are dropped."""
    return replace(
        card,
        rows=rows,
        date=_now(),
        data_hash="",
        scores=(),
        measured=NOT_MEASURED,
        limits=(limit, *card.limits),
    )


def question_of(task: str, target: str, classes: Sequence[Any] = ()) -> str:
    """Return in words what the model predicts.

    Examples
    --------
    >>> question_of("classification", "Attrition", ["No", "Yes"]), question_of("counts", "visits")
    ('Predict `Attrition`: No or Yes', 'Predict the count `visits`')
    """
    if classes:
        labels = join_words([str(label) for label in classes], MAX_QUESTION_CLASSES, "or")
        return f"Predict {'the level of ' if task == 'ordered' else ''}`{target}`: {labels}"
    return f"Predict the {'count' if task == 'counts' else 'amount' if task == 'amounts' else 'number'} `{target}`"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _classes(model: Any) -> list[Any]:
    try:
        return list(np.asarray(model.classes_).tolist())
    except (MercerError, AttributeError):
        return []


def _columns_read(model: Any) -> list[str] | None:
    try:
        return columns_of(model)
    except (MercerError, AttributeError, ValueError):
        return None


def _one_column(name: str, y: Any) -> Table:
    from mercer.data.frame_like import frame_like

    return Table.of(frame_like([name], [np.asarray(y)], "pyarrow"), dates=True)


def _limits(model: Any, unused: list[str], whole: bool) -> list[str]:
    """Return sentences on the limits of the model, such as its predictions outside the training data."""
    predicts = innermost_part(model, -1)
    kernel = any(hasattr(predicts, name) for name in ("dual_coef_", "kernel_", "bandwidth_"))
    if kernel:
        beyond = "far from the training rows its predictions approach a constant"
    elif hasattr(predicts, "coef_"):
        beyond = "beyond them its linear predictor continues as a straight line"
    else:
        beyond = "beyond them its predictions were not measured"
    sentences = [
        f"The training data has the ranges and levels that are listed with the columns; {beyond}.",
        "Scores and ranges describe data like the training data; measure again when the data changes.",
    ]
    if unused:
        sentences.insert(0, f"The model does not read {listed(unused)}.")
    if not whole:
        sentences.append("The summaries of the columns are those of the first rows.")
    return sentences
